// Tests the conversion of records to a profile, without a kernel.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "collect/sample_sink.h"
#include "perf_record_bytes.h"

namespace tally::collect_sink_test {
namespace {

constexpr pid_t pid = 100;

const PerfLayout layout{.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                       PERF_SAMPLE_CALLCHAIN,
                        .sample_id_all = true};

class SinkTest : public testing::Test {
protected:
  explicit SinkTest(SamplerOptions given = {}) : options(std::move(given)) {
    sink.collector().map({0x1000, 0x2000, 0, 1, 1, "/bin/program"});
    sink.collector().map({0x5000, 0x6000, 0, 1, 2, "/lib/library"});
  }

  void handle(const RecordBytes &fields, uint32_t type, uint16_t misc = 0) {
    const auto bytes = fields.record(type, misc);
    PerfRecord record;
    ASSERT_TRUE(first_perf_record(bytes, record));
    sink.handle(record);
  }
  void sample(int32_t tid, std::vector<uint64_t> chain, uint16_t misc = PERF_RECORD_MISC_USER,
              int32_t of_pid = pid) {
    RecordBytes b;
    b.add(chain.empty() ? uint64_t{0xffffffff81000000} : chain[0]);
    b.add(of_pid).add(tid).add(uint64_t{1}).add(uint64_t{chain.size() + 1});
    b.add(uint64_t{PERF_CONTEXT_USER});
    for (const uint64_t pc : chain)
      b.add(pc);
    handle(b, PERF_RECORD_SAMPLE, misc);
  }
  static RecordBytes trailer(RecordBytes b) {
    return b.add(int32_t{pid}).add(int32_t{pid}).add(uint64_t{1});
  }
  StackProfile profile() {
    auto result = sink.collector().snapshot("now", 0, 1);
    EXPECT_TRUE(result);
    return std::move(*result);
  }
  // Returns the stack's addresses, outermost first, each with the path of its mapping.
  static std::string stack(const StackProfile &p, StackId id) {
    if (id == none<StackId>)
      return "";
    const std::string caller = stack(p, p.stack_caller(id));
    const Location at = p.location(p.stack_location(id));
    char text[32];
    snprintf(text, sizeof text, "%s%llx@", caller.empty() ? "" : " ",
             static_cast<unsigned long long>(at.address));
    return caller + text +
           (at.mapping == none<MappingId> ? "?"
                                          : std::string(p.strings[p.mappings()[at.mapping].path]));
  }

  SamplerOptions options;
  SampleSink sink{pid, 1'000'000, options, layout};
};

TEST_F(SinkTest, SubtractsOneFromReturnAddresses) {
  sample(pid, {0x5010, 0x1011, 0x1101});
  sample(pid, {0x5010, 0x1011, 0x1101});
  sample(pid, {0x5020, 0x1011, 0x1101});
  sample(pid, {0x1010});
  const StackProfile p = profile();
  ASSERT_EQ(p.sample_count(), 3u);
  EXPECT_EQ(stack(p, p.sample(0).stack), "1100@/bin/program 1010@/bin/program 5010@/lib/library");
  EXPECT_EQ(p.sample(0).values[0], 2);
  EXPECT_EQ(p.stack_caller(p.sample(0).stack), p.stack_caller(p.sample(1).stack));
  EXPECT_EQ(stack(p, p.sample(2).stack), "1010@/bin/program");
  // The first sample was taken in the library, but the program's mapping comes first.
  EXPECT_EQ(p.strings[p.mappings()[MappingId{0}].path], "/bin/program");
}

TEST_F(SinkTest, EndsAChainWhereItLeavesTheCode) {
  sample(pid, {0x5010, 0x1011, 0xdeadbeef, 0x1101});
  sample(pid, {0x5010, 0x1});
  sample(pid, {0x9999}); // a leaf may lie anywhere, because the program was there
  const StackProfile p = profile();
  EXPECT_EQ(stack(p, p.sample(0).stack), "1010@/bin/program 5010@/lib/library");
  EXPECT_EQ(stack(p, p.sample(1).stack), "5010@/lib/library");
  EXPECT_EQ(stack(p, p.sample(2).stack), "9999@?");
}

TEST_F(SinkTest, AddsTheKernelAsTheLeafOfItsCaller) {
  sample(pid, {}, PERF_RECORD_MISC_KERNEL);
  sample(pid, {0x1010}, PERF_RECORD_MISC_KERNEL); // an address that no 64-bit kernel has
  const StackProfile p = profile();
  ASSERT_EQ(p.sample_count(), 2u);
  EXPECT_EQ(stack(p, p.sample(0).stack), "ffffffff81000000@[kernel.kallsyms]");
  EXPECT_EQ(stack(p, p.sample(1).stack), "1010@/bin/program ffffffffffffff80@[kernel.kallsyms]");
  for (size_t i = 0; i < 2; ++i) {
    const Location leaf = p.location(p.stack_location(p.sample(i).stack));
    ASSERT_EQ(leaf.lines.size(), 1u);
    EXPECT_EQ(p.strings[p.functions()[leaf.lines[0].function].name], "[kernel]");
  }
  EXPECT_EQ(p.strings[p.mappings()[MappingId{0}].path], "/bin/program");
  EXPECT_EQ(p.mappings().size(), 2u);
  EXPECT_EQ(sink.counters().samples, 2u);
  EXPECT_EQ(sink.counters().kernel_samples, 2u);
}

// Samples of context switches, with the registers AX and IP.
class SwitchTest : public testing::Test {
protected:
  static constexpr uint64_t in_call = static_cast<uint64_t>(-38); // -ENOSYS
  SwitchTest() {
    layout_.sample_type |= PERF_SAMPLE_REGS_USER;
    layout_.regs_user = 1U | 1U << 8;
    options_.events = {*event_by_name("context-switches")};
    sink_.emplace(pid, 0, options_, layout_);
  }
  void handle(const RecordBytes &fields, uint32_t type, uint16_t misc) {
    const auto bytes = fields.record(type, misc);
    PerfRecord record;
    ASSERT_TRUE(first_perf_record(bytes, record));
    sink_->handle(record);
  }
  void sample(int32_t tid, uint64_t ax) {
    RecordBytes b;
    b.add(uint64_t{0xffffffff81000000}).add(int32_t{pid}).add(tid).add(uint64_t{1});
    b.add(uint64_t{2}).add(uint64_t{PERF_CONTEXT_USER}).add(uint64_t{0x1010});
    b.add(uint64_t{PERF_SAMPLE_REGS_ABI_64}).add(ax).add(uint64_t{0x1010});
    handle(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
  }
  void switched(int32_t tid, uint16_t misc) {
    RecordBytes b;
    b.add(int32_t{pid}).add(tid).add(uint64_t{1});
    handle(b, PERF_RECORD_SWITCH, misc);
  }
  static constexpr uint16_t out = PERF_RECORD_MISC_SWITCH_OUT;
  static constexpr uint16_t preempted = out | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;

  PerfLayout layout_ = layout;
  SamplerOptions options_;
  std::optional<SampleSink> sink_;
};

TEST_F(SwitchTest, CountsAllOfAProgramThatNobodyTraces) {
  for (const uint64_t ax : {in_call, uint64_t{7}}) {
    sample(pid, ax);
    switched(pid, out);
    switched(pid, 0);
  }
  EXPECT_EQ(sink_->counters().samples, 2u);
  EXPECT_EQ(sink_->counters().outside, 0u);
}

TEST_F(SwitchTest, LeavesOutTheStopsOfATracer) {
  sink_->set_traced(true);
  sample(pid, in_call); // waits in a system call
  switched(pid, out);
  EXPECT_EQ(sink_->counters().samples, 1u);
  sample(pid, 7);
  sample(pid + 1, static_cast<uint64_t>(-512)); // a system call that the stop has interrupted
  sample(pid + 2, 7);
  switched(pid, out);
  switched(pid + 1, out);
  switched(pid + 2, preempted);
  switched(pid + 2, 0); // on the processor again
  EXPECT_EQ(sink_->counters().samples, 2u);
  EXPECT_EQ(sink_->counters().outside, 2u);
  sample(pid, 7); // its record is lost
  sink_->finish(1);
  EXPECT_EQ(sink_->counters().samples, 3u);
  const auto p = sink_->collector().snapshot("now", 0, 1);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->totals().front(), 3);
  EXPECT_EQ(p->strings[p->value_types().front().type], "context-switches");
}

TEST_F(SwitchTest, NothingOfTheOldProgramCallsTheKernelInExec) {
  RecordBytes b;
  b.add(int32_t{pid}).add(int32_t{pid}).text("next");
  b.add(int32_t{pid}).add(int32_t{pid}).add(uint64_t{1});
  handle(b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  sample(pid, in_call); // the address that its registers hold is in no mapping
  const auto p = sink_->collector().snapshot("now", 0, 1);
  ASSERT_TRUE(p);
  ASSERT_EQ(p->sample_count(), 1u);
  EXPECT_EQ(p->stack_caller(p->sample(0).stack), none<StackId>);
  EXPECT_EQ(sink_->counters().truncated_stacks, 0u);
}

// Two events, which the IDs of their records tell apart.
TEST(EventsTest, CountSeveralEventsByTheirIds) {
  PerfLayout with_ids = layout;
  with_ids.sample_type |= PERF_SAMPLE_IDENTIFIER;
  SamplerOptions options;
  options.events = *events_by_names("page-faults,clock,cycles");
  SampleSink sink(pid, 1'000'000, options, with_ids);
  EventIds ids;
  ids.add(70, 0);
  ids.add(71, 1);
  ids.add(72, 2);
  for (const uint64_t id : {70U, 71U, 71U, 71U, 72U}) {
    RecordBytes b;
    b.add(id).add(uint64_t{0x1010}).add(int32_t{pid}).add(int32_t{pid}).add(uint64_t{1});
    b.add(uint64_t{2}).add(uint64_t{PERF_CONTEXT_USER}).add(uint64_t{0x1010});
    const auto bytes = b.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    PerfRecord record;
    ASSERT_TRUE(first_perf_record(bytes, record));
    sink.handle(record, ids);
  }
  const auto p = sink.collector().snapshot("now", 0, 1);
  ASSERT_TRUE(p);
  std::vector<std::string_view> types;
  for (const ValueType &type : p->value_types())
    types.push_back(p->strings[type.type]);
  EXPECT_EQ(types, (std::vector<std::string_view>{"ticks", "page-faults", "cycles"}));
  EXPECT_EQ(p->totals(), (std::vector<int64_t>{1, 3, 1'000'003}));
  EXPECT_EQ(p->sample_count(), 1u);
  EXPECT_EQ(p->period_ns, 1'000'000u);
}

TEST(WaitsTest, HaveEventsBesideThem) {
  PerfLayout with_ids = layout;
  with_ids.sample_type |= PERF_SAMPLE_IDENTIFIER;
  SamplerOptions options;
  options.waits = true;
  options.events = *events_by_names("clock,page-faults,cycles");
  SampleSink sink(pid, 1'000'000, options, with_ids);
  EventIds ids;
  for (uint32_t event = 0; event < 3; ++event)
    ids.add(70 + event, event);
  for (const uint64_t id : {70U, 71U, 71U, 72U}) {
    RecordBytes b;
    b.add(id).add(uint64_t{0x1010}).add(int32_t{pid}).add(int32_t{pid}).add(uint64_t{1});
    b.add(uint64_t{2}).add(uint64_t{PERF_CONTEXT_USER}).add(uint64_t{0x1010});
    const auto bytes = b.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    PerfRecord record;
    ASSERT_TRUE(first_perf_record(bytes, record));
    sink.handle(record, ids);
  }
  const auto p = sink.collector().snapshot("now", 0, 1);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->strings[p->value_types()[4].type], "page-faults");
  EXPECT_EQ(p->totals(), (std::vector<int64_t>{1'000'000, 0, 0, 0, 2, 1'000'003}));
}

// Where the kernel may not be sampled, the records of switches show how long threads ran.
class UnsampledTest : public testing::Test {
protected:
  static constexpr int64_t ms = 1'000'000;
  UnsampledTest() { sink_.set_unsampled(); }
  int64_t kernel_ms() { // so far
    const auto p = collector_.snapshot("now", 0, 1);
    return p ? p->totals().front() / ms : -1;
  }
  StackCollector collector_{pid, {0, WaitSink::values(ms)}};
  WaitSink sink_{pid, ms, collector_};
};

TEST_F(UnsampledTest, CountsTheFirstAndTheLastSlice) {
  sink_.clock().runs_from(pid, 10 * ms);                     // it ran when sampling began
  sink_.switched(pid, 14 * ms, PERF_RECORD_MISC_SWITCH_OUT); // 4 ms
  sink_.switched(pid, 20 * ms, 0);
  sink_.ticked(pid);
  sink_.ended(pid, 23 * ms); // 3 ms, one of which is a tick
  EXPECT_EQ(kernel_ms(), 6);
  sink_.switched(pid + 1, 30 * ms, 0);
  sink_.finish(32 * ms);
  EXPECT_EQ(kernel_ms(), 8);
}

TEST_F(UnsampledTest, CountsWhatRanBeforeAnExec) {
  sink_.clock().runs_from(pid, 0 * ms + 1);
  for (int i = 0; i < 4; ++i)
    sink_.ticked(pid);
  sink_.exec(pid, 5 * ms + 1);
  EXPECT_EQ(kernel_ms(), 1);
  sink_.ticked(pid);
  sink_.finish(8 * ms + 1);
  EXPECT_EQ(kernel_ms(), 3);
}

TEST_F(UnsampledTest, ForgetsWhatWasBeforeAClear) {
  sink_.clock().runs_from(pid, 1 * ms);
  sink_.clear(9 * ms);
  sink_.switched(pid, 11 * ms, PERF_RECORD_MISC_SWITCH_OUT);
  sink_.count_unsampled();
  EXPECT_EQ(kernel_ms(), 2);
}

TEST_F(UnsampledTest, CountsNoneWithARegion) {
  collector_.set_region_filter(std::make_shared<RegionFilter>());
  sink_.clock().runs_from(pid, 1 * ms);
  sink_.switched(pid, 11 * ms, PERF_RECORD_MISC_SWITCH_OUT);
  sink_.finish(12 * ms);
  EXPECT_EQ(kernel_ms(), 0);
}

// A program may map any number of files: those in which no sample lies are not opened.
TEST(StackCollector, KeepsTheFilesOfSamplesOnly) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  StackCollector collector(::getpid(), {1'000'000});
  char folder[] = "/tmp/tally-files-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  for (uint64_t i = 0; i < 20; ++i) {
    const std::string path = fmt::format("{}/{}", folder, i);
    std::ofstream(path) << i;
    struct stat made {};
    ASSERT_EQ(::stat(path.c_str(), &made), 0);
    collector.map({0x1000 * (i + 1), 0x1000 * (i + 2), 0, made.st_dev, made.st_ino, path});
  }
  const auto before = descriptors();
  const std::array<uint64_t, 2> stack{0x1010, 0x2010};
  for (int i = 0; i < 3; ++i) {
    collector.add(::getpid(), stack, 1, 0);
    EXPECT_EQ(descriptors(), before + 2);
    ASSERT_TRUE(collector.snapshot("now", 0, 1)); // this numbers all mappings
  }
  std::filesystem::remove_all(folder);
}

// The process of a thread that has ended is gone: its number is one of the first process.
TEST(StackCollector, ForgetsTheProcessOfItsLastThread) {
  StackCollector collector(pid, {1'000'000});
  const std::array<uint64_t, 1> stack{0x1010};
  ASSERT_TRUE(collector.begin_process(200, pid));
  collector.begin_thread(200, 200);
  collector.add(200, stack, 1, 0);
  EXPECT_EQ(collector.forget_thread(200), 200);
  EXPECT_EQ(collector.space_of(200), nullptr);
  collector.add(200, stack, 1, 0);
  const auto profile = collector.snapshot("now", 0, 1);
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->threads().size(), 2u);
  EXPECT_EQ(profile->threads()[ThreadId{0}].pid, 200);
  EXPECT_EQ(profile->threads()[ThreadId{1}].pid, pid);
}

TEST(WaitsTest, HaveTheirTimeAndStack) {
  PerfLayout with_registers = layout;
  with_registers.sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_REGS_USER;
  with_registers.regs_user = 1U | 1U << 8;
  SamplerOptions options;
  options.waits = true;
  SampleSink sink(pid, 1'000'000, options, with_registers);
  EventIds ids;
  ids.add(70, 0);
  ids.add(71, 1);
  const auto handle = [&](const RecordBytes &fields, uint32_t type, uint16_t misc) {
    const auto bytes = fields.record(type, misc);
    PerfRecord record;
    ASSERT_TRUE(first_perf_record(bytes, record));
    sink.handle(record, ids);
  };
  const auto sample = [&](uint64_t id, uint64_t pc, uint64_t ax) {
    RecordBytes b;
    b.add(id).add(pc).add(int32_t{pid}).add(int32_t{pid}).add(uint64_t{1});
    b.add(uint64_t{2}).add(uint64_t{PERF_CONTEXT_USER}).add(pc);
    b.add(uint64_t{PERF_SAMPLE_REGS_ABI_64}).add(ax).add(pc);
    handle(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  };
  const auto switched = [&](uint16_t misc, uint64_t at_ns) {
    handle(RecordBytes().add(int32_t{pid}).add(int32_t{pid}).add(at_ns).add(uint64_t{71}),
           PERF_RECORD_SWITCH, misc);
  };
  sample(70, 0x1010, 7); // a tick
  sample(71, 0x1020, static_cast<uint64_t>(-38));
  switched(PERF_RECORD_MISC_SWITCH_OUT, 1000);
  switched(0, 1500);
  sample(71, 0x1030, 7);
  switched(PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 2000);
  switched(0, 2020);
  sample(71, 0x1020, static_cast<uint64_t>(-38));
  switched(PERF_RECORD_MISC_SWITCH_OUT, 3000);
  sink.finish(3100); // it still waits
  const auto p = sink.collector().snapshot("now", 0, 1);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->totals(), (std::vector<int64_t>{1'000'000, 600, 20, 2}));
  EXPECT_EQ(p->sample_count(), 3u);
  EXPECT_EQ(p->period_ns, 0u);
  EXPECT_EQ(sink.counters().samples, 1u);
  EXPECT_EQ(sink.waits()->counters().waits, 2u);
  EXPECT_EQ(sink.waits()->counters().wait_ns, 600u);
  EXPECT_EQ(sink.waits()->counters().queued_ns, 20u);
}

TEST_F(SinkTest, IgnoresOtherProcesses) {
  sample(200, {0x1010}, PERF_RECORD_MISC_USER, 200);
  RecordBytes exec;
  handle(trailer(exec.add(int32_t{200}).add(int32_t{200}).text("other")), PERF_RECORD_COMM,
         PERF_RECORD_MISC_COMM_EXEC);
  sample(pid, {0x1010});
  const StackProfile p = profile();
  ASSERT_EQ(p.sample_count(), 1u);
  EXPECT_EQ(stack(p, p.sample(0).stack), "1010@/bin/program");
  EXPECT_FALSE(sink.take_exec());
}

TEST_F(SinkTest, KeepsTheLocationsOfSamplesBeforeAnExec) {
  sample(pid, {0x1010, 0x1101});
  RecordBytes exec;
  handle(trailer(exec.add(int32_t{pid}).add(int32_t{pid}).text("next")), PERF_RECORD_COMM,
         PERF_RECORD_MISC_COMM_EXEC);
  EXPECT_TRUE(sink.take_exec());
  EXPECT_FALSE(sink.take_exec());
  RecordBytes map;
  map.add(int32_t{pid}).add(int32_t{pid}).add(uint64_t{0x1000}).add(uint64_t{0x1000});
  map.add(uint64_t{0}).add(uint32_t{0}).add(uint32_t{1}).add(uint64_t{9}).add(uint64_t{0});
  map.add(uint32_t{5}).add(uint32_t{2}).text("/bin/next");
  handle(trailer(map), PERF_RECORD_MMAP2);
  sample(pid, {0x1010, 0x1101}); // the same addresses in another file
  sample(pid, {0x5010});
  const StackProfile p = profile();
  ASSERT_EQ(p.sample_count(), 3u);
  EXPECT_EQ(stack(p, p.sample(0).stack), "1100@/bin/program 1010@/bin/program");
  EXPECT_EQ(stack(p, p.sample(1).stack), "1100@/bin/next 1010@/bin/next");
  EXPECT_EQ(stack(p, p.sample(2).stack), "5010@?");
}

TEST_F(SinkTest, NamesThreadsLikeTheirParentUntilTheyAreRenamed) {
  sink.collector().name_thread(pid, "main");
  RecordBytes fork;
  fork.add(int32_t{pid}).add(int32_t{pid}).add(int32_t{101}).add(int32_t{pid}).add(uint64_t{1});
  handle(trailer(fork), PERF_RECORD_FORK);
  EXPECT_TRUE(sink.collector().knows_thread(101));
  sample(101, {0x1010});
  EXPECT_EQ(profile().strings[profile().threads()[ThreadId{0}].name], "main");
  RecordBytes comm;
  handle(trailer(comm.add(int32_t{pid}).add(int32_t{101}).text("worker")), PERF_RECORD_COMM);
  EXPECT_EQ(profile().strings[profile().threads()[ThreadId{0}].name], "worker");
  handle(trailer(fork), PERF_RECORD_EXIT);
  EXPECT_FALSE(sink.collector().knows_thread(101));
}

class ChildrenTest : public SinkTest {
protected:
  ChildrenTest() : SinkTest(with_children()) { sink.collector().name_thread(pid, "make"); }

  static SamplerOptions with_children() {
    SamplerOptions out;
    out.children = true;
    return out;
  }

  void task(uint32_t type, int32_t of_pid, int32_t parent, uint64_t at_ns) {
    RecordBytes b;
    b.add(of_pid).add(parent).add(of_pid).add(parent).add(at_ns);
    handle(trailer(b), type);
  }
  void counted(int32_t tid, uint64_t ns) {
    handle(RecordBytes().add(tid).add(tid).add(ns), PERF_RECORD_READ);
  }
  // Returns the sum of a process's samples.
  static int64_t ticks_of(const StackProfile &p, int32_t of_pid) {
    int64_t sum = 0;
    for (size_t i = 0; i < p.sample_count(); ++i)
      if (p.threads()[p.sample(i).thread].pid == of_pid)
        sum += p.sample(i).values[0];
    return sum;
  }
};

TEST_F(ChildrenTest, FollowsForkAndExec) {
  task(PERF_RECORD_FORK, 200, pid, 5);
  sample(200, {0x1010}, PERF_RECORD_MISC_USER, 200); // the code of its parent
  RecordBytes exec;
  exec.add(int32_t{200}).add(int32_t{200}).text("cc1");
  handle(trailer(exec), PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  RecordBytes map; // the library of its parent, at another address
  map.add(int32_t{200}).add(int32_t{200}).add(uint64_t{0x9000}).add(uint64_t{0x1000});
  map.add(uint64_t{0}).add(uint32_t{0}).add(uint32_t{1}).add(uint64_t{2}).add(uint64_t{0});
  map.add(uint32_t{5}).add(uint32_t{2}).text("/lib/library");
  handle(trailer(map), PERF_RECORD_MMAP2);
  sample(pid, {0x5010});
  sample(200, {0x1010}, PERF_RECORD_MISC_USER, 200);
  sample(300, {0x1010}, PERF_RECORD_MISC_USER, 300); // a process that nobody forked
  const StackProfile p = profile();
  ASSERT_EQ(p.sample_count(), 3u);
  EXPECT_EQ(stack(p, p.sample(0).stack), "1010@/bin/program");
  EXPECT_EQ(ticks_of(p, 200), 2);
  EXPECT_EQ(ticks_of(p, pid), 1);
  for (const Thread &thread : p.threads())
    EXPECT_EQ(p.strings[thread.process], thread.pid == pid ? "make" : "cc1");
  EXPECT_EQ(sink.collector().process_count(), 2u);
}

TEST_F(ChildrenTest, SharesCodeBetweenProcesses) {
  for (int32_t each = 200; each < 210; ++each) {
    task(PERF_RECORD_FORK, each, pid, 5);
    sample(each, {0x1010}, PERF_RECORD_MISC_USER, each);
  }
  EXPECT_EQ(profile().location_count(), 1u);
  EXPECT_EQ(profile().mappings().size(), 1u);
}

// Three processes ran for 700 us each. None of them ticked.
TEST_F(ChildrenTest, CountsTheTimeOfProcessesWithoutTicks) {
  for (int32_t each = 200; each < 203; ++each) {
    const auto at_ns = static_cast<uint64_t>(each);
    task(PERF_RECORD_FORK, each, pid, at_ns);
    task(PERF_RECORD_EXIT, each, pid, at_ns);
    counted(each, 300'000); // on one processor
    counted(each, 400'000);
  }
  sink.finish(100'000'000);
  const StackProfile p = profile();
  EXPECT_EQ(p.totals()[0], 2); // of 2.1 ms
  EXPECT_EQ(ticks_of(p, 201), 1);
  EXPECT_EQ(ticks_of(p, 202), 1);
  EXPECT_FALSE(sink.collector().knows_thread(202));
  EXPECT_EQ(sink.collector().space_of(202), nullptr);
}

// The thread takes over the number of the first one. The kernel reports that the first has ended,
// and then the exec.
TEST_F(ChildrenTest, FollowsAnExecByAnotherThread) {
  constexpr uint64_t ms = 1'000'000;
  task(PERF_RECORD_FORK, 200, pid, 5);
  RecordBytes thread;
  thread.add(int32_t{200}).add(int32_t{200}).add(int32_t{201}).add(int32_t{200}).add(uint64_t{6});
  handle(trailer(thread), PERF_RECORD_FORK);
  sample(201, {0x1010}, PERF_RECORD_MISC_USER, 200);
  task(PERF_RECORD_EXIT, 200, 200, 7);
  RecordBytes exec;
  exec.add(int32_t{200}).add(int32_t{200}).text("cc1");
  handle(trailer(exec), PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
  EXPECT_FALSE(sink.collector().knows_thread(201));
  task(PERF_RECORD_FORK, 300, pid, 20 * ms); // long after the end of the first thread
  sample(200, {0x1010}, PERF_RECORD_MISC_USER, 200);
  counted(200, 2 * ms); // of which two ticks were seen
  task(PERF_RECORD_EXIT, 200, 200, 30 * ms);
  sink.finish(100 * ms);
  const StackProfile p = profile();
  EXPECT_EQ(ticks_of(p, 200), 2);
  EXPECT_EQ(ticks_of(p, pid), 0);
  EXPECT_EQ(sink.collector().space_of(200), nullptr); // its only thread has ended
}

TEST_F(ChildrenTest, CountsAThreadWhoseBeginIsNotKnownForItsProcess) {
  task(PERF_RECORD_FORK, 200, pid, 5);
  sample(209, {0x1010}, PERF_RECORD_MISC_USER, 200);
  EXPECT_EQ(ticks_of(profile(), 200), 1);
}

TEST_F(SinkTest, CountsAThreadWithoutANumber) {
  sink.collector().name_thread(0, "unknown");
  const std::array<uint64_t, 1> pcs{0x1010};
  sink.collector().add(0, pcs, 1, 0);
  EXPECT_EQ(profile().totals()[0], 1);
}

// The number of a process that has just ended belongs to a new one.
TEST_F(ChildrenTest, TellsProcessesWithTheSameNumberApart) {
  task(PERF_RECORD_FORK, 200, pid, 5);
  task(PERF_RECORD_EXIT, 200, pid, 6);
  task(PERF_RECORD_FORK, 200, pid, 7);
  sample(200, {0x1010}, PERF_RECORD_MISC_USER, 200);
  task(PERF_RECORD_EXIT, 200, pid, 8);
  sink.finish(100'000'000);
  EXPECT_EQ(ticks_of(profile(), 200), 1);
  EXPECT_EQ(sink.collector().space_of(200), nullptr);
}

TEST_F(SinkTest, CountsLossesThrottlingAndBadRecords) {
  handle(trailer(RecordBytes().add(uint64_t{1}).add(uint64_t{7})), PERF_RECORD_LOST);
  handle(trailer(RecordBytes().add(uint64_t{5})), PERF_RECORD_LOST_SAMPLES);
  handle(trailer(RecordBytes().add(uint64_t{1}).add(uint64_t{1}).add(uint64_t{1})),
         PERF_RECORD_THROTTLE);
  handle(RecordBytes().add(uint32_t{1}), PERF_RECORD_SAMPLE);
  handle(trailer(RecordBytes()), 77); // a record type of a newer kernel
  EXPECT_EQ(sink.counters().lost, 12u);
  EXPECT_EQ(sink.counters().throttled, 1u);
  EXPECT_EQ(sink.counters().bad_records, 1u);
  EXPECT_EQ(sink.counters().samples, 0u);
}

// Times are kept in units of 10 us, which is longer than many intervals in a queue are.
TEST(StackCollector, TimesOfShortIntervalsAddUpToTheirSum) {
  StackCollector collector(pid, {.values = {{"queued", "nanoseconds", 0}, {"wait", "ns", 0}}});
  collector.resumed({.at_ns = 1'000'000'000});
  for (uint64_t i = 1; i <= 1000; ++i)
    for (const pid_t tid : {pid, pid + 1}) { // the two alternate
      collector.add(tid, {}, tid == pid ? 3'100 : 6'900, 1'000'000'000 + i * 100'000, 0);
      collector.add(tid, {}, 14'000, 1'000'000'000 + i * 100'000, 1);
    }
  const auto profile = collector.snapshot("now", 0, 200'000'000);
  ASSERT_TRUE(profile);
  std::map<std::pair<ThreadId, uint32_t>, int64_t> sums, expected;
  for (size_t row = 0; row < profile->sample_count(); ++row)
    for (uint32_t value = 0; value < 2; ++value)
      expected[{profile->sample(row).thread, value}] += profile->sample(row).values[value];
  for (const SampleTime &time : profile->times())
    sums[{profile->sample(time.row).thread, time.value}] += time.amount;
  EXPECT_EQ(expected.size(), 4u);
  for (const auto &[key, sum] : expected)
    EXPECT_LE(std::abs(sums[key] - sum), int64_t{StackTime::unit_ns}) << sum;
}

} // namespace
} // namespace tally::collect_sink_test
