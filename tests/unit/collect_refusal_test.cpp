#include <cerrno>

#include <unistd.h>

#include <gtest/gtest.h>

#include "collect/perf_refusal.h"

namespace tally::collect_refusal_test {
namespace {

RefusalFacts facts(int errno_value) {
  RefusalFacts f;
  f.errno_value = errno_value;
  f.pid = 42;
  f.target_uid = f.our_uid = 1000;
  f.paranoid = 2;
  f.kernel = "6.1.0";
  f.threads = 300;
  f.cpus = 64;
  f.events_wanted = 301 * 64;
  f.descriptor_limit = 4096;
  f.mlock_kb = 516;
  f.memlock_limit = 8192 << 10;
  f.ring_bytes = 16384;
  return f;
}

void expect(const RefusalFacts &f, ErrorCode code, std::initializer_list<std::string_view> words) {
  const Error error = describe_refusal(f);
  EXPECT_EQ(error.code, code) << error.message;
  for (const std::string_view word : words)
    EXPECT_NE(error.message.find(word), std::string::npos)
        << "no \"" << word << "\" in: " << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
  EXPECT_NE(error.message.back(), '.');
}

TEST(Refusal, NamesSeccomp) {
  RefusalFacts f = facts(EPERM);
  f.seccomp = 2;
  expect(f, ErrorCode::permission, {"seccomp", "--cap-add PERFMON"});
  f.errno_value = ENOSYS; // podman's default
  expect(f, ErrorCode::permission, {"seccomp"});
}

TEST(Refusal, DoesNotBlameSeccompWithoutCause) {
  expect(facts(EPERM), ErrorCode::permission, {"no seccomp filter", "CAP_PERFMON"});
  RefusalFacts f = facts(ENOSYS);
  f.paranoid.reset();
  expect(f, ErrorCode::unsupported, {"6.1.0", "CONFIG_PERF_EVENTS"});
  f.seccomp = 2; // a filter that is not the cause
  expect(f, ErrorCode::unsupported, {"CONFIG_PERF_EVENTS"});
}

TEST(Refusal, ExplainsDeniedAccess) {
  RefusalFacts f = facts(EACCES);
  f.paranoid = 3;
  expect(f, ErrorCode::permission, {"kernel.perf_event_paranoid is 3", "sysctl", "CAP_PERFMON"});
  f.paranoid = 2;
  f.target_uid = 0;
  expect(f, ErrorCode::permission, {"process 42", "user 0", "user 1000", "root"});
  f.target_uid = 1000;
  expect(f, ErrorCode::permission, {"process 42", "SELinux", "kernel.perf_event_paranoid is 2"});
  f.capable = true;
  f.paranoid = 4;
  expect(f, ErrorCode::permission, {"SELinux"});
}

TEST(Refusal, ExplainsLimits) {
  expect(facts(EMFILE), ErrorCode::limit, {"300 threads", "64 processors", "19264", "4096"});
  expect(facts(ENFILE), ErrorCode::limit, {"fs.file-max"});
  expect(facts(ENOMEM), ErrorCode::limit, {"memory", "19264"});
  for (const int errno_value : {EPERM, ENOMEM}) {
    RefusalFacts f = facts(errno_value);
    f.step = RefusalFacts::Step::map_ring;
    f.seccomp = 2; // not the cause
    expect(f, ErrorCode::limit,
           {"16 KiB", "kernel.perf_event_mlock_kb", "516 KiB", "RLIMIT_MEMLOCK", "8192 KiB"});
    f.mlock_kb.reset();
    expect(f, ErrorCode::limit, {"not readable"});
  }
}

TEST(Refusal, ExplainsOtherErrors) {
  expect(facts(ESRCH), ErrorCode::not_found, {"no process 42"});
  expect(facts(EINVAL), ErrorCode::unsupported, {"6.1.0", "Linux 4.3"});
  expect(facts(E2BIG), ErrorCode::unsupported, {"6.1.0"});
  expect(facts(EBUSY), ErrorCode::bad_state, {"another tool"});
  expect(facts(ENOENT), ErrorCode::unsupported, {"task clock"});
  expect(facts(EIO), ErrorCode::io, {"EIO", "42"});
}

TEST(Refusal, NamesTheEvent) {
  RefusalFacts f = facts(EACCES);
  f.event = *event_by_name("context-switches");
  expect(f, ErrorCode::permission,
         {"context-switches happen in the kernel", "perf_event_paranoid=2 hides"});
  f.target_uid = 0; // then the event is not the cause
  expect(f, ErrorCode::permission, {"belongs to user 0"});
  f = facts(ENOENT);
  f.event = *event_by_name("cycles");
  expect(f, ErrorCode::unsupported, {"no counter for cycles", "page-faults"});
  f.errno_value = EOPNOTSUPP;
  expect(f, ErrorCode::unsupported, {"cannot sample cycles"});
  f.errno_value = EBUSY;
  expect(f, ErrorCode::bad_state, {"counter of cycles"});
  f.errno_value = EMFILE;
  expect(f, ErrorCode::limit, {"file descriptors"});
}

TEST(SampledEvents, AreListedWithTheClockFirst) {
  const auto names = [](std::string_view list) {
    std::vector<std::string> out;
    const auto events = events_by_names(list);
    for (const SampledEvent &event : *events)
      out.push_back(event.name);
    return out;
  };
  EXPECT_EQ(names("cycles,clock,cs"),
            (std::vector<std::string>{"clock", "cycles", "context-switches"}));
  EXPECT_TRUE(names("clock").empty());
  for (const std::string_view list :
       {"", ",", "cycles,", "cs,context-switches", "clock,clock", "x"})
    EXPECT_FALSE(events_by_names(list)) << list;
}

TEST(SampledEvents, HavePerfsNames) {
  for (const std::string_view name : event_names())
    EXPECT_EQ(event_by_name(name)->name, name);
  EXPECT_EQ(event_by_name("cs")->config, event_by_name("context-switches")->config);
  EXPECT_EQ(event_by_name("cs")->name, "context-switches");
  EXPECT_EQ(event_by_name("r1A8")->config, 0x1a8U);
  for (const std::string_view name : {"", "r", "rxyz", "r1a8:u", "rffffffffffffffff0"})
    EXPECT_FALSE(event_by_name(name)) << name;
}

TEST(Refusal, ObservesThisMachine) {
  const RefusalFacts f = observe_refusal(RefusalFacts::Step::open_event, EACCES, getpid());
  EXPECT_EQ(f.our_uid, f.target_uid);
  EXPECT_FALSE(f.kernel.empty());
  EXPECT_GT(f.descriptor_limit, 0u);
}

} // namespace
} // namespace tally::collect_refusal_test
