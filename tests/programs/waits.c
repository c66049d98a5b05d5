/* waits [ROUNDS=20 [TIMES=1]]
 *
 * Each of twelve threads waits in a way of its own, ROUNDS times, in a function of its own that
 * calls nothing else. The waits for a time of over 2 ms last TIMES as long. Prints for each the
 * number of its waits and the time that they took by the program's own clock; and for each thread
 * its CPU time, and the time from its creation and from its first instruction on, in ns:
 *   wait FUNCTION WAITS NS
 *   thread FUNCTION CPU LIFE OWN_LIFE */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static int rounds = 20, times = 1;

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static void pause_ms(int ms) {
  const struct timespec time = {0, ms * 1000000L};
  nanosleep(&time, NULL);
}

static int pipe_ends[2], pair[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, taken, free_again;
static int posted;

KEPT void wait_sleep(void) {
  const struct timespec time = {0, 15000000L * times};
  nanosleep(&time, NULL);
}
KEPT void wait_short(void) { usleep(2000); }
KEPT void wait_poll(void) { poll(NULL, 0, 12 * times); }
KEPT void wait_select(void) {
  struct timeval time = {0, 11000L * times};
  select(0, NULL, NULL, NULL, &time);
}
KEPT void wait_epoll(void) {
  static int fd;
  struct epoll_event event;
  if (fd == 0)
    fd = epoll_create1(0);
  epoll_wait(fd, &event, 1, 10 * times);
}
KEPT void wait_pipe(void) {
  char byte;
  if (read(pipe_ends[0], &byte, 1) != 1)
    exit(1);
}
KEPT void wait_socket(void) {
  char byte;
  if (recv(pair[0], &byte, 1, 0) != 1)
    exit(1);
}
KEPT void wait_lock(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
KEPT void wait_condition(void) {
  pthread_mutex_lock(&guard);
  while (posted == 0)
    pthread_cond_wait(&condition, &guard);
  --posted;
  pthread_mutex_unlock(&guard);
}
KEPT void wait_semaphore(void) {
  while (sem_wait(&semaphore) != 0 && errno == EINTR) {
  }
}
static void *sleeper(void *unused) {
  pause_ms(9);
  return unused;
}
static pthread_t joined;
KEPT void wait_join(void) { pthread_join(joined, NULL); }
static pid_t child;
KEPT void wait_child(void) { waitpid(child, NULL, 0); }

/* --- what must happen before each wait, and is not timed */
static void prepare_join(void) { pthread_create(&joined, NULL, sleeper, NULL); }
static void prepare_child(void) {
  child = fork();
  if (child == 0) {
    pause_ms(9);
    _exit(0);
  }
}
static void prepare_lock(void) {
  sem_post(&free_again); /* the holder takes the mutex for a while */
  while (sem_wait(&taken) != 0 && errno == EINTR) {
  }
}

static void *feed(void *unused) {
  for (int i = 0; i < rounds; ++i) {
    pause_ms(7);
    if (write(pipe_ends[1], "x", 1) != 1 || send(pair[1], "x", 1, 0) != 1)
      exit(1);
    pthread_mutex_lock(&guard);
    ++posted;
    pthread_mutex_unlock(&guard);
    pthread_cond_signal(&condition);
    sem_post(&semaphore);
  }
  return unused;
}

static void *hold(void *unused) {
  for (int i = 0; i < rounds; ++i) {
    while (sem_wait(&free_again) != 0 && errno == EINTR) {
    }
    pthread_mutex_lock(&mutex);
    sem_post(&taken);
    pause_ms(8);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

struct way {
  const char *name;
  void (*wait)(void);
  void (*prepare)(void);
  uint64_t waited, created, begun, ended, cpu;
  pthread_t thread;
};

static void *run(void *of) {
  struct way *const way = of;
  way->begun = now(CLOCK_MONOTONIC);
  pthread_setname_np(pthread_self(), way->name);
  for (int i = 0; i < rounds; ++i) {
    if (way->prepare)
      way->prepare();
    const uint64_t before = now(CLOCK_MONOTONIC);
    way->wait();
    way->waited += now(CLOCK_MONOTONIC) - before;
  }
  way->ended = now(CLOCK_MONOTONIC);
  way->cpu = now(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

int main(int argc, char **argv) {
  static struct way ways[] = {
      {.name = "wait_sleep", .wait = wait_sleep},
      {.name = "wait_short", .wait = wait_short},
      {.name = "wait_poll", .wait = wait_poll},
      {.name = "wait_select", .wait = wait_select},
      {.name = "wait_epoll", .wait = wait_epoll},
      {.name = "wait_pipe", .wait = wait_pipe},
      {.name = "wait_socket", .wait = wait_socket},
      {.name = "wait_lock", .wait = wait_lock, .prepare = prepare_lock},
      {.name = "wait_condition", .wait = wait_condition},
      {.name = "wait_semaphore", .wait = wait_semaphore},
      {.name = "wait_join", .wait = wait_join, .prepare = prepare_join},
      {.name = "wait_child", .wait = wait_child, .prepare = prepare_child},
  };
  enum { count = sizeof ways / sizeof ways[0] };
  pthread_t feeder, holder;
  if (argc > 1)
    rounds = atoi(argv[1]);
  if (argc > 2)
    times = atoi(argv[2]);
  if (pipe(pipe_ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    return 1;
  sem_init(&semaphore, 0, 0);
  sem_init(&taken, 0, 0);
  sem_init(&free_again, 0, 0);
  for (int i = 0; i < count; ++i) {
    ways[i].created = now(CLOCK_MONOTONIC);
    pthread_create(&ways[i].thread, NULL, run, &ways[i]);
  }
  pthread_create(&feeder, NULL, feed, NULL);
  pthread_create(&holder, NULL, hold, NULL);
  for (int i = 0; i < count; ++i)
    pthread_join(ways[i].thread, NULL);
  pthread_join(feeder, NULL);
  pthread_join(holder, NULL);
  for (int i = 0; i < count; ++i) {
    printf("wait %s %d %llu\n", ways[i].name, rounds, (unsigned long long)ways[i].waited);
    printf("thread %s %llu %llu %llu\n", ways[i].name, (unsigned long long)ways[i].cpu,
           (unsigned long long)(ways[i].ended - ways[i].created),
           (unsigned long long)(ways[i].ended - ways[i].begun));
  }
  return 0;
}
