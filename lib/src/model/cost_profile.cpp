
#include "model/cost_profile.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/hash.h"
#include "support/memory_limit.h"

namespace tally {

namespace {
// Maps "???", Callgrind's name for the unknown, to the empty string that the model uses.
std::string_view known(std::string_view name) { return name == "???" ? std::string_view() : name; }
} // namespace

CostProfile::CostProfile() = default;
CostProfile::CostProfile(const CostProfile &) = default;
CostProfile &CostProfile::operator=(const CostProfile &) = default;
CostProfile::CostProfile(CostProfile &&) noexcept = default;
CostProfile &CostProfile::operator=(CostProfile &&) noexcept = default;
CostProfile::~CostProfile() = default;

size_t CostProfile::memory_bytes() const {
  return rows_.self.memory_bytes() + rows_.calls.memory_bytes() + rows_.jumps.memory_bytes();
}

CostProfileBuilder::CostProfileBuilder() = default;
CostProfileBuilder::CostProfileBuilder(CostProfileBuilder &&) noexcept = default;
CostProfileBuilder &CostProfileBuilder::operator=(CostProfileBuilder &&) noexcept = default;
CostProfileBuilder::~CostProfileBuilder() = default;

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
  profile_.rows_.self.carry(addresses, basic_blocks);
  profile_.rows_.calls.carry(addresses, basic_blocks);
  profile_.rows_.jumps.carry(addresses, basic_blocks);
}

CostPartId CostProfileBuilder::add_part(CostPart part) {
  profile_.sums_.parts.emplace_back();
  return profile_.parts_.push(std::move(part));
}

ObjectId CostProfileBuilder::add_object(std::string_view name) {
  return add_object(intern(known(name)));
}

namespace {
// Returns the entry for a string, extending the table with `missing` if necessary.
template <class T> T &entry_of(std::vector<T> &table, StringId name, const T &missing) {
  if (index_of(name) >= table.size())
    table.resize(index_of(name) + 1 + table.size() / 2, missing);
  return table[index_of(name)];
}
} // namespace

ObjectId CostProfileBuilder::add_object(StringId name) {
  ObjectId &id = entry_of(objects_, name, none<ObjectId>);
  if (id == none<ObjectId>)
    id = profile_.objects_.push(name);
  return id;
}

FileId CostProfileBuilder::add_file(std::string_view name) { return add_file(intern(known(name))); }

FileId CostProfileBuilder::add_file(StringId name) {
  FileId &id = entry_of(files_, name, none<FileId>);
  if (id == none<FileId>)
    id = profile_.files_.push(name);
  return id;
}

CostFunctionId CostProfileBuilder::add_function(StringId name, FileId file, ObjectId object) {
  const CostFunction function{name, file, object};
  LastFunction &last = entry_of(last_functions_, name, LastFunction());
  if (last.id != none<CostFunctionId> && last.function == function)
    return last.id;
  const auto [at, added] = functions_.try_emplace(function, none<CostFunctionId>);
  if (added)
    at->second = profile_.functions_.push(function);
  last = {function, at->second};
  return at->second;
}

void CostProfileBuilder::begin_block(CostPartId part, CostFunctionId function, FileId file) {
  auto &blocks = profile_.blocks_;
  if (blocks.size() > 0) {
    const CostBlock &last = blocks[static_cast<BlockId>(blocks.size() - 1)];
    if (last.part == part && last.function == function && last.file == file)
      return;
  }
  const uint32_t costs = profile_.cost_count(), calls = profile_.call_count(),
                 jumps = profile_.jump_count();
  blocks.push({part, function, file, costs, costs, calls, calls, jumps, jumps});
}

CostBlock *CostProfileBuilder::block() {
  const uint32_t count = profile_.blocks_.size();
  broken_ |= count == 0;
  return count == 0 ? nullptr : &profile_.blocks_[static_cast<BlockId>(count - 1)];
}

std::optional<size_t> CostProfileBuilder::add_cost(CostPosition position,
                                                   std::span<const uint64_t> costs) {
  CostBlock *const block = this->block();
  if (!block)
    return {};
  MemoryLimit::tick(1 + costs.size());
  full_ |= !profile_.rows_.self.push(position, costs);
  ++block->last_cost;
  if (index_of(block->part) >= profile_.sums_.parts.size() ||
      costs.size() > profile_.events_.size()) {
    broken_ = true;
    return {};
  }
  // A part's totals have only as many columns as its rows need: a file may name many events and
  // have many parts but few rows, and full columns would need far more memory than the file.
  std::vector<uint64_t> &totals = profile_.sums_.parts[index_of(block->part)];
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
  CostBlock *const block = this->block();
  if (!block)
    return;
  ++block->last_call;
  MemoryLimit::tick(1 + costs.size());
  full_ |= !profile_.rows_.calls.push(call, costs);
}

void CostProfileBuilder::add_jump(const CostJump &jump) {
  CostBlock *const block = this->block();
  if (!block)
    return;
  ++block->last_jump;
  MemoryLimit::tick();
  full_ |= !profile_.rows_.jumps.push(jump);
}

void CostProfileBuilder::set_inclusive(CostFunctionId function, std::span<const uint64_t> costs) {
  const size_t width = profile_.events_.size();
  const size_t first = size_t{index_of(function)} * width;
  if (profile_.sums_.inclusive.size() < first + width)
    profile_.sums_.inclusive.resize(first + width, 0);
  std::copy_n(costs.begin(), std::min(width, costs.size()),
              profile_.sums_.inclusive.begin() + static_cast<std::ptrdiff_t>(first));
}

void CostProfileBuilder::set_exact_self(CostFunctionId function, double cost) {
  if (profile_.sums_.exact_self.size() <= index_of(function))
    profile_.sums_.exact_self.resize(index_of(function) + size_t{1}, 0);
  profile_.sums_.exact_self[index_of(function)] = cost;
}

Result<CostProfile> CostProfileBuilder::finish() {
  if (full_)
    return fail(ErrorCode::limit, "a profile holds no more than 2^32 costs");
  if (broken_)
    return fail(ErrorCode::invalid_input,
                "not a valid profile: a row belongs to no block or part, or has too many costs");
  const size_t width = profile_.events_.size();
  if (!profile_.sums_.inclusive.empty())
    profile_.sums_.inclusive.resize(profile_.functions_.size() * width, 0);
  profile_.sums_.totals.assign(width, 0);
  for (const std::vector<uint64_t> &part : profile_.sums_.parts)
    for (size_t e = 0; e < part.size() && !overflown_; ++e)
      if (!checked_add(profile_.sums_.totals[e], part[e]))
        overflown_ = e;
  if (overflown_)
    return fail(ErrorCode::overflow,
                fmt::format("the sum of the costs of event {} exceeds 64 bits",
                            profile_.strings[profile_.events_[*overflown_].name]));
  TALLY_CHECK(validate(profile_));
  CostProfile out = std::move(profile_);
  *this = CostProfileBuilder();
  return out;
}

Result<void> validate(const CostProfile &p) {
  const auto broken = [](const std::string &message) {
    return fail(ErrorCode::invalid_input, "not a valid profile: " + message);
  };
  if (p.events().empty())
    return broken("it has no events");
  if (p.events().size() > most_cost_events)
    return broken(fmt::format("it has more than {} events", most_cost_events));
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
  if (costs != p.cost_count() || calls != p.call_count() || jumps != p.jump_count())
    return broken("there are rows outside of every block");
  for (uint32_t i = 0; i < p.call_count(); ++i)
    if (!p.functions().contains(p.call(i).callee))
      return broken("a call has a callee that does not exist");
  for (uint32_t i = 0; i < p.jump_count(); ++i)
    if (const CostJump jump = p.jump(i);
        (jump.target_file != none<FileId> && !p.files().contains(jump.target_file)) ||
        (jump.target_function != none<CostFunctionId> &&
         !p.functions().contains(jump.target_function)))
      return broken("a jump has a target file or function that does not exist");
  return {};
}

} // namespace tally
