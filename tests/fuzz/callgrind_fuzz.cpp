// Reads arbitrary bytes as Callgrind. They are read or rejected with a position, with the same
// result in pieces of any size. Tables of a profile that was read must add up. It is written such
// that it reads back as the same, and it can be merged with itself.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/callgrind/read.h"
#include "formats/callgrind/write.h"
#include "fuzz_target.h"
#include "report/report.h"
#include "report/tree.h"
#include "require.h"
#include "transform/call_graph.h"
#include "transform/merge.h"

namespace tally::callgrind_fuzz {

namespace {

// Longer names come from nested ids. Such a file is valid, but slow to write a dozen times.
constexpr size_t most_name_bytes = size_t{1} << 18;

std::string joined(const std::vector<std::string> &lines) {
  std::string out;
  for (const std::string &line : lines)
    out += line + "\n";
  return out;
}

struct Reading {
  Result<Profile> profile;
  std::vector<std::string> findings;
  const CostProfile &costs() const { return std::get<CostProfile>(*profile); }
};

Reading read(std::string_view bytes, size_t piece = size_t{256} << 10) {
  Diagnostics diagnostics;
  const ReadOptions options{.max_unpacked_bytes = size_t{1} << 16, .piece_bytes = piece};
  Reading out{callgrind::read(*ByteSource::of(bytes, "input", options), diagnostics), {}};
  for (const Finding &finding : diagnostics.findings())
    out.findings.push_back(finding.text());
  return out;
}

// Returns whether there is a result. A sum may exceed 64 bits; no other error is permitted.
template <class T> bool fits(const Result<T> &result, std::string_view what) {
  require(result.has_value() || result.error().code == ErrorCode::overflow, what,
          result ? std::string() : result.error().text());
  return result.has_value();
}

// --- tables

// Requires that each number of `b` is `factor` times that of `a`.
void require_multiple(const FlatTable &a, const FlatTable &b, uint64_t factor) {
  const auto times = [&](std::span<const uint64_t> x, std::span<const uint64_t> y) {
    return std::ranges::equal(x, y, [&](uint64_t v, uint64_t w) { return v * factor == w; });
  };
  require(a.events == b.events && times(a.totals, b.totals), "totals of tables");
  require(a.rows.size() == b.rows.size(), "rows of tables");
  for (size_t i = 0; i < a.rows.size(); ++i) {
    const FlatRow &x = a.rows[i], &y = b.rows[i];
    require(x.name == y.name && x.file == y.file && x.object == y.object && x.line == y.line,
            "order of rows");
    require(times(x.self, y.self), "self", x.name);
    require(times(x.inclusive, y.inclusive), "inclusive", x.name);
    require(x.calls * factor == y.calls && !x.cycle == !y.cycle, "calls", x.name);
  }
}

void check_table(const FlatTable &table) {
  std::vector<uint64_t> sum(table.events.size(), 0);
  for (const FlatRow &row : table.rows)
    for (size_t e = 0; e < sum.size(); ++e) {
      require(row.self[e] <= row.inclusive[e], "self is above inclusive", row.name);
      sum[e] += row.self[e];
    }
  require(sum == table.totals, "rows do not add up to the totals");
  for (const CycleRow &cycle : table.cycles)
    for (size_t e = 0; e < sum.size(); ++e)
      require(cycle.self[e] <= cycle.inclusive[e] && cycle.self[e] <= table.totals[e],
              "cost of a cycle");
}

void check_graph(const CostProfile &p) {
  for (const NodeKind kind : {NodeKind::function, NodeKind::object}) {
    const auto graph = CallGraph::of(p, kind);
    if (!fits(graph, "graph"))
      continue;
    std::vector<uint32_t> sizes(graph->cycles().size(), 0);
    for (uint32_t node = 0; node < graph->size(); ++node) {
      if (graph->cycle_of(node) != CallGraph::no_cycle)
        ++sizes[graph->cycle_of(node)];
      require(graph->is_used(node) ||
                  std::ranges::all_of(graph->inclusive(node), [](uint64_t c) { return c == 0; }),
              "cost of an unused node");
    }
    for (size_t c = 0; c < sizes.size(); ++c)
      require(sizes[c] > 1 && sizes[c] == graph->cycles()[c].nodes.size(), "size of a cycle");
  }
}

void check_events(const CostProfile &p) {
  for (size_t e = 0; e < std::min<size_t>(p.events().size(), 3); ++e) {
    const auto one = one_event(p, p.strings[p.events()[e].name]);
    require(one.has_value() && one->totals()[0] == p.totals()[e], "one event");
  }
  for (size_t e = 0; e < std::min<size_t>(p.derived_events().size(), 3); ++e) {
    const CostEvent &event = p.derived_events()[e];
    const auto one = one_event(p, p.strings[event.name]);
    const bool formula = !p.strings[event.formula].empty();
    require(one || one.error().code == ErrorCode::overflow ||
                one.error().code ==
                    (formula ? ErrorCode::invalid_input : ErrorCode::invalid_argument),
            "derived event", one ? std::string() : one.error().text());
  }
}

void check_tree(const CostProfile &p) {
  const auto tree = call_tree(p);
  if (!fits(tree, "tree"))
    return;
  uint32_t depth = 0;
  for (const TreeNode &node : tree->nodes) {
    require(node.depth <= depth, "depth of a node", node.name);
    depth = node.depth + 1;
  }
}

// --- writing

// Compares two profiles, both in canonical order.
class Comparison {
public:
  Comparison(const CostProfile &a, const CostProfile &b) : a_(a), b_(b) {}

  void run() const {
    events(a_.events(), b_.events());
    events(a_.derived_events(), b_.derived_events());
    require(a_.strings[a_.creator].empty() || text(a_.creator, b_.creator), "creator");
    require(a_.has_addresses == b_.has_addresses && a_.has_basic_blocks == b_.has_basic_blocks &&
                a_.has_lines == b_.has_lines,
            "positions");
    require(std::ranges::equal(a_.parts(), b_.parts(),
                               [this](const auto &x, const auto &y) { return part(x, y); }),
            "parts");
    require(std::ranges::equal(a_.blocks(), b_.blocks(),
                               [this](const auto &x, const auto &y) { return block(x, y); }),
            "blocks");
    require(a_.cost_count() == b_.cost_count() && a_.call_count() == b_.call_count() &&
                a_.jump_count() == b_.jump_count(),
            "rows");
    for (uint32_t i = 0; i < a_.cost_count(); ++i)
      require(a_.cost_position(i) == b_.cost_position(i) && row(a_.costs(), b_.costs(), i), "cost");
    for (uint32_t i = 0; i < a_.call_count(); ++i) {
      const CostCall x = a_.call(i), y = b_.call(i);
      require(x.from == y.from && x.target == y.target && x.count == y.count &&
                  function(x.callee, y.callee) && row(a_.call_costs(), b_.call_costs(), i),
              "call");
    }
    for (uint32_t i = 0; i < a_.jump_count(); ++i) {
      const CostJump x = a_.jump(i), y = b_.jump(i);
      require(
          x.from == y.from && x.target == y.target && x.conditional == y.conditional &&
              x.executed == y.executed && x.followed == y.followed &&
              (x.target_file == none<FileId>) ==
                  (y.target_file == none<FileId>)&&(x.target_function == none<CostFunctionId>) ==
                  (y.target_function == none<CostFunctionId>),
          "jump");
      require(x.target_file == none<FileId> || file(x.target_file, y.target_file),
              "file of a jump's target");
      require(x.target_function == none<CostFunctionId> ||
                  function(x.target_function, y.target_function),
              "function of a jump's target");
    }
  }

private:
  bool text(StringId x, StringId y) const { return a_.strings[x] == b_.strings[y]; }
  bool file(FileId x, FileId y) const { return text(a_.files()[x], b_.files()[y]); }
  bool function(CostFunctionId i, CostFunctionId j) const {
    const CostFunction &x = a_.functions()[i], &y = b_.functions()[j];
    return text(x.name, y.name) && file(x.file, y.file) &&
           text(a_.objects()[x.object], b_.objects()[y.object]);
  }
  void events(std::span<const CostEvent> x, std::span<const CostEvent> y) const {
    require(std::ranges::equal(x, y,
                               [this](const CostEvent &v, const CostEvent &w) {
                                 return text(v.name, w.name) && text(v.long_name, w.long_name) &&
                                        text(v.formula, w.formula);
                               }),
            "events");
  }
  bool part(const CostPart &x, const CostPart &y) const {
    return x.number == y.number && x.pid == y.pid && x.thread == y.thread &&
           text(x.command, y.command) && text(x.trigger, y.trigger) &&
           text(x.time_range, y.time_range) && x.summary == y.summary &&
           std::ranges::equal(x.descriptions, y.descriptions, [this](const auto &v, const auto &w) {
             return text(v.first, w.first) && text(v.second, w.second);
           });
  }
  bool block(const CostBlock &x, const CostBlock &y) const {
    return x.part == y.part && function(x.function, y.function) && file(x.file, y.file) &&
           x.last_cost == y.last_cost && x.last_call == y.last_call && x.last_jump == y.last_jump;
  }
  bool row(const CostTable &x, const CostTable &y, uint32_t i) const {
    std::vector<uint64_t> v(a_.events().size()), w(v.size());
    x.get(i, v);
    y.get(i, w);
    return v == w;
  }

  const CostProfile &a_, &b_;
};

Result<std::string> write(const CostProfile &p, const WriteOptions &options = {}) {
  TALLY_TRY(written, callgrind::write(p, options));
  // The only permitted change is that of calls with a count of 0.
  for (const std::string &lost : written.lost)
    require(lost.find("calls with a count of 0") != lost.npos, "lost", lost);
  return written.bytes;
}

// Reads what Tally wrote. The only permitted diagnostic is about ids that were undefined before.
Reading read_own(std::string_view bytes, size_t piece) {
  require(callgrind::probe(bytes.substr(0, 4096)), "probe", bytes);
  Reading out = read(bytes, piece);
  require(out.profile.has_value(), "read again",
          out.profile ? std::string(bytes)
                      : out.profile.error().text() + "\n" + std::string(bytes));
  for (const std::string &finding : out.findings)
    require(finding.find(") is not defined") != finding.npos, finding, bytes);
  return out;
}

void check_writing(const CostProfile &p, const CostProfile &sorted, size_t piece) {
  const auto written = write(p);
  require(written.has_value(), "write", written ? std::string() : written.error().text());
  const Reading again = read_own(*written, piece);
  Comparison(sorted, again.costs()).run();
  const auto second = write(again.costs());
  require(second.has_value() && *second == *written, "written again",
          *written + "\n--- is now ---\n" + second.value_or(""));

  // The creator determines which rule for the base of relative positions applies.
  for (std::string_view creator : {"callgrind-3.19.0", "another"}) {
    CostProfile changed = sorted;
    changed.creator = changed.strings.intern(creator);
    const auto bytes = write(changed);
    require(bytes.has_value(), "write with a creator");
    Comparison(changed, read_own(*bytes, piece).costs()).run();
  }

  const auto plain = write(p, {.compress_names = false, .compress_positions = false});
  require(plain.has_value(), "write plainly");
  const auto packed = write(read_own(*plain, piece).costs());
  require(packed.has_value() && *packed == *written, "written from plain",
          *plain + "\n--- became ---\n" + packed.value_or("") + "\n--- and not ---\n" + *written);
}

// --- merging

void check_merging(const CostProfile &p, size_t piece) {
  const CostProfile *const twice[]{&p, &p}, *const thrice[]{&p, &p, &p};
  const auto two = merge_costs(twice);
  if (!fits(two, "merge"))
    return;
  require(std::ranges::equal(p.totals(), two->totals(),
                             [](uint64_t one, uint64_t sum) { return sum - one == one; }),
          "totals of a sum");
  for (const By by : {By::function, By::object, By::line}) {
    const auto one = flat_table(p, by), sum = flat_table(*two, by);
    if (one && fits(sum, "table of a sum"))
      require_multiple(*one, *sum, 2);
  }
  const auto written = write(*two);
  require(written.has_value(), "write a sum");
  const auto again = write(read_own(*written, piece).costs());
  require(again.has_value() && *again == *written, "sum written again",
          *written + "\n--- is now ---\n" + again.value_or(""));

  // Merge with a profile that has fewer events.
  const auto narrow = one_event(p, p.strings[p.events().back().name]);
  require(narrow.has_value(), "last event");
  const auto some = canonical(*narrow);
  if (!fits(some, "canonical order of one event"))
    return;
  const CostProfile *const wide_first[]{&p, &*narrow}, *const narrow_first[]{&*some, &p};
  const auto from_wide = merge_costs(wide_first), from_narrow = merge_costs(narrow_first);
  require(from_wide.has_value() == from_narrow.has_value(), "order of a sum");
  if (fits(from_wide, "merge with fewer events")) {
    const auto a = write(*from_wide), b = write(*from_narrow);
    require(a && b && *a == *b, "order of a sum",
            a.value_or("") + "\n--- is now ---\n" + b.value_or(""));
  }

  const auto three = merge_costs(thrice);
  const CostProfile *const left[]{&*two, &p}, *const right[]{&p, &*two};
  const auto from_left = merge_costs(left), from_right = merge_costs(right);
  require(from_left.has_value() == three.has_value() && from_right.has_value() == three.has_value(),
          "grouping");
  if (!fits(three, "merge three"))
    return;
  const auto a = write(*three), b = write(*from_left), c = write(*from_right);
  require(a && b && c && *a == *b, "grouping from the left",
          *a + "\n--- is now ---\n" + b.value_or(""));
  require(*a == *c, "grouping from the right", *a + "\n--- is now ---\n" + *c);
}

// Reads the input with CR LF line ends, which must change nothing but one warning.
void check_crlf(std::string_view bytes, const Reading &plain) {
  std::string with_cr;
  for (const char c : bytes) {
    if (c == '\n')
      with_cr += '\r';
    with_cr += c;
  }
  Reading out = read(with_cr);
  require(out.profile.has_value() == plain.profile.has_value(), "with CR LF");
  std::erase_if(out.findings, [](const std::string &finding) {
    return finding.ends_with(": warning: lines end in CR LF");
  });
  require(out.findings == plain.findings, "diagnostics with CR LF",
          joined(plain.findings) + "--- are now ---\n" + joined(out.findings));
  if (out.profile)
    Comparison(plain.costs(), out.costs()).run();
  else
    require(out.profile.error().text() == plain.profile.error().text(), "error with CR LF",
            plain.profile.error().text() + "\n" + out.profile.error().text());
}

} // namespace

FUZZ_TARGET(callgrind) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(callgrind::probe(bytes.substr(0, 4096)));
  // Leave out compressed input, and input that already has a CR.
  const bool is_text = bytes.find('\r') == bytes.npos && !bytes.starts_with("\x1f\x8b") &&
                       !bytes.starts_with("\x28\xb5\x2f\xfd");
  const size_t piece = 1 + std::hash<std::string_view>()(bytes) % 16;
  const Reading whole = read(bytes), parts = read(bytes, piece);
  require(whole.profile.has_value() == parts.profile.has_value(), "in pieces");
  if (!whole.profile) {
    const Error &error = whole.profile.error(), &other = parts.profile.error();
    require(error.code != ErrorCode::internal && error.code != ErrorCode::invalid_argument,
            "error's kind", error.text());
    // The offset of damage in compressed data, and the diagnostics before it, depend on the piece
    // size.
    require(error.where.kind == Position::Kind::offset ||
                (error.text() == other.text() && whole.findings == parts.findings),
            "error in pieces", error.text() + "\n" + other.text());
    if (is_text)
      check_crlf(bytes, whole);
    return 0;
  }
  require(whole.findings == parts.findings, "diagnostics in pieces");
  const CostProfile &p = whole.costs();
  size_t name_bytes = 0;
  for (const CostFunction &f : p.functions())
    name_bytes += p.strings[f.name].size() + p.strings[p.files()[f.file]].size() +
                  p.strings[p.objects()[f.object]].size();
  if (name_bytes > most_name_bytes)
    return 0;

  for (const CostPart &part : p.parts())
    require(part.summary.size() <= p.events().size(), "number of costs of a summary");
  if (is_text)
    check_crlf(bytes, whole);
  check_graph(p);
  check_tree(p);
  check_events(p);
  const auto sorted = canonical(p);
  const bool writable = fits(sorted, "canonical");
  for (const By by : {By::function, By::object, By::line, By::thread, By::part}) {
    const auto table = flat_table(p, by);
    if (!fits(table, "table"))
      continue;
    check_table(*table);
    if (writable && by != By::thread && by != By::part) {
      const auto same = flat_table(*sorted, by);
      require(same.has_value(), "table in canonical order");
      require_multiple(*table, *same, 1);
    }
  }
  if (!writable)
    return 0;
  const auto one = write(p), other = write(parts.costs());
  require(one && other && *one == *other, "written in pieces");
  check_writing(p, *sorted, piece);
  check_merging(p, piece);
  return 0;
}

} // namespace tally::callgrind_fuzz
