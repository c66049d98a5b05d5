/* System calls that do not use libc's errno: the ticker has no thread-local storage of its own, and
 * the handler must not change the errno of the interrupted thread. A failure is returned as -errno,
 * as the kernel does. */
#ifndef TALLY_AGENT_RAW_H
#define TALLY_AGENT_RAW_H

#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
static inline long raw6(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
static inline long raw6(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}
#else
#error "the agent does not know the system calls of this processor"
#endif

#define RAW_WORD(x) ((long)(x))
#define raw0(n) raw6(n, 0, 0, 0, 0, 0, 0)
#define raw1(n, a) raw6(n, RAW_WORD(a), 0, 0, 0, 0, 0)
#define raw2(n, a, b) raw6(n, RAW_WORD(a), RAW_WORD(b), 0, 0, 0, 0)
#define raw3(n, a, b, c) raw6(n, RAW_WORD(a), RAW_WORD(b), RAW_WORD(c), 0, 0, 0)
#define raw4(n, a, b, c, d) raw6(n, RAW_WORD(a), RAW_WORD(b), RAW_WORD(c), RAW_WORD(d), 0, 0)

#endif
