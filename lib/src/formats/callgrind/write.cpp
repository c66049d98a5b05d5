#include "formats/callgrind/write.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <tally/version.h>

#include "formats/callgrind/names.h"
#include "support/text_sink.h"
#include "transform/positions.h"
#include "transform/sum.h"

namespace tally::callgrind {

namespace {

constexpr std::string_view blanks = " \t\r\n";

class Writer {
public:
  // `sum.begin()` has been called; `counted` is its only input.
  Writer(Sum &sum, const CostProfile &counted, const WriteOptions &options)
      : sum_(sum), p_(sum.names()), counted_(counted), options_(options), row_(p_.events().size()) {
    ids_.objects.numbers.resize(p_.strings.size());
    ids_.files.numbers.resize(p_.strings.size());
    ids_.functions.numbers.resize(p_.functions().size());
  }

  Result<Written> run() {
    reserve_ids();
    // Reserve about a line for each row, because the text would be copied whenever it grows. Unused
    // reserved pages take no memory.
    const size_t rows =
        size_t{counted_.cost_count()} + counted_.call_count() + counted_.jump_count();
    out_.bytes.reserve(rows * 24);
    TALLY_TRY(first, sum_.next());
    const SumBlock *block = first;
    for (uint32_t i = 0; i < p_.parts().size(); ++i) {
      TALLY_TRY(next, write_part(static_cast<CostPartId>(i), block));
      block = next;
    }
    to_.flush();
    if (lost_.replaced_newlines)
      out_.lost.push_back("line breaks in names (written as blanks)");
    if (lost_.trimmed)
      out_.lost.push_back("leading blanks of names");
    if (lost_.uncounted_calls)
      out_.lost.push_back(
          "calls with a count of 0, for callgrind_annotate (it counts their cost as self cost)");
    return std::move(out_);
  }

private:
  // Numbers names in the order of their first use. Each part defines its own ids, because readers
  // disagree on whether an id of an earlier part is still valid.
  struct Names {
    struct Number {
      uint32_t part = none_part; // the part in which the number was assigned
      uint64_t number = 0;
    };
    static constexpr uint32_t none_part = UINT32_MAX;
    std::vector<Number> numbers; // indexed by StringId, for functions by CostFunctionId
    uint64_t last = 0;
  };
  struct Ids {
    std::set<uint64_t> reserved; // undefined ids that occur in names; never assigned
    uint32_t part = 0;           // the part that is written
    Names objects, files, functions;
  };
  // Holds the state that the lines written so far have set.
  struct Last {
    StringId object{}, file{}; // the last ob= and fl= lines
    bool object_known = false, file_known = false;
    StringId line_file{};             // the last fl=, fi= or fe= line
    std::optional<CostPosition> base; // base of relative positions, if both rules agree on it
  };
  struct Lost {
    bool replaced_newlines = false, trimmed = false, uncounted_calls = false;
  };

  void reserve_ids();
  // Writes a part. `block` is the next block of the sum, or null at the end. If the part has no
  // rows, `block` belongs to a later part. Returns the block after the part's last one.
  Result<const SumBlock *> write_part(CostPartId part, const SumBlock *block);
  void write_header(CostPartId part);
  void begin_function(CostFunctionId function);
  void end_function();
  bool write_block(const SumBlock &block); // false on failure, with the reason in sum_.error()
  bool write_call(const SumBlock &block, size_t row);
  void write_jump(const CostJump &jump);

  void text(std::string_view s) { to_.put(s); }
  void number(uint64_t value, int base = 10) { to_.put(value, base); }
  void name(std::string_view key, Names &names, StringId id) { name(key, names, id, index_of(id)); }
  void name(std::string_view key, Names &names, StringId id, uint32_t which);
  // Assigns an id to each function, not to each name, because KCachegrind takes the id to stand for
  // name, file and object together.
  void function(std::string_view key, CostFunctionId id) {
    name(key, ids_.functions, p_.functions()[id].name, index_of(id));
  }
  void subposition(uint64_t value, uint64_t base, bool relative, bool hex);
  void position(const CostPosition &at, bool relative = true);
  void costs(); // writes row_
  void header_line(std::string_view key, std::string_view value) {
    text(key);
    text(": ");
    one_line(value);
    text("\n");
  }
  void one_line(std::string_view value);
  void numbers(std::string_view key, std::span<const uint64_t> values, size_t count);
  std::string event_name(const CostEvent &event) const;

  Sum &sum_;
  const CostProfile &p_;       // has the names and headers
  const CostProfile &counted_; // has the totals
  const WriteOptions &options_;
  Written out_;
  TextSink to_{out_.bytes};
  Lost lost_;
  Ids ids_;
  Last last_;
  std::vector<uint64_t> row_;
};

// Reserves the ids in names like "(5)" and "(5)'2", which come from files that use an id without
// defining it. The writer gives such a name another id, and leaves the id 5 undefined.
void Writer::reserve_ids() {
  for (uint32_t i = 0; i < p_.strings.size(); ++i) {
    std::string_view rest = p_.strings[static_cast<StringId>(i)];
    if (!begins_id(rest))
      continue;
    while (true) {
      const size_t end = std::min(rest.find('\''), rest.size());
      if (const auto id = whole_id(rest.substr(0, end)))
        ids_.reserved.insert(*id);
      if (end == rest.size())
        break;
      rest.remove_prefix(end + 1);
    }
  }
}

void Writer::one_line(std::string_view value) {
  // A reader would take a CR at the end of the line for a part of the line ending.
  if (value.find('\n') == value.npos && !value.ends_with('\r')) {
    text(value);
    return;
  }
  lost_.replaced_newlines = true;
  for (char c : value)
    to_.put(c == '\n' || c == '\r' ? ' ' : c);
}

// Returns the name with blanks replaced by '_', because blanks separate the names of events.
std::string Writer::event_name(const CostEvent &event) const {
  std::string name(p_.strings[event.name]);
  std::ranges::replace_if(
      name, [](char c) { return blanks.find(c) != blanks.npos; }, '_');
  return name.empty() ? "event" : name;
}

void Writer::name(std::string_view key, Names &names, StringId id, uint32_t which) {
  // Readers strip blanks before a name, so a blank name would look like an id without a name.
  std::string_view value = p_.strings[id];
  value.remove_prefix(std::min(value.find_first_not_of(blanks), value.size()));
  lost_.trimmed |= value.size() != p_.strings[id].size();
  if (value.empty())
    value = "???";
  text(key);
  text("=");
  if (options_.compress_names || begins_id(value)) {
    Names::Number &known = names.numbers[which];
    const bool added = known.part != ids_.part;
    if (added) {
      while (ids_.reserved.contains(++names.last))
        ;
      known = {ids_.part, names.last};
    }
    text("(");
    number(known.number);
    text(")");
    if (added) {
      text(" ");
      one_line(value);
    }
  } else {
    one_line(value);
  }
  text("\n");
}

size_t digits(uint64_t value, unsigned base) {
  size_t count = 1;
  for (; value >= base; value /= base)
    ++count;
  return count;
}

void Writer::subposition(uint64_t value, uint64_t base, bool relative, bool hex) {
  const auto whole = [&] {
    if (hex)
      text("0x");
    number(value, hex ? 16 : 10);
  };
  if (!relative)
    return whole();
  if (value == base)
    return to_.put('*');
  const bool up = value > base;
  const uint64_t difference = up ? value - base : base - value;
  // Write the number or the difference, whichever is shorter. No absolute number is shorter than a
  // difference of one digit.
  if (difference >= 10 && digits(value, hex ? 16 : 10) + (hex ? 2 : 0) < 1 + digits(difference, 10))
    return whole();
  to_.put(up ? '+' : '-');
  number(difference);
}

void Writer::position(const CostPosition &at, bool relative) {
  const CostPosition base = last_.base.value_or(CostPosition{});
  relative = relative && options_.compress_positions && last_.base.has_value();
  if (p_.has_addresses) {
    subposition(at.address, base.address, relative, true);
    if (carries_lines(p_) || p_.has_basic_blocks)
      text(" ");
  }
  if (p_.has_basic_blocks) {
    subposition(at.basic_block, base.basic_block, relative, true);
    if (carries_lines(p_))
      text(" ");
  }
  if (carries_lines(p_))
    subposition(at.line, base.line, relative, false);
}

void Writer::costs() {
  size_t used = row_.size();
  while (used > 1 && row_[used - 1] == 0)
    --used;
  for (size_t e = 0; e < used; ++e) {
    to_.put(' ');
    number(row_[e]);
  }
  to_.put('\n');
}

Result<const SumBlock *> Writer::write_part(CostPartId part, const SumBlock *block) {
  ids_.part = index_of(part);
  ids_.objects.last = ids_.files.last = ids_.functions.last = 0;
  last_.object_known = last_.file_known = false;
  write_header(part);
  CostFunctionId function = none<CostFunctionId>;
  while (block && block->part == part) {
    if (block->function != function) {
      if (function != none<CostFunctionId>)
        end_function();
      begin_function(function = block->function);
    }
    if (!write_block(*block))
      return fail(sum_.error());
    TALLY_TRY(next, sum_.next());
    block = next;
  }
  if (function != none<CostFunctionId>)
    end_function();
  text("\n");
  numbers("totals:", counted_.totals(part), p_.events().size());
  return block;
}

void Writer::numbers(std::string_view key, std::span<const uint64_t> values, size_t count) {
  text(key);
  for (size_t i = 0; i < count; ++i) {
    text(" ");
    number(i < values.size() ? values[i] : 0);
  }
  text("\n");
}

void Writer::write_header(CostPartId id) {
  const CostPart &part = p_.parts()[id];
  if (index_of(id) == 0) {
    text("# callgrind format\nversion: 1\n");
    // `creator:` goes before `cmd:`, which may be long, because KCachegrind looks for it in the
    // first 2047 bytes.
    header_line("creator",
                p_.strings[p_.creator].empty() ? "tally-" TALLY_VERSION : p_.strings[p_.creator]);
  } else {
    text("\n");
  }
  if (part.pid)
    header_line("pid", std::to_string(part.pid));
  if (!p_.strings[part.command].empty())
    header_line("cmd", p_.strings[part.command]);
  header_line("part", std::to_string(part.number));
  if (part.thread)
    header_line("thread", std::to_string(part.thread));
  if (!p_.strings[part.time_range].empty())
    header_line("desc: Timerange", p_.strings[part.time_range]);
  if (!p_.strings[part.trigger].empty())
    header_line("desc: Trigger", p_.strings[part.trigger]);
  for (const auto &[key, value] : part.descriptions)
    header_line(fmt::format("desc: {}", p_.strings[key]), p_.strings[value]);
  header_line("positions", position_words(p_));
  for (const auto &events : {p_.events(), p_.derived_events()})
    for (const CostEvent &event : events) {
      const std::string_view formula = p_.strings[event.formula],
                             long_name = p_.strings[event.long_name];
      if (events.data() == p_.events().data() && formula.empty() && long_name.empty())
        continue;
      std::string line = event_name(event);
      if (!formula.empty())
        line += fmt::format(" = {}", formula);
      if (!long_name.empty())
        line += fmt::format(" : {}", long_name);
      header_line("event", line);
    }
  text("events:");
  for (const CostEvent &event : p_.events()) {
    text(" ");
    text(event_name(event));
  }
  text("\n");
  if (part.summary.empty())
    numbers("summary:", counted_.totals(id), p_.events().size());
  else
    numbers("summary:", part.summary, part.summary.size());
}

void Writer::begin_function(CostFunctionId id) {
  const CostFunction &function = p_.functions()[id];
  const StringId object = p_.objects()[function.object], file = p_.files()[function.file];
  text("\n");
  if (!last_.object_known || object != last_.object)
    name("ob", ids_.objects, object);
  if (!last_.file_known || file != last_.file)
    name("fl", ids_.files, file);
  this->function("fn", id);
  last_.object = object;
  last_.file = last_.line_file = file;
  last_.object_known = last_.file_known = true;
  last_.base.reset();
}

void Writer::end_function() {
  if (last_.line_file != last_.file) // some readers would continue in the other file
    name("fe", ids_.files, last_.file);
}

bool Writer::write_block(const SumBlock &block) {
  const StringId file = p_.files()[block.file];
  if (file != last_.line_file)
    name(file == last_.file ? "fe" : "fi", ids_.files, file);
  last_.line_file = file;
  // Writes the calls and jumps before the position `end`, so that those of a position directly
  // follow its cost. If `end` is null, writes all that remain.
  size_t call = 0, jump = 0;
  const auto before = [&](const CostPosition *end) {
    while (true) {
      const bool calls = call < block.calls.size() && (!end || block.calls[call].from < *end),
                 jumps = jump < block.jumps.size() && (!end || block.jumps[jump].from < *end);
      if (calls && (!jumps || block.calls[call].from <= block.jumps[jump].from)) {
        if (!write_call(block, call++))
          return false;
      } else if (jumps) {
        write_jump(block.jumps[jump++]);
      } else {
        return true;
      }
    }
  };
  for (size_t row = 0; row < block.costs.size(); ++row) {
    const CostPosition &at = block.costs[row];
    if (!before(&at) || !sum_.cost_values(row, row_))
      return false;
    position(at);
    costs();
    last_.base = at;
  }
  return before(nullptr);
}

bool Writer::write_call(const SumBlock &block, size_t row) {
  const CostCall &call = block.calls[row];
  const CostFunction &callee = p_.functions()[call.callee];
  if (p_.objects()[callee.object] != last_.object)
    name("cob", ids_.objects, p_.objects()[callee.object]);
  if (p_.files()[callee.file] != last_.line_file)
    name("cfi", ids_.files, p_.files()[callee.file]);
  function("cfn", call.callee);
  text("calls=");
  number(call.count);
  lost_.uncounted_calls |= call.count == 0;
  to_.put(' ');
  position(call.target);
  to_.put('\n');
  position(call.from, last_.base == call.from);
  if (!sum_.call_values(row, row_))
    return false;
  costs();
  // The two rules for the next base agree only if the call is at the current base.
  if (last_.base != call.from)
    last_.base.reset();
  return true;
}

void Writer::write_jump(const CostJump &jump) {
  if (jump.target_file != none<FileId>)
    name("jfi", ids_.files, p_.files()[jump.target_file]);
  if (jump.target_function != none<CostFunctionId>)
    function("jfn", jump.target_function);
  if (jump.conditional) {
    text("jcnd=");
    number(jump.followed);
    text("/");
    number(jump.executed);
  } else {
    text("jump=");
    number(jump.executed);
  }
  text(" ");
  position(jump.target);
  text("\n");
  position(jump.from, last_.base == jump.from);
  text("\n");
  if (last_.base != jump.from)
    last_.base.reset();
}

} // namespace

Result<Written> write(const CostProfile &profile, const WriteOptions &options) {
  const CostProfile *one = &profile;
  Sum sum(std::span(&one, 1), true); // canonical
  TALLY_CHECK(sum.begin());
  return Writer(sum, profile, options).run();
}

} // namespace tally::callgrind
