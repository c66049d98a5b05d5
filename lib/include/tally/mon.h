/* profil(), monitor(), monstartup(): a program counts its own program counters.
 *
 * Link with -ltally-mon; it needs nothing but libc. C and C++; <unistd.h>, which declares glibc's
 * profil(), may come before or after. The rules are those of AIX's manual page of profil; what it
 * leaves open is said here.
 *
 * What can be profiled with no change to the program (it writes gmon.out when it exits):
 *
 *   TALLY_MON=1 LD_PRELOAD=libtally-mon.so PROGRAM
 *   gprof -b -p PROGRAM gmon.out
 *
 * TALLY_MON_HZ is its rate (100). GMON_OUT_PREFIX names the file PREFIX.PID, as glibc does; without
 * it only the first program is profiled, not those that it starts, as they would write the same
 * file. */
#ifndef TALLY_MON_H
#define TALLY_MON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
/* Before the macro profil below, so that a later #include finds it done. */
#include <unistd.h>

#define TALLY_MON_API __attribute__((visibility("default")))

#ifdef __cplusplus
/* C++ takes it for news that a function may have the name of a struct. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#if __cplusplus >= 201103L
#define TALLY_MON_NOTHROW noexcept(true)
#else
#define TALLY_MON_NOTHROW throw()
#endif
#else
#define TALLY_MON_NOTHROW
#endif

#ifndef HISTCOUNTER /* glibc's <sys/gmon.h> has it as a macro */
typedef unsigned short HISTCOUNTER;
#endif
/* As <sys/types.h> has it, but in strict modes, too. */
#ifndef __caddr_t_defined
typedef char *caddr_t;
#define __caddr_t_defined
#endif

/* One range of form 2. */
struct prof {
  caddr_t p_low;        /* the first pc */
  caddr_t p_high;       /* exclusive; strictly ascending over the array, 0 in the element after the
                           last */
  HISTCOUNTER *p_buff;  /* any alignment */
  int p_bufsize;        /* bytes; an odd one is rounded down */
  unsigned int p_scale; /* as profil's; (unsigned)-1: p_bufsize spread over [p_low, p_high) */
};

/* Form 1: profil(short_buffer, bytes, offset, scale)
 *   At each tick of the clock, for the thread that it ticks for, the short number
 *     (((pc - offset) * (scale & 0xFFFF) >> 16) rounded up to a half-word) / 2
 *   is incremented if the buffer has it. It stays at USHRT_MAX. Scale 0xFFFF is two bytes of code a
 *   short, 0x7FFF four; 2 counts every pc >= offset into the first short; 0 and 1 turn profiling
 *   off. So does 0x10000, which BSD knows as two bytes of code a short: only 16 bits count
 *   (tally_profil_status tells when that happened). A pc below offset is counted nowhere.
 *   BufferSize 0 turns profiling on, and counts nothing.
 *
 * Form 2: profil(ranges, -1, 0, 0)
 *   ranges is an array of struct prof. A first element with p_high 0 turns form 2 off. The first
 *   range that holds a pc counts it; a range with scale 0 or 1 is not there. A computed scale
 *   (p_scale -1) is bytes * 65536 / (p_high - p_low), at least 2 and at most 0xFFFF; the topmost
 *   pcs, which rounding up would drop, count into the last short; a computed 2 is no core clock.
 *   The size may be -1, (size_t)-1 or UINT_MAX.
 *
 * On while on, off while off, and off in the other form have no effect, read no pointer and return
 * 0; on while on keeps the old buffer.
 *
 * Returns 0, or -1 and errno:
 *   EFAULT  the buffer, ranges, or the space from the lowest p_buff to the highest end cannot be
 *           written (ranges: read)
 *   EINVAL  p_high is not ascending, or p_low >= p_high; looked for after EFAULT
 *   EAGAIN, ENOMEM, … no clock can be had (RLIMIT_SIGPENDING is 0), or no memory
 *
 * The clock is the CPU time of each thread, not wall time; 100 Hz if nothing else was asked for.
 * All threads count into the one buffer: those that are there, and those made later by
 * pthread_create() or thrd_create(). After fork() both go on, the child in its own copy of the
 * buffer, or in the same one if that is shared memory. exec turns profiling off.
 *
 * Counting is atomic where the buffer is aligned to shorts. In an unaligned one it is so among the
 * threads of a process, not among processes. A buffer that is unmapped while it is in use is not
 * touched: those ticks are counted as lost. (Unmapping it at the very moment of a tick, by another
 * thread, is the program's own race.) After profil() has turned profiling off, the buffer is not
 * touched any more. */
TALLY_MON_API int profil(unsigned short *short_buffer, size_t bytes, size_t offset,
                         unsigned int scale) TALLY_MON_NOTHROW;
/* The same, for both forms. */
TALLY_MON_API int tally_profil(const void *buffer, size_t bytes, size_t offset,
                               unsigned int scale) TALLY_MON_NOTHROW;

/* --- the clock ---------------------------------------------------------------------------------
 */

/* Whose arithmetic: BSD rounds down and takes scales up to 0x10000, 0 is off; glibc halves the
 * distance first, any scale, a null buffer is off. Under both, on while on takes the new buffer. */
enum tally_mon_abi { TALLY_MON_ABI_AIX = 0, TALLY_MON_ABI_BSD = 1, TALLY_MON_ABI_GLIBC = 2 };

enum tally_mon_clock {
  TALLY_MON_CLOCK_AUTO = 0, /* in status: no clock yet. In options: perf where the kernel lets us */
  /* A perf descriptor a thread (task clock). Ticks at any rate, in user code only: a tick inside of
   * a system call is not counted. Its descriptors are in the upper half of those allowed; a program
   * that closes what it does not know ends it. A thread that blocks every signal has no ticks
   * meanwhile. */
  TALLY_MON_CLOCK_PERF = 1,
  /* A timer a thread, on its CPU clock. System calls count at the place of the call. It cannot tick
   * faster than the kernel does (100 to 1000 a second, by its build): what it leaves out is counted
   * as missed. */
  TALLY_MON_CLOCK_TIMER = 2
};

/* Set size to sizeof(struct tally_profil_options), what is not set to 0. */
struct tally_profil_options {
  size_t size;
  uint32_t rate_hz; /* ticks per second of CPU time, up to 10000; 0: 100 */
  uint32_t abi;     /* tally_mon_abi */
  uint32_t clock;   /* tally_mon_clock */
};

/* For the next call that turns profiling on; NULL: as at the beginning. Returns 0, or -1 and errno:
 * EBUSY while profiling is on, EINVAL for a value or size that is not known. */
TALLY_MON_API int
tally_profil_options(const struct tally_profil_options *options) TALLY_MON_NOTHROW;

/* Of the profiling that is on, or of the last one. A forked child begins at 0. The signal is 61, or
 * the next below that the program has no handler for; GDB stops at it until it is told
 * `handle SIG61 nostop noprint pass`. */
struct tally_profil_status {
  size_t size;            /* set by the caller */
  uint32_t on;            /* 0: off; 1, 2: profil(), by form; 3: monitor() or monstartup() */
  uint32_t clock;         /* tally_mon_clock, of the thread that turned it on */
  uint32_t requested_hz;  /* per second of CPU time */
  uint32_t delivered_hz;  /* ticks / cpu_ns; user code only where the clock is perf's */
  uint32_t threads;       /* that have a clock now */
  uint32_t unclocked;     /* threads that could not have one */
  uint32_t signal;        /* the real-time signal that ticks; 0: none yet */
  uint32_t scale_warning; /* 1: a scale above 0xFFFF was ever given, of which AIX keeps 16 bits
                             (0x10000, BSD's two bytes a short, is off) */
  uint64_t cpu_ns;        /* CPU time of the process while on */
  uint64_t ticks;         /* that were delivered: all below but missed are among them */
  uint64_t outside;       /* in no range or behind the buffer */
  uint64_t saturated;     /* their short was at USHRT_MAX already */
  uint64_t lost;          /* their short was not writable any more */
  uint64_t missed;        /* periods of a timer that passed without a tick of their own */
};

/* Fills in `size` bytes. Returns 0, or -1 and EINVAL for a size that is too small. */
TALLY_MON_API int tally_profil_status(struct tally_profil_status *status) TALLY_MON_NOTHROW;

/* --- gmon.out ----------------------------------------------------------------------------------
 *
 * A program's text by 4-byte bins, written at exit for gprof -b -p PROGRAM gmon.out, with no -pg.
 * There are no call arcs in it. Counters have 32 bits: what is above 65535 is written as further
 * records of the same range, which gprof adds up. Addresses are link-time. The rate in the file is
 * the one that was delivered where a timer missed ticks, so that seconds are right. Written aside
 * and renamed. GMON_OUT_PREFIX: the file is PREFIX.PID; without it a forked child writes none, and
 * has none of its parent's counts in either case. */

/* Begins to count [low_pc, high_pc), run-time addresses. No effect while anything is on. Declared
 * as in <sys/gmon.h>; on a failure (errno) nothing is on, as tally_profil_status() tells. */
TALLY_MON_API void monstartup(unsigned long low_pc, unsigned long high_pc) TALLY_MON_NOTHROW;
/* 0 pauses what monitor() or monstartup() began, 1 goes on. Returns what was before, 0 or 1, or -1
 * and errno. A program built with -pg, whose profile is libc's, controls that one. */
TALLY_MON_API int moncontrol(int mode) TALLY_MON_NOTHROW;

/* The same into a buffer of the caller's: `shorts` counters that stay at USHRT_MAX, in equal bins
 * of 4 bytes of code or the least power of two that fits; `functions`, which counted calls in
 * mon.out, is ignored. monitor(0, 0, NULL, 0, 0) ends it, or what monstartup() began, and writes
 * the file. Returns 0, or -1 and errno: EINVAL for an empty range or buffer, EFAULT as profil(),
 * and at the end for a buffer that is gone, EBUSY while something else is on, or of writing the
 * file. (Its name at link time is tally_monitor, to meet nobody else's.) */
TALLY_MON_API int monitor(unsigned long low_pc, unsigned long high_pc, HISTCOUNTER *buffer,
                          size_t shorts, int functions) TALLY_MON_NOTHROW __asm__("tally_monitor");

/* Writes what was counted so far; counting goes on. NULL: the name that the exit would use. Returns
 * 0, or -1 and errno: ENODATA when neither monitor() nor monstartup() began, EFAULT when
 * monitor()'s buffer is gone, or of writing the file. */
TALLY_MON_API int tally_mon_write(const char *path) TALLY_MON_NOTHROW;

#ifdef __cplusplus
} /* extern "C" */
#pragma GCC diagnostic pop

/* Form 2. A template, so that NULL and short buffers keep meaning the function. */
template <class T> struct tally_mon_ranges {};
template <> struct tally_mon_ranges<struct prof> { typedef int status; };
template <> struct tally_mon_ranges<const struct prof> { typedef int status; };
template <> struct tally_mon_ranges<void> { typedef int status; };
template <class T>
inline typename tally_mon_ranges<T>::status profil(T *buffer, size_t bytes, size_t offset,
                                                   unsigned int scale) {
  return tally_profil(buffer, bytes, offset, scale);
}

#elif defined __GNUC__ || (defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L)

static __inline__ int tally_profil_shorts_(unsigned short *buffer, size_t bytes, size_t offset,
                                           unsigned int scale) {
  return tally_profil(buffer, bytes, offset, scale);
}
static __inline__ int tally_profil_ranges_(const struct prof *ranges, size_t bytes, size_t offset,
                                           unsigned int scale) {
  return tally_profil(ranges, bytes, offset, scale);
}

/* Like a function: the name alone is still the function. The cast is for compilers that warn of -1.
 */
#define profil(buffer, bytes, offset, scale)                                                       \
  __extension__ _Generic((buffer),                                                                 \
      struct prof *: tally_profil_ranges_,                                                         \
      const struct prof *: tally_profil_ranges_,                                                   \
      void *: tally_profil,                                                                        \
      default: tally_profil_shorts_)((buffer), (size_t)(bytes), (offset), (scale))

#endif

#endif
