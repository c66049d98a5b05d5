/* Defines what the agent in the program and its reader in the debugger share: one memory, created,
 * sized and sealed by the debugger. It contains plain data, with the same layout in C and C++. Both
 * sides use __atomic builtins for the words that both access.
 *
 *     tally_wire_header | tally_wire_slot[slots] | ring[slots], each of ring_bytes
 *
 * Neither side trusts this memory. The agent copies the debugger's words once, checks them against
 * its own limits and keeps its positions in private memory; a program that overwrites the shared
 * memory damages its own counts and nothing else. The reader trusts no word of it. */
#ifndef TALLY_AGENT_WIRE_H
#define TALLY_AGENT_WIRE_H

#include <stdint.h>

#define TALLY_WIRE_MAGIC UINT64_C(0x31746e6761796c74) /* "tlyagnt1" */
#define TALLY_WIRE_VERSION UINT32_C(2)
/* TALLY_AGENT=/proc/PID/fd/N */
#define TALLY_WIRE_VARIABLE "TALLY_AGENT"

enum {
  TALLY_WIRE_SLOTS = 512,       /* the maximum number of threads at a time */
  TALLY_WIRE_PAGE = 4096,       /* slots and rings begin at a multiple of it */
  TALLY_WIRE_SIGNALS = 3,       /* signals that the agent tries, in order */
  TALLY_WIRE_CPUS = 1024,       /* the maximum number of processors with a kernel clock */
  TALLY_WIRE_ATTR_BYTES = 128,  /* space for a perf_event_attr */
  TALLY_WIRE_VARIANTS = 4,      /* variants of a clock's attributes, tried in order */
  TALLY_WIRE_FDS = 4096,        /* the maximum number of descriptors handed over */
  TALLY_WIRE_FRAMES = 127,      /* frames of a chain with its leaf; the kernel records as many */
  TALLY_WIRE_REGISTERS = 17,    /* x86-64, DWARF's numbering; 16 is the pc */
  TALLY_WIRE_STACK_BYTES = 8192 /* size of a stack dump */
};

/* header.state; the agent writes it and wakes the threads that wait for it. */
enum tally_wire_state {
  TALLY_STATE_EMPTY = 0,
  TALLY_STATE_OFFERED, /* descriptors of the kernel's clocks are offered */
  TALLY_STATE_RING, /* the debugger has taken the descriptors: no part of the agent runs any more */
  TALLY_STATE_TICKER,
  TALLY_STATE_TIMER,
  TALLY_STATE_REFUSED, /* refusal and error say why */
  TALLY_STATE_ENDED,   /* end says why */
};

/* header.handover. Each side sets it once, by compare-exchange, if it is still OPEN. */
enum tally_wire_handover {
  TALLY_HANDOVER_OPEN = 0,
  TALLY_HANDOVER_TAKEN,     /* the debugger has the descriptors */
  TALLY_HANDOVER_FAILED,    /* the debugger cannot take them */
  TALLY_HANDOVER_WITHDRAWN, /* the agent has waited long enough */
};

/* header.command; the debugger writes it. */
enum tally_wire_command { TALLY_COMMAND_RUN = 0, TALLY_COMMAND_STOP };

/* header.refusal, and the result of tally_agent_start(). */
enum tally_wire_refusal {
  TALLY_REFUSED_NOT = 0,
  TALLY_REFUSED_VARIABLE = 1,   /* TALLY_AGENT does not have the expected format */
  TALLY_REFUSED_OPEN = 2,       /* the memory cannot be opened */
  TALLY_REFUSED_FOREIGN = 3,    /* the memory is too short, not sealed, or not Tally's */
  TALLY_REFUSED_VERSION = 4,    /* the memory belongs to another version of Tally */
  TALLY_REFUSED_UNEXPECTED = 5, /* another process is expected, or none */
  TALLY_REFUSED_CLAIMED = 6,    /* another agent uses the memory */
  TALLY_REFUSED_MAP = 7,        /* the memory cannot be mapped */
  TALLY_REFUSED_BUSY = 8,       /* the agent of this process works for another debugger */
  TALLY_REFUSED_SIGNAL = 9,     /* every signal in the list is in use */
  TALLY_REFUSED_THREAD = 10,    /* the ticker's thread cannot be created */
  TALLY_REFUSED_TIMER = 11,     /* a timer cannot be created */
};

enum tally_wire_end {
  TALLY_END_NOT = 0,
  TALLY_END_STOPPED, /* by the debugger's command */
  TALLY_END_EXEC,    /* the process executes another program */
  TALLY_END_SIGNAL,  /* the program has changed the signal's handler */
};

/* Bits of header.notes. */
enum tally_wire_note {
  TALLY_NOTE_SIGPROF = 1, /* the program handles SIGPROF */
  TALLY_NOTE_BLIND = 2,   /* the ticker has no descriptors, so it does not see clone()'s threads */
  TALLY_NOTE_CROWDED = 4, /* more threads than slots */
  TALLY_NOTE_LATE = 8,    /* loaded into a stopped process: exec is not intercepted */
  TALLY_NOTE_LIMIT = 16,  /* a signal could not be queued: RLIMIT_SIGPENDING */
  TALLY_NOTE_BLOCKED = 32 /* a thread ran with the signal blocked */
};

enum tally_wire_stacks { TALLY_STACKS_NONE = 0, TALLY_STACKS_FP, TALLY_STACKS_COPY };

/* Holds all that the two programs share, besides the slots and the rings; hence the many data
 * members. */
struct tally_wire_header {
  /* Written by the debugger, before it passes the memory's name on. */
  uint64_t magic;
  uint32_t version;
  uint32_t machine;    /* e_machine of the ELF header */
  uint64_t bytes;      /* size of the whole memory */
  uint32_t slots;      /* <= TALLY_WIRE_SLOTS */
  uint32_t ring_bytes; /* size of each ring; a power of two and a multiple of the page */
  uint32_t frequency_hz;
  uint32_t stacks; /* tally_wire_stacks */
  uint64_t period_ns;
  uint32_t timer_up_to_hz; /* up to this frequency CPU timers are used, above it the ticker */
  uint32_t handover_ms;    /* how long the descriptors are offered; 0: not at all */
  int32_t signals[TALLY_WIRE_SIGNALS];
  /* perf_event_attr as passed to perf_event_open. The first one is the owner of a processor's ring,
   * the others are variants of the clock; the period for processor i is 2 * i ns longer. */
  uint32_t attr_bytes; /* 0: the kernel's clocks are not tried */
  uint32_t cpus;       /* <= TALLY_WIRE_CPUS */
  uint32_t variants;   /* <= TALLY_WIRE_VARIANTS */
  /* Size of a processor's ring, without its first page; the agent halves it, down to the least,
   * until it can be mapped. Both are powers of two. */
  uint32_t clock_ring_bytes;
  uint32_t least_clock_ring_bytes;
  uint8_t owner_attr[TALLY_WIRE_ATTR_BYTES];
  uint8_t clock_attr[TALLY_WIRE_VARIANTS][TALLY_WIRE_ATTR_BYTES];
  int32_t cpu[TALLY_WIRE_CPUS];

  /* Written by the debugger while the program runs. */
  int32_t expected_pid; /* 0: none */
  uint32_t command;
  uint32_t seen; /* not 0 once the debugger knows the mappings; the agent waits for this briefly */

  /* Written by both sides. */
  uint32_t handover;

  /* Written by the agent. */
  int32_t claimed_by; /* the agent's process; set by compare-exchange from 0 */
  uint32_t state;
  uint32_t refusal;
  int32_t error; /* errno of the refusal, or why the kernel's clocks are not used (ticker, timer) */
  uint32_t end;
  uint32_t notes;
  int32_t signal;
  uint64_t load_address;
  uint64_t signals_sent;
  uint64_t lost;        /* ticks without an address: no room, or the signal arrived too late */
  uint64_t cpu_ns;      /* CPU time of the program's own threads since the start (ticker only) */
  uint64_t unplaced_ns; /* the part of cpu_ns in no record and not in `lost` yet (ticker only) */
  uint32_t variant;     /* index of the clock's attributes that the kernel accepted */
  uint32_t fds; /* <= TALLY_WIRE_FDS: for each processor the ring's owner, then its clocks */
  uint32_t mapped_bytes; /* size of each ring, like clock_ring_bytes; the reader maps as much */
  int32_t fd[TALLY_WIRE_FDS];
  int32_t fd_cpu[TALLY_WIRE_FDS]; /* index into cpu[] */
};

struct tally_wire_slot {
  uint64_t head; /* bytes written since the beginning, by the agent */
  uint64_t reserved0[7];
  uint64_t tail; /* bytes read, by the reader */
  uint64_t reserved1[7];
};

enum tally_wire_kind {
  TALLY_RECORD_CHAIN = 1, /* words: the pc, then return addresses, callers outward */
  TALLY_RECORD_COPY = 2   /* words: registers, then the stack from the stack pointer on */
};

/* A record and its words are contiguous modulo the ring's size. */
struct tally_wire_record {
  uint32_t bytes; /* size of the record with its words; a multiple of 8 */
  uint32_t kind;
  int32_t tid;
  uint32_t weight; /* ticks */
  uint64_t at_ns;  /* CLOCK_MONOTONIC */
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
