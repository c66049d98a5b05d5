#include "collect/stop_addresses.h"

#include <cstddef>
#include <cstring>
#include <optional>

namespace tally {

namespace {

constexpr size_t most_stops = 100'000;

#if defined(__x86_64__)
int64_t signed_number(std::span<const uint8_t> bytes) {
  int32_t wide = 0;
  if (bytes.size() == 1)
    return static_cast<int8_t>(bytes[0]);
  std::memcpy(&wide, bytes.data(), sizeof wide);
  return wide;
}

// Returns the target of a direct jump or call at `address`. Intel's manual (volume 2) defines the
// opcodes: CALL E8, JMP E9 and EB, Jcc 70 to 7F and 0F 80 to 0F 8F.
std::optional<uint64_t> target_of(uint64_t address, std::span<const uint8_t> code) {
  if (code.size() < 6)
    return std::nullopt;
  size_t opcode = 1, number = 4;
  if (code[0] == 0xeb || (code[0] & 0xf0) == 0x70)
    number = 1;
  else if (code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
    opcode = 2;
  else if (code[0] != 0xe8 && code[0] != 0xe9)
    return std::nullopt;
  return address + opcode + number +
         static_cast<uint64_t>(signed_number(code.subspan(opcode, number)));
}
#else
std::optional<uint64_t> target_of(uint64_t, std::span<const uint8_t>) { return std::nullopt; }
#endif

} // namespace

void StopAddresses::add(const BreakpointLocation &location, std::span<const uint8_t> code) {
  const auto is_system_call = [&](uint64_t end) {
    return end >= 2 && end <= code.size() && code[end - 2] == 0x0f && code[end - 1] == 0x05;
  };
  const std::lock_guard lock(mutex_);
  Addresses &to = location.file.empty() ? run_time_ : files_[location.file];
  for (uint64_t after = 0; after <= longest_instruction && to.size() < most_stops; ++after)
    if (!is_system_call(after))
      to.insert(location.address + after);
  if (const auto target = target_of(location.address, code))
    to.insert(*target);
}

void StopAddresses::set_step_area(uint64_t begin, uint64_t end) {
  const std::lock_guard lock(mutex_);
  step_begin_ = begin;
  step_end_ = end;
}

void StopAddresses::replace(StopAddresses &other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  run_time_ = other.run_time_;
  files_ = other.files_;
  step_begin_ = other.step_begin_;
  step_end_ = other.step_end_;
}

void StopAddresses::clear() {
  const std::lock_guard lock(mutex_);
  run_time_.clear();
  files_.clear();
  step_begin_ = step_end_ = 0;
}

bool StopAddresses::has_files() const {
  const std::lock_guard lock(mutex_);
  return !files_.empty();
}

bool StopAddresses::is_stop(uint64_t pc) const {
  const std::lock_guard lock(mutex_);
  return run_time_.contains(pc);
}

bool StopAddresses::is_stop(std::string_view file, uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(std::string(file));
  return found != files_.end() && found->second.contains(offset);
}

bool StopAddresses::is_step(uint64_t pc) const {
  const std::lock_guard lock(mutex_);
  return pc >= step_begin_ && pc < step_end_;
}

} // namespace tally
