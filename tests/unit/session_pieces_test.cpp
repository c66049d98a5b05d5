// The pieces that a session is made of, each alone.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fake_debugger.h"
#include "session/counter_marks.h"
#include "session/coverage_table.h"
#include "session/front.h"
#include "session/name_lookup.h"
#include "session/profile_store.h"
#include "session/profile_table.h"
#include "session/run_clock.h"
#include "session/sampling_remarks.h"
#include "session/settings.h"

namespace tally::session_pieces_test {
namespace {

// --- RunClock

TEST(RunClock, AddsUpRunningAndStoppedTime) {
  const auto held = std::make_shared<HeldTimes>();
  RunClock clock{held};
  clock.set_stopped();
  const uint64_t begin = now_ns();
  clock.set_event_time(begin + 1000); // in the future: now
  clock.resume();
  EXPECT_TRUE(clock.is_running());
  const uint64_t stopped = clock.stopped_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(clock.ran_ns(now_ns()), 1'000'000u);
  EXPECT_EQ(clock.ran_ns(), 0u);
  EXPECT_EQ(clock.stopped_ns(now_ns()), stopped);
  clock.set_event_time(1); // before the last change: that change
  clock.stop();
  EXPECT_EQ(clock.ran_ns(), 0u);
  clock.set_event_time(0);
  clock.resume();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  clock.stop();
  EXPECT_GE(clock.ran_ns(), 2'000'000u);
  clock.clear();
  EXPECT_EQ(clock.ran_ns() + clock.stopped_ns(), 0u);
  const uint64_t cleared = clock.changed_at_ns();
  clock.resume();
  const uint64_t resumed = clock.changed_at_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  held->open(resumed + 1'000'000);
  held->close(resumed + 2'000'000);
  EXPECT_EQ(clock.ran_ns(resumed + 3'000'000), 2'000'000u);
  clock.set_event_time(resumed + 3'000'000);
  clock.stop();
  EXPECT_EQ(clock.ran_ns(), 2'000'000u);
  EXPECT_EQ(clock.stopped_ns(), 1'000'000u + (resumed - cleared));
}

// --- ProfileStore

StackProfile ticks(int64_t count) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  SourceFunction function;
  function.name = builder.intern("f");
  SourceLine line;
  line.function = builder.add_function(function);
  const LocationId leaf = builder.add_location(none<MappingId>, 0, std::span(&line, 1));
  builder.add_sample(builder.push(none<StackId>, leaf), none<ThreadId>, none<PartId>, count);
  return *builder.finish();
}

int64_t total(const ProfilePtr &profile) { return profile ? profile->totals().front() : 0; }

TEST(ProfileStore, KeepsWhatWasFrozenAndAddsWhatFollows) {
  ProfileStore store;
  EXPECT_FALSE(store.has_kept());
  ASSERT_TRUE(store.take_named(ticks(3))); // of a sampler that continues
  EXPECT_EQ(total(store.named()), 3);
  EXPECT_FALSE(store.has_kept());
  store.process_resumed();
  EXPECT_FALSE(store.named());

  store.freeze(7, ticks(2)); // of two processes that were sampled at the same time
  store.freeze(8, ticks(3));
  EXPECT_TRUE(store.has_kept());
  EXPECT_EQ(store.frozen().front().pid, 7);
  ASSERT_TRUE(store.keep(*store.frozen().front().profile));
  EXPECT_EQ(total(store.kept()), 2);
  EXPECT_EQ(store.frozen().front().pid, 8);
  ASSERT_TRUE(store.keep(*store.frozen().front().profile));
  EXPECT_TRUE(store.frozen().empty());
  EXPECT_EQ(total(store.kept()), 5);
  ASSERT_TRUE(store.take_named(ticks(7))); // of the next sampler
  EXPECT_EQ(total(store.named()), 12);
  EXPECT_EQ(total(store.kept()), 5);

  store.begin_run();
  EXPECT_EQ(total(store.previous()), 5);
  EXPECT_FALSE(store.kept());
  store.begin_run(); // nothing was kept in between
  EXPECT_EQ(total(store.previous()), 5);
  store.clear();
  EXPECT_EQ(total(store.previous()), 5);
}

TEST(ProfileStore, ALoadedProfileLastsUntilTheProcessRuns) {
  ProfileStore store;
  store.load({{Profile(ticks(2)), nullptr, {}}, "a.folded", ""});
  const auto held = store.loaded();
  store.clear();
  EXPECT_TRUE(store.loaded());
  store.process_resumed();
  EXPECT_FALSE(store.loaded());
  EXPECT_EQ(held->path, "a.folded");
}

// --- CounterMarks

TEST(CounterMarks, OfANewProgramAreNotKnownToBeSlow) {
  FakeDebugger debugger;
  const DebugEvent event;
  const Front front(debugger, event);
  const Settings settings(coverage_table());
  CounterMarks marks(front, settings);
  marks.add_time(std::chrono::milliseconds(11));
  EXPECT_EQ(marks.automatic(), "on"); // it may be slow by chance
  marks.add_time(std::chrono::milliseconds(12));
  EXPECT_EQ(marks.automatic(), "off (the last one took 12 ms)");
  marks.forget_program();
  EXPECT_EQ(marks.automatic(), "on");
  marks.add_time(std::chrono::milliseconds(11));
  EXPECT_EQ(marks.automatic(), "on");
}

// --- NameLookup

StackProfile unknown_address(uint64_t address) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const LocationId leaf = builder.add_location(none<MappingId>, address);
  builder.add_sample(builder.push(none<StackId>, leaf), none<ThreadId>, none<PartId>, 1);
  return *builder.finish();
}

std::string name_of_first(const StackProfile &profile) {
  const auto lines = profile.location(LocationId{}).lines;
  return std::string(profile.strings[profile.functions()[lines.front().function].name]);
}

using Asks = NameLookup::Asks;

TEST(NameLookup, AsksTheDebuggerOnceAndRemembersItsAnswers) {
  FakeDebugger debugger;
  size_t calls = 0;
  debugger.name_of = [&](uint64_t address) {
    ++calls;
    EXPECT_EQ(address, 0x1234u);
    return std::vector<Symbolization::Named>{{"jitted", "jit.c", 7}};
  };
  NameLookup names(debugger);
  names.begin_run();
  const auto looked_up = [&](int32_t pid, Asks asks) {
    const auto profile = names.look_up(unknown_address(0x1234), pid, asks);
    return profile ? name_of_first(*profile) : profile.error().text();
  };
  EXPECT_EQ(looked_up(7, Asks::names), "jitted");
  EXPECT_TRUE(names.knows(7, 0x1234));
  EXPECT_FALSE(names.knows(8, 0x1234));
  EXPECT_EQ(looked_up(7, Asks::names), "jitted");
  EXPECT_EQ(looked_up(7, Asks::nothing), "jitted");  // the process is gone
  EXPECT_EQ(looked_up(8, Asks::progress), "0x1234"); // of another process
  EXPECT_EQ(calls, 1u);
  names.begin_run();
  EXPECT_EQ(looked_up(7, Asks::progress), "0x1234");
}

TEST(NameLookup, EndsIfTheUserInterruptsTheDebugger) {
  FakeDebugger debugger;
  debugger.interrupt_call(FakeDebugger::Call::symbols);
  NameLookup names(debugger);
  const auto interrupted = names.look_up(unknown_address(0x10), 7, Asks::names);
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().code, ErrorCode::cancelled);
  EXPECT_FALSE(names.knows(7, 0x10));
  debugger.refuse(FakeDebugger::Call::symbols, "not now");
  const auto refused = names.look_up(unknown_address(0x10), 7, Asks::names);
  ASSERT_TRUE(refused);
  EXPECT_EQ(name_of_first(*refused), "0x10");
}

// --- Settings

TEST(Settings, HoldDefaultsAndCheckValues) {
  Settings settings(profile_table());
  EXPECT_EQ(settings.value("frequency"), "1000");
  EXPECT_EQ(settings.value("nonsense"), "");
  EXPECT_TRUE(settings.set("frequency", "250"));
  EXPECT_FALSE(settings.set("frequency", "fast"));
  EXPECT_EQ(settings.value("frequency"), "250");
  EXPECT_EQ(settings.set("nonsense", "1").error().code, ErrorCode::invalid_argument);
}

// --- remarks

TEST(SamplingRemarks, ReportLostSamples) {
  SamplerStatus status;
  EXPECT_EQ(lost_remark(status), "");
  status.lost = 1;
  EXPECT_EQ(lost_remark(status), "1 sample was lost");
  status.lost = 428;
  EXPECT_EQ(lost_remark(status), "428 samples were lost");
}

TEST(SamplingRemarks, ReportTheCostOfVeryHighFrequencies) {
  EXPECT_EQ(cost_remark(10'000), "");
  EXPECT_EQ(cost_remark(100'000),
            "at 100000 Hz, samples may take several times as long as the program itself");
}

TEST(SamplingRemarks, ReportCpuTimeWithoutSamples) {
  SamplerStatus status;
  status.requested_hz = 1000;
  status.cpu_ns = 400'000'000;
  status.samples = 24;
  EXPECT_EQ(share_remark(status), "the samples stand for 0.02 s of 0.40 s of CPU time: a thread "
                                  "that lives for less than a few ticks has too few");
  status.unsampled_ns = 360'000'000; // in the kernel
  EXPECT_EQ(share_remark(status), "");
  status.unsampled_ns = 0;
  status.outside = 300; // of the region
  EXPECT_EQ(share_remark(status), "");
  status.outside = 0;
  status.wall_clock = true;
  EXPECT_EQ(share_remark(status), "");
  status.wall_clock = false;
  status.throttled = 1; // the kernel delivered fewer ticks
  EXPECT_EQ(share_remark(status), "");
  status.throttled = 0;
  EXPECT_NE(share_remark(status), "");
}

} // namespace
} // namespace tally::session_pieces_test
