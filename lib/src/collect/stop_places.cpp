#include <tally/stop_places.h>

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

// Where the direct jump or call at `address` goes. Intel's manual, volume 2: CALL E8, JMP E9 and
// EB, Jcc 70 to 7F and 0F 80 to 0F 8F.
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

void StopPlaces::add(Addresses &to, uint64_t address, std::span<const uint8_t> code) {
  const auto is_system_call = [&](uint64_t end) {
    return end >= 2 && end <= code.size() && code[end - 2] == 0x0f && code[end - 1] == 0x05;
  };
  for (uint64_t after = 0; after <= longest_instruction && to.size() < most_stops; ++after)
    if (!is_system_call(after))
      to.insert(address + after);
  if (const auto target = target_of(address, code))
    to.insert(*target);
}

void StopPlaces::add_region(uint64_t pc, std::span<const uint8_t> code) {
  const std::lock_guard lock(mutex_);
  add(region_, pc, code);
}

void StopPlaces::clear_passed() {
  const std::lock_guard lock(mutex_);
  passed_.clear();
  files_.clear();
}

void StopPlaces::add_passed(const StopPlace &place, std::span<const uint8_t> code) {
  const std::lock_guard lock(mutex_);
  add(place.file.empty() ? passed_ : files_[place.file], place.address, code);
}

void StopPlaces::set_step_area(uint64_t begin, uint64_t end) {
  const std::lock_guard lock(mutex_);
  step_begin_ = begin;
  step_end_ = end;
}

void StopPlaces::forget_run_time() {
  const std::lock_guard lock(mutex_);
  region_.clear();
  passed_.clear();
  step_begin_ = step_end_ = 0;
}

bool StopPlaces::empty() const {
  const std::lock_guard lock(mutex_);
  return region_.empty() && passed_.empty() && files_.empty();
}

bool StopPlaces::has_files() const {
  const std::lock_guard lock(mutex_);
  return !files_.empty();
}

bool StopPlaces::is_stop(uint64_t pc) const {
  const std::lock_guard lock(mutex_);
  return region_.contains(pc) || passed_.contains(pc);
}

bool StopPlaces::is_stop(std::string_view file, uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(std::string(file));
  return found != files_.end() && found->second.contains(offset);
}

bool StopPlaces::is_step(uint64_t pc) const {
  const std::lock_guard lock(mutex_);
  return pc >= step_begin_ && pc < step_end_;
}

} // namespace tally
