/* What the agent inside the program and its reader in the debugger share: one memory, made, sized
 * and sealed by the debugger. Plain data, alike in C and C++; words that both sides touch are read
 * and written by __atomic builtins.
 *
 *     tally_wire_header | tally_wire_slot[slots] | ring[slots], each of ring_bytes
 *
 * Neither side trusts it. The agent copies the debugger's words once, checks them against its own
 * limits and keeps its positions to itself; a program that overwrites the memory spoils its counts
 * and nothing else. The reader takes every word for a stranger's. */
#ifndef TALLY_AGENT_WIRE_H
#define TALLY_AGENT_WIRE_H

#include <stdint.h>

#define TALLY_WIRE_MAGIC UINT64_C(0x31746e6761796c74) /* "tlyagnt1" */
#define TALLY_WIRE_VERSION UINT32_C(2)
/* TALLY_AGENT=/proc/PID/fd/N */
#define TALLY_WIRE_VARIABLE "TALLY_AGENT"

enum {
  TALLY_WIRE_SLOTS = 512,       /* threads at a time; never more */
  TALLY_WIRE_PAGE = 4096,       /* slots and rings begin at a multiple of it */
  TALLY_WIRE_SIGNALS = 3,       /* tried in order */
  TALLY_WIRE_CPUS = 1024,       /* processors with a kernel's clock; never more */
  TALLY_WIRE_ATTR_BYTES = 128,  /* room for a perf_event_attr */
  TALLY_WIRE_VARIANTS = 4,      /* of a clock's attributes, tried in order */
  TALLY_WIRE_FDS = 4096,        /* descriptors handed over; never more */
  TALLY_WIRE_FRAMES = 127,      /* of a chain, leaf included: as many as the kernel gives */
  TALLY_WIRE_REGISTERS = 17,    /* x86-64, DWARF's numbering; 16 is the pc */
  TALLY_WIRE_STACK_BYTES = 8192 /* of a copied stack */
};

/* header.state; the agent writes it and wakes who waits on it. */
enum tally_wire_state {
  TALLY_STATE_EMPTY = 0,
  TALLY_STATE_OFFERED, /* descriptors of the kernel's clocks wait to be taken */
  TALLY_STATE_RING,    /* they were: nothing of the agent runs any more */
  TALLY_STATE_TICKER,
  TALLY_STATE_TIMER,
  TALLY_STATE_REFUSED, /* refusal and error say why */
  TALLY_STATE_ENDED,   /* end says why */
};

/* header.handover: of the descriptors. Each side sets it once, from `open`, by compare-exchange. */
enum tally_wire_handover {
  TALLY_HANDOVER_OPEN = 0,
  TALLY_HANDOVER_TAKEN,     /* the debugger has them */
  TALLY_HANDOVER_FAILED,    /* the debugger cannot */
  TALLY_HANDOVER_WITHDRAWN, /* the agent has waited long enough */
};

/* header.command; the debugger writes it. */
enum tally_wire_command { TALLY_COMMAND_RUN = 0, TALLY_COMMAND_STOP };

/* Also what tally_agent_start() returns. */
enum tally_wire_refusal {
  TALLY_REFUSED_NOT = 0,
  TALLY_REFUSED_VARIABLE = 1,   /* TALLY_AGENT is not of its form */
  TALLY_REFUSED_OPEN = 2,       /* the memory cannot be opened */
  TALLY_REFUSED_FOREIGN = 3,    /* too short, not sealed, or not ours */
  TALLY_REFUSED_VERSION = 4,    /* of another version of Tally */
  TALLY_REFUSED_UNEXPECTED = 5, /* another process is expected, or none */
  TALLY_REFUSED_CLAIMED = 6,    /* another agent uses it */
  TALLY_REFUSED_MAP = 7,        /* the memory cannot be mapped */
  TALLY_REFUSED_BUSY = 8,       /* this process's agent works for another debugger */
  TALLY_REFUSED_SIGNAL = 9,     /* every signal that was named is taken */
  TALLY_REFUSED_THREAD = 10,    /* no thread for the ticker */
  TALLY_REFUSED_TIMER = 11,     /* no timer */
};

enum tally_wire_end {
  TALLY_END_NOT = 0,
  TALLY_END_STOPPED, /* by the debugger's command */
  TALLY_END_EXEC,    /* the process executes another program */
  TALLY_END_SIGNAL,  /* the program has set the signal's handler */
};

/* Bits of header.notes. */
enum tally_wire_note {
  TALLY_NOTE_SIGPROF = 1, /* the program handles SIGPROF */
  TALLY_NOTE_BLIND = 2,   /* the ticker has no descriptors: it sees no threads of clone() */
  TALLY_NOTE_CROWDED = 4, /* more threads than slots */
  TALLY_NOTE_LATE = 8,    /* loaded into a standing process: exec is not seen */
  TALLY_NOTE_LIMIT = 16,  /* a signal could not be queued: RLIMIT_SIGPENDING */
  TALLY_NOTE_BLOCKED = 32 /* a thread ran on with the signal blocked */
};

enum tally_wire_stacks { TALLY_STACKS_NONE = 0, TALLY_STACKS_FP, TALLY_STACKS_COPY };

struct tally_wire_header {
  /* The debugger's, before the memory is named to anybody. */
  uint64_t magic;
  uint32_t version;
  uint32_t machine;    /* ELF's e_machine */
  uint64_t bytes;      /* of the whole memory */
  uint32_t slots;      /* <= TALLY_WIRE_SLOTS */
  uint32_t ring_bytes; /* of each; a power of two, a multiple of the page */
  uint32_t frequency_hz;
  uint32_t stacks; /* tally_wire_stacks */
  uint64_t period_ns;
  uint32_t timer_up_to_hz; /* a CPU timer serves up to here, a ticker above */
  uint32_t handover_ms;    /* how long the descriptors are offered; 0: the ring is not tried */
  int32_t signals[TALLY_WIRE_SIGNALS];
  /* perf_event_attr as perf_event_open takes it. The first one owns a processor's ring, the others
   * are variants of the clock; what processor i gets is 2 * i ns longer. */
  uint32_t attr_bytes; /* 0: the ring is not tried */
  uint32_t cpus;       /* <= TALLY_WIRE_CPUS */
  uint32_t variants;   /* <= TALLY_WIRE_VARIANTS */
  /* Of a processor's ring, without its first page; the agent halves it down to the least until it
   * may be mapped. Powers of two. */
  uint32_t clock_ring_bytes;
  uint32_t least_clock_ring_bytes;
  uint8_t owner_attr[TALLY_WIRE_ATTR_BYTES];
  uint8_t clock_attr[TALLY_WIRE_VARIANTS][TALLY_WIRE_ATTR_BYTES];
  int32_t cpu[TALLY_WIRE_CPUS];

  /* The debugger's, while the program lives. */
  int32_t expected_pid; /* 0: nobody */
  uint32_t command;
  uint32_t seen; /* not 0: it knows what is mapped; the agent waits for it a while */

  /* Both sides'. */
  uint32_t handover;

  /* The agent's. */
  int32_t claimed_by; /* its process, by compare-exchange from 0 */
  uint32_t state;
  uint32_t refusal;
  int32_t error; /* errno of the refusal, or of the kernel's clocks (clock ticker or timer) */
  uint32_t end;
  uint32_t notes;
  int32_t signal;
  uint64_t load_address;
  uint64_t signals_sent;
  uint64_t lost;         /* ticks without a place: no room, or too old when the signal arrived */
  uint64_t cpu_ns;       /* of the program's own threads since the start (clock ticker) */
  uint64_t unplaced_ns;  /* of these, not in any record and not in `lost` yet (clock ticker) */
  uint32_t variant;      /* of the clock's attributes that the kernel took */
  uint32_t fds;          /* <= TALLY_WIRE_FDS: rings' owners, one a processor, then clocks */
  uint32_t mapped_bytes; /* of each ring, as clock_ring_bytes; the reader must map the same */
  int32_t fd[TALLY_WIRE_FDS];
  int32_t fd_cpu[TALLY_WIRE_FDS]; /* index into cpu[] */
};

struct tally_wire_slot {
  uint64_t head; /* the agent's: bytes written since the beginning */
  uint64_t reserved0[7];
  uint64_t tail; /* the reader's: bytes read */
  uint64_t reserved1[7];
};

enum tally_wire_kind {
  TALLY_RECORD_CHAIN = 1, /* words: the pc, then return addresses, callers outward */
  TALLY_RECORD_COPY = 2   /* words: registers, then the stack from the stack pointer on */
};

/* A record and its words are contiguous modulo the ring. */
struct tally_wire_record {
  uint32_t bytes; /* of all of it; a multiple of 8 */
  uint32_t kind;
  int32_t tid;
  uint32_t weight; /* ticks */
  uint64_t at_ns;  /* by CLOCK_MONOTONIC */
};

static inline uint64_t tally_wire_slots_at(void) {
  return (sizeof(struct tally_wire_header) + TALLY_WIRE_PAGE - 1) / TALLY_WIRE_PAGE *
         TALLY_WIRE_PAGE;
}
static inline uint64_t tally_wire_rings_at(uint32_t slots) {
  return tally_wire_slots_at() + (slots * sizeof(struct tally_wire_slot) + TALLY_WIRE_PAGE - 1) /
                                     TALLY_WIRE_PAGE * TALLY_WIRE_PAGE;
}
static inline uint64_t tally_wire_bytes(uint32_t slots, uint32_t ring_bytes) {
  return tally_wire_rings_at(slots) + (uint64_t)slots * ring_bytes;
}

#endif
