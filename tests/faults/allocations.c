/* Lets one allocation after the other fail, in a child process each, while the library reads,
 * writes and samples:
 *
 *     allocations PROFILE SCRATCH
 *
 * The library may report an error, but no child may crash, hang or abort. Prints a line for each
 * job; the status is 1 if a child failed. The allocator is that of glibc, whose other names of
 * malloc() and its like call these here. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tally.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static long fails_at; /* 0: none fails */
static long allocations;

static int fails(void) {
  return fails_at != 0 && __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED) == fails_at;
}

static void *none(void) {
  errno = ENOMEM;
  return NULL;
}

void *malloc(size_t size) { return fails() ? none() : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? none() : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return fails() ? none() : __libc_realloc(old, size); }
void *memalign(size_t to, size_t size) { return fails() ? none() : __libc_memalign(to, size); }
void *aligned_alloc(size_t to, size_t size) { return memalign(to, size); }
int posix_memalign(void **out, size_t to, size_t size) {
  *out = fails() ? NULL : __libc_memalign(to, size);
  return *out ? 0 : ENOMEM;
}

static const char *profile_path;
static char output[4096];

static void drop(tally_error *error) {
  if (error) {
    tally_error_text(error);
    tally_error_free(error);
  }
}

static void run(tally_session *session, const char *group, const char *line) {
  const char *text = NULL;
  drop(tally_session_run(session, group, line, &text));
}

static void event(tally_session *session, uint32_t kind, int32_t pid) {
  tally_event what;
  memset(&what, 0, sizeof what);
  what.size = sizeof what;
  what.kind = kind;
  what.target = TALLY_TARGET_NATIVE;
  what.pid = pid;
  const char *text = NULL;
  drop(tally_session_event(session, &what, &text));
}

static void read_and_report(void) {
  tally_profile *profile = NULL;
  tally_table *table = NULL;
  drop(tally_profile_read(profile_path, NULL, &profile));
  if (profile)
    drop(tally_profile_report(profile, NULL, &table));
  tally_table_free(table);
  tally_profile_free(profile);
}

static void convert(void) {
  tally_table *diagnostics = NULL, *losses = NULL;
  drop(tally_convert(&profile_path, 1, NULL, output, NULL, &diagnostics, &losses));
  tally_table_free(diagnostics);
  tally_table_free(losses);
}

static void commands(void) {
  tally_session *session = NULL;
  char load[4200];
  snprintf(load, sizeof load, "load %s", profile_path);
  drop(tally_session_new(NULL, &session));
  if (!session)
    return;
  const char *const lines[] = {
      load,     "report",       "tree", "status --json", "annotate main", "report --by line",
      "stacks", "diff previous"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
    run(session, "profile", lines[i]);
  run(session, "coverage", "report");
  tally_table *table = NULL;
  drop(tally_session_complete(session, "profile", "rep", &table));
  tally_table_free(table);
  tally_session_free(session);
}

static void sample_with(const char *start) {
  tally_session *session = NULL;
  drop(tally_session_new(NULL, &session));
  if (!session)
    return;
  event(session, TALLY_EVENT_TARGET, getppid());
  run(session, "profile", start);
  event(session, TALLY_EVENT_RESUMED, getppid());
  usleep(3000);
  event(session, TALLY_EVENT_OTHER, getppid());
  run(session, "profile", "status");
  run(session, "profile", "report");
  run(session, "profile", "stop");
  tally_session_free(session);
}
static void sample(void) { sample_with("start --backend perf"); }
static void sample_waits(void) { sample_with("start --backend perf --clock wall"); }

/* Returns the number of allocations if none failed, -1 after a failure. */
static long try(void (*job)(void), long at, const char *name) {
  int told[2];
  if (pipe(told) != 0)
    exit(2);
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    dup2(null, 2);
    alarm(60);
    allocations = 0;
    fails_at = at;
    job();
    fails_at = 0;
    _exit(write(told[1], &allocations, sizeof allocations) == sizeof allocations ? 0 : 1);
  }
  close(told[1]);
  long count = 0;
  if (read(told[0], &count, sizeof count) != sizeof count)
    count = -1;
  close(told[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (count < 0)
    printf("%s: allocation %ld: %s %d\n", name, at, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  return count;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  profile_path = argv[1];
  snprintf(output, sizeof output, "%s/out.callgrind", argv[2]);
  const struct {
    const char *name;
    void (*job)(void);
  } jobs[] = {{"read and report", read_and_report},
              {"convert", convert},
              {"commands", commands},
              {"sample", sample},
              {"sample waits", sample_waits}};
  int failed = 0;
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; ++i) {
    long tried = 0, bad = 0, count = 0;
    do {
      count = try(jobs[i].job, ++tried, jobs[i].name);
      bad += count < 0;
    } while ((count < 0 || tried <= count) && tried < 20000);
    printf("%-16s %ld allocations, %ld failures\n", jobs[i].name, tried - 1, bad);
    failed |= bad != 0;
  }
  return failed;
}
