// Random sequences of commands and events, with a debugger that refuses, is interrupted and reports
// events inside of its functions.
#include <array>
#include <random>
#include <set>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "collect_child.h"
#include "fake_debugger.h"
#include "session/session.h"
#include "temporary.h"

namespace tally::session_sequences_test {
namespace {

class Player {
public:
  Player(uint32_t seed, TargetKind target, int32_t pid)
      : random_(seed), target_(target), pid_(pid) {
    ::setenv("TALLY_CACHE_DIR", "", 1);
    debugger_.name_of = [](uint64_t) -> std::vector<Symbolization::Named> {
      return {{"named", "named.c", 7}};
    };
    debugger_.during = [this](FakeDebugger::Call call) { in_a_call(call); };
  }

  void play(size_t steps) {
    for (size_t i = 0; i < steps && !testing::Test::HasFailure(); ++i)
      step();
    calm();
    report(EventKind::exited);
    run("stop");
    EXPECT_EQ(changed_, std::set<FakeDebugger::Call>()); // all that was begun was ended
  }

private:
  static constexpr std::array<const char *, 18> commands{
      "start",          "start --backend interrupt",
      "stop",           "status --json",
      "report",         "report --by line --json",
      "tree",           "annotate named --asm",
      "clear",          "region named",
      "region a:1 b:2", "region",
      "break 1",        "list 1",
      "timeline",       "diff previous",
      "histogram",      "config stop-times on"};
  static constexpr std::array<const char *, 5> coverage_commands{"report --since stop", "mark",
                                                                 "list", "break", "annotate named"};
  static constexpr std::array<EventKind, 8> events{
      EventKind::target, EventKind::resumed, EventKind::resumed,  EventKind::breakpoint,
      EventKind::signal, EventKind::exited,  EventKind::detached, EventKind::killed};

  size_t below(size_t limit) { return random_() % limit; }

  void calm() {
    debugger_.during = [this](FakeDebugger::Call call) {
      debugger_.errors.clear();
      note(call);
    };
  }

  // Notes what a function changes or undoes. One that is interrupted may have changed it.
  void note(FakeDebugger::Call call) {
    using Call = FakeDebugger::Call;
    const auto error = debugger_.errors.find(call);
    const bool refused = error != debugger_.errors.end() && !is_interrupted(error->second);
    if ((call == Call::interrupt || call == Call::preload || call == Call::watch_region) &&
        !refused)
      changed_.insert(call);
    if (call == Call::end_interrupt)
      changed_.erase(Call::interrupt);
    if (call == Call::end_preload)
      changed_.erase(Call::preload);
    if (call == Call::end_region)
      changed_.erase(Call::watch_region);
  }

  // Makes one function in ten fail, half of these by an interrupt; one in twenty reports an event.
  void in_a_call(FakeDebugger::Call call) {
    debugger_.errors.clear();
    if (below(10) == 0)
      debugger_.errors[call] = below(2) == 0 ? interrupted() : Error{ErrorCode::unsupported, "no"};
    note(call);
    if (below(20) == 0 && depth_ < 3) {
      ++depth_;
      report(events[below(events.size())]);
      EXPECT_FALSE(session_.command("status")); // of a call inside of another
      --depth_;
    }
  }

  void report(EventKind kind) {
    DebugEvent event;
    event.kind = kind;
    event.target = target_;
    event.pid = kind == EventKind::exited || below(10) == 0 ? 0 : pid_ + static_cast<int>(below(2));
    event.beside = below(10) == 0;
    event.unseen = kind == EventKind::resumed && below(4) == 0;
    static_cast<void>(session_.event(event));
  }

  void run(const std::string &line, GroupId group = GroupId::profile) {
    static_cast<void>(session_.command(line, group));
  }

  uint64_t samples() {
    for (const auto &[name, value] : session_.status())
      if (name == "samples")
        return std::stoull(value);
    return 0;
  }

  // Does what a front end does while a remote process runs.
  void tick() {
    if (session_.tick_interrupt() != 1 || session_.tick_take(0) != InterruptClock::Stop::ours)
      return;
    const std::array<uint64_t, 2> pcs{0x1000 + below(3), 0x2000};
    const std::array seen{ThreadStack{1, "main", pcs}, ThreadStack{2, "worker", pcs}};
    const uint64_t before = samples();
    static_cast<void>(session_.tick(seen));
    const uint64_t after = samples();
    EXPECT_TRUE(after == before || after == before + seen.size() || after == 0 ||
                after == seen.size())
        << before << " " << after;
  }

  void step() {
    const uint64_t before = samples();
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
      run(commands[below(commands.size())]);
      break;
    case 3:
      run(coverage_commands[below(coverage_commands.size())], GroupId::coverage);
      break;
    case 4:
      static_cast<void>(session_.limit_reached());
      break;
    case 5:
      tick();
      return check_counts();
    default:
      report(events[below(events.size())]);
      break;
    }
    if (target_ == TargetKind::remote) { // only ticks add samples
      const uint64_t after = samples();
      EXPECT_TRUE(after == before || after == 0) << before << " " << after;
    }
    check_counts();
  }

  // What a table shows is what `status` counts.
  void check_counts() {
    if (target_ != TargetKind::remote)
      return;
    const auto during = debugger_.during;
    calm();
    if (const auto table = session_.table(By::function, SortBy::self)) {
      EXPECT_EQ(table->totals[0], samples());
    }
    debugger_.during = during;
  }

  std::mt19937 random_;
  TargetKind target_;
  int32_t pid_;
  FakeDebugger debugger_;
  Session session_{debugger_};
  std::set<FakeDebugger::Call> changed_; // by functions that another one undoes
  size_t depth_ = 0;
};

TEST(Sequences, OfARemoteProcess) {
  for (uint32_t seed = 0; seed < 120 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Player(seed, TargetKind::remote, 42).play(40);
  }
}

TEST(Sequences, OfAProcessOfThisMachine) {
  Child child([] { ::sleep(60); });
  for (uint32_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Player(seed, TargetKind::native, child.pid()).play(40);
  }
}

} // namespace
} // namespace tally::session_sequences_test
