/* profil(), monitor(), monstartup(): a program counts its own program counters.
 *
 * Link with -ltally-mon; it needs only libc. The header works in C and C++, and <unistd.h>, which
 * declares glibc's profil(), may be included before or after it. The rules are those of AIX's
 * manual page of profil; this header states what that page leaves open.
 *
 * A program can also be profiled without any change. It writes gmon.out when it exits:
 *
 *   TALLY_MON=1 LD_PRELOAD=libtally-mon.so PROGRAM
 *   gprof -b -p PROGRAM gmon.out
 *
 * TALLY_MON_HZ sets the rate in Hz (default: 100). GMON_OUT_PREFIX names the file PREFIX.PID, as in
 * glibc. Without GMON_OUT_PREFIX only the first program is profiled, and not the programs that it
 * starts, because they would write the same file. */
#ifndef TALLY_MON_H
#define TALLY_MON_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
/* Included before the macro profil below is defined, so that a later #include has no effect. */
#include <unistd.h>

#define TALLY_MON_API __attribute__((visibility("default")))

#ifdef __cplusplus
/* C++ compilers warn that a function has the same name as a struct. */
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

#ifndef HISTCOUNTER /* glibc's <sys/gmon.h> defines it as a macro */
typedef unsigned short HISTCOUNTER;
#endif
/* The same as in <sys/types.h>, which does not define it in strict modes. */
#ifndef __caddr_t_defined
typedef char *caddr_t;
#define __caddr_t_defined
#endif

/* One range of form 2. */
struct prof {
  caddr_t p_low;        /* the first pc */
  caddr_t p_high;       /* the end, exclusive; strictly ascending over the array, and 0 in the
                           element after the last */
  HISTCOUNTER *p_buff;  /* the buffer, at any alignment */
  int p_bufsize;        /* the buffer's size in bytes; an odd size is rounded down */
  unsigned int p_scale; /* as in profil(); (unsigned)-1 spreads p_bufsize over [p_low, p_high) */
};

/* Form 1: profil(short_buffer, bytes, offset, scale)
 *   At each tick of a thread's clock, the short with the index
 *     (((pc - offset) * (scale & 0xFFFF) >> 16) rounded up to a half-word) / 2
 *   is incremented if the buffer contains it. A short stays at USHRT_MAX. Scale 0xFFFF gives two
 *   bytes of code for each short, 0x7FFF four. Scale 2 counts every pc >= offset into the first
 *   short. Scales 0 and 1 turn profiling off, and so does 0x10000, which in BSD means two bytes of
 *   code for each short, because only 16 bits are used (tally_profil_status() reports it). A pc
 *   below offset is not counted in the buffer. A size of 0 turns profiling on, but counts nothing.
 *
 * Form 2: profil(ranges, -1, 0, 0)
 *   ranges is an array of struct prof. A first element with p_high 0 turns form 2 off. A pc counts
 *   in the first range that contains it; a range with scale 0 or 1, or without a buffer, is
 *   ignored. A computed scale (p_scale -1) is bytes * 65536 / (p_high - p_low), at least 2 and at
 *   most 0xFFFF. With a computed scale the topmost pcs, which rounding up would drop, count into
 *   the last short, and a computed 2 follows the formula instead of counting all into the first
 *   short. The size may be -1, (size_t)-1 or UINT_MAX.
 *
 * Turning profiling on while it is on, off while it is off, and off in the other form have no
 * effect, read no pointer and return 0. Turning it on while it is on keeps the old buffer.
 *
 * Returns 0, or -1 and errno:
 *   EFAULT  the buffer, or the space from the lowest p_buff to the highest end, cannot be written,
 *           or ranges cannot be read
 *   EINVAL  p_high is not ascending, or p_low >= p_high; checked after EFAULT
 *   EAGAIN, ENOMEM, … no clock is available (RLIMIT_SIGPENDING is 0), or no memory
 *
 * The clock is the CPU time of each thread, not wall time, at 100 Hz by default. All threads count
 * into the one buffer: existing ones, and those made later by pthread_create() or thrd_create().
 * After fork() profiling continues in both processes. The child counts into its own copy of the
 * buffer, or into the same buffer if that is shared memory. exec turns profiling off.
 *
 * Counting is atomic if the buffer is aligned to shorts. In an unaligned buffer it is atomic among
 * the threads of a process, but not among processes. A buffer that is unmapped while it is in use
 * is not touched, and its ticks count as lost. (If another thread unmaps it at the very moment of a
 * tick, that is a race in the program.) After profil() has turned profiling off, the buffer is not
 * touched any more. */
TALLY_MON_API int profil(unsigned short *short_buffer, size_t bytes, size_t offset,
                         unsigned int scale) TALLY_MON_NOTHROW;
/* Does the same for a pointer of either form. */
TALLY_MON_API int tally_profil(const void *buffer, size_t bytes, size_t offset,
                               unsigned int scale) TALLY_MON_NOTHROW;

/* --- the clock ---------------------------------------------------------------------------------
 */

/* The system whose arithmetic profil() uses. AIX is described above. BSD rounds down and accepts
 * scales up to 0x10000; 0 turns profiling off. glibc halves the distance first and accepts any
 * scale; a null buffer turns profiling off. In both, turning profiling on while it is on switches
 * to the new buffer. */
enum tally_mon_abi { TALLY_MON_ABI_AIX = 0, TALLY_MON_ABI_BSD = 1, TALLY_MON_ABI_GLIBC = 2 };

enum tally_mon_clock {
  /* In a status: no clock yet. In options: perf if the kernel permits it, otherwise a timer. */
  TALLY_MON_CLOCK_AUTO = 0,
  /* One perf descriptor for each thread (task clock). It ticks at any rate, but only in user code:
   * time in system calls is not counted. The descriptors are in the upper half of the permitted
   * numbers; a program that closes descriptors that it did not open stops the clock. A thread that
   * blocks all signals has no ticks meanwhile. */
  TALLY_MON_CLOCK_PERF = 1,
  /* One timer for each thread, on its CPU clock. System calls count at the address of the call. The
   * timer cannot tick faster than the kernel does (100 to 1000 times a second, depending on its
   * configuration); the periods left out count as missed. */
  TALLY_MON_CLOCK_TIMER = 2
};

/* Set size to sizeof(struct tally_profil_options), and fields for the default to 0. */
struct tally_profil_options {
  size_t size;
  uint32_t rate_hz; /* ticks per second of CPU time, up to 10000; 0 means 100 */
  uint32_t abi;     /* tally_mon_abi */
  uint32_t clock;   /* tally_mon_clock */
};

/* Sets the options for the next call that turns profiling on; NULL restores the defaults. Returns
 * 0, or -1 and errno: EBUSY while profiling is on, EINVAL for an unknown value or size. */
TALLY_MON_API int
tally_profil_options(const struct tally_profil_options *options) TALLY_MON_NOTHROW;

/* The status of the current profiling, or of the last one. The counts of a forked child begin at 0.
 * The signal is 61, or the next lower one that the program has no handler for. GDB stops at it
 * unless it gets `handle SIG61 nostop noprint pass`. */
struct tally_profil_status {
  size_t size;            /* set by the caller */
  uint32_t on;            /* 0 off, 1 or 2 profil() in that form, 3 monitor() or monstartup() */
  uint32_t clock;         /* tally_mon_clock of the thread that turned profiling on */
  uint32_t requested_hz;  /* ticks per second of CPU time */
  uint32_t delivered_hz;  /* ticks per second of cpu_ns; with perf's clock only from user code */
  uint32_t threads;       /* the threads that have a clock now */
  uint32_t unclocked;     /* the threads for which no clock was available */
  uint32_t signal;        /* the real-time signal of the ticks; 0 if none was chosen yet */
  uint32_t scale_warning; /* 1 after any scale above 0xFFFF, of which AIX's rules keep 16 bits
                             (0x10000, in BSD two bytes for each short, turns profiling off) */
  uint64_t cpu_ns;        /* the process's CPU time while profiling was on */
  uint64_t ticks;         /* the delivered ticks; they include the next three counts */
  uint64_t outside;       /* ticks in no range, or after the buffer's last short */
  uint64_t saturated;     /* ticks whose short was already at USHRT_MAX */
  uint64_t lost;          /* ticks whose short was no longer writable */
  uint64_t missed;        /* periods of a timer that passed without a tick */
};

/* Fills in *status. Returns 0, or -1 and errno: EINVAL if status->size is too small. */
TALLY_MON_API int tally_profil_status(struct tally_profil_status *status) TALLY_MON_NOTHROW;

/* --- gmon.out ----------------------------------------------------------------------------------
 *
 * The library counts the program's text in 4-byte bins and writes the file at exit, for
 * gprof -b -p PROGRAM gmon.out. The program needs no -pg, and the file has no call arcs. Counters
 * have 32 bits. Counts above 65535 are written as further records of the same range, which gprof
 * adds up. Addresses are link-time. If a timer missed ticks, the rate in the file is the delivered
 * one, so that gprof computes the right seconds. The library writes a temporary file and renames
 * it. With GMON_OUT_PREFIX the file is PREFIX.PID; without it a forked child writes no file. A
 * child's counts never include its parent's. */

/* Begins to count the run-time addresses [low_pc, high_pc). Has no effect while profiling is on.
 * Declared as in <sys/gmon.h>, so it returns nothing: after an error errno is set, and
 * tally_profil_status() reports that nothing is on. */
TALLY_MON_API void monstartup(unsigned long low_pc, unsigned long high_pc) TALLY_MON_NOTHROW;
/* Pauses (mode 0) or resumes (mode 1) what monitor() or monstartup() began. Returns the previous
 * mode, 0 or 1, or -1 and errno. If neither has begun, it calls libc's moncontrol(), for programs
 * built with -pg, and returns 0. */
TALLY_MON_API int moncontrol(int mode) TALLY_MON_NOTHROW;

/* Does the same as monstartup() with a buffer of the caller: `shorts` counters, which stay at
 * USHRT_MAX, in equal bins of 4 bytes of code, or of the smallest power of two for which the buffer
 * covers the range. `functions`, the number of counters of calls in mon.out, is ignored.
 * monitor(0, 0, NULL, 0, 0) ends the profiling that monitor() or monstartup() began, and writes the
 * file. Returns 0, or -1 and errno: EINVAL for an empty range or buffer, EFAULT as profil() and, at
 * the end, for a buffer that was unmapped, EBUSY while profiling is on, or an error of writing the
 * file. (The name at link time is tally_monitor, to avoid conflicts with other libraries.) */
TALLY_MON_API int monitor(unsigned long low_pc, unsigned long high_pc, HISTCOUNTER *buffer,
                          size_t shorts, int functions) TALLY_MON_NOTHROW __asm__("tally_monitor");

/* Writes the counts so far to `path`, or to the file written at exit if it is NULL. Counting
 * continues. Returns 0, or -1 and errno: ENODATA if neither monitor() nor monstartup() has begun,
 * EFAULT if monitor()'s buffer was unmapped, or an error of writing the file. */
TALLY_MON_API int tally_mon_write(const char *path) TALLY_MON_NOTHROW;

#ifdef __cplusplus
} /* extern "C" */
#pragma GCC diagnostic pop

/* Form 2 of profil(). It is a template, so that calls with NULL or a short buffer still choose the
 * function. */
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

/* A function-like macro, so that the name without arguments is still the function. The cast avoids
 * warnings about -1. */
#define profil(buffer, bytes, offset, scale)                                                       \
  __extension__ _Generic((buffer),                                                                 \
      struct prof *: tally_profil_ranges_,                                                         \
      const struct prof *: tally_profil_ranges_,                                                   \
      void *: tally_profil,                                                                        \
      default: tally_profil_shorts_)((buffer), (size_t)(bytes), (offset), (scale))

#endif

#endif
