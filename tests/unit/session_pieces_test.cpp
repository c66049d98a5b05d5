// The pieces that a session is made of, each alone.
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "session/action_queue.h"
#include "session/name_lookup.h"
#include "session/profile_store.h"
#include "session/profile_table.h"
#include "session/run_clock.h"
#include "session/sampling_remarks.h"
#include "session/settings.h"

namespace tally::session_pieces_test {
namespace {

// --- ActionQueue

Reply text(std::string words) { return Reply{std::move(words), {}}; }

TEST(ActionQueue, PrintsTheTextOfAllStepsAfterTheLastAction) {
  ActionQueue actions;
  std::string answered;
  actions.push(Request{RequestKind::preload, {}, {}},
               [&](std::string_view answer) -> Result<Reply> {
                 answered = answer;
                 return text("two\n");
               });
  actions.push(RequestKind::preload_end);
  EXPECT_FALSE(actions.keep(text("one\n")));
  auto reply = actions.next();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->request.kind, RequestKind::preload);
  EXPECT_EQ(reply->text, "");
  ASSERT_TRUE(actions.is_performing());
  const std::vector<std::string> answers{"refused"};
  EXPECT_FALSE(actions.keep(actions.answer(answers)));
  EXPECT_EQ(answered, "refused");
  reply = actions.next();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->request.kind, RequestKind::preload_end);
  EXPECT_FALSE(actions.keep(actions.answer({})));
  reply = actions.next();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->request.kind, RequestKind::none);
  EXPECT_EQ(reply->text, "one\ntwo\n");
  EXPECT_EQ(actions.next()->text, "");
}

TEST(ActionQueue, TheFirstErrorReplacesTheTextOnceAllActionsArePerformed) {
  ActionQueue actions;
  actions.push(RequestKind::region_end);
  EXPECT_FALSE(actions.keep(text("lost\n")));
  EXPECT_FALSE(actions.keep(fail(ErrorCode::bad_state, "first")));
  EXPECT_FALSE(actions.keep(fail(ErrorCode::bad_state, "second")));
  EXPECT_EQ(actions.next()->request.kind, RequestKind::region_end);
  EXPECT_FALSE(actions.keep(actions.answer({})));
  const auto reply = actions.next();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().message, "first");
  EXPECT_TRUE(actions.next());
}

TEST(ActionQueue, TheRequestOfAStepGoesFirst) {
  ActionQueue actions;
  actions.push(RequestKind::region_end);
  Reply step = text("progress\n");
  step.request.kind = RequestKind::symbols;
  const auto request = actions.keep(step);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->request.kind, RequestKind::symbols);
  EXPECT_EQ(request->text, "");
  actions.give_up();
  EXPECT_EQ(actions.next()->request.kind, RequestKind::region_end);
}

// What undoes something, or belongs to an event, stays when a command is abandoned.
TEST(ActionQueue, ACommandThatIsAbandonedLosesItsActions) {
  const auto never = [](std::string_view) -> Result<Reply> {
    ADD_FAILURE() << "an abandoned command has continued";
    return Reply{};
  };
  const auto then = [](std::string_view) -> Result<Reply> { return Reply{}; };
  for (const bool by_user : {false, true}) {
    ActionQueue actions;
    actions.begin_event();
    actions.push(Request{RequestKind::preload, {}, {}}, then);
    EXPECT_FALSE(by_user ? actions.cancel() : actions.give_up()); // no command has lost anything
    actions.begin_command();
    actions.push(RequestKind::interrupt_end);
    actions.push(Request{RequestKind::interrupt, {}, {}}, never);
    actions.push(Request{RequestKind::list_source, {}, {}}, never);
    EXPECT_FALSE(actions.keep(text("lost\n")));
    EXPECT_EQ(actions.next()->request.kind, RequestKind::preload);
    EXPECT_TRUE(by_user ? actions.cancel() : actions.give_up());
    EXPECT_FALSE(actions.is_performing());
    std::vector<RequestKind> left;
    Result<Reply> reply = actions.next();
    for (; reply->request.kind != RequestKind::none; reply = actions.next()) {
      left.push_back(reply->request.kind);
      EXPECT_FALSE(actions.keep(actions.answer({})));
    }
    EXPECT_EQ(reply->text, "");
    // Only an action that the user has interrupted is repeated; one that fails would always fail.
    std::vector expected{RequestKind::interrupt_end};
    if (by_user)
      expected.insert(expected.begin(), RequestKind::preload);
    EXPECT_EQ(left, expected);
  }
}

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

struct Looked {
  std::string name;
  NameLookup::Then then = [this](StackProfile profile) -> Result<Reply> {
    name = name_of_first(profile);
    return Reply{};
  };
};

TEST(NameLookup, AsksTheDebuggerOnceAndRemembersItsAnswers) {
  NameLookup names;
  names.begin_run();
  Looked looked;
  auto reply = names.begin(
      unknown_address(0x1234), 7, [] { return true; }, looked.then);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->request.kind, RequestKind::symbols);
  EXPECT_EQ(reply->request.addresses, std::vector<uint64_t>{0x1234});
  EXPECT_TRUE(names.is_active());
  const std::vector<std::string> answers{"jitted\tjit.c\t7"};
  ASSERT_TRUE(names.answer(answers));
  EXPECT_EQ(looked.name, "jitted");
  EXPECT_FALSE(names.is_active());
  EXPECT_TRUE(names.knows(7, 0x1234));
  EXPECT_FALSE(names.knows(8, 0x1234));

  looked.name.clear(); // the process is gone
  reply = names.begin(
      unknown_address(0x1234), 7, [] { return false; }, looked.then);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->request.kind, RequestKind::none);
  EXPECT_EQ(looked.name, "jitted");

  ASSERT_TRUE(names.begin(
      unknown_address(0x1234), 8, [] { return false; }, looked.then));
  EXPECT_EQ(looked.name, "0x1234"); // of another process

  names.begin_run();
  ASSERT_TRUE(names.begin(
      unknown_address(0x1234), 7, [] { return false; }, looked.then));
  EXPECT_EQ(looked.name, "0x1234");
}

TEST(NameLookup, ACancelledLookUpLeavesNothing) {
  NameLookup names;
  Looked looked;
  ASSERT_TRUE(names.begin(
      unknown_address(0x10), 7, [] { return true; }, looked.then));
  names.cancel();
  EXPECT_FALSE(names.is_active());
  EXPECT_EQ(looked.name, "");
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
  EXPECT_EQ(share_remark(status), "the samples stand for 0.02 s of 0.40 s of CPU time; a thread "
                                  "that lives for less than a tick is seldom sampled");
  status.unsampled_ns = 360'000'000; // in the kernel
  EXPECT_EQ(share_remark(status), "");
  status.unsampled_ns = 0;
  status.outside = 200; // of the region
  EXPECT_EQ(share_remark(status), "");
  status.outside = 0;
  status.wall_clock = true;
  EXPECT_EQ(share_remark(status), "");
}

} // namespace
} // namespace tally::session_pieces_test
