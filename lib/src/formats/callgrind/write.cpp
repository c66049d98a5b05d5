#include "formats/callgrind/write.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <tally/merge.h>
#include <tally/version.h>

#include "formats/callgrind/names.h"

namespace tally::callgrind {

namespace {

constexpr std::string_view blanks = " \t\r\n";

class Writer {
public:
  Writer(const CostProfile &profile, const WriteOptions &options)
      : p_(profile), options_(options), row_(profile.events().size()) {}

  Written run() {
    reserve_ids();
    for (uint32_t i = 0, block = 0; i < p_.parts().size(); ++i)
      block = write_part(static_cast<CostPartId>(i), block);
    if (replaced_newlines_)
      out_.lost.push_back("line breaks inside of names (written as blanks)");
    if (trimmed_)
      out_.lost.push_back("blanks before names");
    if (uncounted_calls_)
      out_.lost.push_back(
          "for callgrind_annotate, calls whose number is 0: it takes their cost for self cost");
    return std::move(out_);
  }

private:
  // Names are numbered as they are first used. Each part defines its own: readers disagree on
  // whether a number holds from part to part.
  struct Names {
    std::unordered_map<uint32_t, uint64_t> number; // by StringId; of functions by CostFunctionId
    uint64_t last = 0;
  };

  void reserve_ids();
  uint32_t write_part(CostPartId part, uint32_t block); // the block behind the part's last
  void write_header(CostPartId part);
  void begin_function(CostFunctionId function);
  void end_function();
  void write_block(const CostBlock &block);
  void write_call(uint32_t row);
  void write_jump(const CostJump &jump);

  void text(std::string_view s) { out_.bytes += s; }
  void number(uint64_t value, int base = 10) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
    out_.bytes.append(digits, end);
  }
  void name(std::string_view key, Names &names, StringId id) { name(key, names, id, index_of(id)); }
  void name(std::string_view key, Names &names, StringId id, uint32_t which);
  // An id for each function, not for each name: KCachegrind takes it for name, file and object.
  void function(std::string_view key, CostFunctionId id) {
    name(key, functions_, p_.functions()[id].name, index_of(id));
  }
  void subposition(uint64_t value, uint64_t base, bool relative, bool hex);
  void position(const CostPosition &at, bool relative = true);
  void costs(const CostTable &table, uint32_t row);
  void header_line(std::string_view key, std::string_view value) {
    text(key);
    text(": ");
    one_line(value);
    text("\n");
  }
  void one_line(std::string_view value);
  void numbers(std::string_view key, std::span<const uint64_t> values, size_t count);
  std::string event_name(const CostEvent &event) const;

  const CostProfile &p_;
  const WriteOptions &options_;
  Written out_;
  bool replaced_newlines_ = false, trimmed_ = false, uncounted_calls_ = false;

  std::unordered_set<uint64_t> reserved_; // ids that names are made of, and which stand for nothing
  Names objects_, files_, functions_;
  std::vector<uint64_t> row_;
  StringId object_{}, file_{}; // what is in force; file_: of fl=
  bool object_known_ = false, file_known_ = false;
  StringId line_file_{};             // of fl=, fi= or fe=
  std::optional<CostPosition> base_; // of relative positions, where both rules agree on it
};

// Names like "(5)" and "(5)'2" come from files that use an id and do not define it. They are
// written so again: with an id of their own, and (5) left undefined.
void Writer::reserve_ids() {
  for (uint32_t i = 0; i < p_.strings.size(); ++i) {
    std::string_view rest = p_.strings[static_cast<StringId>(i)];
    if (!begins_id(rest))
      continue;
    while (true) {
      const size_t end = std::min(rest.find('\''), rest.size());
      if (const auto id = whole_id(rest.substr(0, end)))
        reserved_.insert(*id);
      if (end == rest.size())
        break;
      rest.remove_prefix(end + 1);
    }
  }
}

void Writer::one_line(std::string_view value) {
  // A CR before the line's end would be taken for a part of that.
  if (value.find('\n') == value.npos && !value.ends_with('\r')) {
    text(value);
    return;
  }
  replaced_newlines_ = true;
  for (char c : value)
    out_.bytes += c == '\n' || c == '\r' ? ' ' : c;
}

// Blanks part the names of events.
std::string Writer::event_name(const CostEvent &event) const {
  std::string name(p_.strings[event.name]);
  std::ranges::replace_if(
      name, [](char c) { return blanks.find(c) != blanks.npos; }, '_');
  return name.empty() ? "event" : name;
}

void Writer::name(std::string_view key, Names &names, StringId id, uint32_t which) {
  // Readers take blanks before a name away; a blank one would be an id without a name.
  std::string_view value = p_.strings[id];
  value.remove_prefix(std::min(value.find_first_not_of(blanks), value.size()));
  trimmed_ |= value.size() != p_.strings[id].size();
  if (value.empty())
    value = "???";
  text(key);
  text("=");
  if (options_.compress_names || begins_id(value)) {
    const auto [at, added] = names.number.try_emplace(which, 0);
    if (added) {
      while (reserved_.contains(++names.last))
        ;
      at->second = names.last;
    }
    text("(");
    number(at->second);
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

void Writer::subposition(uint64_t value, uint64_t base, bool relative, bool hex) {
  char absolute[24], *end = absolute;
  if (hex) {
    *end++ = '0';
    *end++ = 'x';
  }
  if (!relative) {
    end = std::to_chars(end, absolute + sizeof absolute, value, hex ? 16 : 10).ptr;
    out_.bytes.append(absolute, end);
    return;
  }
  if (value == base) {
    text("*");
    return;
  }
  const bool up = value > base;
  char difference[24]{up ? '+' : '-'};
  char *const difference_end = std::to_chars(difference + 1, difference + sizeof difference,
                                             up ? value - base : base - value)
                                   .ptr;
  if (difference_end - difference > 2) { // whichever is shorter
    end = std::to_chars(end, absolute + sizeof absolute, value, hex ? 16 : 10).ptr;
    if (end - absolute < difference_end - difference) {
      out_.bytes.append(absolute, end);
      return;
    }
  }
  out_.bytes.append(difference, difference_end);
}

void Writer::position(const CostPosition &at, bool relative) {
  const CostPosition base = base_.value_or(CostPosition{});
  relative = relative && options_.compress_positions && base_.has_value();
  if (p_.has_addresses) {
    subposition(at.address, base.address, relative, true);
    if (p_.has_lines || p_.has_basic_blocks)
      text(" ");
  }
  if (p_.has_basic_blocks) {
    subposition(at.basic_block, base.basic_block, relative, true);
    if (p_.has_lines)
      text(" ");
  }
  if (p_.has_lines || (!p_.has_addresses && !p_.has_basic_blocks))
    subposition(at.line, base.line, relative, false);
}

void Writer::costs(const CostTable &table, uint32_t row) {
  table.get(row, row_);
  size_t used = row_.size();
  while (used > 1 && row_[used - 1] == 0)
    --used;
  for (size_t e = 0; e < used; ++e) {
    text(" ");
    number(row_[e]);
  }
  text("\n");
}

uint32_t Writer::write_part(CostPartId part, uint32_t block) {
  objects_ = files_ = functions_ = {};
  object_known_ = file_known_ = false;
  write_header(part);
  CostFunctionId function = none<CostFunctionId>;
  for (; block < p_.blocks().size(); ++block) {
    const CostBlock &next = p_.blocks()[static_cast<BlockId>(block)];
    if (next.part != part)
      break;
    if (next.function != function) {
      if (function != none<CostFunctionId>)
        end_function();
      begin_function(function = next.function);
    }
    write_block(next);
  }
  if (function != none<CostFunctionId>)
    end_function();
  text("\n");
  numbers("totals:", p_.totals(part), p_.events().size());
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
    // Before `cmd:`, which may be long: KCachegrind looks for it in the first 2047 bytes.
    header_line("creator",
                p_.strings[p_.creator].empty() ? "tally-" TALLY_VERSION : p_.strings[p_.creator]);
  } else {
    text("\n");
  }
  if (part.pid)
    header_line("pid", std::to_string(part.pid));
  if (p_.strings[part.command] != "")
    header_line("cmd", p_.strings[part.command]);
  header_line("part", std::to_string(part.number));
  if (part.thread)
    header_line("thread", std::to_string(part.thread));
  if (p_.strings[part.time_range] != "")
    header_line("desc: Timerange", p_.strings[part.time_range]);
  if (p_.strings[part.trigger] != "")
    header_line("desc: Trigger", p_.strings[part.trigger]);
  for (const auto &[key, value] : part.descriptions)
    header_line(fmt::format("desc: {}", p_.strings[key]), p_.strings[value]);
  std::string positions;
  for (const auto &[carried, word] :
       {std::pair{p_.has_addresses, " instr"},
        {p_.has_basic_blocks, " bb"},
        {p_.has_lines || (!p_.has_addresses && !p_.has_basic_blocks), " line"}})
    if (carried)
      positions += word;
  header_line("positions", positions.substr(1));
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
    numbers("summary:", p_.totals(id), p_.events().size());
  else
    numbers("summary:", part.summary, part.summary.size());
}

void Writer::begin_function(CostFunctionId id) {
  const CostFunction &function = p_.functions()[id];
  const StringId object = p_.objects()[function.object], file = p_.files()[function.file];
  text("\n");
  if (!object_known_ || object != object_)
    name("ob", objects_, object);
  if (!file_known_ || file != file_)
    name("fl", files_, file);
  this->function("fn", id);
  object_ = object;
  file_ = line_file_ = file;
  object_known_ = file_known_ = true;
  base_.reset();
}

void Writer::end_function() {
  if (line_file_ != file_) // some readers would stay in the other file
    name("fe", files_, file_);
}

void Writer::write_block(const CostBlock &block) {
  const StringId file = p_.files()[block.file];
  if (file != line_file_)
    name(file == file_ ? "fe" : "fi", files_, file);
  line_file_ = file;
  // Costs, calls and jumps of one position stand together.
  uint32_t call = block.first_call, jump = block.first_jump;
  const auto before = [&](const CostPosition *end) {
    while (true) {
      const bool calls = call < block.last_call && (!end || p_.call(call).from < *end),
                 jumps = jump < block.last_jump && (!end || p_.jump(jump).from < *end);
      if (calls && (!jumps || p_.call(call).from <= p_.jump(jump).from))
        write_call(call++);
      else if (jumps)
        write_jump(p_.jump(jump++));
      else
        break;
    }
  };
  for (uint32_t cost = block.first_cost; cost < block.last_cost; ++cost) {
    const CostPosition at = p_.cost_position(cost);
    before(&at);
    position(at);
    costs(p_.costs(), cost);
    base_ = at;
  }
  before(nullptr);
}

void Writer::write_call(uint32_t row) {
  const CostCall call = p_.call(row);
  const CostFunction &callee = p_.functions()[call.callee];
  if (p_.objects()[callee.object] != object_)
    name("cob", objects_, p_.objects()[callee.object]);
  if (p_.files()[callee.file] != line_file_)
    name("cfi", files_, p_.files()[callee.file]);
  function("cfn", call.callee);
  text("calls=");
  number(call.count);
  uncounted_calls_ |= call.count == 0;
  text(" ");
  position(call.target);
  text("\n");
  position(call.from, base_ == call.from);
  costs(p_.call_costs(), row);
  // The two rules for the base of what follows agree only where the call stands on the base.
  if (base_ != call.from)
    base_.reset();
}

void Writer::write_jump(const CostJump &jump) {
  if (jump.target_file != none<FileId>)
    name("jfi", files_, p_.files()[jump.target_file]);
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
  position(jump.from, base_ == jump.from);
  text("\n");
  if (base_ != jump.from)
    base_.reset();
}

} // namespace

Result<Written> write(const CostProfile &profile, const WriteOptions &options) {
  TALLY_TRY(sorted, canonical(profile));
  return Writer(sorted, options).run();
}

} // namespace tally::callgrind
