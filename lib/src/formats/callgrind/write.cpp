#include "formats/callgrind/write.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include <tally/version.h>

namespace tally::callgrind {

namespace {

constexpr std::string_view blanks = " \t\r\n";

class Writer {
public:
  Writer(const CostProfile &profile, const WriteOptions &options)
      : p_(profile), options_(options), row_(profile.events().size()) {}

  Written run() {
    group_blocks();
    for (uint32_t i = 0; i < p_.parts().size(); ++i)
      write_part(static_cast<CostPartId>(i));
    if (replaced_newlines_)
      out_.lost.push_back("line breaks inside of names (written as blanks)");
    if (trimmed_)
      out_.lost.push_back("blanks around names");
    if (numbers_in_names_)
      out_.lost.push_back("names that begin like an id, \"(1\" (written with '_' before)");
    return std::move(out_);
  }

private:
  // Names are numbered as they are first used. Each part defines its own: readers disagree on
  // whether a number holds from part to part.
  struct Names {
    std::unordered_map<uint32_t, uint32_t> number; // by StringId
  };

  void group_blocks();
  void write_part(CostPartId part);
  void write_header(CostPartId part);
  void write_function(CostFunctionId function, std::span<const BlockId> blocks);
  void write_block(const CostBlock &block);
  void write_call(uint32_t row);
  void write_jump(const CostJump &jump);

  void text(std::string_view s) { out_.bytes += s; }
  void number(uint64_t value, int base = 10) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, base).ptr;
    out_.bytes.append(digits, end);
  }
  void name(std::string_view key, Names &names, StringId id);
  void subposition(uint64_t value, uint64_t base, bool relative, bool hex);
  void position(const CostPosition &at, bool relative);
  void costs(const CostTable &table, uint32_t row);
  void header_line(std::string_view key, std::string_view value) {
    text(key);
    text(": ");
    one_line(value);
    text("\n");
  }
  void one_line(std::string_view value);
  std::string event_name(const CostEvent &event) const;

  const CostProfile &p_;
  const WriteOptions &options_;
  Written out_;
  bool replaced_newlines_ = false, numbers_in_names_ = false, trimmed_ = false;

  std::vector<std::vector<std::vector<BlockId>>> parts_; // part → functions → their blocks
  Names objects_, files_, functions_;
  std::vector<uint64_t> row_, part_totals_;
  StringId object_{}, file_{}; // what is in force; file_: of fl=
  bool object_known_ = false, file_known_ = false;
  StringId line_file_{};             // of fl=, fi= or fe=
  std::optional<CostPosition> base_; // of relative positions, where both rules agree on it
};

void Writer::group_blocks() {
  parts_.resize(p_.parts().size());
  std::vector<std::unordered_map<uint32_t, size_t>> seen(p_.parts().size());
  for (uint32_t i = 0; i < p_.blocks().size(); ++i) {
    const auto id = static_cast<BlockId>(i);
    const CostBlock &block = p_.blocks()[id];
    auto &functions = parts_[index_of(block.part)];
    const auto [at, added] =
        seen[index_of(block.part)].try_emplace(index_of(block.function), functions.size());
    if (added)
      functions.emplace_back();
    functions[at->second].push_back(id);
  }
  // The function's own file first: a block of another file needs fi= and a way back.
  for (auto &functions : parts_)
    for (auto &blocks : functions)
      std::stable_partition(blocks.begin(), blocks.end(), [&](BlockId id) {
        const CostBlock &block = p_.blocks()[id];
        return block.file == p_.functions()[block.function].file;
      });
}

void Writer::one_line(std::string_view value) {
  if (value.find_first_of("\r\n") == value.npos) {
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
      name, [](unsigned char c) { return c <= ' ' || c == ':' || c == '='; }, '_');
  return name.empty() ? "event" : name;
}

void Writer::name(std::string_view key, Names &names, StringId id) {
  // Readers take blanks around a name away; a blank one would be an id without a name.
  std::string_view value = p_.strings[id];
  const size_t begin = std::min(value.find_first_not_of(blanks), value.size());
  value = value.substr(begin, value.find_last_not_of(blanks) + 1 - begin);
  trimmed_ |= value.size() != p_.strings[id].size();
  if (value.empty())
    value = "???";
  text(key);
  text("=");
  // "(1)" is an id, even behind another id (names are made of names there).
  const bool ambiguous = value.size() > 1 && value[0] == '(' && value[1] >= '0' && value[1] <= '9';
  numbers_in_names_ |= ambiguous;
  const std::string_view before = ambiguous ? "_" : "";
  if (options_.compress_names) {
    const auto next = static_cast<uint32_t>(names.number.size() + 1);
    const auto [at, added] = names.number.try_emplace(index_of(id), next);
    text("(");
    number(at->second);
    text(")");
    if (added) {
      text(" ");
      text(before);
      one_line(value);
    }
  } else {
    text(before);
    one_line(value);
  }
  text("\n");
}

void Writer::subposition(uint64_t value, uint64_t base, bool relative, bool hex) {
  if (relative && value == base) {
    text("*");
  } else if (relative && value > base && value - base < 1000000) {
    text("+");
    number(value - base);
  } else if (relative && value < base && base - value < 1000000) {
    text("-");
    number(base - value);
  } else {
    if (hex)
      text("0x");
    number(value, hex ? 16 : 10);
  }
}

void Writer::position(const CostPosition &at, bool relative) {
  const CostPosition base = base_.value_or(CostPosition{});
  relative = relative && base_.has_value();
  if (p_.has_addresses) {
    subposition(at.address, base.address, relative, true);
    if (p_.has_lines)
      text(" ");
  }
  if (p_.has_lines || !p_.has_addresses)
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

void Writer::write_part(CostPartId part) {
  objects_ = files_ = functions_ = {};
  object_known_ = file_known_ = false;
  part_totals_.assign(row_.size(), 0);
  for (const auto &function : parts_[index_of(part)])
    for (BlockId id : function)
      for (uint32_t i = p_.blocks()[id].first_cost; i < p_.blocks()[id].last_cost; ++i) {
        p_.costs().get(i, row_);
        for (size_t e = 0; e < row_.size(); ++e)
          part_totals_[e] += row_[e];
      }
  write_header(part);
  for (const auto &blocks : parts_[index_of(part)])
    write_function(p_.blocks()[blocks.front()].function, blocks);
  text("\ntotals:");
  for (uint64_t total : part_totals_) {
    text(" ");
    number(total);
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
  header_line("positions", !p_.has_addresses ? "line" : p_.has_lines ? "instr line" : "instr");
  for (const CostEvent &event : p_.events()) {
    if (p_.strings[event.long_name].empty() && p_.strings[event.formula].empty())
      continue;
    std::string line = event_name(event);
    if (!p_.strings[event.formula].empty())
      line += fmt::format(" = {}", p_.strings[event.formula]);
    if (!p_.strings[event.long_name].empty())
      line += fmt::format(" : {}", p_.strings[event.long_name]);
    header_line("event", line);
  }
  text("events:");
  for (const CostEvent &event : p_.events()) {
    text(" ");
    text(event_name(event));
  }
  text("\nsummary:");
  for (uint64_t total : part_totals_) {
    text(" ");
    number(total);
  }
  text("\n");
}

void Writer::write_function(CostFunctionId id, std::span<const BlockId> blocks) {
  const CostFunction &function = p_.functions()[id];
  const StringId object = p_.objects()[function.object], file = p_.files()[function.file];
  text("\n");
  if (!object_known_ || object != object_)
    name("ob", objects_, object);
  if (!file_known_ || file != file_)
    name("fl", files_, file);
  name("fn", functions_, function.name);
  object_ = object;
  file_ = line_file_ = file;
  object_known_ = file_known_ = true;
  base_.reset();
  for (BlockId block : blocks)
    write_block(p_.blocks()[block]);
  if (line_file_ != file_) // some readers would stay in the other file
    name("fe", files_, file_);
}

void Writer::write_block(const CostBlock &block) {
  const StringId file = p_.files()[block.file];
  if (file != line_file_)
    name(file == file_ ? "fe" : "fi", files_, file);
  line_file_ = file;
  // Costs and calls of one position stand together.
  uint32_t call = block.first_call;
  for (uint32_t cost = block.first_cost; cost < block.last_cost; ++cost) {
    const CostPosition at = p_.cost_position(cost);
    for (; call < block.last_call && p_.call(call).from < at; ++call)
      write_call(call);
    position(at, true);
    costs(p_.costs(), cost);
    base_ = at;
  }
  for (; call < block.last_call; ++call)
    write_call(call);
  for (uint32_t jump = block.first_jump; jump < block.last_jump; ++jump)
    write_jump(p_.jump(jump));
}

void Writer::write_call(uint32_t row) {
  const CostCall call = p_.call(row);
  const CostFunction &callee = p_.functions()[call.callee];
  if (p_.objects()[callee.object] != object_)
    name("cob", objects_, p_.objects()[callee.object]);
  if (p_.files()[callee.file] != line_file_)
    name("cfi", files_, p_.files()[callee.file]);
  name("cfn", functions_, callee.name);
  text("calls=");
  number(call.count);
  text(" ");
  position(call.target, false);
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
    name("jfn", functions_, p_.functions()[jump.target_function].name);
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
  position(jump.target, false);
  text("\n");
  position(jump.from, false);
  text("\n");
  base_.reset();
}

} // namespace

Result<Written> write(const CostProfile &profile, const WriteOptions &options) {
  return Writer(profile, options).run();
}

} // namespace tally::callgrind
