#include "session/region.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>

#include <elf.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tally {

namespace {

bool read_word(pid_t pid, uint64_t address, uint64_t &word) {
  iovec here{&word, sizeof word};
  // NOLINTNEXTLINE: an address of another process
  iovec there{reinterpret_cast<void *>(static_cast<uintptr_t>(address)), sizeof word};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof word);
}

struct Standing {
  uint64_t sp = 0, pc = 0;
};

// Of a thread that stands in user code: "-1 0xSP 0xPC", or a system call's number and arguments
// before these two. Zeros: it does not stand, or the kernel does not tell.
Standing standing_of(const UniqueFd &file) {
  char text[256];
  const ssize_t got = file.get() < 0 ? -1 : ::pread(file.get(), text, sizeof text, 0);
  if (got <= 0)
    return {};
  std::string_view line(text, static_cast<size_t>(got));
  line = line.substr(0, line.find('\n'));
  const size_t pc = line.rfind(" 0x");
  const size_t sp = pc == line.npos || pc == 0 ? line.npos : line.rfind(" 0x", pc - 1);
  if (sp == line.npos)
    return {};
  Standing out;
  std::from_chars(line.data() + sp + 3, line.data() + pc, out.sp, 16);
  std::from_chars(line.data() + pc + 3, line.data() + line.size(), out.pc, 16);
  return out;
}

// What the kernel told the program at its start; 0: not known.
uint64_t auxiliary_value(pid_t pid, uint64_t type) {
  std::ifstream auxv(fmt::format("/proc/{}/auxv", pid), std::ios::binary);
  for (Elf64_auxv_t each; auxv.read(reinterpret_cast<char *>(&each), sizeof each);)
    if (each.a_type == type)
      return each.a_un.a_val;
  return 0;
}

// Whether both addresses lie in one mapping of the process: a stack. Where that cannot be told they
// are taken to.
bool on_one_stack(pid_t pid, uint64_t one, uint64_t other) {
  if (pid == 0)
    return true;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    const char *const limit = line.data() + line.size();
    const auto [dash, failed] = std::from_chars(line.data(), limit, begin, 16);
    if (failed != std::errc() || dash == limit)
      return true;
    std::from_chars(dash + 1, limit, end, 16);
    // A stack pointer may stand at the very end.
    const auto holds = [&](uint64_t at) { return begin <= at && at <= end; };
    if (holds(one) && holds(other))
      return true;
    if (begin > std::max(one, other))
      return false;
  }
  return false;
}

} // namespace

void PassTimes::add(uint64_t ns) {
  if (count_ % stride_ == 0) {
    if (kept_.size() == most_kept) { // every second one stays
      for (size_t i = 0; i < most_kept / 2; ++i)
        kept_[i] = kept_[2 * i];
      kept_.resize(most_kept / 2);
      stride_ *= 2;
    }
    if (count_ % stride_ == 0)
      kept_.push_back(ns);
  }
  ++count_;
  total_ = total_ > UINT64_MAX - ns ? UINT64_MAX : total_ + ns;
  least_ = std::min(least_, ns);
  most_ = std::max(most_, ns);
}

uint64_t PassTimes::median_ns() const {
  if (kept_.empty())
    return 0;
  std::vector<uint64_t> values = kept_;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string Region::words() const {
  return is_function() ? fmt::format("{}, from each call until it returns", places_[0])
                       : fmt::format("{} to {}", places_[0], places_[1]);
}

// The frame of the pass is gone when the stack pointer is back where the call began. Stacks grow
// downward; a signal handler or a coroutine may stand on another one, which says nothing.
bool Region::has_left(const Pass &pass, uint64_t sp, pid_t pid) const {
  return sp == pass.caller_sp || (sp > pass.caller_sp && on_one_stack(pid, sp, pass.caller_sp));
}

// A debugger builds a frame before it tells a register: ten times as long as the kernel takes.
bool Region::complete(RegionHit &hit, pid_t pid) {
  const bool lacks = hit.caller_sp == 0 && (hit.kind == RegionHit::Kind::returned || hit.at_entry);
  if (pid == 0)
    return !lacks;
  constexpr size_t most_threads = 16;
  if (threads_.size() >= most_threads && !threads_.contains(hit.tid))
    threads_.clear();
  UniqueFd &file = threads_[hit.tid];
  Standing at = standing_of(file);
  if (at.sp == 0) { // not opened yet, or of a thread that has ended
    file.reset(::open(fmt::format("/proc/{}/task/{}/syscall", pid, hit.tid).c_str(),
                      O_RDONLY | O_CLOEXEC));
    at = standing_of(file);
  }
  if (known_pid_ != pid) {
    known_pid_ = pid;
    // GDB steps over a breakpoint by a copy of the instruction, at the program's entry.
    constexpr uint64_t longest_copy = 32;
    const uint64_t entry = auxiliary_value(pid, AT_ENTRY);
    gate_->set_step_area(entry, entry + longest_copy);
  }
  if (at.sp == 0)
    return !lacks;
  if (!gate_->is_stop(at.pc))
    add_stop(pid, at.pc);
  if (!lacks)
    return true;
  hit.caller_sp = at.sp;
  if (hit.kind == RegionHit::Kind::returned)
    return true;
  hit.caller_sp += sizeof(uint64_t); // the call has pushed the address it returns to
  return read_word(pid, at.sp, hit.return_address);
}

// The kernel's work on a stop is charged to the instruction there, or, once a debugger has let that
// run, to the one behind it, wherever it ends; but not behind a system call.
void Region::add_stop(pid_t pid, uint64_t pc) {
  constexpr uint64_t longest_instruction = 15;
  uint8_t code[2 * sizeof(uint64_t)] = {};
  uint64_t word = 0;
  for (size_t at = 0; at < sizeof code && read_word(pid, pc + at, word); at += sizeof word)
    std::memcpy(code + at, &word, sizeof word);
  gate_->add_stop(pc);
  for (uint64_t after = 1; after <= longest_instruction; ++after)
    if (after < 2 || code[after - 2] != 0x0f || code[after - 1] != 0x05)
      gate_->add_stop(pc + after);
}

void Region::begin(pid_t tid, const Pass &pass, uint64_t at_ns) {
  open_.insert_or_assign(tid, pass);
  gate_->open(tid, at_ns);
}

void Region::finish(pid_t tid, uint64_t at_ns, uint64_t running_ns) {
  const auto open = open_.find(tid);
  passes_.add(running_ns - std::min(running_ns, open->second.began_running_ns));
  open_.erase(open);
  gate_->close(tid, at_ns);
}

void Region::give_up(pid_t tid, uint64_t at_ns) {
  ++unfinished_;
  open_.erase(tid);
  gate_->close(tid, at_ns);
}

uint64_t Region::hit(RegionHit hit, pid_t pid, uint64_t at_ns, uint64_t running_ns) {
  give_up_closed();
  const bool known = complete(hit, pid);
  if (!is_function()) {
    constexpr pid_t all = SampleGate::all_threads;
    if (hit.kind == RegionHit::Kind::first && !open_.contains(all))
      begin(all, {0, 0, running_ns}, at_ns);
    else if (hit.kind == RegionHit::Kind::second && open_.contains(all))
      finish(all, at_ns, running_ns);
    return 0;
  }
  if (!known)
    return Session::look;
  const auto open = open_.find(hit.tid);
  const bool inside = open != open_.end();
  switch (hit.kind) {
  case RegionHit::Kind::first: {
    if (hit.return_address == 0) {
      ++inlined_;
      return 0;
    }
    // It calls itself; or it tail-called its way back to itself, and still returns there.
    if (inside && (!has_left(open->second, hit.caller_sp, pid) ||
                   (open->second.caller_sp == hit.caller_sp &&
                    open->second.return_address == hit.return_address)))
      return 0;
    if (inside) // it was left by a way that nobody tells of
      give_up(hit.tid, at_ns);
    begin(hit.tid, {hit.caller_sp, hit.return_address, running_ns}, at_ns);
    return hit.return_address;
  }
  case RegionHit::Kind::returned:
    if (inside && hit.return_address == open->second.return_address &&
        has_left(open->second, hit.caller_sp, pid))
      finish(hit.tid, at_ns, running_ns);
    return 0;
  case RegionHit::Kind::caught:
    if (inside && has_left(open->second, hit.caller_sp, pid))
      finish(hit.tid, at_ns, running_ns);
    return 0;
  case RegionHit::Kind::jumped: {
    if (!inside)
      return 0;
    const uint64_t sp = stack_pointer_of_jump(pid, hit.jump_buffer);
    if (sp != 0 && has_left(open->second, sp, pid))
      finish(hit.tid, at_ns, running_ns);
    return 0;
  }
  case RegionHit::Kind::second:
    break;
  }
  return 0;
}

void Region::end_open(uint64_t at_ns) {
  threads_.clear();
  known_pid_ = 0;
  while (!open_.empty())
    give_up(open_.begin()->first, at_ns);
}

void Region::close() { threads_.clear(); }

void Region::clear() {
  passes_ = {};
  unfinished_ = inlined_ = 0;
  for (auto &[tid, pass] : open_)
    pass.began_running_ns = 0; // that time is counted anew
}

void Region::give_up_closed() {
  unfinished_ +=
      std::erase_if(open_, [this](const auto &each) { return !gate_->is_open(each.first); });
}

// The seventh word of the buffer. glibc keeps it by exclusive or with a secret, turned left by 17
// bits; musl as it is. The secret is the second word of the random bytes that the kernel gives each
// program at its start.
uint64_t stack_pointer_of_jump(pid_t pid, uint64_t jump_buffer) {
#if defined(__x86_64__)
  constexpr uint64_t sp_at = 6 * sizeof(uint64_t);
  uint64_t kept = 0, secret = 0, ignored = 0;
  if (pid == 0 || !read_word(pid, jump_buffer + sp_at, kept))
    return 0;
  const uint64_t random = auxiliary_value(pid, AT_RANDOM);
  const auto is_stack = [&](uint64_t sp) { return sp % 8 == 0 && read_word(pid, sp, ignored); };
  if (random != 0 && read_word(pid, random + sizeof secret, secret))
    if (const uint64_t sp = std::rotr(kept, 17) ^ secret; is_stack(sp))
      return sp;
  return is_stack(kept) ? kept : 0;
#else
  (void)pid, (void)jump_buffer;
  return 0;
#endif
}

} // namespace tally
