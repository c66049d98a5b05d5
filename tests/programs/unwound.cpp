// unwound
//
// Runs until it is killed, or for 60 s, code whose stacks are hard to unwind without frame
// pointers: recursion, inlining, alloca, callbacks from the C library, exceptions, the vDSO, and a
// handler that interrupts all of it, a third of the time. It gets a SIGPROF every 7 ms of CPU time,
// at which a debugger can stop; without a debugger it ignores the signal.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <alloca.h>
#include <sys/time.h>
#include <time.h>

namespace {

volatile uint64_t result;

#define OUT_OF_LINE __attribute__((noinline))

inline uint64_t turn(uint64_t x) { return x * 2862933555777941757U + 3037000493U; }

OUT_OF_LINE uint64_t spin(uint64_t x) {
  for (int i = 0; i < 200; ++i)
    x = turn(x) ^ (x >> 31);
  return x;
}

OUT_OF_LINE uint64_t tree(uint64_t x, unsigned depth) {
  if (depth == 0)
    return spin(x);
  const uint64_t left = tree(turn(x), depth - 1);
  return left ^ tree(left + x, depth - 1);
}

OUT_OF_LINE uint64_t on_stack(uint64_t x) {
  const size_t count = x % 100 + 1;
  auto *room = static_cast<uint64_t *>(alloca(count * sizeof(uint64_t)));
  for (size_t i = 0; i < count; ++i)
    room[i] = spin(x + i % 3);
  return room[count - 1] ^ room[0];
}

OUT_OF_LINE int by_value(const void *a, const void *b) {
  const uint64_t x = spin(*static_cast<const uint64_t *>(a)),
                 y = spin(*static_cast<const uint64_t *>(b));
  return (x > y) - (x < y);
}

OUT_OF_LINE uint64_t sorted(uint64_t x) {
  uint64_t values[24];
  for (uint64_t &each : values)
    each = x = turn(x);
  std::qsort(values, 24, sizeof values[0], by_value);
  return values[0];
}

OUT_OF_LINE uint64_t collected(uint64_t x) {
  std::map<std::string, std::vector<uint64_t>> all;
  for (int i = 0; i < 40; ++i)
    all[std::to_string((x = turn(x)) % 13)].push_back(x);
  uint64_t sum = 0;
  for (auto &[key, values] : all) {
    std::sort(values.begin(), values.end(),
              [](uint64_t a, uint64_t b) { return turn(a) < turn(b); });
    sum += values[0] + key.size();
  }
  return sum;
}

#if __cpp_exceptions
OUT_OF_LINE uint64_t thrown(uint64_t x, unsigned depth) {
  if (depth == 0)
    throw spin(x);
  return thrown(x + 1, depth - 1) + 1;
}

OUT_OF_LINE uint64_t caught(uint64_t x) {
  try {
    return thrown(x, 5);
  } catch (const uint64_t value) {
    return value;
  }
}
#else
OUT_OF_LINE uint64_t caught(uint64_t x) { return tree(x, 2); }
#endif

OUT_OF_LINE uint64_t timed(uint64_t x) {
  timespec now;
  for (int i = 0; i < 300; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    x += static_cast<uint64_t>(now.tv_nsec);
  }
  return x;
}

// The interval varies, because timers in step with each other might never coincide.
void alarm_within(uint64_t by) {
  const itimerval once{{0, 0}, {0, static_cast<suseconds_t>(200 + by % 4000)}};
  setitimer(ITIMER_REAL, &once, nullptr);
}

void on_alarm(int) {
  result = tree(result, 11);
  alarm_within(result >> 7);
}

} // namespace

int main() {
  std::signal(SIGPROF, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval stopped{{0, 7000}, {0, 7000}};
  alarm_within(1);
  setitimer(ITIMER_PROF, &stopped, nullptr);
  const time_t end = time(nullptr) + 60;
  for (uint64_t x = 1; time(nullptr) < end;) {
    for (const auto each : {on_stack, sorted, collected, caught, timed})
      x = each(x);
    result = x = tree(x, 6);
  }
}
