/* Implements the signal handler, which runs on the interrupted thread of the program. The handler
 * reads that thread's stack and writes to that thread's ring with plain memory accesses, and uses
 * no lock, no allocation and no errno. */
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "agent/agent.h"
#include "agent/raw.h"

/* Nothing is mapped below this address, whatever a register contains. */
static const uint64_t lowest_code = 4096;

struct context {
  uint64_t pc, sp, fp;
};

#if defined(__x86_64__)
static struct context context_of(const ucontext_t *context) {
  const greg_t *r = context->uc_mcontext.gregs;
  return (struct context){(uint64_t)r[REG_RIP], (uint64_t)r[REG_RSP], (uint64_t)r[REG_RBP]};
}
static void write_registers(struct ring_writer *writer, const ucontext_t *context) {
  /* DWARF's numbering (System V ABI for x86-64, figure 3.36): rax rdx rcx rbx rsi rdi rbp rsp
   * r8…r15, return address. */
  static const unsigned char order[TALLY_WIRE_REGISTERS] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  for (size_t i = 0; i < TALLY_WIRE_REGISTERS; ++i)
    ring_word(writer, (uint64_t)context->uc_mcontext.gregs[order[i]]);
}
#elif defined(__aarch64__)
static struct context context_of(const ucontext_t *context) {
  const mcontext_t *m = &context->uc_mcontext;
  return (struct context){m->pc, m->sp, m->regs[29]};
}
static void write_registers(struct ring_writer *writer, const ucontext_t *context) {
  (void)context; /* stacks are not copied on this processor: the debugger refuses to start */
  (void)writer;
}
#endif

/* Buffers for stacks of unknown extent: those of coroutines, of sigaltstack(), of threads created
 * by clone(). Such a stack may end anywhere, so the kernel reads it, with one call. There is one
 * buffer per row, because the interrupted stack may be too small for it. */
static uint64_t scratch[MAX_THREADS][SCRATCH_BYTES / sizeof(uint64_t)];

static uint64_t read_unknown(uint64_t from, void *piece[], const uint64_t size[], unsigned pieces) {
  struct iovec local[2];
  uint64_t bytes = 0;
  for (unsigned i = 0; i < pieces; ++i) {
    local[i].iov_base = piece[i];
    local[i].iov_len = size[i];
    bytes += size[i];
  }
  struct iovec remote = {(void *)(uintptr_t)from, bytes};
  const long got = raw6(SYS_process_vm_readv, agent.pid, (long)local, pieces, (long)&remote, 1, 0);
  return got > 0 ? (uint64_t)got & ~(uint64_t)7 : 0;
}

/* Follows the frame pointers outward. `seen` is the stack from `begin` to `end`, or a copy of this
 * part. */
static void write_chain(struct ring_writer *writer, uint64_t fp, uint64_t begin, uint64_t end,
                        const uint64_t *seen) {
  for (int frames = 1; frames < TALLY_WIRE_FRAMES; ++frames) {
    if (fp % sizeof(uint64_t) != 0 || fp < begin || fp >= end || end - fp < 16)
      return;
    const uint64_t *frame = seen + (fp - begin) / sizeof(uint64_t);
    const uint64_t next = frame[0];
    const uint64_t pc = frame[1];
    if (pc < lowest_code)
      return;
    ring_word(writer, pc);
    if (next <= fp)
      return;
    fp = next;
  }
}

static void sample(struct thread *thread, const ucontext_t *context, uint32_t weight) {
  const struct context at = context_of(context);
  struct ring_writer writer;
  if (!ring_begin(&writer, thread)) {
    count_lost(weight);
    return;
  }
  const uint64_t begin = at.sp & ~(uint64_t)7;
  const uint64_t limit = thread->stack_limit & ~(uint64_t)7;
  const bool known = begin < limit && limit - begin < thread->stack_size;
  if (agent.stacks == TALLY_STACKS_COPY) {
    if (writer.room < TALLY_WIRE_REGISTERS * sizeof(uint64_t) + TALLY_WIRE_STACK_BYTES) {
      count_lost(weight);
      return;
    }
    write_registers(&writer, context);
    uint64_t bytes = TALLY_WIRE_STACK_BYTES;
    if (known && limit - begin < bytes)
      bytes = limit - begin;
    void *piece[2];
    uint64_t size[2];
    const unsigned pieces = ring_pieces(&writer, bytes, piece, size);
    if (known) {
      memcpy(piece[0], (const void *)(uintptr_t)begin, size[0]);
      memcpy(piece[1], (const char *)(uintptr_t)begin + size[0], size[1]);
    } else {
      bytes = read_unknown(begin, piece, size, pieces);
    }
    writer.at += bytes;
    ring_end(&writer, TALLY_RECORD_COPY, weight);
    return;
  }
  ring_word(&writer, at.pc);
  if (agent.stacks == TALLY_STACKS_FP) {
    if (known) {
      write_chain(&writer, at.fp, begin, limit, (const uint64_t *)(uintptr_t)begin);
    } else {
      uint64_t *mine = scratch[thread - threads];
      void *piece[2] = {mine, NULL};
      const uint64_t size[2] = {SCRATCH_BYTES, 0};
      const uint64_t got = read_unknown(begin, piece, size, 1);
      write_chain(&writer, at.fp, begin, begin + got, mine);
    }
  }
  ring_end(&writer, TALLY_RECORD_CHAIN, weight);
}

static void handler(int number, siginfo_t *info, void *context) {
  (void)number;
  const uint32_t clock = __atomic_load_n(&agent.clock, __ATOMIC_ACQUIRE);
  if (clock == CLOCK_OFF)
    return;
  /* A child created by a direct system call shares nothing with the agent, not even the mapping;
   * its tid is in no row. A signal that another process sent finds nothing in flight. */
  struct thread *thread = thread_of((int)raw0(SYS_gettid));
  if (!thread)
    return;
  if (clock == CLOCK_TIMER) {
    if (info->si_code != SI_TIMER)
      return;
    if (__atomic_load_n(&agent.shared->command, __ATOMIC_ACQUIRE) == TALLY_COMMAND_STOP) {
      timer_end(thread);
      return;
    }
    /* A small overrun is due to the kernel's tick, which is coarser than the period. A large one
     * means that the thread ran with the signal blocked. */
    const uint32_t overrun = info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
    if (overrun * agent.period_ns > 30000000)
      count_lost(overrun + 1);
    else
      sample(thread, context, overrun + 1);
    return;
  }
  const uint32_t weight = thread->weight;
  /* From here on, another signal may be sent, which waits until this one is handled. */
  if (__atomic_exchange_n(&thread->in_flight, SIGNAL_NONE, __ATOMIC_ACQ_REL) == SIGNAL_SENT)
    sample(thread, context, weight);
}

static int unsendable; /* a signal that the system does not send */

static int set_action(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return libc_sigaction(agent.signal, &action, NULL);
}

int handler_install(const int32_t *wanted) {
  for (int i = 0; i < TALLY_WIRE_SIGNALS; ++i) {
    const int number = wanted[i];
    struct sigaction now;
    if (number < SIGRTMIN || number > SIGRTMAX || number == unsendable ||
        libc_sigaction(number, NULL, &now) != 0)
      continue;
    /* The agent's handler may be left from an earlier use. Without this check, each use would
     * occupy one more signal, of which there are few. */
    if (number != agent.signal || now.sa_sigaction != handler) {
      if (now.sa_handler != SIG_DFL)
        continue;
      agent.old_action = now;
    }
    agent.signal = number;
    return set_action();
  }
  return -1;
}

int handler_again(void) { return set_action(); }

int handler_install_another(const int32_t *wanted) {
  unsendable = agent.signal;
  libc_sigaction(agent.signal, &agent.old_action, NULL);
  return handler_install(wanted);
}

/* The kernel's own structure: the ticker must not call a function that may change errno. */
struct kernel_sigaction {
  void *handler;
  unsigned long flags;
  void *restorer;
  unsigned long mask;
};

bool handler_is_ours(void) {
  struct kernel_sigaction now;
  if (raw4(SYS_rt_sigaction, agent.signal, 0, &now, sizeof now.mask) != 0)
    return true;
  return now.handler == (void *)handler;
}

/* Ignoring a signal drops the pending ones of all threads, whether blocked or not. The default
 * action would terminate the program. */
static void ignore_signal(void) {
  struct sigaction ignore;
  memset(&ignore, 0, sizeof ignore);
  ignore.sa_handler = SIG_IGN;
  libc_sigaction(agent.signal, &ignore, NULL);
}

void handler_drop_pending(void) {
  ignore_signal();
  set_action();
}

void handler_restore(void) {
  if (!handler_is_ours())
    return; /* the program has set its own handler */
  ignore_signal();
  libc_sigaction(agent.signal, &agent.old_action, NULL);
}
