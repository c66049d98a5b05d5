#include "collect/agent_memory.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

#if defined(__x86_64__)
constexpr uint32_t this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t this_machine = EM_AARCH64;
#else
constexpr uint32_t this_machine = EM_NONE;
#endif

// Each ring holds the samples of one thread at 1000 Hz for a fifth of a second, even with the
// deepest stacks. Pages that no thread writes cost nothing.
constexpr uint32_t chain_ring_bytes = 256 << 10;
constexpr uint32_t copy_ring_bytes = 2 << 20;
constexpr uint32_t copy_slots = 256;
// CPU timers are used up to this frequency. The kernel checks them only at its own tick, and no
// kernel ticks more slowly than this.
constexpr uint32_t timer_up_to_hz = 100;
constexpr uint32_t handover_ms = 1000;
constexpr int32_t largest_tid = 1 << 22; // PID_MAX_LIMIT of Linux

uint32_t wire_stacks(StackMode stacks) {
  switch (stacks) {
  case StackMode::none:
    return TALLY_STACKS_NONE;
  case StackMode::fp:
    return TALLY_STACKS_FP;
  case StackMode::dwarf:
    return TALLY_STACKS_COPY;
  }
  return TALLY_STACKS_NONE;
}

void fill_clocks(tally_wire_header &header, const SamplerOptions &options) {
  PerfEvents::Config config;
  config.stacks = options.stacks;
  config.frequency_hz = options.frequency_hz;
  const PerfEvents::Attributes attributes = PerfEvents::attributes(config);
  const std::vector<int> cpus = online_cpus();
  if (attributes.bytes > TALLY_WIRE_ATTR_BYTES || cpus.size() > TALLY_WIRE_CPUS)
    return; // the agent does not try to open the kernel's clocks
  header.attr_bytes = attributes.bytes;
  std::memcpy(header.owner_attr, &attributes.owner, attributes.bytes);
  header.variants = static_cast<uint32_t>(
      std::min<size_t>(attributes.clocks.size(), size_t{TALLY_WIRE_VARIANTS}));
  for (uint32_t i = 0; i < header.variants; ++i)
    std::memcpy(header.clock_attr[i], &attributes.clocks[i], attributes.bytes);
  header.clock_ring_bytes = static_cast<uint32_t>(attributes.ring_bytes);
  header.least_clock_ring_bytes = static_cast<uint32_t>(attributes.least_ring_bytes);
  header.cpus = static_cast<uint32_t>(cpus.size());
  std::copy(cpus.begin(), cpus.end(), header.cpu);
}

} // namespace

std::vector<int> agent_signals() { return {SIGRTMAX - 3, SIGRTMAX - 4, SIGRTMAX - 5}; }

bool next_agent_record(std::span<const uint64_t> &words, AgentRecord &record) {
  constexpr size_t header_words = sizeof(tally_wire_record) / sizeof(uint64_t);
  constexpr size_t most_words =
      header_words +
      std::max<size_t>(TALLY_WIRE_FRAMES,
                       TALLY_WIRE_REGISTERS + TALLY_WIRE_STACK_BYTES / sizeof(uint64_t));
  tally_wire_record header{};
  if (words.size() >= header_words)
    std::memcpy(&header, words.data(), sizeof header);
  const size_t size = header.bytes / sizeof(uint64_t);
  const bool known = header.kind == TALLY_RECORD_CHAIN || header.kind == TALLY_RECORD_COPY;
  if (header.bytes % sizeof(uint64_t) != 0 || size <= header_words || size > most_words ||
      size > words.size() || !known || header.weight == 0 || header.weight > INT32_MAX ||
      header.tid <= 0 || header.tid > largest_tid)
    return false;
  record = {header.kind, header.tid, header.weight, header.at_ns,
            words.subspan(header_words, size - header_words)};
  words = words.subspan(size);
  return true;
}

Result<AgentMemory> AgentMemory::make(const SamplerOptions &options) {
  AgentMemory memory;
  memory.options_ = options;
  TALLY_CHECK(memory.make_anew());
  return memory;
}

Result<void> AgentMemory::renew() {
  const int number = fd_.get();
  AgentMemory next;
  next.options_ = options_;
  TALLY_CHECK(next.make_anew());
  // The old memory stays alive as long as the program has it mapped.
  if (::dup3(next.fd_.get(), number, O_CLOEXEC) < 0)
    return fail_errno(errno, "cannot renew the agent's memory");
  next.fd_.reset(fd_.release());
  *this = std::move(next);
  return {};
}

Result<void> AgentMemory::make_anew() {
  if (this_machine == EM_NONE)
    return fail(ErrorCode::unsupported, "the agent does not support this processor");
  const bool copies = options_.stacks == StackMode::dwarf;
  slots_ = copies ? copy_slots : uint32_t{TALLY_WIRE_SLOTS};
  ring_bytes_ = copies ? copy_ring_bytes : chain_ring_bytes;
  bytes_ = tally_wire_bytes(slots_, ring_bytes_);
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes_)
    return fail(ErrorCode::limit, // otherwise ftruncate() would send SIGXFSZ to the debugger
                fmt::format("the agent's memory of {} MiB exceeds the limit on file sizes (ulimit "
                            "-f)",
                            bytes_ >> 20));
  fd_.reset(::memfd_create("tally-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd_.get() < 0)
    return fail_errno(errno, "cannot allocate the memory shared with the agent");
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0 ||
      ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return fail_errno(errno, "cannot allocate the memory shared with the agent");
  map_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (map_ == MAP_FAILED) {
    map_ = nullptr;
    return fail_errno(errno, fmt::format("cannot map the agent's memory ({} MiB)", bytes_ >> 20));
  }
  ::madvise(map_, bytes_, MADV_DONTFORK); // the debugger's children do not need it
  tails_.assign(slots_, 0);
  made_ns_ = now_ns();
  processors_ = static_cast<uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
  ticks_ = 0;
  overwritten_ = false;

  tally_wire_header &h = *header(); // nobody else has it yet
  h.magic = TALLY_WIRE_MAGIC;
  h.version = TALLY_WIRE_VERSION;
  h.machine = this_machine;
  h.bytes = bytes_;
  h.slots = slots_;
  h.ring_bytes = ring_bytes_;
  h.frequency_hz = options_.frequency_hz;
  h.period_ns = sampling_period_ns(options_.frequency_hz);
  h.stacks = wire_stacks(options_.stacks);
  h.timer_up_to_hz = timer_up_to_hz;
  h.handover_ms = handover_ms;
  const std::vector<int> signals = agent_signals();
  std::copy(signals.begin(), signals.end(), h.signals);
  fill_clocks(h, options_);
  return {};
}

AgentMemory &AgentMemory::operator=(AgentMemory &&other) noexcept {
  if (this == &other)
    return *this;
  release();
  options_ = std::move(other.options_);
  fd_ = std::move(other.fd_);
  map_ = std::exchange(other.map_, nullptr);
  bytes_ = other.bytes_;
  made_ns_ = other.made_ns_;
  slots_ = other.slots_;
  ring_bytes_ = other.ring_bytes_;
  processors_ = other.processors_;
  ticks_ = other.ticks_;
  overwritten_ = other.overwritten_;
  tails_ = std::move(other.tails_);
  copy_ = std::move(other.copy_);
  return *this;
}

void AgentMemory::release() {
  if (map_)
    ::munmap(map_, bytes_);
  map_ = nullptr;
  slots_ = 0;
  fd_.reset();
}

// A thread that runs for moments can have a tick for half a period, and another one for less.
uint64_t AgentMemory::most_ticks() const {
  const uint64_t periods = (now_ns() - made_ns_) / sampling_period_ns(options_.frequency_hz) + 1;
  return 2 * processors_ * periods + slots_;
}

void AgentMemory::wake(uint32_t tally_wire_header::*word) {
  ::syscall(SYS_futex, futex(word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::string AgentMemory::variable() const {
  return fmt::format("{}=/proc/{}/fd/{}", TALLY_WIRE_VARIABLE, ::getpid(), fd_.get());
}

std::span<const uint64_t> AgentMemory::take(uint32_t slot) {
  auto *base = static_cast<std::byte *>(map_);
  auto *control = reinterpret_cast<tally_wire_slot *>(base + tally_wire_slots_at()) + slot;
  const uint64_t head = __atomic_load_n(&control->head, __ATOMIC_ACQUIRE);
  const uint64_t pending = head - tails_[slot];
  if (pending == 0)
    return {};
  if (pending > ring_bytes_ || pending % sizeof(uint64_t) != 0) {
    overwritten_ = true;
    return {};
  }
  copy_.resize(ring_bytes_ / sizeof(uint64_t));
  const std::byte *ring = base + tally_wire_rings_at(slots_) + uint64_t{slot} * ring_bytes_;
  const size_t offset = tails_[slot] & (ring_bytes_ - 1);
  const size_t first = std::min<size_t>(pending, ring_bytes_ - offset);
  std::memcpy(copy_.data(), ring + offset, first);
  std::memcpy(reinterpret_cast<std::byte *>(copy_.data()) + first, ring, pending - first);
  tails_[slot] = head;
  __atomic_store_n(&control->tail, head, __ATOMIC_RELEASE);
  return std::span(copy_).first(pending / sizeof(uint64_t));
}

} // namespace tally
