#include "session/counter_marks.h"

#include <utility>

#include <fmt/format.h>

namespace tally {

// A user does not notice it at each step.
constexpr std::chrono::milliseconds longest_mark(10);

void CounterMarks::clear() {
  mark_ = last_stop_ = stop_before_ = nullptr;
  resumed_unseen_ = false;
}

void CounterMarks::forget_program() {
  clear();
  newest_ns_ = 0;
  slow_ = 0;
}

void CounterMarks::resumed(bool unseen) {
  resumed_unseen_ = unseen && (last_stop_ || resumed_unseen_);
  if (unseen) // the program may have stopped meanwhile
    forget_stops();
}

CounterMarkPtr CounterMarks::forget_stops() {
  stop_before_ = nullptr;
  return std::exchange(last_stop_, nullptr);
}

void CounterMarks::add_stop(CounterMarkPtr previous, CounterMarkPtr now) {
  stop_before_ = std::move(previous);
  last_stop_ = std::move(now);
}

void CounterMarks::add_time(std::chrono::nanoseconds time) {
  newest_ns_ = static_cast<uint64_t>(time.count());
  slow_ = time > longest_mark ? slow_ + 1 : 0;
}

std::string CounterMarks::automatic() const {
  const std::string_view wanted = settings_.value("auto-mark");
  if (front_.target.target == TargetKind::remote || front_.target.target == TargetKind::core)
    return "off (only programs of this machine are marked at each stop)";
  // A single mark may be slow by chance, or because the debugger reads symbols for it.
  if (wanted == "auto" && slow_ > 1)
    return fmt::format("off (the last one took {} ms)", newest_ns_ / 1'000'000);
  return wanted == "off" ? "off" : "on";
}

Result<CounterMarkPtr> CounterMarks::since(const std::string &command,
                                           std::string_view since) const {
  if (since.empty())
    return CounterMarkPtr();
  const CounterMarkPtr &out = since == "mark" ? mark_ : stop_before_;
  if (out)
    return out;
  const auto why = [&]() -> std::string {
    if (since == "mark")
      return "no mark in this process: coverage mark";
    if (resumed_unseen_)
      return "the stop before this one is not known, because no command of the debugger resumed "
             "the program (an editor or a script did): enter 'coverage mark' at a stop, and use "
             "--since mark at a later one";
    if (last_stop_)
      return "only one stop was marked until now";
    return fmt::format("no stop was marked until now: auto-mark is {}", automatic());
  };
  return fail(ErrorCode::no_data, why(), command);
}

} // namespace tally
