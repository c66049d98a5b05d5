#include "collect/perf_refusal.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/proc_info.h"

namespace tally {

namespace {

constexpr int seccomp_filter = 2;
constexpr uint64_t cap_sys_admin = uint64_t{1} << 21;
constexpr uint64_t cap_perfmon = uint64_t{1} << 38;

Error error(ErrorCode code, std::string message) { return {code, std::move(message)}; }

std::string paranoid_text(const RefusalFacts &f) {
  return f.paranoid ? fmt::format("kernel.perf_event_paranoid is {}", *f.paranoid)
                    : std::string("kernel.perf_event_paranoid cannot be read");
}

Error access_refused(const RefusalFacts &f) {
  // Some distributions add values above 2, which deny perf to ordinary users altogether.
  if (!f.capable && f.paranoid && *f.paranoid > 2)
    return error(ErrorCode::permission,
                 fmt::format("{}, which reserves perf for the administrator: set it to 2 (sysctl "
                             "-w kernel.perf_event_paranoid=2) or grant CAP_PERFMON",
                             paranoid_text(f)));
  if (f.target_uid != f.our_uid)
    return error(
        ErrorCode::permission,
        fmt::format("process {} belongs to user {}, not to user {}: sample it as that user "
                    "or as root",
                    f.pid, f.target_uid, f.our_uid));
  return error(ErrorCode::permission,
               fmt::format("the kernel denies access to process {} (it changed its user or its "
                           "capabilities, or a security module such as SELinux forbids perf; {}): "
                           "grant CAP_PERFMON and CAP_SYS_PTRACE, or run as root",
                           f.pid, paranoid_text(f)));
}

// Returns why an event cannot be sampled although the clock may be. Returns nothing if the reason
// has nothing to do with the event.
std::optional<Error> event_refused(const RefusalFacts &f) {
  const std::string &name = f.event->name;
  switch (f.errno_value) {
  case EACCES:
    if (!f.event->in_kernel || f.target_uid != f.our_uid || f.capable || !f.paranoid ||
        *f.paranoid < 2)
      return {};
    return error(
        ErrorCode::permission,
        fmt::format(
            "{} happen in the kernel, which kernel.perf_event_paranoid={} hides: set it to 1 "
            "(sysctl -w kernel.perf_event_paranoid=1) or grant CAP_PERFMON",
            name, *f.paranoid));
  case ENOENT:
  case ENODEV:
    return error(ErrorCode::unsupported,
                 fmt::format("this (virtual) machine gives perf no counter for {}: page-faults, "
                             "minor-faults, major-faults, context-switches and cpu-migrations need "
                             "none",
                             name));
  case EOPNOTSUPP:
    return error(ErrorCode::unsupported,
                 fmt::format("this processor cannot sample {}, though it may count it", name));
  case EINVAL:
    return error(ErrorCode::unsupported,
                 fmt::format("this kernel ({}) cannot sample {} in this way", f.kernel, name));
  case EBUSY:
    return error(ErrorCode::bad_state,
                 fmt::format("another tool uses the counter of {} exclusively", name));
  default:
    return {};
  }
}

} // namespace

Error describe_refusal(const RefusalFacts &f) {
  if (f.event && f.step == RefusalFacts::Step::open_event)
    if (std::optional<Error> of_event = event_refused(f))
      return *std::move(of_event);
  const char *const filtered = "a seccomp filter (a container's default) forbids perf_event_open: "
                               "allow it in the profile, as Docker does with "
                               "--cap-add PERFMON or --security-opt seccomp=unconfined";
  if (f.step == RefusalFacts::Step::map_ring && (f.errno_value == EPERM || f.errno_value == ENOMEM))
    return error(
        ErrorCode::limit,
        fmt::format("the kernel cannot lock even {} rings of {} KiB in memory: raise "
                    "kernel.perf_event_mlock_kb ({}) or RLIMIT_MEMLOCK (ulimit -l, {} KiB)",
                    f.cpus, f.ring_bytes >> 10,
                    f.mlock_kb ? fmt::format("{} KiB", *f.mlock_kb) : std::string("not readable"),
                    f.memlock_limit == RLIM_INFINITY ? std::string("unlimited")
                                                     : std::to_string(f.memlock_limit >> 10)));
  switch (f.errno_value) {
  case EPERM:
    if (f.seccomp == seccomp_filter)
      return error(ErrorCode::permission, filtered);
    return error(ErrorCode::permission,
                 fmt::format("a security policy forbids perf_event_open (no seccomp filter is set; "
                             "{}): grant CAP_PERFMON, or check the rules of the security module",
                             paranoid_text(f)));
  case EACCES:
    return access_refused(f);
  case ENOSYS:
    if (f.seccomp == seccomp_filter && f.paranoid) // if the sysctl exists, the kernel supports perf
      return error(ErrorCode::permission, filtered);
    return error(
        ErrorCode::unsupported,
        fmt::format("this kernel ({}) has no perf_event_open (CONFIG_PERF_EVENTS)", f.kernel));
  case ESRCH:
    return error(ErrorCode::not_found, fmt::format("there is no process {}", f.pid));
  case EMFILE:
    return error(ErrorCode::limit,
                 fmt::format("sampling {} threads on {} processors needs {} file descriptors, but "
                             "only {} may be open: raise the hard limit (ulimit -Hn)",
                             f.threads, f.cpus, f.events_wanted, f.descriptor_limit));
  case ENFILE:
    return error(ErrorCode::limit,
                 fmt::format("the system has no file descriptors left for {} events: raise "
                             "fs.file-max",
                             f.events_wanted));
  case ENOMEM:
    return error(ErrorCode::limit,
                 fmt::format("the kernel has no memory for {} events ({} threads on {} processors)",
                             f.events_wanted, f.threads, f.cpus));
  case EINVAL:
  case E2BIG:
    return error(ErrorCode::unsupported,
                 fmt::format("this kernel ({}) does not support the required task clock: Linux 4.3 "
                             "or later is needed",
                             f.kernel));
  case EBUSY:
    return error(ErrorCode::bad_state, "another tool uses the clock exclusively: end that tool, "
                                       "then try again");
  case ENOENT:
  case EOPNOTSUPP:
  case ENODEV:
    return error(ErrorCode::unsupported,
                 fmt::format("this kernel ({}) offers no task clock to perf", f.kernel));
  default:
    break;
  }
  const char *name = strerrorname_np(f.errno_value);
  return error(ErrorCode::io, fmt::format("perf_event_open failed for process {}: {} ({})", f.pid,
                                          strerror(f.errno_value), name ? name : "?"));
}

RefusalFacts observe_refusal(RefusalFacts::Step step, int errno_value, pid_t pid) {
  RefusalFacts f;
  f.step = step;
  f.errno_value = errno_value;
  f.pid = pid;
  f.our_uid = ::geteuid();
  f.target_uid = f.our_uid;
  if (const auto target = process_status(std::to_string(pid)))
    f.target_uid = target->real_uid;
  if (const auto self = process_status("self")) {
    f.capable = (self->cap_effective & (cap_sys_admin | cap_perfmon)) != 0;
    f.seccomp = self->seccomp;
  }
  f.paranoid = read_sysctl("/proc/sys/kernel/perf_event_paranoid");
  f.mlock_kb = read_sysctl("/proc/sys/kernel/perf_event_mlock_kb");
  utsname name;
  if (::uname(&name) == 0)
    f.kernel = name.release;
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    f.descriptor_limit = limit.rlim_max;
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
    f.memlock_limit = limit.rlim_cur;
  return f;
}

} // namespace tally
