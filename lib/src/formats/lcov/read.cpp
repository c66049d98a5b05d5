#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "formats/file_rows.h"
#include "formats/lcov/fields.h"
#include "formats/lcov/lcov.h"
#include "formats/lcov/records.h"
#include "formats/lcov/test_name.h"
#include "model/coverage_findings.h"
#include "model/function_totals.h"
#include "support/hash.h"
#include "support/line_blocks.h"
#include "support/sort.h"
#include "transform/coverage_sum.h"

namespace tally::lcov {

namespace {

// AltCover begins a tracefile with it.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view digits = "0123456789";

// A total that a section states, and the line that states it.
struct Stated {
  uint64_t value = 0, at = 0;
};

class Reader {
public:
  Reader(const std::string &source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  Result<void> line(std::string_view text);
  Result<Coverage> finish();

private:
  struct Function {
    uint32_t start_line = 0, end_line = 0;
    bool ran = false;
  };
  enum Total : size_t { LF, LH, FNF, FNH, BRF, BRH, MCF, MCH, total_count };
  static constexpr std::string_view total_names[] = {"LF",  "LH",  "FNF", "FNH",
                                                     "BRF", "BRH", "MCF", "MCH"};
  struct Section {
    bool open = false, has_large_condition = false;
    StringId path{}, test{};
    Records records;
    // The FNL records by index. This is not a hash table, because a malicious file could choose
    // indexes that collide.
    std::map<uint64_t, Function> groups;
    std::optional<Stated> stated[total_count];
  };
  struct Reported { // which notes about dropped data were already added
    bool checksums = false, texts = false, versions = false;
  };
  struct OfFile { // in one test
    StringId test, path;
    Records records;
  };

  tl::unexpected<Error> broken(std::string message, size_t column = 1) const {
    return fail(ErrorCode::invalid_input, std::move(message), source_,
                Position::at_line(line_, column));
  }
  Findings findings() { return {source_, diagnostics_, line_}; }
  void warn(std::string message, std::string_view key = {}) {
    findings().add(Severity::warning, std::move(message), key);
  }
  void warn(CoverageFinding what) { warn(std::move(what.text), what.key); }
  // Adds a note only once, because every line may cause it.
  void not_kept(bool &reported, std::string message) {
    if (!reported)
      findings().add(Severity::note, std::move(message));
    reported = true;
  }

  Result<void> record(std::string_view key, Fields &fields);
  bool in_section(std::string_view key, Fields &fields);
  Result<void> begin_section(std::string_view path);
  Result<void> end_section();
  void check_totals();
  int64_t count(Fields &fields, std::string_view what = "a count");
  uint32_t line_number(Fields &fields);
  uint32_t end_line(Fields &fields, uint32_t start);
  void function(Fields &fields);
  void function_count(Fields &fields);
  void function_group(Fields &fields);
  void function_alias(Fields &fields);
  void branch(Fields &fields);
  void condition(Fields &fields);
  Result<void> add_up_tests();

  const std::string &source_;
  Diagnostics &diagnostics_;
  uint64_t line_ = 0;
  StringPool strings_;
  StringId test_{};
  SeededSet<StringId> tests_; // the tests that have a name
  bool seen_any_ = false;
  Reported reported_;
  Section section_;
  std::vector<OfFile> files_;
  std::map<std::pair<StringId, StringId>, size_t> file_of_; // by test and path
};

Result<void> Reader::line(std::string_view text) {
  if (++line_ == 1 && text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  while (text.ends_with('\r'))
    text.remove_suffix(1);
  if (text.find_first_not_of(" \t") == text.npos || text.starts_with('#'))
    return {};
  if (text.starts_with("end_of_record") && text.find_first_not_of(" \t", 13) == text.npos)
    return end_section();
  const size_t colon = text.find(':');
  const std::string_view key = text.substr(0, std::min(colon, text.size()));
  if (colon == text.npos || key.empty() ||
      !std::ranges::all_of(key, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return broken(fmt::format("is not a record of a tracefile: '{}'", text.substr(0, 40)));
  Fields fields(text, colon + 1);
  TALLY_CHECK(record(key, fields));
  return fields.good() ? Result<void>() : broken(fields.message(), fields.fault_column());
}

Result<void> Reader::record(std::string_view key, Fields &fields) {
  if (key == "DA") { // line, count, checksum
    if (!in_section(key, fields))
      return {};
    const uint32_t line = line_number(fields);
    const int64_t times = count(fields);
    if (!fields.rest().empty())
      not_kept(reported_.checksums, "DA: checksums of lines are not kept");
    if (line != 0 && fields.good())
      section_.records.lines.push_back({line, times});
    return {};
  }
  if (key == "SF" || key == "KF") // lcov 1 reads KF as SF
    return begin_section(fields.name("a path"));
  if (key == "TN") {
    seen_any_ = true;
    if (section_.open)
      warn("TN: inside a section: it applies from the next section on");
    test_ = strings_.intern(read_test_name(fields.rest()));
    if (test_ != StringId{})
      tests_.insert(test_);
    return {};
  }
  static constexpr std::pair<std::string_view, void (Reader::*)(Fields &)> records[] = {
      {"BRDA", &Reader::branch},         {"FN", &Reader::function},
      {"FNDA", &Reader::function_count}, {"FNL", &Reader::function_group},
      {"FNA", &Reader::function_alias},  {"MCDC", &Reader::condition}};
  for (const auto &[name, read] : records)
    if (key == name) {
      if (in_section(key, fields))
        (this->*read)(fields);
      return {};
    }
  for (size_t i = 0; i < total_count; ++i)
    if (key == total_names[i]) {
      if (in_section(key, fields))
        section_.stated[i] = Stated{fields.number<uint64_t>("a number"), line_};
      return {};
    }
  if (key == "VER")
    not_kept(reported_.versions, "VER: versions of sources are not kept");
  else
    warn(fmt::format("{}: is unknown and is ignored", key.substr(0, 40)),
         fmt::format("unknown {}", key.substr(0, 40)));
  return {};
}

bool Reader::in_section(std::string_view key, Fields &fields) {
  if (!section_.open)
    fields.fault_at(0, fmt::format("{}: before any SF:", key));
  return section_.open;
}

Result<void> Reader::begin_section(std::string_view path) {
  if (section_.open)
    return broken("a section begins before end_of_record of the previous one");
  seen_any_ = section_.open = true;
  section_.has_large_condition = false;
  section_.path = strings_.intern(with_slashes(std::string(path)));
  section_.test = test_;
  return {};
}

int64_t Reader::count(Fields &fields, std::string_view what) {
  const std::optional<int64_t> value = fields.count(what);
  if (value && *value >= 0)
    return *value;
  warn(value ? negative_count() : large_count());
  return 1;
}

uint32_t Reader::line_number(Fields &fields) {
  const auto line = fields.number<uint32_t>("a line");
  if (line == 0 && fields.good())
    warn(no_line_0());
  return line;
}

uint32_t Reader::end_line(Fields &fields, uint32_t start) {
  const auto end = fields.number<uint32_t>("a line");
  if (end >= start)
    return end;
  if (fields.good())
    warn(end_before_begin());
  return 0;
}

void Reader::function(Fields &fields) { // line, [last line since lcov 2], name
  const uint32_t start = line_number(fields);
  const std::string_view rest = fields.rest();
  const size_t comma = rest.find_first_not_of(digits);
  uint32_t end = 0;
  if (comma != 0 && comma != rest.npos && rest[comma] == ',' && comma + 1 < rest.size())
    end = end_line(fields, start);
  const StringId name = strings_.intern(fields.name("a name"));
  if (fields.good())
    section_.records.functions.push_back({name, start, end, 0, line_, true});
}

void Reader::function_count(Fields &fields) { // count, name
  const int64_t times = count(fields);
  const StringId name = strings_.intern(fields.name("a name"));
  if (fields.good())
    section_.records.functions.push_back({name, 0, 0, times, line_, false});
}

void Reader::function_group(Fields &fields) { // index, line, last line
  const auto index = fields.number<uint64_t>("an index");
  Function group;
  group.start_line = line_number(fields);
  if (!fields.rest().empty())
    group.end_line = end_line(fields, group.start_line);
  if (fields.good() && !section_.groups.emplace(index, group).second)
    fields.fault_at(0, fmt::format("FNL: this section already has a function {}", index));
}

void Reader::function_alias(Fields &fields) { // index, count, name
  const auto index = fields.number<uint64_t>("an index");
  const auto group = section_.groups.find(index);
  if (group == section_.groups.end())
    fields.fault_here(fmt::format("FNA: there is no FNL:{}", index));
  const int64_t times = count(fields);
  const StringId name = strings_.intern(fields.name("a name"));
  if (!fields.good())
    return;
  group->second.ran |= times > 0;
  section_.records.functions.push_back(
      {name, group->second.start_line, group->second.end_line, times, line_, true});
}

// The fields are line, [e or f][U]block, branch, taken. The branch may be an expression with
// commas.
void Reader::branch(Fields &fields) {
  BranchRow row{};
  row.line = line_number(fields);
  row.throws = fields.take('e');
  row.fall_through = !row.throws && fields.take('f');
  const bool unreachable = fields.take('U');
  row.block = fields.number<uint64_t>("a block");
  const std::string_view rest = fields.rest();
  const size_t comma = rest.rfind(',');
  if (comma == 0 || comma == rest.npos) {
    fields.fault_at(fields.at(), "expected a branch, a comma and a count");
    return;
  }
  const std::string_view branch = rest.substr(0, comma);
  const char *end = branch.data() + branch.size();
  const auto [stop, fault] = std::from_chars(branch.data(), end, row.branch);
  if (fault != std::errc() || stop != end) {
    row.has_text = true;
    row.branch = index_of(strings_.intern(branch));
    not_kept(reported_.texts,
             "branches that are identified by a text are kept, but the text is not");
  }
  fields.skip(comma + 1);
  if (fields.rest() != "-") // '-' means never evaluated
    row.count = count(fields, "a count or '-'");
  if (row.line != 0 && !unreachable && fields.good())
    section_.records.branches.push_back(row);
}

// The fields are line, [U]terms, t or f, decided, term, text.
void Reader::condition(Fields &fields) {
  ConditionRow row{};
  row.line = line_number(fields);
  const bool unreachable = fields.take('U');
  row.terms = fields.number<uint32_t>("a number of terms");
  const std::string_view sense = fields.word();
  if (sense != "t" && sense != "f")
    fields.fault_here(fmt::format("expected t or f, found '{}'", sense.substr(0, 40)));
  const bool decided = count(fields) != 0;
  const auto term = fields.number<uint32_t>("a term");
  if (fields.good() && term >= row.terms)
    fields.fault_here(fmt::format("there is no term {} of {}", term, row.terms));
  if (!fields.good() || row.line == 0)
    return;
  if (row.terms > most_terms) {
    section_.has_large_condition = true;
    warn(too_many_terms());
    return;
  }
  if (unreachable) {
    // The model cannot mark a term as unreachable.
    section_.has_large_condition = true;
    warn("MCDC: a term that is marked as unreachable is counted like others", "unreachable terms");
  }
  if (decided)
    (sense == "t" ? row.when_true : row.when_false) = uint64_t{1} << term;
  section_.records.conditions.push_back(row);
}

void Reader::check_totals() {
  uint64_t found[total_count] = {};
  const auto ran = [](const auto &rows) {
    return static_cast<uint64_t>(
        std::ranges::count_if(rows, [](auto &row) { return row.count > 0; }));
  };
  found[LF] = section_.records.lines.size();
  found[LH] = ran(section_.records.lines);
  found[FNF] = section_.records.functions.size();
  found[FNH] = ran(section_.records.functions);
  found[BRF] = section_.records.branches.size();
  found[BRH] = ran(section_.records.branches);
  for (const ConditionRow &row : section_.records.conditions) {
    const ConditionCoverage condition{row.terms, row.when_true, row.when_false};
    found[MCF] += condition.outcomes();
    found[MCH] += condition.covered();
  }
  // Since lcov 2, the totals may count functions that begin in one line as one.
  std::vector<std::pair<uint32_t, bool>> start_lines;
  for (const FunctionRow &row : section_.records.functions)
    start_lines.emplace_back(row.start_line, row.count == 0);
  sort_stably(start_lines); // in each line, functions that ran come first
  start_lines.erase(std::unique(start_lines.begin(), start_lines.end(),
                                [](const auto &a, const auto &b) { return a.first == b.first; }),
                    start_lines.end());
  uint64_t other[total_count] = {}, of_source[total_count] = {};
  std::copy_n(found, size_t{total_count}, other);
  std::copy_n(found, size_t{total_count}, of_source);
  other[FNF] = start_lines.size();
  other[FNH] = static_cast<uint64_t>(
      std::ranges::count(start_lines, false, &std::pair<uint32_t, bool>::second));
  std::vector<FunctionPlace> places; // LLVM's and Tally's count only instantiations as one
  for (const FunctionRow &row : section_.records.functions)
    places.push_back({row.start_line, strings_[row.name], row.count > 0});
  const FunctionTotals functions = totals_of(std::move(places));
  of_source[FNF] = functions.found;
  of_source[FNH] = functions.executed;
  for (size_t i = 0; i < total_count; ++i) {
    if (!section_.stated[i] || ((i == MCF || i == MCH) && section_.has_large_condition))
      continue;
    const uint64_t stated = section_.stated[i]->value;
    if (stated != found[i] && stated != other[i] && stated != of_source[i])
      diagnostics_.add(
          Severity::warning,
          fmt::format("{}: says {}, but the section has {}", total_names[i], stated, found[i]),
          source_, Position::at_line(section_.stated[i]->at), total_names[i]);
  }
}

Result<void> Reader::end_section() {
  if (!section_.open)
    return broken("end_of_record without SF:");
  section_.open = false;
  TALLY_CHECK(section_.records.add_up(strings_, findings()));
  std::erase_if(section_.records.functions, [&](const FunctionRow &row) {
    if (!row.has_record)
      diagnostics_.add(
          Severity::error,
          fmt::format("FNDA: for {}, which has no FN:, is ignored", strings_[row.name]), source_,
          Position::at_line(row.at), "FNDA without FN");
    return !row.has_record || row.start_line == 0;
  });
  check_totals();
  for (auto &stated : section_.stated)
    stated.reset();
  section_.groups.clear();
  const auto [at, added] = file_of_.try_emplace({section_.test, section_.path}, files_.size());
  if (added)
    files_.push_back({section_.test, section_.path, section_.records});
  else
    TALLY_CHECK(files_[at->second].records.append(section_.records, strings_, findings()));
  section_.records.clear();
  return {};
}

Result<void> Reader::add_up_tests() {
  const auto path = [](const OfFile &file) { return file.path; };
  if (!std::ranges::is_sorted(files_, {}, path))
    sort_stably(files_, {}, path);
  std::vector<Records *> tests; // of one file
  for (size_t i = 0; i < files_.size(); ++i) {
    TALLY_CHECK(files_[i].records.add_up(strings_, findings()));
    tests.push_back(&files_[i].records);
    if (i + 1 < files_.size() && files_[i + 1].path == files_[i].path)
      continue;
    if (tests.size() > 1)
      align(tests, strings_[files_[i].path], strings_, findings());
    tests.clear();
  }
  return {};
}

Result<Coverage> Reader::finish() {
  if (section_.open)
    return broken("truncated: there is no end_of_record");
  if (!seen_any_)
    return fail(ErrorCode::no_data, "holds no sections", source_);
  std::map<std::string_view, TestCoverage> tests;
  for (const StringId name : tests_)
    tests[strings_[name]];
  TALLY_CHECK(add_up_tests());
  for (OfFile &file : files_) {
    tests[strings_[file.test]].files.push_back(
        coverage_of(file.records, strings_[file.path], strings_, findings()));
    file.records = {};
  }
  Coverage all;
  for (auto &[name, test] : tests) {
    test.name = name;
    sort_stably(test.files, {}, &FileCoverage::path);
    all.tests.push_back(std::move(test));
  }
  if (tests_.empty()) {
    if (!all.tests.empty())
      all.files = std::move(all.tests[0].files);
    all.tests.clear();
    return all;
  }
  std::vector<const FileCoverage *> files;
  for (const TestCoverage &test : all.tests)
    for (const FileCoverage &file : test.files)
      files.push_back(&file);
  TALLY_TRY(sums, sums_by_path(std::move(files), diagnostics_));
  all.files = std::move(sums);
  return all;
}

} // namespace

bool probe(std::string_view head) {
  if (head.starts_with(byte_order_mark))
    head.remove_prefix(byte_order_mark.size());
  // Comments may precede the first record.
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    if (!line.starts_with('#') && line.find_first_not_of(" \t\r") != line.npos)
      return line.starts_with("TN:") || line.starts_with("SF:");
    head.remove_prefix(std::min(line.size() + 1, head.size()));
  }
  return false;
}

Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics) {
  Reader reader(source.name(), diagnostics);
  for (LineBlocks blocks(source);;) {
    TALLY_TRY(block, blocks.next());
    if (block.empty())
      break;
    while (!block.empty()) {
      const size_t end = block.find('\n');
      TALLY_CHECK(reader.line(block.substr(0, end)));
      block.remove_prefix(end + 1);
    }
  }
  return reader.finish();
}

} // namespace tally::lcov
