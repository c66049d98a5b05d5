/* Implements the table of threads, and interposes pthread_create(). */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "agent/agent.h"
#include "agent/raw.h"

struct thread threads[MAX_THREADS];

static uint32_t used;       /* the number of rows, from 0 on, that were ever used */
static uint32_t table_lock; /* protects the allocation of rows; its holder never waits */

uint32_t threads_used(void) { return __atomic_load_n(&used, __ATOMIC_ACQUIRE); }

struct thread *thread_of(int tid) {
  const uint32_t end = threads_used();
  for (uint32_t i = 0; i < end; ++i)
    if (__atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE) == tid)
      return &threads[i];
  return NULL;
}

static bool lock_table(void) {
  for (int tries = 0; tries < 1000; ++tries)
    if (__atomic_exchange_n(&table_lock, 1, __ATOMIC_ACQUIRE) == 0)
      return true;
  return false; /* the holder was interrupted: a later scan finds the thread */
}

struct thread *thread_add(int tid) {
  if (!lock_table())
    return NULL;
  struct thread *thread = thread_of(tid);
  for (uint32_t i = 0; !thread && i < agent.slots; ++i) {
    if (threads[i].tid != 0)
      continue;
    thread = &threads[i];
    thread->fresh = 0;
    thread->stack_limit = thread->stack_size = 0;
    thread->in_flight = SIGNAL_NONE;
    thread->last_cpu = thread->sampled_cpu = thread->hold_cpu = thread->look.cpu = 0;
    thread->carry_ns = 0;
    thread->has_timer = false; /* `head` stays, because the reader relies on the ring's positions */
    __atomic_store_n(&thread->tid, tid, __ATOMIC_RELEASE);
    if (i >= used)
      __atomic_store_n(&used, i + 1, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&table_lock, 0, __ATOMIC_RELEASE);
  if (!thread)
    agent_note(TALLY_NOTE_CROWDED);
  return thread;
}

void thread_release(struct thread *thread) { __atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE); }

void thread_enter(uintptr_t limit, uintptr_t size) {
  struct thread *thread = thread_add((int)raw0(SYS_gettid));
  if (!thread)
    return;
  thread->stack_limit = limit;
  thread->stack_size = size;
  __atomic_store_n(&thread->fresh, 1, __ATOMIC_RELEASE);
  if (__atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE) == CLOCK_TIMER)
    timer_begin(thread);
}

void thread_leave(void) {
  if (!agent_is_here())
    return;
  struct thread *thread = thread_of((int)raw0(SYS_gettid));
  if (thread && thread->has_timer) {
    timer_end(thread);
    thread_release(thread); /* the ticker releases rows by itself */
  }
}

uint64_t thread_cpu_ns(int tid) {
  struct timespec now;
  /* Forms the number of a thread's CPU clock as pthread_getcpuclockid() does. */
  const clockid_t clock = (clockid_t)((~(unsigned)tid << 3) | 6u);
  return raw2(SYS_clock_gettime, clock, &now) == 0 ? nanoseconds(&now) : ~UINT64_C(0);
}

/* ---- pthread_create ---- */

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static create_function *real_create;

/* What a new thread needs. It comes from a pool, because the agent must not allocate. */
enum { START_RECORDS = 128 };
static struct start {
  void *(*function)(void *);
  void *argument;
  uintptr_t stack_size;
  uint32_t taken;
} starts[START_RECORDS];

static struct start *take_start(void) {
  for (int i = 0; i < START_RECORDS; ++i)
    if (__atomic_exchange_n(&starts[i].taken, 1, __ATOMIC_ACQUIRE) == 0)
      return &starts[i];
  return NULL;
}

static void leave(void *unused) {
  (void)unused;
  thread_leave();
}

/* Returns the limit up to which a thread's stack is read directly. `frame_end` is the first address
 * above the frame of its start function. A chain of frame pointers ends there, because libc's own
 * frames above it need not have frame pointers. Unwinding needs these frames to reach the outermost
 * one. In glibc they lie below the thread's descriptor, which is in the same mapping and which
 * pthread_self() points to. */
static uintptr_t stack_limit_above(uintptr_t frame_end, uintptr_t stack_size) {
#ifdef __GLIBC__
  const uintptr_t descriptor = (uintptr_t)pthread_self();
  if (agent.stacks == TALLY_STACKS_COPY && descriptor > frame_end &&
      descriptor - frame_end < stack_size)
    return descriptor;
#endif
  (void)stack_size;
  return frame_end;
}

static void *tally_agent_thread(void *record) {
  struct start start = *(struct start *)record;
  __atomic_store_n(&((struct start *)record)->taken, 0, __ATOMIC_RELEASE);
  /* All later frames of the thread lie below this frame, and everything in between is mapped. */
  if (agent_is_here()) {
    const uintptr_t frame_end = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t);
    thread_enter(stack_limit_above(frame_end, start.stack_size), start.stack_size);
  }
  void *result;
  pthread_cleanup_push(leave, NULL);
  result = start.function(start.argument);
  pthread_cleanup_pop(1);
  return result;
}

/* Subtracts a margin for what libc keeps at the end of a stack, and for its guard. */
static uintptr_t sure_part(size_t stack_size) {
  const size_t margin = (size_t)96 << 10;
  return stack_size > 2 * margin ? stack_size - margin : 0;
}

void threads_resolve(void) {
  if (!real_create)
    real_create = (create_function *)(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");
}

AGENT_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                void *(*function)(void *), void *argument) {
  threads_resolve();
  if (!real_create)
    return ENOSYS;
  struct start *start = agent_is_here() ? take_start() : NULL;
  if (!start)
    return real_create(thread, attributes, function, argument);
  start->function = function;
  start->argument = argument;
  size_t size = 0;
  if (attributes) {
    pthread_attr_getstacksize(attributes, &size);
  } else {
    pthread_attr_t defaults;
    if (pthread_attr_init(&defaults) == 0) {
      pthread_attr_getstacksize(&defaults, &size);
      pthread_attr_destroy(&defaults);
    }
  }
  start->stack_size = sure_part(size);
  const int error = real_create(thread, attributes, tally_agent_thread, start);
  if (error != 0)
    __atomic_store_n(&start->taken, 0, __ATOMIC_RELEASE);
  return error;
}

/* ---- threads that already exist ---- */

extern void *__libc_stack_end __attribute__((weak)); /* of ld.so: where the first frame began */

static void know_first_stack(struct thread *thread) {
  struct rlimit limit;
  uintptr_t size = (uintptr_t)8 << 20;
  if (&__libc_stack_end == NULL || getrlimit(RLIMIT_STACK, &limit) != 0)
    return;
  if (limit.rlim_cur < size)
    size = sure_part(limit.rlim_cur); /* nothing else is ever mapped into the stack's gap */
  thread->stack_limit = (uintptr_t)__libc_stack_end;
  thread->stack_size = size;
}

struct dirent64_record {
  uint64_t inode;
  int64_t offset;
  unsigned short bytes;
  unsigned char type;
  char name[];
};

void threads_each(int directory, void (*visit)(int tid, void *context), void *context) {
  char buffer[2048] __attribute__((aligned(8)));
  raw3(SYS_lseek, directory, 0, 0);
  for (;;) {
    const long got = raw3(SYS_getdents64, directory, buffer, sizeof buffer);
    if (got <= 0)
      return;
    for (long at = 0; at < got;) {
      const struct dirent64_record *entry = (const struct dirent64_record *)(void *)(buffer + at);
      int tid = 0;
      for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; ++digit)
        tid = tid * 10 + (*digit - '0');
      if (tid > 0)
        visit(tid, context);
      at += entry->bytes;
    }
  }
}

void thread_begin_now(struct thread *thread) {
  const uint64_t cpu = thread_cpu_ns(thread->tid);
  thread->last_cpu = thread->sampled_cpu = cpu == ~UINT64_C(0) ? 0 : cpu;
}

static void adopt(int tid, void *context) {
  (void)context;
  struct thread *thread = thread_add(tid);
  if (!thread)
    return;
  thread_begin_now(thread);
  if (tid == agent.pid)
    know_first_stack(thread);
}

void threads_adopt_all(void) {
  adopt(agent.pid, NULL);
  const int directory =
      (int)raw4(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (directory < 0)
    return;
  threads_each(directory, adopt, NULL);
  raw1(SYS_close, directory);
}
