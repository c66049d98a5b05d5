#include <tally/cost_profile.h>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/hash.h"

namespace tally {

namespace {
constexpr uint32_t wide = std::numeric_limits<uint32_t>::max();

// Callgrind's word for an unknown name; in the model that is the empty string.
std::string_view known(std::string_view name) { return name == "???" ? std::string_view() : name; }
} // namespace

bool CostTable::push(std::span<const uint64_t> costs) {
  while (!costs.empty() && costs.back() == 0)
    costs = costs.first(costs.size() - 1);
  if (cells_.size() + costs.size() * 3 >= wide || first_.size() >= wide - 1)
    return false;
  first_.push_back(static_cast<uint32_t>(cells_.size()));
  for (uint64_t cost : costs) {
    if (cost < wide) {
      cells_.push_back(static_cast<uint32_t>(cost));
      continue;
    }
    cells_.push_back(wide);
    cells_.push_back(static_cast<uint32_t>(cost));
    cells_.push_back(static_cast<uint32_t>(cost >> 32));
  }
  return true;
}

void CostTable::get(uint32_t row, std::span<uint64_t> out) const {
  size_t cell = first_[row];
  const size_t end = row + 1 < first_.size() ? first_[row + 1] : cells_.size();
  for (uint64_t &value : out) {
    if (cell >= end) {
      value = 0;
    } else if (cells_[cell] != wide) {
      value = cells_[cell++];
    } else {
      value = cells_[cell + 1] | (uint64_t{cells_[cell + 2]} << 32);
      cell += 3;
    }
  }
}

bool CostTable::add_to(uint32_t row, std::span<uint64_t> sums) const {
  size_t cell = first_[row];
  const size_t end = row + 1 < first_.size() ? first_[row + 1] : cells_.size();
  bool fits = true;
  for (size_t e = 0; cell < end && e < sums.size(); ++e) {
    uint64_t value = cells_[cell++];
    if (value == wide) {
      value = cells_[cell] | (uint64_t{cells_[cell + 1]} << 32);
      cell += 2;
    }
    fits &= checked_add(sums[e], value);
  }
  return fits;
}

size_t CostTable::memory_bytes() const { return first_.memory_bytes() + cells_.memory_bytes(); }

size_t CostProfile::memory_bytes() const {
  return cost_address_.memory_bytes() + cost_basic_block_.memory_bytes() +
         cost_line_.memory_bytes() + costs_.memory_bytes() + calls_.memory_bytes() +
         call_costs_.memory_bytes() + jumps_.memory_bytes();
}

size_t CostProfileBuilder::FunctionHash::operator()(const CostFunction &f) const {
  return combine(combine(index_of(f.name), index_of(f.file)), index_of(f.object));
}

void CostProfileBuilder::add_event(std::string_view name, std::string_view long_name,
                                   std::string_view formula) {
  profile_.events_.push_back({intern(name), intern(long_name), intern(formula)});
}

void CostProfileBuilder::describe_event(std::string_view name, std::string_view long_name,
                                        std::string_view formula) {
  const CostEvent described{intern(name), intern(long_name), intern(formula)};
  for (auto *events : {&profile_.events_, &profile_.derived_events_})
    for (CostEvent &event : *events)
      if (event.name == described.name) {
        event = described;
        return;
      }
  profile_.derived_events_.push_back(described);
}

void CostProfileBuilder::set_positions(bool addresses, bool lines, bool basic_blocks) {
  profile_.has_addresses = addresses;
  profile_.has_lines = lines;
  profile_.has_basic_blocks = basic_blocks;
  const size_t rows = profile_.cost_line_.size();
  while (addresses && profile_.cost_address_.size() < rows)
    profile_.cost_address_.push_back(0);
  while (basic_blocks && profile_.cost_basic_block_.size() < rows)
    profile_.cost_basic_block_.push_back(0);
}

CostPartId CostProfileBuilder::add_part(CostPart part) {
  profile_.part_totals_.emplace_back();
  return profile_.parts_.push(std::move(part));
}

ObjectId CostProfileBuilder::add_object(std::string_view name) {
  return add_object(intern(known(name)));
}

ObjectId CostProfileBuilder::add_object(StringId name) {
  const auto [at, added] = objects_.try_emplace(index_of(name), none<ObjectId>);
  if (added)
    at->second = profile_.objects_.push(name);
  return at->second;
}

FileId CostProfileBuilder::add_file(std::string_view name) { return add_file(intern(known(name))); }

FileId CostProfileBuilder::add_file(StringId name) {
  const auto [at, added] = files_.try_emplace(index_of(name), none<FileId>);
  if (added)
    at->second = profile_.files_.push(name);
  return at->second;
}

CostFunctionId CostProfileBuilder::add_function(StringId name, FileId file, ObjectId object) {
  const CostFunction function{name, file, object};
  const auto [at, added] = functions_.try_emplace(function, none<CostFunctionId>);
  if (added)
    at->second = profile_.functions_.push(function);
  return at->second;
}

void CostProfileBuilder::begin_block(CostPartId part, CostFunctionId function, FileId file) {
  auto &blocks = profile_.blocks_;
  if (blocks.size() > 0) {
    const CostBlock &last = blocks[static_cast<BlockId>(blocks.size() - 1)];
    if (last.part == part && last.function == function && last.file == file)
      return;
  }
  const auto costs = static_cast<uint32_t>(profile_.cost_line_.size());
  const auto calls = static_cast<uint32_t>(profile_.calls_.size());
  const auto jumps = static_cast<uint32_t>(profile_.jumps_.size());
  blocks.push({part, function, file, costs, costs, calls, calls, jumps, jumps});
}

std::optional<size_t> CostProfileBuilder::add_cost(CostPosition position,
                                                   std::span<const uint64_t> costs) {
  if (profile_.has_addresses)
    profile_.cost_address_.push_back(position.address);
  if (profile_.has_basic_blocks)
    profile_.cost_basic_block_.push_back(position.basic_block);
  profile_.cost_line_.push_back(position.line);
  full_ |= !profile_.costs_.push(costs);
  CostBlock &block = profile_.blocks_[static_cast<BlockId>(profile_.blocks_.size() - 1)];
  ++block.last_cost;
  if (index_of(block.part) >= profile_.part_totals_.size() ||
      costs.size() > profile_.events_.size()) {
    broken_ = true;
    return {};
  }
  // No wider than the rows are: a file may name many events and have many parts.
  std::vector<uint64_t> &totals = profile_.part_totals_[index_of(block.part)];
  if (totals.size() < costs.size())
    totals.resize(costs.size(), 0);
  for (size_t e = 0; e < costs.size(); ++e)
    if (!checked_add(totals[e], costs[e])) {
      overflown_ = overflown_.value_or(e);
      return e;
    }
  return {};
}

void CostProfileBuilder::add_call(const CostCall &call, std::span<const uint64_t> costs) {
  profile_.calls_.push_back(call);
  full_ |= !profile_.call_costs_.push(costs);
  ++profile_.blocks_[static_cast<BlockId>(profile_.blocks_.size() - 1)].last_call;
}

void CostProfileBuilder::add_jump(const CostJump &jump) {
  profile_.jumps_.push_back(jump);
  ++profile_.blocks_[static_cast<BlockId>(profile_.blocks_.size() - 1)].last_jump;
}

void CostProfileBuilder::set_inclusive(CostFunctionId function, std::span<const uint64_t> costs) {
  const size_t width = profile_.events_.size();
  const size_t first = size_t{index_of(function)} * width;
  if (profile_.inclusive_.size() < first + width)
    profile_.inclusive_.resize(first + width, 0);
  std::copy_n(costs.begin(), std::min(width, costs.size()),
              profile_.inclusive_.begin() + static_cast<std::ptrdiff_t>(first));
}

Result<CostProfile> CostProfileBuilder::finish() {
  if (full_)
    return fail(ErrorCode::limit, "a profile holds no more than 2^32 costs");
  if (broken_)
    return fail(ErrorCode::invalid_input,
                "not a valid profile: a row of no part or of too many costs");
  const size_t width = profile_.events_.size();
  if (!profile_.inclusive_.empty())
    profile_.inclusive_.resize(profile_.functions_.size() * width, 0);
  profile_.totals_.assign(width, 0);
  for (const std::vector<uint64_t> &part : profile_.part_totals_)
    for (size_t e = 0; e < part.size() && !overflown_; ++e)
      if (!checked_add(profile_.totals_[e], part[e]))
        overflown_ = e;
  if (overflown_)
    return fail(ErrorCode::overflow,
                fmt::format("the costs of event {} add up to more than 64 bits hold",
                            profile_.strings[profile_.events_[*overflown_].name]));
  TALLY_CHECK(validate(profile_));
  CostProfile out = std::move(profile_);
  *this = CostProfileBuilder();
  return out;
}

Result<void> validate(const CostProfile &p) {
  const auto broken = [](std::string message) {
    return fail(ErrorCode::invalid_input, "not a valid profile: " + message);
  };
  if (p.events().empty())
    return broken("it has no events");
  for (const CostFunction &f : p.functions())
    if (!p.files().contains(f.file) || !p.objects().contains(f.object))
      return broken(fmt::format("function '{}' has no file or object", p.strings[f.name]));
  uint32_t costs = 0, calls = 0, jumps = 0;
  for (const CostBlock &b : p.blocks()) {
    if (!p.parts().contains(b.part) || !p.functions().contains(b.function) ||
        !p.files().contains(b.file))
      return broken("a block has no part, function or file");
    if (b.first_cost != costs || b.first_call != calls || b.first_jump != jumps)
      return broken("blocks do not follow each other");
    costs = b.last_cost;
    calls = b.last_call;
    jumps = b.last_jump;
  }
  if (costs != p.costs().rows() || calls != p.calls().size() || jumps != p.jumps().size())
    return broken("rows outside of any block");
  for (size_t i = 0; i < p.calls().size(); ++i)
    if (!p.functions().contains(p.calls()[i].callee))
      return broken("a call of a function that is not there");
  for (size_t i = 0; i < p.jumps().size(); ++i)
    if (const CostJump &jump = p.jumps()[i];
        (jump.target_file != none<FileId> && !p.files().contains(jump.target_file)) ||
        (jump.target_function != none<CostFunctionId> &&
         !p.functions().contains(jump.target_function)))
      return broken("a jump into a function that is not there");
  return {};
}

} // namespace tally
