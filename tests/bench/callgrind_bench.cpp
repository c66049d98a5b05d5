// Measures one way of processing a profile, for callgrind_bench.py.
//   callgrind-bench raw|read|write|memory FILE
// raw: a loop of read(2). read: reads the file into the model. write: writes the model into memory.
// These three print CPU time and wall time in seconds, and the number of bytes. memory: prints the
// peak memory of reading into the model, in bytes, less that of a process that does nothing.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/read_profile.h"
#include "formats/formats.h"

namespace {

double seconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

[[noreturn]] void end_with(const tally::Error &error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  std::exit(1);
}

template <class Work> void timed(Work work) {
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
  const size_t bytes = work();
  const double cpu_end = seconds(CLOCK_PROCESS_CPUTIME_ID), wall_end = seconds(CLOCK_MONOTONIC);
  std::printf("%.6f %.6f %zu\n", cpu_end - cpu, wall_end - wall, bytes);
}

size_t read_raw(const char *path) {
  std::vector<char> piece(tally::ReadOptions().piece_bytes);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  size_t bytes = 0;
  for (ssize_t got; file >= 0 && (got = ::read(file, piece.data(), piece.size())) > 0;)
    bytes += static_cast<size_t>(got);
  ::close(file);
  return bytes;
}

tally::ReadProfile read_model(const char *path) {
  tally::Diagnostics findings;
  auto read = tally::read_profile(path, findings);
  if (!read)
    end_with(read.error());
  return std::move(*read);
}

// Returns the peak memory of a child that does the work, in bytes. ru_maxrss is in KiB
// (getrusage(2)).
template <class Work> long peak_of_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  rusage used{};
  if (child < 0 || ::wait4(child, &status, 0, &used) != child || status != 0)
    std::exit(1);
  return used.ru_maxrss * 1024;
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  const char *const path = argc == 3 ? argv[2] : "";
  if (mode == "raw") {
    timed([&] { return read_raw(path); });
  } else if (mode == "read") {
    tally::ReadProfile read;
    timed([&] {
      read = read_model(path);
      return size_t{0};
    });
    std::fflush(stdout);
    ::_exit(0); // destroying the model is not part of reading
  } else if (mode == "write") {
    const tally::ReadProfile read = read_model(path);
    timed([&] {
      const auto written = tally::write_profile(read.profile, *read.format);
      if (!written)
        end_with(written.error());
      return written->bytes.size();
    });
  } else if (mode == "memory") {
    const long idle = peak_of_child([] {});
    std::printf("%ld\n", peak_of_child([&] { read_model(path); }) - idle);
  } else {
    std::fputs("usage: callgrind-bench raw|read|write|memory FILE\n", stderr);
    return 2;
  }
}
