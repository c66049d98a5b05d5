/* seccomp_run eperm|enosys|affinity PROGRAM [ARG...]
 *
 * Runs PROGRAM with a kernel that refuses perf_event_open: with EPERM as in containers, or with
 * ENOSYS as kernels without perf do. With `affinity`, sched_setaffinity fails with EPERM instead.
 * Exits with status 125 if it cannot do so. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "name this machine's AUDIT_ARCH"
#endif

static int refuse(uint32_t call, uint16_t error) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  /* An unprivileged process may set a filter only if it can never gain privileges again. */
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char **argv) {
  const char *const how = argc > 1 ? argv[1] : "";
  const int enosys = strcmp(how, "enosys") == 0, affinity = strcmp(how, "affinity") == 0;
  if (argc < 3 || !(strcmp(how, "eperm") == 0 || enosys || affinity)) {
    fprintf(stderr, "usage: seccomp_run eperm|enosys|affinity PROGRAM [ARG...]\n");
    return 125;
  }
  if (refuse(affinity ? SYS_sched_setaffinity : SYS_perf_event_open, enosys ? ENOSYS : EPERM) !=
      0) {
    perror("seccomp_run: seccomp");
    return 125;
  }
  execvp(argv[2], argv + 2);
  fprintf(stderr, "seccomp_run: %s: %s\n", argv[2], strerror(errno));
  return 125;
}
