/* Tally's C interface: what a debugger's front, a script or a C program stands on.
 *
 * Rules: every function that can fail returns tally_error*, NULL on success; outputs come last and
 * are left alone on failure. Strings are UTF-8 or bytes as they were found, never NULL, and live as
 * long as the handle that they came from. Handles are freed by their own _free; NULL is allowed
 * there. One thread at a time for each handle. Nothing here prints, exits, or throws. */
#ifndef TALLY_H
#define TALLY_H

#include <stddef.h>
#include <stdint.h>

#include <tally/export.h>
#include <tally/version.h>

/* Raised when a function here changes its meaning or its arguments. */
#define TALLY_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

TALLY_API const char *tally_version(void);
TALLY_API uint32_t tally_abi(void);

/* --- errors ----------------------------------------------------------------------------------- */

typedef struct tally_error tally_error;

enum tally_error_code {
  TALLY_ERROR_INVALID_ARGUMENT = 1, /* the caller's words */
  TALLY_ERROR_INVALID_INPUT = 2,    /* a file is damaged */
  TALLY_ERROR_UNSUPPORTED = 3,      /* understood, but not possible here */
  TALLY_ERROR_NOT_FOUND = 4,
  TALLY_ERROR_IO = 5,
  TALLY_ERROR_PERMISSION = 6,
  TALLY_ERROR_LIMIT = 7, /* descriptors, memory, or a bound of ours */
  TALLY_ERROR_BAD_STATE = 8,
  TALLY_ERROR_NO_DATA = 9,
  TALLY_ERROR_OVERFLOW = 10,
  TALLY_ERROR_CANCELLED = 11,
  TALLY_ERROR_INTERNAL = 12 /* a defect of Tally's */
};

TALLY_API void tally_error_free(tally_error *error);
TALLY_API int tally_error_get_code(const tally_error *error);
/* One line for a person: place, message, what was being done. */
TALLY_API const char *tally_error_text(const tally_error *error);
TALLY_API const char *tally_error_message(const tally_error *error);
TALLY_API const char *tally_error_source(const tally_error *error);
/* 1-based; 0 where the error has no line. */
TALLY_API uint64_t tally_error_line(const tally_error *error);
TALLY_API uint64_t tally_error_column(const tally_error *error);
/* UINT64_MAX where the error has no offset. */
TALLY_API uint64_t tally_error_offset(const tally_error *error);

/* --- tables: columns of texts or of counts -----------------------------------------------------
 */

typedef struct tally_table tally_table;

enum tally_column_kind { TALLY_COLUMN_TEXT = 0, TALLY_COLUMN_COUNT = 1 };

TALLY_API void tally_table_free(tally_table *table);
TALLY_API size_t tally_table_rows(const tally_table *table);
TALLY_API size_t tally_table_columns(const tally_table *table);
TALLY_API const char *tally_table_column_name(const tally_table *table, size_t column);
TALLY_API int tally_table_column_kind(const tally_table *table, size_t column);
/* An array of tally_table_rows() texts; NULL when the column does not hold texts. */
TALLY_API const char *const *tally_table_texts(const tally_table *table, size_t column);
/* The same of counts. */
TALLY_API const uint64_t *tally_table_counts(const tally_table *table, size_t column);

/* Columns name, summary, usage, help: the words behind `profile`. */
TALLY_API tally_error *tally_commands(tally_table **table);
/* Columns name, values ("a|b", or "HZ" for a number), fallback, summary. */
TALLY_API tally_error *tally_settings(tally_table **table);
/* The help of `profile` itself; valid for ever. */
TALLY_API const char *tally_profile_help(void);

/* --- sessions: `profile …` in a debugger --------------------------------------------------------
 */

typedef struct tally_session tally_session;
typedef struct tally_reply tally_reply;

enum tally_target_kind {
  TALLY_TARGET_NONE = 0,
  TALLY_TARGET_NATIVE = 1,
  TALLY_TARGET_REMOTE = 2,
  TALLY_TARGET_CORE = 3
};

enum tally_event_kind {
  TALLY_EVENT_TARGET = 0,  /* only tells what is there: push it before each command */
  TALLY_EVENT_RESUMED = 1, /* before the process runs on */
  TALLY_EVENT_BREAKPOINT = 2,
  TALLY_EVENT_WATCHPOINT = 3,
  TALLY_EVENT_CATCHPOINT = 4,
  TALLY_EVENT_SIGNAL = 5,    /* stopped by a signal, named in text */
  TALLY_EVENT_STEP = 6,      /* a step, next, finish, until ended */
  TALLY_EVENT_OTHER = 7,     /* stopped for what text says */
  TALLY_EVENT_EXITED = 8,    /* number: the status */
  TALLY_EVENT_SIGNALLED = 9, /* ended by the signal named in text */
  TALLY_EVENT_KILLED = 10,
  TALLY_EVENT_DETACHED = 11
};

/* Texts may be NULL. Set size to sizeof(tally_event). */
typedef struct tally_event {
  uint32_t size;
  int32_t kind;   /* tally_event_kind */
  int32_t target; /* tally_target_kind */
  int32_t pid;    /* 0: no process */
  int32_t number; /* of a breakpoint; an exit status */
  uint32_t line;
  const char *text;
  const char *file;
  const char *command; /* the program and its arguments */
  const char *program; /* its file */
  uint64_t at_ns;      /* when it happened, by CLOCK_MONOTONIC; 0: now */
} tally_event;

enum tally_request_kind {
  TALLY_REQUEST_NONE = 0,
  TALLY_REQUEST_PROGRESS =
      1,                     /* show tally_reply_progress(), look for Ctrl-C; answer with nothing */
  TALLY_REQUEST_SYMBOLS = 2, /* answer "function\tfile\tline", or "", for each address; where code
                                is inlined, a line of text for each function, innermost first */
  /* What follows is answered with one text: "" when it was done, else why it could not be. */
  TALLY_REQUEST_PRELOAD = 3,     /* the next run is to load library words[0] before all others, with
                                    words[1] ("NAME=VALUE") in its environment; signals go to it
                                    unseen: neither stop nor print */
  TALLY_REQUEST_PRELOAD_END = 4, /* the next run is to be as it was again; the signals stay */
  TALLY_REQUEST_LOAD = 5,        /* the process that stands is to load words[0] and call its
                                    int tally_agent_start(const char *) with words[1], if it stands
                                    where that is safe; signals as above */
  TALLY_REQUEST_INTERRUPT = 6,   /* begin to interrupt the process, see tally_session_tick(): by
                                    signals[0], or without one as Ctrl-C does. words[0]: "stacks",
                                    or "pcs" where callers are not wanted */
  TALLY_REQUEST_INTERRUPT_END = 7,   /* no more of that; the signals stay */
  TALLY_REQUEST_SIGNALS_RESTORE = 8, /* all signals that were changed are as they were */
  /* Of a place: words[0] is a file and words[1] a line; or "" and a run-time address, 0x…. What
     the debugger says to the user of that is his answer. */
  TALLY_REQUEST_BREAK = 9,       /* set a breakpoint there, as the user would */
  TALLY_REQUEST_LIST = 10,       /* show the source around it, which has a line */
  TALLY_REQUEST_REGION = 11,     /* call tally_session_region_hit() whenever the program comes by
                                    words[0] and words[1], places; or, where words[1] is "", enters
                                    the function words[0], or may leave it: by a return, an exception
                                    that is caught, longjmp(). In place of what was before, which
                                    stays where the new one cannot be. Another answer than a text:
                                    a tally_region_refusal, a blank and the word it is of */
  TALLY_REQUEST_REGION_END = 12, /* no more of that */
  /* Answered with one text: a line "0xADDRESS\ttext" for each instruction of the ranges [low, high)
     that the addresses are pairs of; without one, why they cannot be had. */
  TALLY_REQUEST_DISASSEMBLE = 13
};

/* Answered to TALLY_REQUEST_REGION as a digit: "1 parse". */
enum tally_region_refusal {
  TALLY_REGION_UNKNOWN = 1, /* there is no such function or place */
  TALLY_REGION_INLINED = 2, /* all copies of the function are inlined */
  TALLY_REGION_WITHIN = 3   /* words[0] alone: an address within a function, no call begins there */
};

enum tally_hit_kind {
  TALLY_HIT_FIRST = 0,    /* at the first place, or in a call of the function */
  TALLY_HIT_SECOND = 1,   /* at the second place */
  TALLY_HIT_RETURNED = 2, /* at an address that tally_session_region_hit() has returned */
  TALLY_HIT_CAUGHT = 3,   /* in __cxa_begin_catch() */
  TALLY_HIT_JUMPED = 4    /* in longjmp() */
};

/* Set size to sizeof(tally_hit). */
typedef struct tally_hit {
  uint32_t size;
  int32_t kind; /* tally_hit_kind */
  int32_t tid;
  int32_t at_entry;        /* 1: FIRST or CAUGHT, and at the first instruction of the function */
  uint64_t caller_sp;      /* the caller's stack pointer before its call; RETURNED: as it is now.
                              May be 0 for RETURNED and CAUGHT, and at_entry, without
                              return_address */
  uint64_t return_address; /* FIRST: of the call, 0 in an inlined copy; RETURNED: the pc */
  uint64_t jump_buffer;    /* JUMPED: the first argument */
  int32_t holds_all;       /* 1: every thread stands, not this one alone */
} tally_hit;

/* An address of the program. */
typedef struct tally_place {
  const char *file; /* "" or NULL: a run-time address; else an offset in this file, an absolute path
                       without symbolic links */
  uint64_t address;
} tally_place;

enum tally_tick_kind {
  TALLY_TICK_OURS = 0,  /* count it */
  TALLY_TICK_STALE = 1, /* ours, but of before the last stop: go on */
  TALLY_TICK_THEIRS = 2 /* the user's, or the program's own */
};

/* One thread at one stop; pcs leaf first, callers as return address - 1. */
typedef struct tally_stack {
  int32_t tid;
  uint32_t count;
  const uint64_t *pcs;
  const char *name; /* of the thread; may be NULL */
} tally_stack;

TALLY_API tally_error *tally_session_new(tally_session **session);
/* Ends sampling. */
TALLY_API void tally_session_free(tally_session *session);
/* line: what follows the word `profile`. An error is the command's refusal. */
TALLY_API tally_error *tally_session_command(tally_session *session, const char *line,
                                             tally_reply **reply);
/* An error is news for the user (sampling could not begin); the debugger goes on. */
TALLY_API tally_error *tally_session_event(tally_session *session, const tally_event *event,
                                           tally_reply **reply);
/* While a reply has a request: perform it, answer, and look at the new reply. */
TALLY_API tally_error *tally_session_answer(tally_session *session, const char *const *answers,
                                            size_t count, tally_reply **reply);
/* In place of an answer: the user interrupted. Returns the error to show. */
TALLY_API tally_error *tally_session_cancel(tally_session *session);
/* The process that is sampled; 0: none. A front that holds several processes tells of this one
 * while it is there, and of the user's choice otherwise. */
TALLY_API int32_t tally_session_sampled_pid(const tally_session *session);
/* 1: sampling begins with the next process that runs; 0: it does not. */
TALLY_API int tally_session_is_armed(const tally_session *session);
/* While TALLY_REQUEST_INTERRUPT holds, a thread of the front waits for tick_wait_ns, calls
 * tick_interrupt, and goes on with that. These two are for any thread. Of a process of this machine
 * tick_interrupt sends the signals itself; of another it returns 1 when the front is to interrupt
 * it now, else 0. SIZE_MAX: sampling has given up, because the program handles the signal itself;
 * from now on it is to get it again, and the next stop ends sampling. */
TALLY_API uint64_t tally_session_tick_wait_ns(tally_session *session);
TALLY_API size_t tally_session_tick_interrupt(tally_session *session);
/* At a stop by such a signal: a tally_tick_kind. tid: of the thread that stopped; 0 where one stop
 * shows all threads. */
TALLY_API int tally_session_tick_take(tally_session *session, int32_t tid);
/* tally_session_tick_interrupt() has returned 1, and it could not be done: no stop will come. */
TALLY_API void tally_session_tick_withdraw(tally_session *session);
/* If it was ours: what was seen. The process runs on when the reply's request has been answered. */
TALLY_API tally_error *tally_session_tick(tally_session *session, const tally_stack *stacks,
                                          size_t count, tally_reply **reply);
/* What a thread of this machine stands inside of ("libc"), where a call into the program could wait
 * for ever; "": that frame is no obstacle. module: the file that the frame lies in; before: of the
 * innermost frame, the size bytes up to its pc, NULL where they cannot be read. Valid for ever. */
TALLY_API const char *tally_unsafe_frame(const char *module, const char *function, int innermost,
                                         const void *before, size_t size);
/* While this is on, the first SIGINT of this process is taken, and tally_sigint_seen() returns 1
 * for it, once, on any thread: the front is to stop the remote process for the user when no
 * interrupt of its own is on its way. Those that follow go to whoever handled the signal before. */
TALLY_API void tally_sigint_watch(int on);
TALLY_API int tally_sigint_seen(void);
/* While TALLY_REQUEST_REGION holds: the program stands there, and goes on afterwards. An address
 * where the front is to tell of TALLY_HIT_RETURNED from now on, of every thread; 0: none. After
 * TALLY_HIT_RETURNED, 0 also means that the front need not watch that address until it is returned
 * again. UINT64_MAX: tell it again with caller_sp (and return_address); UINT64_MAX - 1: no thread
 * is inside, so TALLY_HIT_CAUGHT and TALLY_HIT_JUMPED need not be told until an address is returned
 * again. */
TALLY_API uint64_t tally_session_region_hit(tally_session *session, const tally_hit *hit);
/* The user's breakpoints that the debugger may pass without a stop of the user's: those with a
 * condition, a count of passes to ignore, a thread of their own, or a script that decides. Ticks
 * that the kernel spends on them are left out. Each call replaces the previous set. Call it at each
 * resume, when a breakpoint changes or moves while the program runs, and with none when the process
 * becomes another program. steps_by_copy: the debugger steps over a breakpoint by a copy of the
 * instruction at the program's entry. */
TALLY_API tally_error *tally_session_set_passed_stops(tally_session *session,
                                                      const tally_place *places, size_t count,
                                                      int steps_by_copy);
/* One column `word`: what the last word of line may become. */
TALLY_API tally_error *tally_session_complete(tally_session *session, const char *line,
                                              tally_table **table);
/* Where the profile knows no function and no source file that the last word of line could become,
 * but the debugger may: the beginning of their names. "": the debugger is not to be asked. Valid
 * until the next call. */
TALLY_API const char *tally_session_symbol_to_complete(tally_session *session, const char *line);
/* tally_session_complete(), of functions and source files that the debugger knows. */
TALLY_API tally_error *tally_session_complete_symbol(tally_session *session, const char *line,
                                                     const char *const *functions,
                                                     size_t function_count,
                                                     const char *const *files, size_t file_count,
                                                     tally_table **table);
TALLY_API tally_error *tally_session_set(tally_session *session, const char *name,
                                         const char *value);
/* "" for an unknown name; valid until the setting is set again. */
TALLY_API const char *tally_session_setting(tally_session *session, const char *name);
/* Columns of the terminal that replies are shown on; 0: any. 80 when it is not told. */
TALLY_API void tally_session_set_width(tally_session *session, uint32_t columns);
/* How `annotate --asm` shows the instructions of a process that is gone, or of a file that was
 * loaded: "intel" or "att", like the debugger's own setting. The default is "att". */
TALLY_API void tally_session_set_disassembly_flavor(tally_session *session, const char *flavor);
/* How their tables are coloured; as plain text until it is told. role: function, filename, address,
 * variable, title, highlight or metadata. sgr: what the terminal is sent before such a piece,
 * "\033[33m"; "": nothing. */
TALLY_API tally_error *tally_session_set_style(tally_session *session, const char *role,
                                               const char *sgr);
/* Columns name, value: the rows of `status`. Nothing is looked up. */
TALLY_API tally_error *tally_session_status(tally_session *session, tally_table **table);
/* The rows of `report`: name, file, object, line, id, self, inclusive; by and sort as its options
 * name them. The first event only. */
TALLY_API tally_error *tally_session_report(tally_session *session, const char *by,
                                            const char *sort, tally_table **table);

TALLY_API void tally_reply_free(tally_reply *reply);
/* What is to be printed; "" or whole lines. */
TALLY_API const char *tally_reply_text(const tally_reply *reply);
TALLY_API int tally_reply_request(const tally_reply *reply); /* tally_request_kind */
TALLY_API const char *tally_reply_progress(const tally_reply *reply);
TALLY_API const uint64_t *tally_reply_addresses(const tally_reply *reply, size_t *count);
/* "" past the last one. */
TALLY_API const char *tally_reply_word(const tally_reply *reply, size_t index);
TALLY_API const int32_t *tally_reply_signals(const tally_reply *reply, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
