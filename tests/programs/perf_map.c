/* perf_map [--dump DIRECTORY] [SECONDS=0.5]
 *
 * Makes code that no file holds, and spins in it for SECONDS of CPU time. Names it in
 * /tmp/perf-PID.map, whose last line is incomplete, or in DIRECTORY/jit-PID.dump. There a second
 * function, `made_later`, replaces `made_first` at the same address after half of the time. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

#if defined(__x86_64__)
enum { MACHINE = 62 };
/* push rbp; mov rbp, rsp; 1: sub rdi, 1; jnz 1b; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xE5, 0x48, 0x83,
                                     0xEF, 0x01, 0x75, 0xFA, 0x5D, 0xC3};
#elif defined(__aarch64__)
enum { MACHINE = 183 };
/* stp x29, x30, [sp, #-16]!; mov x29, sp; 1: subs x0, x0, #1; b.ne 1b; ldp x29, x30, [sp], #16;
 * ret */
static const uint32_t code[] = {0xA9BF7BFD, 0x910003FD, 0xF1000400,
                                0x54FFFFE1, 0xA8C17BFD, 0xD65F03C0};
#else
#error "no code for this machine"
#endif

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void write_map(const void *at) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  FILE *map = fopen(path, "we");
  if (!map)
    exit(1);
  const uintptr_t start = (uintptr_t)at;
  /* A later line is about newer code. */
  fprintf(map, "%lx %x replaced\n%lx %x made now\n%lx 10 incom", (unsigned long)start,
          (unsigned)sizeof code, (unsigned long)start, (unsigned)sizeof code, (unsigned long)start);
  fclose(map);
}

static int dump = -1;

static void open_dump(const char *directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/jit-%d.dump", directory, (int)getpid());
  dump = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  struct {
    uint32_t magic, version, size, machine, padding, pid;
    uint64_t time, flags;
  } header = {0x4A695444, 1, 40, MACHINE, 0, (uint32_t)getpid(), now_ns(), 0};
  /* The mapping shows profilers where the file is. */
  if (dump < 0 || write(dump, &header, sizeof header) != sizeof header ||
      mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
    exit(1);
}

static void dump_load(const void *at, const char *name, uint64_t index) {
  struct {
    uint32_t type, size;
    uint64_t time;
    uint64_t address, entries;
    uint64_t code;
    uint32_t line, discriminator;
    char file[8];
  } lines = {2, sizeof lines, now_ns(), (uintptr_t)at, 1, (uintptr_t)at, 7, 0, "made.js"};
  struct {
    uint32_t type, size;
    uint64_t time;
    uint32_t pid, tid;
    uint64_t virtual_address, address, code_size, index;
  } load = {0,
            (uint32_t)(sizeof load + strlen(name) + 1 + sizeof code),
            now_ns(),
            (uint32_t)getpid(),
            (uint32_t)getpid(),
            (uintptr_t)at,
            (uintptr_t)at,
            sizeof code,
            index};
  if (write(dump, &lines, sizeof lines) != sizeof lines ||
      write(dump, &load, sizeof load) != sizeof load ||
      write(dump, name, strlen(name) + 1) != (ssize_t)strlen(name) + 1 ||
      write(dump, code, sizeof code) != sizeof code)
    exit(1);
}

static void spin_in(const void *page, double seconds) {
  void (*made)(uint64_t) = (void (*)(uint64_t))(uintptr_t)page;
  const double end = spin_clock(CLOCK_PROCESS_CPUTIME_ID) + seconds;
  while (spin_clock(CLOCK_PROCESS_CPUTIME_ID) < end)
    made(1000000);
}

int main(int argc, char **argv) {
  const char *directory = NULL;
  if (argc > 2 && strcmp(argv[1], "--dump") == 0) {
    directory = argv[2];
    argc -= 2;
    argv += 2;
  }
  const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
  void *const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return 1;
  memcpy(page, code, sizeof code);
  if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
    return 1;
  if (!directory) {
    write_map(page);
    spin_in(page, seconds);
    return 0;
  }
  open_dump(directory);
  dump_load(page, "made_first", 1);
  spin_in(page, seconds / 2);
  dump_load(page, "made_later", 2);
  /* A compiler that may write or execute its memory, but not both, maps it again. */
  if (mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0 ||
      mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
    return 1;
  spin_in(page, seconds / 2);
  return 0;
}
