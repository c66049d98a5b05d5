/* A debugger that uses only tally.h: it reports events, answers the session and runs every command.
 * The program is a child that spins in C and in code made at run time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tally.h>

#define CHECK(truth)                                                                               \
  ((truth) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth), exit(1)))

static tally_session *session;
static int symbols_asked, locations_asked; /* numbers of calls */
static void spin_in_c(double seconds) {
  const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
  while (clock() < end)
    for (volatile int i = 0; i < 100000; ++i)
      ;
}

/* Makes code that no file holds: mov ecx, 100'000'000; 1: dec ecx; jnz 1b; ret. */
static void spin_in_code_made_now(void) {
  static const unsigned char code[] = {0xB9, 0x00, 0xE1, 0xF5, 0x05, 0xFF, 0xC9, 0x75, 0xFC, 0xC3};
  void *page =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return;
  memcpy(page, code, sizeof code);
  ((void (*)(void))(uintptr_t)page)();
}

/* Starts the child. It stops before it begins and in the middle. */
static pid_t spawn(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    raise(SIGSTOP);
    spin_in_c(0.3);
    spin_in_code_made_now();
    raise(SIGSTOP);
    spin_in_c(0.1);
    _exit(7);
  }
  CHECK(pid > 0);
  CHECK(waitpid(pid, NULL, WUNTRACED) == pid);
  return pid;
}

static void progress(void *self, const char *text, tally_sink *to) {
  CHECK(self == &session && text[0] != '\0');
  tally_sink_done(to);
}

static void symbols(void *self, const uint64_t *addresses, size_t count, tally_sink *to) {
  CHECK(self == &session && count > 0 && addresses[0] != 0);
  for (size_t i = 0; i < count; ++i)
    tally_sink_frame(to, i, "made_now", "now.js", 7);
  ++symbols_asked;
  tally_sink_done(to);
}

static void location(void *self, const char *file, uint64_t at, tally_sink *to) {
  CHECK(self == &session && file && at > 0 && to);
  ++locations_asked;
  tally_sink_done(to);
}

static const char *command(const char *line) {
  const char *text = NULL;
  CHECK(!tally_session_run(session, "profile", line, &text));
  return text;
}

static void push(int kind, pid_t pid) {
  const char *text = NULL;
  tally_event event = {.size = sizeof event, .kind = kind, .target = TALLY_TARGET_NATIVE};
  event.pid = pid;
  event.number = kind == TALLY_EVENT_EXITED ? 7 : 2;
  event.file = "/src/spin.c";
  event.line = 10;
  CHECK(!tally_session_event(session, &event, &text));
}

static void refused(const char *line, int code, const char *part) {
  const char *text = NULL;
  tally_error *error = tally_session_run(session, "profile", line, &text);
  CHECK(error && !text);
  CHECK(tally_error_get_code(error) == code && strstr(tally_error_text(error), part));
  tally_error_free(error);
}

/* Resumes the child, until its next stop or its end. */
static void resume(pid_t pid) {
  int status = 0;
  push(TALLY_EVENT_RESUMED, pid);
  CHECK(kill(pid, SIGCONT) == 0 && waitpid(pid, &status, WUNTRACED) == pid);
  push(WIFSTOPPED(status) ? TALLY_EVENT_BREAKPOINT : TALLY_EVENT_EXITED,
       WIFSTOPPED(status) ? pid : 0);
}

/* Returns the self cost of the rows of `report` with this name (NULL means all rows). */
static uint64_t self(const char *by, const char *name) {
  tally_table *table = NULL;
  uint64_t total = 0;
  CHECK(tally_session_report(session, by, "self", &table) == NULL);
  CHECK(strcmp(tally_table_column_name(table, 5), "self") == 0);
  for (size_t r = 0; r < tally_table_rows(table); ++r)
    if (!name || strcmp(tally_table_texts(table, 0)[r], name) == 0)
      total += tally_table_counts(table, 5)[r];
  tally_table_free(table);
  return total;
}

/* Returns the value of a row of `status`, or "" if there is none. Valid until the next call. */
static const char *status(const char *name) {
  static char value[256];
  tally_table *table = NULL;
  CHECK(tally_session_status(session, &table) == NULL && tally_table_columns(table) == 2);
  value[0] = 0;
  for (size_t r = 0; r < tally_table_rows(table); ++r)
    if (strcmp(tally_table_texts(table, 0)[r], name) == 0)
      snprintf(value, sizeof value, "%s", tally_table_texts(table, 1)[r]);
  tally_table_free(table);
  return value;
}

static void colours(void) {
  static const char *const bad[] = {"red", "\033[31mx", "\033[2J"};
  tally_display display = {.size = sizeof display, .variable = "\033[1;36m"};
  CHECK(!tally_session_set_display(session, &display));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    display.variable = "";
    display.function = bad[i];
    tally_error *error = tally_session_set_display(session, &display);
    CHECK(error && tally_error_get_code(error) == TALLY_ERROR_INVALID_ARGUMENT);
    tally_error_free(error);
  }
  CHECK(strncmp(command("status"), "\033[1;36mstate\033[m idle\n", 21) == 0);
  CHECK(strcmp(status("state"), "idle") == 0 && strcmp(status("pid"), "") == 0);
  display.function = NULL;
  CHECK(!tally_session_set_display(session, &display));
  CHECK(strncmp(command("status"), "state idle\n", 11) == 0);
}

int main(void) {
  char folder[] = "/tmp/tally-abi-XXXXXX", line[128];
  tally_table *commands = NULL, *words = NULL;
  const char *text = NULL;
  const tally_front front = {.size = sizeof front,
                             .self = &session,
                             .progress = progress,
                             .symbols = symbols,
                             .set_breakpoint = location,
                             .list_source = location};
  setenv("TALLY_CACHE_DIR", "", 1);
  CHECK(mkdtemp(folder) && !tally_session_new(&front, &session) &&
        !tally_commands("profile", &commands));
  colours();

  refused("stop", TALLY_ERROR_BAD_STATE, "sampling has not begun");
  refused("report", TALLY_ERROR_NO_DATA, "nothing was collected");
  refused("nonsense", TALLY_ERROR_INVALID_ARGUMENT, "there is no command 'nonsense'");
  CHECK(!tally_session_set(session, "profile", "frequency", "2000"));
  tally_error *error = tally_session_run(session, "profile", "start", &text);
  if (error && tally_error_get_code(error) == TALLY_ERROR_PERMISSION)
    return puts(tally_error_text(error)), 77; /* skipped */
  CHECK(!error && strstr(text, "begins with the next process"));
  refused("start", TALLY_ERROR_BAD_STATE, "already");

  for (int run = 0; run < 2; ++run) {
    const pid_t pid = spawn();
    CHECK(tally_session_sampled_pid(session) == 0);
    resume(pid);
    CHECK(tally_session_sampled_pid(session) == pid);
    CHECK(strstr(command("report --limit 0"), "made_now") && symbols_asked == run + 1);
    CHECK(self("function", "made_now") > 0);
    const uint64_t at_stop = self("function", NULL);
    CHECK(at_stop > 300 && self("line", NULL) == at_stop);
    resume(pid);
    CHECK(self("part", NULL) > at_stop);
    CHECK(self("part", "breakpoint 2, spin.c:10") == at_stop);
  }
  const uint64_t total = self("thread", NULL);
  for (size_t i = 0; i < tally_table_rows(commands); ++i) {
    const char *name = tally_table_texts(commands, 0)[i];
    if (strcmp(name, "start") == 0) {
      refused("start --backend perf", TALLY_ERROR_BAD_STATE, "already"); /* continues over runs */
    } else if (strcmp(name, "status") == 0) {
      snprintf(line, sizeof line, "\nsamples %llu\n", (unsigned long long)total);
      CHECK(strstr(command("status"), line) && strstr(command("status"), "\nparts 2\n"));
      CHECK(strtoull(status("samples"), NULL, 10) == total && strcmp(status("parts"), "2") == 0);
    } else if (strcmp(name, "report") == 0) {
      CHECK(strncmp(command("report --json"), "{\"events\":[\"ticks\"],\"totals\":[", 30) == 0);
      snprintf(line, sizeof line, "%llu ticks in total\n", (unsigned long long)total);
      CHECK(strstr(command("report"), line) && strstr(command("report --limit 0"), "made_now"));
    } else if (strcmp(name, "break") == 0 || strcmp(name, "list") == 0) {
      const int before = locations_asked;
      const char *const table = command("report --limit 0");
      const char *row = strstr(table, "made_now"); /* this test answered its line */
      CHECK(row);
      while (row[-1] != '\n')
        --row;
      snprintf(line, sizeof line, "%s %d", name, atoi(row));
      CHECK(strcmp(command(line), "") == 0 && locations_asked == before + 1);
      snprintf(line, sizeof line, "%s 100000", name);
      refused(line, TALLY_ERROR_INVALID_ARGUMENT, "there is no row 100000");
    } else if (strcmp(name, "tree") == 0) {
      CHECK(strstr(command("tree --limit 0"), "made_now"));
      CHECK(strstr(command("tree made_now --json"), "{\"events\":[\"ticks\"]"));
      refused("tree nowhere", TALLY_ERROR_NOT_FOUND, "no such function");
    } else if (strcmp(name, "annotate") == 0) {
      CHECK(strchr(command("annotate made_now"), '%'));
      refused("annotate nowhere", TALLY_ERROR_NOT_FOUND, "nowhere");
    } else if (strcmp(name, "load") == 0) {
      refused("load /nonexistent/file", TALLY_ERROR_NOT_FOUND, "ENOENT");
    } else if (strcmp(name, "histogram") == 0) {
      CHECK(strchr(command("histogram"), '%'));
      refused("histogram 0x20-0x10", TALLY_ERROR_INVALID_ARGUMENT, "0x20-0x10");
    } else if (strcmp(name, "timeline") == 0) {
      CHECK(strchr(command("timeline"), '#'));
      refused("timeline out.png", TALLY_ERROR_INVALID_ARGUMENT, "out.png");
    } else if (strcmp(name, "dump") == 0) {
      snprintf(line, sizeof line, "dump %s/out.callgrind", folder);
      CHECK(strncmp(command(line), "Wrote ", 6) == 0);
      snprintf(line, sizeof line, "%s/out.callgrind", folder);
      CHECK(access(line, R_OK) == 0 && unlink(line) == 0);
      refused("dump /dev/full --format folded", TALLY_ERROR_IO, "ENOSPC");
    } else if (strcmp(name, "diff") == 0) {
      CHECK(strstr(command("diff previous --json"), "made_now")); /* the text omits equal rows */
    } else if (strcmp(name, "config") == 0) {
      CHECK(strcmp(command("config frequency"), "frequency 2000\n") == 0);
      CHECK(strcmp(tally_session_setting(session, "profile", "frequency"), "2000") == 0);
      refused("config frequency 0", TALLY_ERROR_INVALID_ARGUMENT, "from 1 to 1000000");
    } else if (strcmp(name, "stop") == 0) {
      CHECK(strcmp(command("stop"), "") == 0);
      refused("stop", TALLY_ERROR_BAD_STATE, "sampling has not begun");
    } else if (strcmp(name, "region") == 0) {
      refused("region", TALLY_ERROR_INVALID_ARGUMENT, "LOCATION");
      tally_hit hit = {.size = sizeof hit, .kind = TALLY_HIT_FIRST};
      CHECK(tally_session_region_hit(session, &hit) == 0); /* there is no region */
    } else if (strcmp(name, "clear") == 0) {
      CHECK(total == self("object", NULL)); /* stopping lost nothing */
      command("clear");
      refused("report", TALLY_ERROR_NO_DATA, "nothing was collected");
      refused("dump - --format folded", TALLY_ERROR_INVALID_ARGUMENT, "name a file");
    } else
      CHECK(name == NULL); /* a command that this test does not know */
  }
  CHECK(tally_session_complete(session, "profile", "report --by ", &words) == NULL);
  CHECK(tally_table_rows(words) == 9 && strcmp(tally_table_texts(words, 0)[1], "function") == 0);
  tally_table_free(words);
  tally_table_free(commands);
  tally_session_free(session);
  return rmdir(folder);
}
