/* Tally's C interface, for debugger front ends, scripts and C programs.
 *
 * Rules: every function that can fail returns a tally_error*, which is NULL on success. Output
 * parameters come last and are not written on failure. A returned string is never NULL; it is
 * UTF-8, or the bytes that a file or process contained. Unless noted otherwise it lives as long as
 * the handle that it was obtained from. Each handle has its own _free function, which accepts NULL;
 * all other functions require a valid handle. Only one thread at a time may use a handle, except
 * where a function is declared usable by any thread. No function prints, exits or throws.
 *
 * The interface only grows, until TALLY_ABI increases. New functions and enumerators may appear,
 * and tables may get new columns, always after the existing ones. Structures get new fields at
 * their end. Therefore the caller passes the size of each structure: a structure begins with
 * `size`, and a function that takes an array of structures takes the size of one element. The
 * library treats the fields that an older caller does not have as 0, and ignores those of a newer
 * caller that it does not know. In options, it refuses unknown fields and flags that are not 0. Set
 * a structure to 0 before its fields are set.
 *
 * The whole interface is in this file, although it has many lines, so that a binding has one file
 * to follow. */
#ifndef TALLY_H
#define TALLY_H

#include <stddef.h>
#include <stdint.h>

#include <tally/export.h>
#include <tally/version.h>

/* Increases when a function of this header changes its meaning or its parameters. */
#define TALLY_ABI 3

#ifdef __cplusplus
extern "C" {
#endif

/* Return the version ("0.2.0") and the TALLY_ABI that the loaded library was built with. */
TALLY_API const char *tally_version(void);
TALLY_API uint32_t tally_abi(void);

/* --- errors ----------------------------------------------------------------------------------- */

typedef struct tally_error tally_error;

enum tally_error_code {
  TALLY_ERROR_INVALID_ARGUMENT = 1, /* the caller passed an unknown option or a bad value */
  TALLY_ERROR_INVALID_INPUT = 2,    /* a file is damaged or not of the format that it claims */
  TALLY_ERROR_UNSUPPORTED = 3,      /* the request is valid, but not possible here */
  TALLY_ERROR_NOT_FOUND = 4,        /* there is no such file, function or process */
  TALLY_ERROR_IO = 5,               /* the operating system failed to read or write */
  TALLY_ERROR_PERMISSION = 6,       /* the operating system denied access */
  TALLY_ERROR_LIMIT = 7,            /* out of descriptors or memory, or beyond a limit of Tally */
  TALLY_ERROR_BAD_STATE = 8,        /* not possible now: already started, nothing to stop */
  TALLY_ERROR_NO_DATA = 9,          /* nothing was collected */
  TALLY_ERROR_OVERFLOW = 10,        /* a sum exceeds the range of its type */
  TALLY_ERROR_CANCELLED = 11,       /* the user interrupted the command */
  TALLY_ERROR_INTERNAL = 12         /* a bug in Tally */
};

TALLY_API void tally_error_free(tally_error *error);
/* Returns a tally_error_code. */
TALLY_API int tally_error_get_code(const tally_error *error);
/* Returns the error as one line for the user: "source:line:column: message (while …)". Parts that
 * are unknown are left out. */
TALLY_API const char *tally_error_text(const tally_error *error);
/* Returns the message alone, without source, position or context. */
TALLY_API const char *tally_error_message(const tally_error *error);
/* Returns the file, option or command at fault; "" if there is none. */
TALLY_API const char *tally_error_source(const tally_error *error);
/* Return the 1-based line, and the 1-based column in bytes; 0 if the error has no line. */
TALLY_API uint64_t tally_error_line(const tally_error *error);
TALLY_API uint64_t tally_error_column(const tally_error *error);
/* Returns the offset in a binary file, in bytes; UINT64_MAX if the error has no offset. */
TALLY_API uint64_t tally_error_offset(const tally_error *error);

/* --- tables: named columns of texts or of counts ------------------------------------------------
 */

typedef struct tally_table tally_table;

enum tally_column_kind { TALLY_COLUMN_TEXT = 0, TALLY_COLUMN_COUNT = 1 };

TALLY_API void tally_table_free(tally_table *table);
TALLY_API size_t tally_table_rows(const tally_table *table);
TALLY_API size_t tally_table_columns(const tally_table *table);
/* Returns the name of a column; "" if `column` is out of range. */
TALLY_API const char *tally_table_column_name(const tally_table *table, size_t column);
/* Returns a tally_column_kind; TALLY_COLUMN_TEXT if `column` is out of range. */
TALLY_API int tally_table_column_kind(const tally_table *table, size_t column);
/* Returns an array of tally_table_rows() texts; NULL if `column` does not hold texts, or is out of
 * range. */
TALLY_API const char *const *tally_table_texts(const tally_table *table, size_t column);
/* Returns an array of tally_table_rows() counts; NULL if `column` does not hold counts, or is out
 * of range. */
TALLY_API const uint64_t *tally_table_counts(const tally_table *table, size_t column);

/* A group of commands is "profile" or "coverage". */

/* Lists the commands of a group. Columns: name, summary, usage, help. */
TALLY_API tally_error *tally_commands(const char *group, tally_table **table);
/* Lists the settings of a group, which its command `config` shows. Columns: name, values ("a|b" for
 * a choice, "HZ" for a frequency), fallback (the default value), summary. */
TALLY_API tally_error *tally_settings(const char *group, tally_table **table);
/* Returns the help text of the name of a group; "" if there is no such group. It stays valid until
 * the process exits. */
TALLY_API const char *tally_help(const char *group);

/* --- profiles: files that are read, reported and converted --------------------------------------
 *
 * A path is that of a file; "-" is refused, because standard input and output belong to the
 * program. A call returns when its work is done, which takes seconds for a file of hundreds of
 * megabytes. */

typedef struct tally_profile tally_profile;

/* How files are read. Set size to sizeof(tally_read_options), and all else to 0 for the defaults.
 * NULL in place of the options means the defaults, too. The same is true of tally_report_options
 * and tally_write_options. */
typedef struct tally_read_options {
  uint32_t size;
  uint32_t flags;      /* 0: there are none yet */
  const char *from;    /* the name of the files' format. By default the content determines it,
                          and the file's name if several formats match */
  const char *program; /* the path of the program that the addresses of a gmon.out belong to.
                          By default its functions are named by address */
  uint64_t max_unpacked_bytes; /* the most that a compressed file may expand to; default 8 GiB */
  uint64_t memory_limit;       /* the most bytes by which the memory of the process may grow
                                  meanwhile. Default: 1 GiB, or 64 times the file's size if that
                                  is more */
} tally_read_options;

/* Flags of tally_report_options. */
enum tally_report_flag {
  TALLY_REPORT_KERNEL = 1, /* name the kernel's own functions, if the running kernel shows them */
  /* count inlined functions for the function that contains their code */
  TALLY_REPORT_NO_INLINES = 2
};

/* What is reported. */
typedef struct tally_report_options {
  uint32_t size;
  uint32_t flags;      /* tally_report_flag */
  const char *by;      /* what makes a row: function (the default), line, object (or module),
                          namespace, directory, process, thread or part */
  const char *sort;    /* self (the default) or inclusive: the cost to sort by, highest first */
  const char *event;   /* the event, which may be a derived one; by default the first */
  const char *thread;  /* only the samples of this thread: its name or its thread ID */
  const char *part;    /* only the samples of the part with this number */
  const char *process; /* only the samples of this process: its name or its process ID */
  /* PCRE2 patterns, which are searched in the names of functions, of their files and objects.
     Percentages are of the samples that remain. */
  const char *focus;  /* only samples with a frame that matches */
  const char *ignore; /* only samples without a frame that matches */
  const char *hide;   /* frames that match are removed */
  const char *fold;   /* consecutive frames that match become one */
  const char *from;   /* only what was counted after this time: "1.2s", "300ms" */
  const char *to;     /* only what was counted up to this time */
} tally_report_options;

/* Flags of tally_write_options. Both concern Callgrind's format. */
enum tally_write_flag {
  TALLY_WRITE_FULL_NAMES = 1,    /* write names in full, not as "(id)" */
  TALLY_WRITE_FULL_POSITIONS = 2 /* write absolute positions, not relative ones */
};

/* How a file is written. */
typedef struct tally_write_options {
  uint32_t size;
  uint32_t flags;     /* tally_write_flag */
  const char *format; /* the name of the format. By default the name of the file determines it */
  const char *gcovr_version; /* gcovr: the version of the JSON's layout; by default the newest */
  int64_t time; /* the time to store in formats of coverage, in seconds since 1970; 0 if
                   unknown */
} tally_write_options;

/* Lists the file formats. Columns: name, summary, reads and writes (1 or 0), holds ("stacks",
 * "costs", "coverage", "counters" or "addresses"), file_names (patterns of shells, separated by
 * blanks; "" if no name identifies the format). A profile can be written in a format of stacks,
 * costs or addresses. */
TALLY_API tally_error *tally_formats(tally_table **table);

/* Reads a file that may be compressed with gzip or zstd. Coverage of sources (lcov, gcovr) becomes
 * a profile of executions. Fails with TALLY_ERROR_INVALID_INPUT for the compilers' counters and
 * notes, which hold no profile; see tally_convert(). */
TALLY_API tally_error *tally_profile_read(const char *path, const tally_read_options *options,
                                          tally_profile **profile);
TALLY_API void tally_profile_free(tally_profile *profile);
/* Returns the name of the format that was read. */
TALLY_API const char *tally_profile_format(const tally_profile *profile);
/* Lists what is irregular in the file, but did not prevent reading. Columns: severity ("note",
 * "warning" or "error": the file is wrong there), message, source (the file; may be ""), line and
 * column (from 1, 0 if unknown), offset (in bytes; UINT64_MAX if unknown), count (of occurrences;
 * the position is that of the first), text (all of this in one line). */
TALLY_API tally_error *tally_profile_diagnostics(const tally_profile *profile, tally_table **table);
/* Lists the events that were counted, and those that a formula derives from them. Columns: name,
 * unit ("" if unknown), formula ("" for a counted event), total. Fails with
 * TALLY_ERROR_UNSUPPORTED if a total is negative, as it may be in a difference of profiles, because
 * a column of counts cannot hold it. Individual samples may have negative values. */
TALLY_API tally_error *tally_profile_events(const tally_profile *profile, tally_table **table);
/* Returns the rows of the flat table. Columns: name (also of a namespace or directory; "" for
 * functions outside of any namespace), file, object (texts; "" if unknown), line (0 if unknown), id
 * (a thread ID; the process ID of the first process of this name; or the number of a part. An ID
 * that a reader made up, because the file has text in its place, is negative: convert it to
 * int64_t), self, inclusive. Fails with TALLY_ERROR_INVALID_INPUT if a value of a selected sample
 * is negative. */
TALLY_API tally_error *tally_profile_report(const tally_profile *profile,
                                            const tally_report_options *options,
                                            tally_table **table);
/* Writes the profile. An existing file is replaced, and stays as it is on failure. In a format of
 * its own kind, the content is written as it was read: coverage in a format of coverage, addresses
 * in a format of addresses. `lost` may be NULL. It receives a table with the column what: a phrase
 * for each kind of information that the format cannot hold. */
TALLY_API tally_error *tally_profile_write(const tally_profile *profile, const char *path,
                                           const tally_write_options *options, tally_table **lost);
/* Writes the sum of files of any readable format, or converts one file to another format. Counters
 * are added up in their own format. `diagnostics` and `lost` may be NULL; they receive the tables
 * of tally_profile_diagnostics() and tally_profile_write(). */
TALLY_API tally_error *tally_convert(const char *const *paths, size_t count,
                                     const tally_read_options *reading, const char *output,
                                     const tally_write_options *writing, tally_table **diagnostics,
                                     tally_table **lost);

/* --- sessions: the command `profile` in a debugger ----------------------------------------------
 *
 * The front end reports events (the process runs, stops, ends) and passes on what the user types.
 * While the session handles such a call, it calls the functions of the front (tally_front). The
 * call returns the text to print. */

typedef struct tally_session tally_session;

enum tally_target_kind {
  TALLY_TARGET_NONE = 0,   /* there is no process */
  TALLY_TARGET_NATIVE = 1, /* a process of this machine */
  TALLY_TARGET_REMOTE = 2, /* a process behind a debugging stub, wherever it runs */
  TALLY_TARGET_CORE = 3    /* a core file */
};

enum tally_event_kind {
  TALLY_EVENT_TARGET = 0,     /* reports the current target; push it before each command */
  TALLY_EVENT_RESUMED = 1,    /* the process is about to run, or has begun to (see at_ns) */
  TALLY_EVENT_BREAKPOINT = 2, /* stopped; number: the breakpoint's */
  TALLY_EVENT_WATCHPOINT = 3, /* stopped; number: the watchpoint's */
  TALLY_EVENT_CATCHPOINT = 4, /* stopped; number: the catchpoint's; text: what was caught */
  TALLY_EVENT_SIGNAL = 5,     /* stopped by a signal; text: its name */
  TALLY_EVENT_STEP = 6,       /* stopped after a step; text: the command ("next", "finish") or "" */
  TALLY_EVENT_OTHER = 7,      /* stopped for another reason; text: the reason */
  TALLY_EVENT_EXITED = 8,     /* the process exited; number: its exit status */
  TALLY_EVENT_SIGNALLED = 9,  /* a signal ended the process; text: its name */
  TALLY_EVENT_KILLED = 10,    /* the debugger killed the process */
  TALLY_EVENT_DETACHED = 11,  /* the debugger detached from the process */
  TALLY_EVENT_RAN = 12        /* as RESUMED, but the front end knows only from a later stop that the
                                 process ran, so that it may have stopped in between */
};

/* Texts may be NULL, which means "". Set size to sizeof(tally_event). */
typedef struct tally_event {
  uint32_t size;
  int32_t kind;        /* tally_event_kind */
  int32_t target;      /* tally_target_kind */
  int32_t pid;         /* process ID of the inferior; 0 if there is no process */
  int32_t number;      /* see tally_event_kind */
  uint32_t line;       /* source line of the stop; 0 if unknown */
  const char *text;    /* see tally_event_kind */
  const char *file;    /* source file of the stop; "" if unknown */
  const char *command; /* the program and its arguments; "" if unknown */
  const char *program; /* path of the program; "" if unknown */
  uint64_t at_ns;      /* time of the event by CLOCK_MONOTONIC, in ns; 0 means now. For a front end
                          that learns of an event late */
  int32_t beside;      /* 1: the process is debugged beside the first sampled one, and is sampled
                          from its next TALLY_EVENT_RESUMED on; otherwise 0 */
  int32_t reserved;    /* 0 */
} tally_event;

/* Receives what a function of a front finds, and whether it has succeeded: by tally_sink_done() or
 * tally_sink_refuse(). A function that calls neither cancels the command, because the user
 * interrupts: the command ends with TALLY_ERROR_CANCELLED, and what was collected is kept. A sink
 * exists only while the function runs. */
typedef struct tally_sink tally_sink;

/* What a debugger does for a session. The session calls these functions on the thread that calls
 * the session, while it handles that call: a command, an event, a tick, a report, or the end of the
 * time of `start --for`. A function may take long. It may report events and the end of that time to
 * the session meanwhile: the session handles them when that call ends, whose text ends with theirs;
 * if the call fails or has no text, the next text does. It may also report ticks and hits of the
 * region, and call the functions that any thread may call. A command or a report fails with
 * TALLY_ERROR_BAD_STATE meanwhile, and the session may not be freed. A function that changes the
 * debugger and cancels is called once more in an event, because nobody can repeat an event, and so
 * is one that undoes a change. A function that is NULL is something that this debugger cannot do.
 * None may throw. Texts and arrays are valid during the call. The structure has many data members,
 * because each function is one thing that a debugger does. Set size to sizeof(tally_front). */
typedef struct tally_front {
  uint32_t size;
  uint32_t reserved; /* 0 */
  void *self;
  /* Show the text, which says how much of a long operation is done, and look for Ctrl-C. */
  void (*progress)(void *self, const char *text, tally_sink *to);
  /* Pass to tally_sink_frame() the function, file and line of each address, by its index; if code
     is inlined there, those of each function, innermost first. */
  void (*symbols)(void *self, const uint64_t *addresses, size_t count, tally_sink *to);
  /* Pass each instruction of the ranges to tally_sink_instruction(). `ranges` holds `count` pairs
     of addresses, low and high, each of which is a range [low, high). */
  void (*disassemble)(void *self, const uint64_t *ranges, size_t count, tally_sink *to);
  /* Pass the stacks of all threads of the stopped process to tally_sink_stack(), that of the
     selected thread first. */
  void (*stacks)(void *self, tally_sink *to);
  /* The next two concern a program whose memory only the debugger can read. */

  /* Pass the files that are loaded to tally_sink_module(), the program first; or, for a core file
     whose path is known, the path to tally_sink_core(). */
  void (*modules)(void *self, tally_sink *to);
  /* Pass the content of each range that can be read as a whole to tally_sink_memory(), by its
     index. */
  void (*memory)(void *self, const uint64_t *ranges, size_t count, tally_sink *to);
  /* Set temporary breakpoints for the user, without output, on the functions that begin at the
     addresses. Each belongs behind the function's prologue, and is deleted when it is hit or when
     the process is gone. Pass the number of those that are set to tally_sink_count(). */
  void (*break_once)(void *self, const uint64_t *entries, size_t count, tally_sink *to);

  /* The next two concern a source location: a file and a line or, if `file` is "", a run-time
     address. The user sees the debugger's own output. */

  /* Set a breakpoint for the user at the location. */
  void (*set_breakpoint)(void *self, const char *file, uint64_t at, tally_sink *to);
  /* Show the source around the location, which is always a line. */
  void (*list_source)(void *self, const char *file, uint64_t at, tally_sink *to);

  /* For the next run, load a library before all others, and add the variable ("NAME=VALUE") to the
     environment. Deliver the signals to the program without stopping and without printing. */
  void (*preload)(void *self, const char *library, const char *variable, const int32_t *signals,
                  size_t count, tally_sink *to);
  /* Undo preload() for the next run. The handling of the signals stays changed. */
  void (*end_preload)(void *self, tally_sink *to);
  /* Make the stopped process load a library and call that library's function
     int tally_agent_start(const char *) with the argument, if it is stopped where this is safe (see
     tally_unsafe_frame()). Handle the signals as preload() does. Reasons are tally_load_refusal. */
  void (*load)(void *self, const char *library, const char *argument, const int32_t *signals,
               size_t count, tally_sink *to);
  /* Begin to interrupt the process (see tally_session_tick()): by the signal or, if that is 0, in
     the way that Ctrl-C does. Callers are needed if with_stacks is 1. */
  void (*interrupt)(void *self, int32_t signal, int with_stacks, tally_sink *to);
  /* End interrupting the process. The handling of the signals stays changed. */
  void (*end_interrupt)(void *self, tally_sink *to);
  /* Restore the original handling of all signals that earlier calls changed. */
  void (*restore_signals)(void *self, tally_sink *to);
  /* Stop the running process for the user, as Ctrl-C does, unless it is just stopping. */
  void (*halt)(void *self, tally_sink *to);
  /* Watch a region, and call tally_session_region_hit() at each hit. If `second` is not "", the
     region lies between two locations, and reaching one of them is a hit. Otherwise the region is a
     function, `first`; entering it is a hit, and so is everything by which a call may end: a
     return, a caught exception, longjmp(). The region replaces the previous one, which stays in
     place if the new one cannot be watched. Reasons are tally_region_refusal. */
  void (*watch_region)(void *self, const char *first, const char *second, tally_sink *to);
  /* Stop watching the region. */
  void (*end_region)(void *self, tally_sink *to);
} tally_front;

TALLY_API void tally_sink_done(tally_sink *to);
/* Says that the debugger cannot do this. The reason is an enumerator of the type that the
 * function's comment names, or 0. The enumerator's comment says what the number and the text mean.
 * If the reason is 0, the text is shown as it is. The text has one line. */
TALLY_API void tally_sink_refuse(tally_sink *to, int32_t reason, int64_t number, const char *text);
/* A function at the address of this index. The file may be "", and the line 0. */
TALLY_API void tally_sink_frame(tally_sink *to, size_t index, const char *function,
                                const char *file, uint32_t line);
TALLY_API void tally_sink_instruction(tally_sink *to, uint64_t address, const char *text);
/* A thread, with its pcs as in tally_stack. */
TALLY_API void tally_sink_stack(tally_sink *to, int32_t tid, const uint64_t *pcs, size_t count);
/* A file that is loaded: the run-time address of one of its sections, and its path on this
 * machine. */
TALLY_API void tally_sink_module(tally_sink *to, uint64_t address, const char *section,
                                 const char *path);
TALLY_API void tally_sink_core(tally_sink *to, const char *path);
/* The bytes of the range of this index. */
TALLY_API void tally_sink_memory(tally_sink *to, size_t index, const void *bytes, size_t size);
TALLY_API void tally_sink_count(tally_sink *to, size_t count);

/* The reason why a region cannot be watched. The text is the word at fault; the library turns it
 * into a message. */
enum tally_region_refusal {
  TALLY_REGION_UNKNOWN = 1, /* there is no such function or location */
  TALLY_REGION_INLINED = 2, /* all copies of the function are inlined */
  TALLY_REGION_WITHIN = 3,  /* the only word is an address inside a function, at which no call
                               begins */
  TALLY_REGION_FAILED = 4   /* the text is the message of the debugger */
};

/* The reason why the process cannot be made to load the agent. The library turns it into a
 * message. */
enum tally_load_refusal {
  TALLY_LOAD_RUNNING = 1,   /* the process is running */
  TALLY_LOAD_NO_DLOPEN = 2, /* the process has no function dlopen() */
  TALLY_LOAD_UNSAFE = 3,    /* the number is the debugger's number of a thread in which a call could
                               hang, the text the result of tally_unsafe_frame() */
  TALLY_LOAD_FAILED = 4,    /* the text is the message of the debugger or of the dynamic loader */
  TALLY_LOAD_NO_START = 5,  /* the library has no function tally_agent_start() */
  TALLY_LOAD_REFUSED = 6    /* the number is the result of tally_agent_start(), which is not 0 */
};

enum tally_hit_kind {
  TALLY_HIT_FIRST = 0,    /* at the first location, or in a call of the function */
  TALLY_HIT_SECOND = 1,   /* at the second location */
  TALLY_HIT_RETURNED = 2, /* at an address that tally_session_region_hit() has returned */
  TALLY_HIT_CAUGHT = 3,   /* in __cxa_begin_catch(), which an exception handler calls */
  TALLY_HIT_JUMPED = 4,   /* in longjmp() */
  TALLY_HIT_MEASURED = 5  /* two instructions behind a hit that measures */
};

/* Special results of tally_session_region_hit(). */
#define TALLY_HIT_LOOK 0xffffffffffffffff   /* report the hit again, with all its facts */
#define TALLY_HIT_NOBODY 0xfffffffffffffffe /* no thread is inside of the region */

/* A thread is stopped at a point where a region begins or may end. Set size to
 * sizeof(tally_hit). */
typedef struct tally_hit {
  uint32_t size;
  int32_t kind;            /* tally_hit_kind */
  int32_t tid;             /* the thread */
  int32_t at_entry;        /* 1 for FIRST or CAUGHT at the first instruction of the function */
  uint64_t caller_sp;      /* the caller's stack pointer before the call; for RETURNED, the current
                              stack pointer. May be 0 for RETURNED, for CAUGHT and if at_entry is 1,
                              because it is slow to obtain; return_address may then be 0, too */
  uint64_t return_address; /* for FIRST, the return address of the call, 0 in an inlined copy; for
                              RETURNED, the pc, which is always needed */
  uint64_t jump_buffer;    /* for JUMPED, the first argument of longjmp() */
  int32_t holds_all;       /* 1 if every thread is stopped, 0 if only this thread is */
  int32_t reserved;        /* 0 */
} tally_hit;

/* An address of the program. */
typedef struct tally_location {
  const char *file; /* "" or NULL: `address` is a run-time address. Otherwise `address` is an offset
                       in this file, whose path is absolute and has no symbolic links */
  uint64_t address;
} tally_location;

enum tally_tick_kind {
  TALLY_TICK_OURS = 0,  /* a stop that the session requested: report the stacks */
  TALLY_TICK_STALE = 1, /* requested before the process last stopped for the user, or given up as
                           late: resume without reporting it */
  TALLY_TICK_THEIRS = 2 /* a stop by the user or by the program itself */
};

/* The result of tally_session_tick_interrupt() if sampling was given up. */
#define TALLY_TICK_GIVEN_UP SIZE_MAX

/* Limits that every front end keeps. */
enum tally_limit {
  /* Frames in a tally_stack. The process is stopped while the debugger unwinds, and unwinding a
     corrupt stack may take long. */
  TALLY_LIMIT_STACK_FRAMES = 128,
  /* Frames of a thread that are passed to tally_unsafe_frame(), from the innermost one on. The
     libraries that may hold a lock do not call themselves that deeply. */
  TALLY_LIMIT_CHECKED_FRAMES = 64,
  /* Bytes before a pc that are passed to tally_unsafe_frame(): the longest instruction that makes a
     system call, which is aarch64's `svc`. */
  TALLY_LIMIT_SYSTEM_CALL_BYTES = 4,
  /* Milliseconds between two calls of tally_sigint_seen(), so that Ctrl-C works at once. */
  TALLY_LIMIT_SIGINT_MS = 50
};

/* The stack of one thread at one stop. */
typedef struct tally_stack {
  int32_t tid;
  uint32_t count;      /* number of pcs, at most TALLY_LIMIT_STACK_FRAMES */
  const uint64_t *pcs; /* run-time addresses, leaf first; a caller's is its return address - 1 */
  const char *name;    /* name of the thread; may be NULL */
} tally_stack;

/* How the terminal shows replies. A style is the escape sequence that precedes one kind of text in
 * tables, such as "\033[33m"; "" or NULL means plain text. The kinds are those of GDB's `set
 * style`. Set size to sizeof(tally_display). */
typedef struct tally_display {
  uint32_t size;
  uint32_t width; /* in columns; 0 means unlimited */
  /* The debugger's setting for the syntax of x86 instructions, "intel" or "att". `annotate --asm`
     uses it for code that the debugger does not disassemble, because the process is gone or the
     profile was loaded. NULL means "att". */
  const char *flavor;
  const char *function;
  const char *filename;
  const char *address;
  const char *variable;
  const char *title;
  const char *highlight;
  const char *metadata;
} tally_display;

/* Creates a session, with every setting at its default. The front is copied; NULL is one that can
 * do nothing. What `self` points to must outlive the session. */
TALLY_API tally_error *tally_session_new(const tally_front *front, tally_session **session);
/* Ends sampling and frees the session. */
TALLY_API void tally_session_free(tally_session *session);
/* Executes a command of a group, which is "profile" or "coverage"; `line` is the text after this
 * word. Stores the text to print: empty, or complete lines. It is valid until the next call that
 * returns a text of this session. An error means that the command failed. */
TALLY_API tally_error *tally_session_run(tally_session *session, const char *group,
                                         const char *line, const char **text);
/* Reports an event. Show an error to the user (for example, that sampling cannot begin) and let the
 * debugger continue. */
TALLY_API tally_error *tally_session_event(tally_session *session, const tally_event *event,
                                           const char **text);
/* Returns the process ID of the first process that is being sampled, 0 if there is none. A front
 * end that debugs several processes reports the events of this process while it exists, and
 * otherwise those of the process that the user has selected. It may report events of the other
 * processes, too, with tally_event.beside set. When the first process ends, one of those becomes
 * the first. */
TALLY_API int32_t tally_session_sampled_pid(const tally_session *session);
/* Returns 1 if the next process that runs will be sampled (from `start` to `stop`), otherwise 0. */
TALLY_API int tally_session_is_armed(const tally_session *session);
/* From tally_front.interrupt() until end_interrupt(), a thread of the front end
 * repeatedly waits for tick_wait_ns() nanoseconds and then calls tick_interrupt(). Any thread may
 * call these two functions, at any time. For a process of this machine, tick_interrupt() sends the
 * signals itself, waits until their stops are over or about 0.1 s have passed, and returns how many
 * it sent. For a remote process it returns 1 if the front end is to interrupt the process now,
 * otherwise 0. It returns TALLY_TICK_GIVEN_UP if sampling was given up because the program handles
 * the signal itself: from then on the signal must reach the program again, and the next stop ends
 * sampling. */
TALLY_API uint64_t tally_session_tick_wait_ns(tally_session *session);
TALLY_API size_t tally_session_tick_interrupt(tally_session *session);
/* Classifies a stop by the signal that tick_interrupt() sends, or by an interrupt; returns a
 * tally_tick_kind. `tid` is the thread that stopped, or 0 for a remote process, where one stop
 * shows all threads. */
TALLY_API int tally_session_tick_take(tally_session *session, int32_t tid);
/* Reports that tick_interrupt() returned 1 but the process could not be interrupted, so that no
 * stop will follow. */
TALLY_API void tally_session_tick_withdraw(tally_session *session);
/* Reports the stacks of the threads that are visible at a TALLY_TICK_OURS stop. Resume the process
 * when the call returns. `stack_size` is sizeof(tally_stack). */
TALLY_API tally_error *tally_session_tick(tally_session *session, const tally_stack *stacks,
                                          size_t count, size_t stack_size);
/* Returns what a frame belongs to ("the dynamic loader", "the allocator", "libc") if a function
 * that is called in its thread could block forever, because that code may hold a lock; "" if the
 * frame is not an obstacle. Pass up to TALLY_LIMIT_CHECKED_FRAMES frames of a thread of this
 * machine. `module` is the file that holds the frame's code. For the innermost frame, `before`
 * points to the `size` bytes that precede its pc, by which a system call is recognized;
 * TALLY_LIMIT_SYSTEM_CALL_BYTES suffice. `before` is NULL if these bytes cannot be read. The result
 * stays valid until the process exits. */
TALLY_API const char *tally_unsafe_frame(const char *module, const char *function, int innermost,
                                         const void *before, size_t size);
/* Watches for Ctrl-C while `on` is not 0, for a debugger that interrupts a remote process itself.
 * The first SIGINT of the debugger is intercepted, because the debugger would treat it as
 * impatience or lose it while an interrupt of Tally is on its way; later ones go to the previous
 * handler. tally_sigint_seen() then returns 1 once, on any thread, otherwise 0. The front end calls
 * tally_sigint_seen() every TALLY_LIMIT_SIGINT_MS, and stops the process for the user when no
 * interrupt of its own is on its way. Nothing is intercepted if the debugger has no handler for
 * SIGINT. */
TALLY_API void tally_sigint_watch(int on);
TALLY_API int tally_sigint_seen(void);
/* Lists the functions by which a program leaves another function without a return. Columns:
 * function, kind (the tally_hit_kind to report when the function is entered). */
TALLY_API tally_error *tally_region_exits(tally_table **table);
/* Returns 1 if an instruction, as a disassembler prints it ("mov %rsp,%rbp", or only its name), is
 * known to lead to the one behind it and nowhere else, otherwise 0. */
TALLY_API int tally_leads_on(const char *instruction);
/* Reports a hit of the region. From tally_front.watch_region() until end_region(), call it
 * while the thread is stopped at the hit, and resume the thread afterwards. It takes microseconds.
 * Returns one of:
 *   - an address at which to report TALLY_HIT_RETURNED from now on, for every thread;
 *   - 0 if there is no such address. After TALLY_HIT_RETURNED, 0 also means that the address of the
 *     hit need not be watched until it is returned again;
 *   - TALLY_HIT_LOOK if the hit must be reported again, with caller_sp and return_address;
 *   - TALLY_HIT_NOBODY if no thread is inside of the region, so that TALLY_HIT_CAUGHT and
 *     TALLY_HIT_JUMPED need not be reported until an address is returned again. */
TALLY_API uint64_t tally_session_region_hit(tally_session *session, const tally_hit *hit);
/* Returns 1 if the session measures what a stop costs, from the hit that was reported last. Then
 * report TALLY_HIT_MEASURED, once, when that hit's thread has executed two instructions, but only
 * if tally_leads_on() is 1 for both. */
TALLY_API int tally_session_region_measures(const tally_session *session);
/* Sets the user's breakpoints that the debugger may pass without stopping for the user: those that
 * have a condition, an ignore count, a thread, or a script that decides. Ticks that the kernel
 * spends on these breakpoints are not counted. Each call replaces the previous set. Call it at each
 * resume, when a breakpoint changes or moves while the program runs, and with count 0 when the
 * process executes another program. `steps_by_copy` is 1 if the debugger steps over a breakpoint by
 * executing a copy of the instruction at the program's entry point (GDB's displaced stepping).
 * `location_size` is sizeof(tally_location). */
TALLY_API tally_error *tally_session_set_passed_stops(tally_session *session,
                                                      const tally_location *locations, size_t count,
                                                      size_t location_size, int steps_by_copy);
/* Completes the last word of `line`, the text after the name of the group. Column: word, which
 * holds the possible whole words, sorted. */
TALLY_API tally_error *tally_session_complete(tally_session *session, const char *group,
                                              const char *line, tally_table **table);
/* Returns the prefix to look up in the debugger, if the last word of `line`, the text after the
 * word `profile`, begins the name of a function or source file and the profile has no completion
 * for it; otherwise "". Valid until the next call of this function. */
TALLY_API const char *tally_session_symbol_to_complete(tally_session *session, const char *line);
/* Completes the last word of `line` as tally_session_complete() does, but from the names of
 * functions and source files that the debugger knows. */
TALLY_API tally_error *tally_session_complete_symbol(tally_session *session, const char *line,
                                                     const char *const *functions,
                                                     size_t function_count,
                                                     const char *const *files, size_t file_count,
                                                     tally_table **table);
/* Changes a setting of a group. Fails with TALLY_ERROR_INVALID_ARGUMENT if the name or value is not
 * one of those that tally_settings() lists. */
TALLY_API tally_error *tally_session_set(tally_session *session, const char *group,
                                         const char *name, const char *value);
/* Returns the value of a setting; "" for an unknown name. Valid until the setting is changed. */
TALLY_API const char *tally_session_setting(tally_session *session, const char *group,
                                            const char *name);
/* Sets how replies look from now on; call it before each command. Fails with
 * TALLY_ERROR_INVALID_ARGUMENT if a style is not an escape sequence for colors; the previous
 * display then stays. Without a call, a session writes plain text for 80 columns. */
TALLY_API tally_error *tally_session_set_display(tally_session *session,
                                                 const tally_display *display);
/* Returns the rows of `status`. Columns: name, value. Does not look up any symbols. */
TALLY_API tally_error *tally_session_status(tally_session *session, tally_table **table);
/* Reports, in ns, how long the process ran before its last stop, and the CPU time of its threads,
 * which is UINT64_MAX if it is unknown. Returns 0 before the first such stop, otherwise 1. */
TALLY_API int tally_session_last_run(const tally_session *session, uint64_t *run, uint64_t *cpu);
/* Returns for how many ns the sampled process may still run until the time of `start --for` is
 * over, 0 if it is over. Returns UINT64_MAX if sampling has no such end, or if the process is
 * stopped or about to be. Ask after each TALLY_EVENT_RESUMED and after each command while the
 * process runs, and call tally_session_limit_reached() when this time has passed without a stop. */
TALLY_API uint64_t tally_session_limit_ns(const tally_session *session);
/* Ends sampling if the time of `start --for` is over. With `--continue` the text has the report.
 * Otherwise it calls tally_front.halt(), and the text of the event of the next stop has the
 * report. Ask tally_session_limit_ns() again afterwards: some of the time may be left, because the
 * program was held meanwhile, or a request to interrupt it may be on its way. */
TALLY_API tally_error *tally_session_limit_reached(tally_session *session, const char **text);
/* Returns the rows of `report` for the first event only, with the columns of
 * tally_profile_report(). `by` and `sort` are values of the options of the same names. Looks up
 * symbols that are still missing. */
TALLY_API tally_error *tally_session_report(tally_session *session, const char *by,
                                            const char *sort, tally_table **table);

#ifdef __cplusplus
}
#endif

#endif
