#include "collect/perf_events.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/perf_refusal.h"
#include "collect/proc_info.h"

namespace tally {

namespace {

constexpr size_t smallest_ring = size_t{16} << 10;
constexpr size_t variants = 4; // of a clock, see set_variant()
constexpr size_t ring_of_pcs = size_t{1} << 20;
constexpr size_t ring_of_copies = size_t{2} << 20, largest_ring = size_t{8} << 20;
// The limit for the rings of all processors together, because rings lock memory.
constexpr size_t largest_rings = size_t{256} << 20;
// The rings must hold what is written while the reader cannot run for this time.
constexpr uint64_t stall_ms = 120;

// Returns the number of bytes that the clock of one processor writes in stall_ms.
constexpr uint64_t stall_bytes(uint32_t frequency_hz, uint64_t stack_bytes) {
  return stack_bytes * frequency_hz * stall_ms / 1000;
}

// Returns whether any event is sampled each time that it happens, so that samples come in bursts.
bool has_bursts(const PerfEvents::Config &config) {
  return std::ranges::any_of(config.events,
                             [](const SampledEvent &event) { return !event.is_clock(); });
}

size_t first_ring_bytes(const PerfEvents::Config &config, size_t cpus) {
  if (config.stacks != StackMode::dwarf)
    return ring_of_pcs;
  size_t bytes = ring_of_copies;
  if (has_bursts(config)) {
    while (bytes < largest_ring && 2 * bytes * cpus <= largest_rings)
      bytes *= 2;
    return bytes;
  }
  while (bytes < stall_bytes(config.frequency_hz, config.stack_bytes) && bytes < largest_ring &&
         2 * bytes * cpus <= largest_rings)
    bytes *= 2;
  return bytes;
}

// A program that touches new memory causes thousands of page faults in a millisecond, for which no
// reader is fast enough. The ring should hold this many.
constexpr size_t burst_of_events = 1024;
constexpr uint32_t least_stack_bytes_of_event = 2 << 10;

// Halves the size of a stack dump until it fits, but not below `least`.
template <class Fits> uint32_t halved_until(uint32_t bytes, uint32_t least, Fits &&fits) {
  while (bytes > least && !fits(bytes))
    bytes = bytes / 2 & ~7U; // the kernel requires a multiple of 8
  return bytes;
}

void fit_dumps(PerfEvents::Config &config, size_t ring_bytes) {
  const auto two_fit = [&](uint64_t bytes) {
    constexpr size_t rest_of_record = 4096;
    return bytes + rest_of_record <= ring_bytes / 2;
  };
  const auto burst_fits = [&](uint64_t bytes) {
    return config.exact_stack_bytes ? two_fit(bytes) : bytes * burst_of_events <= ring_bytes;
  };
  const auto stall_fits = [&](uint64_t bytes) {
    return two_fit(bytes) &&
           (config.exact_stack_bytes || stall_bytes(config.frequency_hz, bytes) <= ring_bytes);
  };
  config.event_stack_bytes =
      halved_until(config.event_stack_bytes, least_stack_bytes_of_event, burst_fits);
  config.stack_bytes = PerfEvents::clock_meets_bursts(config)
                           ? config.event_stack_bytes
                           : halved_until(config.stack_bytes, least_stack_bytes, stall_fits);
}

// The number of descriptors below the soft limit that stay free for other users in this process.
constexpr int spare_descriptors = 32;

int perf_event_open(perf_event_attr &attr, pid_t tid, int cpu, int output) {
  // With FD_OUTPUT, all records go to another event's ring, from the first one on. A later
  // IOC_SET_OUTPUT would leave a gap in which the creation of a thread is not recorded.
  const unsigned long flags =
      PERF_FLAG_FD_CLOEXEC | (output >= 0 ? PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP : 0UL);
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, tid, cpu, output, flags));
}

// Raises the soft limit on descriptors to the hard limit as long as the object lives, if `wanted`
// descriptors need that.
class DescriptorRoom {
public:
  explicit DescriptorRoom(size_t wanted) {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0 || before_.rlim_cur == RLIM_INFINITY)
      return;
    if (before_.rlim_cur >= before_.rlim_max || wanted < before_.rlim_cur / 4)
      return;
    rlimit all = before_;
    all.rlim_cur = all.rlim_max;
    raised_ = ::setrlimit(RLIMIT_NOFILE, &all) == 0;
  }
  DescriptorRoom(const DescriptorRoom &) = delete;
  DescriptorRoom &operator=(const DescriptorRoom &) = delete;
  ~DescriptorRoom() {
    if (raised_) {
      // The hard limit may have changed meanwhile: only the soft limit is restored.
      rlimit now;
      if (::getrlimit(RLIMIT_NOFILE, &now) == 0) {
        now.rlim_cur = before_.rlim_cur;
        ::setrlimit(RLIMIT_NOFILE, &now);
      }
    }
  }
  // Returns the number from which descriptors are allocated: above the old soft limit if possible,
  // so that the numbers below it stay free for the process once the limit is restored.
  int first_fd() const { return raised_ ? static_cast<int>(before_.rlim_cur) : 0; }
  // Returns the first number that this code must not use.
  rlim_t end_fd() const {
    if (raised_ || before_.rlim_cur <= 2 * static_cast<rlim_t>(spare_descriptors))
      return RLIM_INFINITY;
    return before_.rlim_cur - static_cast<rlim_t>(spare_descriptors);
  }

private:
  rlimit before_{};
  bool raised_ = false;
};

} // namespace

// The first variants require the newest kernels and the most rights.
void PerfEvents::set_variant(size_t variant) {
  inherit_thread_ = variant < 2;
  exclude_kernel_ = variant % 2 != 0;
}

bool PerfEvents::clock_meets_bursts(const Config &config) {
  return has_bursts(config) && !config.waits;
}

PerfEvents::Attributes PerfEvents::attributes(const Config &config) {
  PerfEvents events;
  events.config_ = config;
  events.ring_bytes_ = first_ring_bytes(config, online_cpus().size());
  events.reads_lost_ = false;
  const perf_event_attr owner = events.owner(events.clock_wake_bytes());
  Attributes attributes{owner.size, owner, {}, events.ring_bytes_, smallest_ring};
  // The owner has no variants. Therefore it must work with every kernel.
  attributes.owner.inherit = attributes.owner.inherit_thread = 0;
  for (size_t variant = 0; variant < variants; ++variant) {
    events.set_variant(variant);
    attributes.clocks.push_back(events.clock(0));
  }
  return attributes;
}

// Returns whether `fd` refers to a perf event. A descriptor from another process may refer to
// anything, for example to a file that shrinks while it is mapped here.
static bool is_perf_event(int fd) {
  char target[64];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  return length > 0 &&
         std::string_view(target, static_cast<size_t>(length)) == "anon_inode:[perf_event]";
}

Result<PerfEvents> PerfEvents::adopt(const Config &config, std::vector<Given> given, size_t variant,
                                     size_t cpus, size_t ring_bytes) {
  PerfEvents events;
  events.config_ = config;
  events.set_variant(variant);
  events.reads_lost_ = false;
  events.set_layout();
  events.closed_.counts.resize(events.event_count(), 0);
  events.feeds_.resize(cpus);
  events.threads_ = given.size();
  for (Given &one : given) {
    if (one.cpu_index >= cpus || !is_perf_event(one.fd.get()))
      return fail(ErrorCode::invalid_input,
                  "a descriptor that was handed over is not a perf event");
    events.feeds_[one.cpu_index].fds.push_back(one.fd.get());
    events.events_.push_back({std::move(one.fd), 0});
  }
  std::erase_if(events.feeds_, [](const Feed &feed) { return feed.fds.empty(); });
  events.rings_.resize(events.feeds_.size());
  if (ring_bytes < smallest_ring || ring_bytes > first_ring_bytes(config, cpus) ||
      (ring_bytes & (ring_bytes - 1)) != 0)
    return fail(ErrorCode::invalid_input, "the rings that were handed over have an invalid size");
  events.ring_bytes_ = ring_bytes;
  for (size_t i = 0; i < events.feeds_.size(); ++i)
    if (!events.map_ring(i, events.feeds_[i].fds[0], PerfRing::Writer::kernel_and_program))
      return fail(events.ring_refusal(errno));
  if (events.rings_.empty())
    return fail(ErrorCode::invalid_input, "no clocks were handed over");
  events.cpus_.resize(events.feeds_.size());
  return events;
}

Result<PerfEvents> PerfEvents::open(const Config &config, std::span<const pid_t> tids) {
  bool only_records = false;
  size_t limit = SIZE_MAX; // of the rings, once one was too large
  for (;;) {
    PerfEvents events;
    events.config_ = config;
    events.inherit_thread_ = !config.children;
    events.only_records_ = events.exclude_kernel_ = only_records;
    const size_t first =
        first_ring_bytes(config, online_cpus().size() * events.large_rings_per_processor());
    const size_t ring_bytes = std::min(first, limit);
    fit_dumps(events.config_, ring_bytes);
    bool too_large = false;
    const Result<void> opened = events.open_with_rings(tids, ring_bytes, too_large);
    if (events.only_records_ && !only_records) {
      only_records = true; // the rings of the stacks are not needed
      limit = SIZE_MAX;
      continue;
    }
    if (opened)
      return events;
    if (!too_large || ring_bytes / 2 < smallest_ring)
      return fail(opened.error());
    limit = ring_bytes / 2;
  }
}

Result<void> PerfEvents::open_with_rings(std::span<const pid_t> tids, size_t ring_bytes,
                                         bool &too_large) {
  cpus_ = online_cpus();
  ring_bytes_ = ring_bytes;
  set_layout();
  closed_.counts.resize(event_count(), 0);
  feeds_.resize(cpus_.size() * rings_per_processor());
  rings_.resize(feeds_.size());
  threads_ = tids.size();
  const DescriptorRoom room(descriptors_wanted());
  first_fd_ = room.first_fd();
  for (const pid_t tid : tids)
    TALLY_CHECK(open_thread(tid, too_large));
  if (events_.empty())
    return fail(refusal(ESRCH));
  if (static_cast<rlim_t>(events_.back().fd.get()) >= room.end_fd())
    return fail(refusal(EMFILE));
  return {};
}

Result<void> PerfEvents::add(std::span<const pid_t> tids) {
  threads_ += tids.size();
  const DescriptorRoom room(descriptors_wanted());
  first_fd_ = room.first_fd();
  bool too_large = false;
  for (const pid_t tid : tids)
    TALLY_CHECK(open_thread(tid, too_large));
  if (static_cast<rlim_t>(events_.back().fd.get()) >= room.end_fd())
    return fail(refusal(EMFILE));
  return {};
}

Result<void> PerfEvents::open_thread(pid_t tid, bool &too_large) {
  for (size_t i = 0; i < cpus_.size(); ++i) {
    Result<Opening> step = open_ring(tid, i, too_large);
    if (step && *step == Opening::done && has_stack_rings())
      step = open_ring(tid, i + cpus_.size(), too_large);
    if (step && *step == Opening::done && has_exit_counts())
      step = open_exit_counter(tid, i, too_large);
    TALLY_TRY(opening, std::move(step));
    if (opening == Opening::no_thread)
      return {};
    if (opening == Opening::no_processor)
      continue;
    for (uint32_t event = 0; event < event_count(); ++event) {
      TALLY_TRY(exists, open_event(tid, event, i));
      if (!exists)
        return {};
    }
  }
  return {};
}

// Opens the ring with this number for the thread, unless it is open. It belongs to an event that
// counts nothing and exists before the first clock. A clock that runs before it has a ring does not
// record the creation of threads.
Result<PerfEvents::Opening> PerfEvents::open_ring(pid_t tid, size_t ring, bool &too_large) {
  if (feeds_[ring].map)
    return Opening::done;
  const int cpu = cpus_[ring % cpus_.size()];
  const bool is_clocks = ring < cpus_.size();
  const size_t wake_bytes = is_clocks ? clock_wake_bytes() : ring_bytes_ / 4;
  perf_event_attr attr = owner(wake_bytes);
  UniqueFd owner(perf_event_open(attr, tid, cpu, -1));
  if (owner.get() < 0 && errno == EINVAL && reads_lost_) {
    reads_lost_ = false; // Linux before 6.0 does not count what is lost
    attr = this->owner(wake_bytes);
    owner.reset(perf_event_open(attr, tid, cpu, -1));
  }
  if (owner.get() < 0 && errno == EINVAL && inherit_thread_) {
    inherit_thread_ = false; // Linux before 5.13 does not support inherit_thread
    attr = this->owner(wake_bytes);
    owner.reset(perf_event_open(attr, tid, cpu, -1));
  }
  if (owner.get() < 0 && errno == ESRCH)
    return Opening::no_thread;
  if (owner.get() < 0 && errno == ENODEV)
    return Opening::no_processor;
  if (owner.get() < 0 || !move_up(owner))
    return fail(refusal(errno));
  if (!map_ring(ring, owner.get())) {
    too_large = errno == EPERM || errno == ENOMEM;
    return fail(ring_refusal(errno));
  }
  feeds_[ring].fds.push_back(owner.get());
  events_.push_back({std::move(owner), owns_ring});
  return Opening::done;
}

// The kernel writes these counts when a thread ends, on whatever processor that is, to the rings of
// all processors. Its rings permit one writer at a time, and a ring with two stops for good. So the
// counts have rings of their own: if one stops, only counts are missing, and no sample.
Result<PerfEvents::Opening> PerfEvents::open_exit_counter(pid_t tid, size_t cpu_index,
                                                          bool &too_large) {
  const size_t ring = cpu_index + cpus_.size();
  const int output = feeds_[ring].map ? feeds_[ring].fds[0] : -1;
  perf_event_attr attr = exit_counter();
  UniqueFd counter(perf_event_open(attr, tid, cpus_[cpu_index], output));
  if (counter.get() < 0 && errno == ESRCH)
    return Opening::no_thread;
  if (counter.get() < 0 && errno == ENODEV)
    return Opening::no_processor;
  if (counter.get() < 0 || !move_up(counter))
    return fail(refusal(errno));
  if (output < 0 && !map_ring(ring, counter.get())) {
    too_large = errno == EPERM || errno == ENOMEM;
    return fail(ring_refusal(errno));
  }
  feeds_[ring].fds.push_back(counter.get());
  events_.push_back({std::move(counter), owns_ring});
  return Opening::done;
}

// Returns false if the thread has ended.
Result<bool> PerfEvents::open_event(pid_t tid, uint32_t event, size_t cpu_index) {
  UniqueFd fd(open_one(tid, event, cpu_index));
  if (fd.get() < 0 && errno == EINVAL && inherit_thread_) {
    inherit_thread_ = false;
    fd.reset(open_one(tid, event, cpu_index));
  }
  // An event that happens only in the kernel can be opened without the kernel's code, but then it
  // never happens.
  const SampledEvent *const sampled = config_.events.empty() ? nullptr : &config_.events[event];
  // The records of switches are for everyone, though their samples are not.
  const bool needs_kernel = std::ranges::any_of(config_.events, [this](const SampledEvent &each) {
    return each.in_kernel && !(config_.waits && each.is_switch());
  });
  if (fd.get() < 0 && errno == EACCES && !exclude_kernel_ && !needs_kernel) {
    exclude_kernel_ = true; // the kernel's code may not be sampled; the program's own code may
    only_records_ = config_.waits;
    fd.reset(open_one(tid, event, cpu_index));
  }
  if (fd.get() < 0 && errno == ESRCH)
    return false;
  if (fd.get() < 0 && errno == ENODEV && (event == 0 || sampled->type == PERF_TYPE_SOFTWARE))
    return true; // the processor went offline
  if (fd.get() < 0 && errno == EACCES && needs_kernel)
    return fail(refusal(errno, &*std::ranges::find_if(config_.events, &SampledEvent::in_kernel)));
  if (fd.get() < 0 || !move_up(fd))
    return fail(refusal(errno, sampled));
  uint64_t id = 0;
  if (event_count() > 1) {
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) != 0)
      return fail(refusal(errno, sampled));
    ids_.add(id, event);
  }
  feeds_[ring_of(event, cpu_index)].fds.push_back(fd.get());
  events_.push_back({std::move(fd), event});
  return true;
}

void PerfEvents::set_layout() {
  const perf_event_attr attr = clock(0);
  layout_.sample_type = attr.sample_type;
  layout_.regs_user = attr.sample_regs_user;
  layout_.sample_id_all = true;
}

bool PerfEvents::move_up(UniqueFd &fd) const {
  if (fd.get() >= first_fd_)
    return true;
  const int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_fd_);
  if (moved < 0) {
    errno = EMFILE; // fcntl() reports EINVAL for a number above the limit
    return false;
  }
  fd.reset(moved);
  return true;
}

int PerfEvents::open_one(pid_t tid, uint32_t event, size_t cpu_index) const {
  perf_event_attr attr = attr_of(event, cpu_index);
  return perf_event_open(attr, tid, cpus_[cpu_index], feeds_[ring_of(event, cpu_index)].fds[0]);
}

// The stacks of switches, and of page faults and other events that come in bursts, have rings of
// their own. A program that fills these loses stacks, but no record that shows how long a wait
// took.
size_t PerfEvents::ring_of(uint32_t event, size_t cpu_index) const {
  return has_stack_rings() && !config_.events[event].is_clock() ? cpu_index + cpus_.size()
                                                                : cpu_index;
}

bool PerfEvents::map_ring(size_t ring, int fd, PerfRing::Writer writer) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const bool is_of_exits = has_exit_counts() && ring >= cpus_.size();
  const size_t data_bytes = is_of_exits ? std::min(exit_ring_bytes, ring_bytes_) : ring_bytes_;
  const size_t bytes = page + data_bytes;
  void *map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED)
    return false;
  feeds_[ring].map = map;
  feeds_[ring].map_bytes = bytes;
  rings_[ring] = PerfRing(static_cast<perf_event_mmap_page *>(map),
                          {static_cast<std::byte *>(map) + page, data_bytes}, writer);
  return true;
}

Error PerfEvents::ring_refusal(int errno_value) const {
  RefusalFacts facts = observe_refusal(RefusalFacts::Step::map_ring, errno_value, config_.pid);
  facts.cpus = feeds_.size();
  facts.ring_bytes = ring_bytes_;
  return describe_refusal(facts);
}

Error PerfEvents::refusal(int errno_value, const SampledEvent *event) const {
  RefusalFacts facts = observe_refusal(RefusalFacts::Step::open_event, errno_value, config_.pid);
  facts.threads = threads_;
  facts.cpus = cpus_.size();
  facts.events_wanted = descriptors_wanted();
  if (event && !event->is_clock())
    facts.event = *event;
  return describe_refusal(facts);
}

int PerfEvents::wake_fd(size_t i) const {
  const Feed &feed = feeds_[i];
  return feed.next < feed.fds.size() ? feed.fds[feed.next] : -1;
}

uint32_t PerfEvents::stack_bytes() const {
  if (config_.stacks != StackMode::dwarf)
    return 0;
  uint32_t smallest = most_stack_bytes;
  for (uint32_t event = 0; event < event_count(); ++event)
    if (!config_.waits || !config_.events[event].is_switch())
      smallest = std::min(smallest, dump_bytes(event));
  return smallest;
}

PerfEvents::Count PerfEvents::read(int fd) const {
  std::array<uint64_t, 2> values{};
  const size_t bytes = (reads_lost_ ? 2 : 1) * sizeof(uint64_t);
  if (::read(fd, values.data(), bytes) != static_cast<ssize_t>(bytes))
    return {};
  return {values[0], values[1]};
}

std::vector<uint64_t> PerfEvents::counted() const {
  std::vector<uint64_t> sums = closed_.counts;
  sums.resize(event_count(), 0);
  add_counts(sums);
  return sums;
}

void PerfEvents::add_counts(std::vector<uint64_t> &sums) const {
  for (const Opened &each : events_)
    if (each.event != owns_ring)
      sums[each.event] += read(each.fd.get()).value;
}

uint64_t PerfEvents::lost() const {
  uint64_t sum = closed_.lost;
  if (reads_lost_)
    for (const Opened &each : events_)
      sum += read(each.fd.get()).lost;
  return sum;
}

void PerfEvents::reset_counts() {
  closed_.lost -= lost();
  const std::vector<uint64_t> now = counted();
  closed_.counts.resize(now.size(), 0);
  for (size_t i = 0; i < now.size(); ++i)
    closed_.counts[i] -= now[i];
}

void PerfEvents::disable() {
  for (const Opened &each : events_)
    ::ioctl(each.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
}

// A sampler's destructor calls this: nothing is allocated, because the counts have their size since
// the events were opened.
void PerfEvents::close() {
  closed_.lost = lost();
  if (!events_.empty())
    add_counts(closed_.counts);
  release();
}

void PerfEvents::continue_from(PerfEvents &before) {
  before.disable();
  before.close();
  closed_ = std::move(before.closed_);
}

void PerfEvents::release() {
  rings_.clear();
  for (const Feed &feed : feeds_)
    if (feed.map)
      ::munmap(feed.map, feed.map_bytes);
  feeds_.clear();
  events_.clear();
}

PerfEvents &PerfEvents::operator=(PerfEvents &&other) noexcept {
  if (this == &other)
    return *this;
  release();
  config_ = std::move(other.config_); // to copy it could fail
  layout_ = other.layout_;
  cpus_ = std::move(other.cpus_);
  events_ = std::exchange(other.events_, {});
  feeds_ = std::exchange(other.feeds_, {});
  rings_ = std::exchange(other.rings_, {});
  ring_bytes_ = other.ring_bytes_;
  threads_ = other.threads_;
  first_fd_ = other.first_fd_;
  exclude_kernel_ = other.exclude_kernel_;
  only_records_ = other.only_records_;
  inherit_thread_ = other.inherit_thread_;
  ids_ = std::move(other.ids_);
  reads_lost_ = other.reads_lost_;
  closed_ = std::move(other.closed_);
  return *this;
}

} // namespace tally
