#include "process_watch.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace tally_lldb {

namespace {

using std::chrono::milliseconds;

// A new process is stopped for some milliseconds while LLDB reads where it is loaded.
constexpr milliseconds between_looks_for_child{1};
constexpr milliseconds between_looks_at_process{5};
constexpr std::chrono::microseconds shortest_wait{100}; // it doubles up to the one above
// The kernel says when a run began that is noticed before the program has slept and gone on again.
// A look at a process that has not run takes two calls of the kernel.
constexpr milliseconds between_looks_at_stop{2};
constexpr milliseconds longest_catch_up{1000};
// A run that no look has noticed is assumed to last as long as their interval.
constexpr uint64_t shortest_seen_ns = std::chrono::nanoseconds(between_looks_at_process).count();
// A thread that a debugger stops is in the state of a stop shortly before it leaves its processor.
constexpr uint64_t longest_to_leave_ns = 1'000'000;
// A stop for a condition or a command of a breakpoint, which LLDB itself ends, is nearly always
// shorter. One for a user is longer.
constexpr uint64_t shortest_hold_ns = 20'000'000;
constexpr uint64_t longest_to_stop_ns = 100'000'000;   // of a process, after an attach
constexpr uint64_t longest_launch_ns = 20'000'000'000; // a launch that takes longer has failed

// A copy of struct pidfd_info in linux/pidfd.h, which exists since Linux 6.13. The kernel supplies
// the exit code since Linux 6.15.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup;
  uint32_t ids[11];
  int32_t exit_code;
};
constexpr uint64_t pidfd_info_exit = 1 << 3;
constexpr unsigned long pidfd_get_info = _IOWR(0xFF, 11, PidfdInfo);

std::string text_of(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T = int> T number_after(const std::string &text, const char *name, int base = 10) {
  const size_t at = text.find(name);
  T number = 0;
  if (at != text.npos) {
    const char *const begin = text.data() + at + std::strlen(name);
    std::from_chars(begin, text.data() + text.size(), number, base);
  }
  return number;
}

// Returns the state letter of the process's main thread, or 0 if there is none.
char state_of(int pid) {
  const std::string id = std::to_string(pid);
  const std::string stat = text_of("/proc/" + id + "/task/" + id + "/stat");
  const size_t at = stat.rfind(')');
  return at == stat.npos || at + 2 >= stat.size() ? '\0' : stat[at + 2];
}

bool is_running_state(char state) { return state == 'R' || state == 'S' || state == 'D'; }

// Returns the exact CPU time of the process with all its threads, or 0 if it is gone.
uint64_t cpu_ns_of(int pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Returns whether the process runs `program`. Before the program's exec, the process is still a
// copy of the server, or the shell that starts the program.
bool runs(int pid, const std::string &program) {
  struct stat here {
  }, there{};
  const std::string exe = "/proc/" + std::to_string(pid) + "/exe";
  return ::stat(exe.c_str(), &here) == 0 && ::stat(program.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

std::vector<std::string> entries_of(const std::string &path) {
  std::vector<std::string> out;
  DIR *const folder = ::opendir(path.c_str());
  if (!folder)
    return out;
  while (const dirent *entry = ::readdir(folder))
    if (entry->d_name[0] != '.')
      out.emplace_back(entry->d_name);
  ::closedir(folder);
  return out;
}

std::vector<int> children_of(const std::string &process) {
  std::vector<int> out;
  const std::string tasks = "/proc/" + process + "/task";
  for (const std::string &tid : entries_of(tasks)) {
    std::istringstream words(text_of(tasks + "/" + tid + "/children"));
    for (int child = 0; words >> child;)
      out.push_back(child);
  }
  return out;
}

} // namespace

uint64_t now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

bool wait_until(const std::function<bool()> &is_true) {
  std::chrono::nanoseconds wait = shortest_wait;
  for (const uint64_t begin = now_ns(); now_ns() - begin < 1'000'000'000;
       wait = std::min<std::chrono::nanoseconds>(2 * wait, between_looks_at_process)) {
    if (is_true())
      return true;
    std::this_thread::sleep_for(wait);
  }
  return false;
}

std::thread quiet_thread(std::function<void()> run) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const std::unique_ptr<sigset_t, void (*)(sigset_t *)> restore(
      &before, [](sigset_t *mask) { ::pthread_sigmask(SIG_SETMASK, mask, nullptr); });
  return std::thread(std::move(run));
}

bool has_pending(int pid, int signal) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const std::string &tid : entries_of(tasks)) {
    const std::string status = text_of(tasks + "/" + tid + "/status");
    if ((number_after<uint64_t>(status, "\nSigPnd:\t", 16) >> (signal - 1) & 1) != 0)
      return true;
  }
  return false;
}

int tracer_of(int pid) {
  return number_after(text_of("/proc/" + std::to_string(pid) + "/status"), "\nTracerPid:\t");
}

uint64_t runs_since(int pid) {
  const std::string status = text_of("/proc/" + std::to_string(pid) + "/status");
  const int tracer = number_after(status, "\nTracerPid:\t");
  if (tracer == 0 || tracer != number_after(status, "\nPPid:\t") ||
      !is_running_state(state_of(pid)))
    return 0;
  return now_ns() - cpu_ns_of(pid);
}

bool is_traced_by_child(int pid) {
  const int tracer = tracer_of(pid);
  if (tracer == 0)
    return false;
  const std::string status = text_of("/proc/" + std::to_string(tracer) + "/status");
  return number_after(status, "\nPPid:\t") == ::getpid();
}

std::pair<std::string, std::string> program_of(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  char path[4096];
  const ssize_t length = ::readlink((folder + "/exe").c_str(), path, sizeof path);
  std::string command = text_of(folder + "/cmdline");
  while (command.ends_with('\0'))
    command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return {std::string(path, length > 0 ? static_cast<size_t>(length) : 0), command};
}

void ProcessWatch::start_thread() {
  if (thread_.joinable())
    return;
  over_ = false;
  try {
    thread_ = quiet_thread([this] { run(); });
  } catch (const std::exception &) {
    // Without the thread, the debugger's thread notices changes when it calls seen().
  }
}

void ProcessWatch::expect(const std::string &program, std::function<bool(int)> found) {
  const std::lock_guard lock(mutex_);
  expected_.program = program;
  expected_.pid = 0;
  expected_.for_ever = false;
  begin_to_expect(std::move(found));
}

void ProcessWatch::expect_any(std::function<bool(int)> found) {
  const std::lock_guard lock(mutex_);
  expected_.program.clear();
  expected_.pid = 0;
  expected_.for_ever = true;
  begin_to_expect(std::move(found));
}

void ProcessWatch::expect_run(int pid, std::function<bool(int)> found) {
  const std::lock_guard lock(mutex_);
  expected_.pid = pid;
  expected_.for_ever = true;
  begin_to_expect(std::move(found));
}

void ProcessWatch::begin_to_expect(std::function<bool(int)> found) {
  ++expected_.changes;
  expected_.found = std::move(found);
  expected_.has_run = expected_.other = 0;
  expected_.tracee = {};
  expected_.since_ns = now_ns();
  const std::vector<int> now = children_of("self");
  expected_.servers_before = {now.begin(), now.end()};
  start_thread();
  changed_.notify_all();
}

void ProcessWatch::forget() {
  std::unique_lock lock(mutex_);
  expected_.found = nullptr;
  ++expected_.changes;
  changed_.wait(lock, [this] { return !calling_; });
}

bool ProcessWatch::catch_up(int pid) {
  std::unique_lock lock(mutex_);
  const auto is_found = [this] { return !expected_.found && !calling_; };
  if (is_found() || expected_.other == pid)
    return false;
  expected_.has_run = pid;
  changed_.notify_all();
  const bool found = changed_.wait_for(lock, longest_catch_up, is_found);
  if (!found)
    expected_.other = pid;
  return found;
}

void ProcessWatch::follow(int pid) {
  const std::lock_guard lock(mutex_);
  if (pid == pid_)
    return;
  if (pidfd_ >= 0)
    ::close(pidfd_);
  pidfd_ = pid == 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pid_ = pid;
  stopped_ = true;
  seen_ = {};
  stop_.cpu_ns = 0;
  if (pid != 0) {
    stop_.cpu_ns = cpu_ns_of(pid);
    seen_.stopped_ns = now_ns() + shortest_seen_ns;
    start_thread();
  }
  changed_.notify_all();
}

bool ProcessWatch::follows(int pid) {
  const std::lock_guard lock(mutex_);
  return pid == pid_ && pidfd_ >= 0;
}

void ProcessWatch::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    expected_.found = nullptr;
    ++expected_.changes;
    changed_.notify_all();
  }
  if (thread_.joinable())
    thread_.join();
  asker_.end();
  follow(0);
}

ProcessWatch::Seen ProcessWatch::seen() {
  const std::lock_guard lock(mutex_);
  if (pid_ != 0)
    look_at_process();
  return seen_;
}

void ProcessWatch::reset() {
  const std::lock_guard lock(mutex_);
  forget_run();
}

void ProcessWatch::forget_run() {
  seen_.left_ns = 0;
  seen_.stopped_ns = pid_ == 0 ? 0 : now_ns() + shortest_seen_ns;
}

void ProcessWatch::when_held(std::function<void(int, uint64_t)> is_held) {
  const std::lock_guard lock(mutex_);
  stop_.is_held = std::move(is_held);
}

std::optional<ProcessWatch::Seen> ProcessWatch::take(uint64_t stop) {
  const std::lock_guard lock(mutex_);
  if (pid_ != 0)
    look_at_process();
  if (!stopped_ || stop_.number != stop || seen_.left_ns == 0)
    return std::nullopt;
  const Seen out = seen_;
  forget_run();
  return out;
}

void ProcessWatch::tell_of_stop() {
  if (!stopped_ || seen_.left_ns == 0 || !stop_.is_held ||
      now_ns() < seen_.stopped_ns + stop_.wait_ns)
    return;
  if (asker_.ask(
          [is_held = stop_.is_held, pid = pid_, number = stop_.number] { is_held(pid, number); }))
    stop_.wait_ns *= 2;
}

void ProcessWatch::when_due(std::function<bool()> is_due, std::function<void(int)> act) {
  const std::lock_guard lock(mutex_);
  run_ = {std::move(is_due), std::move(act)};
}

bool ProcessWatch::is_running(int pid) {
  const std::lock_guard lock(mutex_);
  if (pid == 0 || pid != pid_)
    return false;
  look_at_process();
  return !stopped_ && seen_.died_ns == 0;
}

void ProcessWatch::tell_if_due() {
  if (!stopped_ && seen_.died_ns == 0 && run_.is_due && run_.is_due())
    asker_.ask([act = run_.act, pid = pid_] { act(pid); });
}

void ProcessWatch::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    try {
      if (pid_ != 0 && seen_.died_ns == 0) {
        look_at_process();
        tell_of_stop();
        tell_if_due();
      }
      if (expected_.found && !expected_.for_ever &&
          now_ns() - expected_.since_ns > longest_launch_ns) {
        expected_.found = nullptr;
      } else if (expected_.found) {
        if (const int pid = expected_process(); pid != 0) {
          auto found = std::exchange(expected_.found, nullptr);
          const uint64_t expected = expected_.changes;
          calling_ = true;
          lock.unlock();
          const bool is_it = found(pid); // it may call follow()
          lock.lock();
          calling_ = false;
          if (!is_it && expected == expected_.changes) {
            expected_.servers_before.insert(tracer_of(pid));
            expected_.tracee = {};
            expected_.found = std::move(found);
          }
          changed_.notify_all();
        }
        changed_.wait_for(lock, !expected_.for_ever  ? between_looks_for_child
                                : expected_.pid != 0 ? between_looks_at_stop
                                                     : between_looks_at_process);
      } else if (pid_ != 0 && seen_.died_ns == 0) {
        changed_.wait_for(lock, stopped_ ? between_looks_at_stop : between_looks_at_process);
      } else {
        changed_.wait(lock);
      }
    } catch (const std::exception &) { // out of memory or of file descriptors
      if (!lock.owns_lock())
        lock.lock();
      calling_ = false;
      changed_.notify_all();
      changed_.wait_for(lock, between_looks_at_process);
    }
  }
}

int ProcessWatch::expected_process() {
  if (expected_.pid == 0) {
    const int child = new_child();
    return child != 0 || !expected_.for_ever ? child : new_tracee_that_runs();
  }
  if (expected_.pid == expected_.has_run)
    return expected_.pid;
  if (expected_.pid == pid_ && stopped_)
    return 0; // look_at_process() has just seen it
  return is_running_state(state_of(expected_.pid)) ? expected_.pid : 0;
}

int ProcessWatch::new_child() const {
  for (const int server : children_of("self")) {
    if (expected_.servers_before.contains(server))
      continue;
    for (const int pid : children_of(std::to_string(server)))
      if (tracer_of(pid) == server &&
          (expected_.program.empty() ? state_of(pid) == 't' : runs(pid, expected_.program)))
        return pid;
  }
  return 0;
}

// Returns a process that a new server has attached to, which is not its child, once it runs after
// the stop for the attach. LLDB may detach from it before.
int ProcessWatch::new_tracee_that_runs() {
  Tracee &tracee = expected_.tracee;
  if (tracee.pid == 0 || tracer_of(tracee.pid) != tracee.server)
    tracee = new_tracee();
  if (tracee.pid == 0 || tracee.pid == expected_.has_run)
    return tracee.pid;
  const char state = state_of(tracee.pid);
  // A process stops at once when a debugger attaches to it. One that still runs a while later has
  // stopped before it was found.
  tracee.has_stopped |= state == 't' || now_ns() > tracee.since_ns + longest_to_stop_ns;
  return tracee.has_stopped && is_running_state(state) ? tracee.pid : 0;
}

ProcessWatch::Tracee ProcessWatch::new_tracee() {
  // To look takes milliseconds where there are many processes. A busy machine makes it last longer,
  // but not cost more.
  constexpr uint64_t looks_apart = 20;
  const uint64_t now = now_ns();
  if (now < next_look_ns_)
    return {};
  const uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  Tracee found;
  for (const int server : children_of("self")) {
    // A script's or an editor's own child may stay for long.
    const bool may_trace =
        text_of("/proc/" + std::to_string(server) + "/comm").find("server") != std::string::npos;
    if (!may_trace || expected_.servers_before.contains(server))
      continue;
    for (const std::string &name : entries_of("/proc")) {
      int pid = 0;
      std::from_chars(name.data(), name.data() + name.size(), pid);
      if (pid != 0 && pid != server && tracer_of(pid) == server)
        found = {pid, server, now, false};
    }
  }
  next_look_ns_ = now + looks_apart * (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
  return found;
}

void ProcessWatch::note_state(bool stopped, uint64_t now) {
  const uint64_t cpu_ns = stopped ? cpu_ns_of(pid_) : 0;
  const bool has_run = stopped_ && (!stopped || (stop_.cpu_ns != 0 && cpu_ns != stop_.cpu_ns));
  if (has_run && seen_.left_ns == 0)
    seen_.left_ns = now;
  if (stopped && (has_run || !stopped_)) {
    seen_.stopped_ns = now;
    ++stop_.number;
    stop_.wait_ns = shortest_hold_ns;
    stop_.cpu_ns = 0;
  } else if (stopped && now > seen_.stopped_ns + longest_to_leave_ns) {
    stop_.cpu_ns = cpu_ns;
  }
  stopped_ = stopped;
}

// The kernel has the exit code when the parent has asked for it, which may be later than the end.
void ProcessWatch::look_at_exit_code() {
  if (!seen_.awaits_exit_code)
    return;
  PidfdInfo info{};
  info.mask = pidfd_info_exit;
  // The kernel looks for the exit code first and for the process then. If the process is released
  // in between, the call fails, and the code is there at the next call.
  const bool is_open =
      ::ioctl(pidfd_, pidfd_get_info, &info) == 0 || ::ioctl(pidfd_, pidfd_get_info, &info) == 0;
  if (is_open && (info.mask & pidfd_info_exit) != 0)
    seen_.exit_code = info.exit_code;
  seen_.awaits_exit_code = is_open && !seen_.exit_code;
}

void ProcessWatch::look_at_process() {
  look_at_exit_code();
  if (seen_.died_ns != 0)
    return;
  const uint64_t now = now_ns();
  char state = 't';
  // A process that has used no CPU time since it stopped is still stopped, or was killed.
  if (pidfd_ < 0 || !stopped_ || stop_.cpu_ns == 0 || cpu_ns_of(pid_) != stop_.cpu_ns) {
    state = state_of(pid_);
    note_state(state == 't', now);
  }
  pollfd end{pidfd_, POLLIN, 0};
  const bool died =
      pidfd_ >= 0 ? ::poll(&end, 1, 0) > 0 : state == '\0' || state == 'Z' || state == 'X';
  if (!died)
    return;
  seen_.died_ns = now;
  seen_.awaits_exit_code = pidfd_ >= 0;
  look_at_exit_code();
}

} // namespace tally_lldb
