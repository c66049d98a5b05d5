/* Starts and ends the agent: its constructor, its shared memory, and what a fork() requires. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/raw.h"

#if defined(__x86_64__)
enum { THIS_MACHINE = EM_X86_64 };
#else
enum { THIS_MACHINE = EM_AARCH64 };
#endif

struct agent agent;

bool agent_is_here(void) {
  return __atomic_load_n(&agent.shared, __ATOMIC_ACQUIRE) != NULL &&
         (int)raw0(SYS_getpid) == agent.pid;
}

void agent_set_state(enum tally_wire_state state) {
  __atomic_store_n(&agent.shared->state, (uint32_t)state, __ATOMIC_RELEASE);
  raw3(SYS_futex, &agent.shared->state, FUTEX_WAKE, INT_MAX);
}

void agent_note(uint32_t note) {
  if ((agent.notes & note) == note)
    return;
  const uint32_t notes = __atomic_or_fetch(&agent.notes, note, __ATOMIC_RELAXED);
  __atomic_store_n(&agent.shared->notes, notes, __ATOMIC_RELAXED);
}

void agent_end(enum tally_wire_end why) {
  __atomic_store_n(&agent.clock, CLOCK_OFF, __ATOMIC_RELEASE);
  __atomic_store_n(&agent.shared->end, (uint32_t)why, __ATOMIC_RELEASE);
  agent_set_state(TALLY_STATE_ENDED);
}

/* A child of fork() has neither the shared mapping (MADV_DONTFORK) nor the ticker. */
static void forget_in_child(void) {
  struct tally_wire_header *shared = agent.shared;
  agent.shared = NULL;
  ticker_forget();
  timers_forget();
  if (__atomic_exchange_n(&agent.clock, CLOCK_OFF, __ATOMIC_ACQ_REL) != CLOCK_OFF && shared)
    handler_restore();
}

static const char *take_number(const char *text, long *number) {
  if (*text < '0' || *text > '9')
    return NULL;
  for (*number = 0; *text >= '0' && *text <= '9'; ++text) {
    if (*number > INT_MAX / 10)
      return NULL;
    *number = *number * 10 + (*text - '0');
  }
  return text;
}

/* Accepts only "/proc/PID/fd/N", so that no program can make the agent map another file. */
static bool is_memory_name(const char *text, long *pid) {
  long number;
  if (strncmp(text, "/proc/", 6) != 0 || !(text = take_number(text + 6, pid)) ||
      strncmp(text, "/fd/", 4) != 0 || !(text = take_number(text + 4, &number)))
    return false;
  return *text == 0;
}

/* Checks that the memory is meant for this process. Only then may the agent write to it. */
static int check_header(const struct tally_wire_header *header, uint64_t bytes) {
  if (header->magic != TALLY_WIRE_MAGIC)
    return TALLY_REFUSED_FOREIGN;
  if (header->version != TALLY_WIRE_VERSION || header->machine != THIS_MACHINE)
    return TALLY_REFUSED_VERSION;
  const uint32_t ring = header->ring_bytes;
  if (header->slots == 0 || header->slots > TALLY_WIRE_SLOTS || ring < TALLY_WIRE_PAGE ||
      ring > (1u << 28) || (ring & (ring - 1)) != 0 || header->bytes != bytes ||
      bytes < tally_wire_bytes(header->slots, ring) || header->frequency_hz == 0 ||
      header->period_ns < 1000 || header->stacks > TALLY_STACKS_COPY)
    return TALLY_REFUSED_FOREIGN;
  if (header->expected_pid != getpid())
    return TALLY_REFUSED_UNEXPECTED;
  return TALLY_REFUSED_NOT;
}

/* A debugger that is not told of its new process looks for it, and on a busy machine the process is
 * here first. If nobody is expected yet, this waits until somebody is. */
static int read_header(int fd, uint64_t bytes, struct tally_wire_header *header) {
  enum { longest_wait_s = 1 };
  const struct timespec between_looks = {0, 1000000};
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (;;) {
    if (pread(fd, header, sizeof *header, 0) != sizeof *header)
      return TALLY_REFUSED_FOREIGN;
    const int refusal = check_header(header, bytes);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (refusal != TALLY_REFUSED_UNEXPECTED || header->expected_pid != 0 ||
        now.tv_sec - begin.tv_sec > longest_wait_s)
      return refusal;
    nanosleep(&between_looks, NULL);
  }
}

/* Maps the memory, and stores the header that was checked in `header`. */
static int open_memory(const char *name, struct tally_wire_header *header, void **memory,
                       long *debugger) {
  if (!is_memory_name(name, debugger))
    return TALLY_REFUSED_VARIABLE;
  const int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return TALLY_REFUSED_OPEN;
  struct stat info;
  const int seals = fcntl(fd, F_GET_SEALS);
  int refusal = TALLY_REFUSED_FOREIGN; /* a memory that shrinks could cause SIGBUS */
  if (fstat(fd, &info) == 0 && seals >= 0 && (seals & F_SEAL_SHRINK) != 0)
    refusal = read_header(fd, (uint64_t)info.st_size, header);
  if (refusal == TALLY_REFUSED_NOT) {
    *memory = mmap(NULL, header->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (*memory == MAP_FAILED)
      refusal = TALLY_REFUSED_MAP;
  }
  close(fd);
  return refusal;
}

static int refuse(struct tally_wire_header *shared, int refusal, int error) {
  shared->refusal = (uint32_t)refusal;
  shared->error = error;
  __atomic_store_n(&shared->state, TALLY_STATE_REFUSED, __ATOMIC_RELEASE);
  raw3(SYS_futex, &shared->state, FUTEX_WAKE, INT_MAX);
  return refusal;
}

static int begin_timers(int *error) {
  __atomic_store_n(&agent.clock, CLOCK_TIMER, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < threads_used(); ++i) {
    *error = threads[i].tid == 0 ? 0 : timer_begin(&threads[i]);
    if (*error != 0 && *error != EINVAL && *error != ESRCH)
      return TALLY_REFUSED_TIMER;
  }
  return TALLY_REFUSED_NOT;
}

/* Waits until the debugger has read the mappings, because the program may end soon. */
static void wait_until_seen(void) {
  const struct timespec wait = {0, 10000000};
  uint32_t *word = &agent.shared->seen;
  for (int i = 0; i < 25 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == 0; ++i)
    raw4(SYS_futex, word, FUTEX_WAIT, 0, &wait);
}

static int begin_clock(const struct tally_wire_header *header, int *error) {
  if (perf_offer(error)) {
    agent_set_state(TALLY_STATE_RING);
    return TALLY_REFUSED_NOT;
  }
  agent.shared->error = *error; /* why the kernel's clocks are not used */
  if (handler_install(header->signals) != 0)
    return TALLY_REFUSED_SIGNAL;
  agent.shared->signal = agent.signal;
  int refusal = TALLY_REFUSED_NOT;
  const bool timers = header->frequency_hz <= header->timer_up_to_hz;
  if (timers) {
    refusal = begin_timers(error);
  } else {
    __atomic_store_n(&agent.clock, CLOCK_TICKER, __ATOMIC_RELEASE);
    *error = ticker_start();
    if (*error != 0)
      refusal = TALLY_REFUSED_THREAD;
  }
  if (refusal != TALLY_REFUSED_NOT) {
    __atomic_store_n(&agent.clock, CLOCK_OFF, __ATOMIC_RELEASE);
    timers_end();
    handler_restore();
    return refusal;
  }
  agent_set_state(timers ? TALLY_STATE_TIMER : TALLY_STATE_TICKER);
  wait_until_seen();
  return TALLY_REFUSED_NOT;
}

static bool was_stopped(void) {
  return agent.shared &&
         __atomic_load_n(&agent.shared->command, __ATOMIC_ACQUIRE) == TALLY_COMMAND_STOP;
}

/* Empties the table of threads: the positions of an earlier use do not match the rings of a new
 * memory. */
static void begin_threads(void) {
  for (uint32_t i = 0; i < MAX_THREADS; ++i) {
    threads[i].tid = 0;
    threads[i].head = 0;
  }
  threads_adopt_all();
}

/* Returns whether an earlier use of the agent has ended. A ticker that was asked to stop may still
 * use its stack and the earlier memory. A timer ends by itself only if its thread runs. */
static bool earlier_use_is_over(void) {
  const uint32_t clock = __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE);
  if (clock != CLOCK_OFF && !was_stopped())
    return false;
  if (clock == CLOCK_TIMER) {
    agent_end(TALLY_END_STOPPED);
    timers_end();
  }
  return ticker_wait_end();
}

static int start(const char *name, bool preloaded) {
  static struct tally_wire_header header;
  static bool prepared;
  void *memory = NULL;
  long debugger = 0;
  int refusal = open_memory(name, &header, &memory, &debugger);
  if (refusal != TALLY_REFUSED_NOT)
    return refusal;
  struct tally_wire_header *shared = memory;
  madvise(memory, header.bytes, MADV_DONTFORK);
  int32_t nobody = 0;
  if (!__atomic_compare_exchange_n(&shared->claimed_by, &nobody, getpid(), false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    munmap(memory, header.bytes);
    return TALLY_REFUSED_CLAIMED;
  }
  if (!earlier_use_is_over()) {
    refusal = refuse(shared, TALLY_REFUSED_BUSY, 0);
    munmap(memory, header.bytes);
    return refusal;
  }
  /* The memory of an earlier use stays mapped, because a late handler may still read it. */
  agent.base = memory;
  agent.slots = header.slots;
  agent.ring_bytes = header.ring_bytes;
  agent.stacks = header.stacks;
  agent.period_ns = header.period_ns;
  agent.pid = getpid();
  agent.debugger = (int)debugger;
  agent.notes = preloaded ? 0 : TALLY_NOTE_LATE;
  agent.lost = agent.sent = 0;
  __atomic_store_n(&agent.shared, shared, __ATOMIC_RELEASE);
  shared->notes = agent.notes;
  shared->load_address = (uint64_t)(uintptr_t)&agent;
  begin_threads();
  if (!prepared) {
    pthread_atfork(NULL, NULL, forget_in_child);
    prepared = true;
  }
  int error = 0;
  refusal = begin_clock(&header, &error);
  if (refusal != TALLY_REFUSED_NOT) {
    /* The memory stays mapped and claimed: a handler that has seen the clock may still run. */
    refuse(shared, refusal, error);
  } else if (shared->state == TALLY_STATE_RING) {
    __atomic_store_n(&agent.shared, NULL, __ATOMIC_RELEASE);
    munmap(memory, header.bytes);
  }
  return refusal;
}

/* Serves a debugger that loads the agent into a stopped process. `name` is the value of the
 * variable. Returns 0 or a tally_wire_refusal. */
AGENT_EXPORT int tally_agent_start(const char *name);
AGENT_EXPORT int tally_agent_start(const char *name) {
  const int error = errno;
  const int refusal = start(name, false);
  errno = error;
  return refusal;
}

/* ---- loaded by the dynamic linker, or later by a debugger ---- */

extern char **environ;

static char *value_of(const char *name, char ***entry) {
  const size_t length = strlen(name);
  for (char **at = environ; at && *at; ++at)
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
      *entry = at;
      return *at + length + 1;
    }
  return NULL;
}

static void remove_entry(char **entry) {
  for (; *entry; ++entry)
    *entry = entry[1];
}

/* Removes the agent from LD_PRELOAD, where it is the first entry, in place. The program, its
 * children and getenv() then see the user's own value. */
static void restore_preload(void) {
  Dl_info own;
  char **entry;
  char *list = value_of("LD_PRELOAD", &entry);
  if (!list || dladdr(&agent, &own) == 0 || !own.dli_fname)
    return;
  const size_t length = strlen(own.dli_fname);
  if (strncmp(list, own.dli_fname, length) != 0)
    return;
  const char *rest = list + length;
  if (*rest == 0)
    remove_entry(entry);
  else if (*rest == ':' || *rest == ' ')
    memmove(list, rest + 1, strlen(rest + 1) + 1);
}

__attribute__((constructor)) static void loaded(void) {
  /* Resolve the functions now and not at their first call: in a child of vfork() or in a signal
   * handler they may be called, but dlsym() may not. */
  threads_resolve();
  signals_resolve();
  exec_resolve();
  char **entry;
  char *value = value_of(TALLY_WIRE_VARIABLE, &entry);
  if (!value)
    return;
  remove_entry(entry);
  restore_preload();
  const int error = errno;
  start(value, true);
  errno = error;
}
