// regions SECONDS [PASSES [CALLS]]: runs three phases, then functions that end in all ways: by
// recursion (recurse), an exception (thrower), longjmp (jumper), in several threads (worker), at
// once (short). With CALLS it calls only that one.
//
// Without CALLS it prints how often each function is entered from another function, as `name
// count`, one per line.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "spin.h"

#define APART extern "C" __attribute__((noinline, noclone))
#define SPIN(seconds) SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, seconds)

namespace {

volatile unsigned sink;
std::jmp_buf saved;

inline __attribute__((always_inline)) void pasted() { sink = sink + 1; }
inline unsigned maybe_pasted(unsigned by) {
  sink = sink + by;
  return sink;
}
unsigned (*volatile by_pointer)(unsigned) = maybe_pasted;

} // namespace

APART void first_phase(double seconds) { SPIN(seconds); }
APART void second_phase(double seconds) { SPIN(seconds); }
APART void third_phase(double seconds) { SPIN(seconds); }

APART int recurse(int depth, double seconds) {
  if (depth == 0) {
    SPIN(seconds);
    return 1;
  }
  const int below = recurse(depth - 1, seconds);
  sink = sink + 1; // prevents the compiler from making a loop
  return below + 1;
}

APART void thrower(int inner, double seconds) {
  SPIN(seconds);
  if (inner == 0)
    throw std::runtime_error("out");
  try {
    thrower(inner - 1, seconds);
  } catch (const std::runtime_error &) {
    SPIN(seconds); // still inside the outer call
  }
}

APART void jumper(double seconds) {
  SPIN(seconds);
  std::longjmp(saved, 1);
}

APART void worker(double seconds) { SPIN(seconds); }
APART void between(double seconds) { SPIN(seconds); }
APART void short_call() { sink = sink + 1; }

int main(int count, char **arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 0.1;
  const int passes = count > 2 ? std::atoi(arguments[2]) : 3;
  first_phase(seconds);
  second_phase(seconds); // the second
  third_phase(seconds);
  const auto wanted = [&](std::string_view calls) { return count <= 3 || arguments[3] == calls; };
  bool right = true;
  if (wanted("recurse")) {
    right = recurse(20, seconds) == 21;
    between(seconds);
  }
  for (int i = 0; wanted("thrower") && i < passes; ++i) {
    try {
      thrower(0, seconds / passes);
    } catch (const std::runtime_error &) {
      between(seconds / passes);
    }
  }
  if (wanted("thrower"))
    thrower(1, seconds / 3);
  for (volatile int left = wanted("jumper") ? passes : 0; left > 0;) {
    left = left - 1;
    if (setjmp(saved) == 0)
      jumper(seconds / passes);
    between(seconds / passes);
  }
  if (wanted("worker")) {
    std::thread one([=] { worker(seconds); }), other([=] { worker(seconds); });
    between(seconds);
    one.join();
    other.join();
  }
  if (wanted("short")) {
    for (int i = 0; i < passes; ++i)
      short_call();
    pasted();
    by_pointer(1); // not inlined
    for (int i = 0; i < passes; ++i)
      maybe_pasted(2);
  }
  if (count <= 3)
    std::printf("first_phase 1\nrecurse 1\nthrower %d\njumper %d\nworker 2\nshort_call %d\n",
                passes + 1, passes, passes);
  return right ? 0 : 1;
}
