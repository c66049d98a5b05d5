#include "formats/dot/draw.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/dot/dot.h"
#include "support/unique_fd.h"

namespace tally::dot {

namespace {

// Files without names do not block, unlike pipes, and are gone with this process.
Result<UniqueFd> make_file(std::string_view content) {
  UniqueFd file(::memfd_create("tally-dot", MFD_CLOEXEC));
  if (file.get() < 0)
    return fail_errno(errno, "cannot create a temporary file");
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return fail_errno(errno, "cannot write a temporary file");
    content.remove_prefix(static_cast<size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Result<std::string> content_of(const UniqueFd &file) {
  std::string out;
  std::array<char, 65536> buffer;
  ::lseek(file.get(), 0, SEEK_SET);
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail_errno(errno, "cannot read a temporary file");
    if (got == 0)
      return out;
    out.append(buffer.data(), static_cast<size_t>(got));
  }
}

// Returns errno if the program cannot be started.
int start_dot(int input, int output, pid_t &pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // A debugger or a recorder may block signals, or handle them.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string program = "dot", option = "-Tpng";
  std::array<char *, 3> words{program.data(), option.data(), nullptr};
  const int fault = ::posix_spawnp(&pid, "dot", &actions, &attributes, words.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return fault;
}

} // namespace

bool is_drawn(const Format &format, std::string_view path) {
  return format.write_costs == dot::write && path.ends_with(".png");
}

Result<std::string> png_of(std::string_view graph) {
  TALLY_TRY(input, make_file(graph));
  TALLY_TRY(output, make_file({}));
  pid_t pid = 0;
  if (const int fault = start_dot(input.get(), output.get(), pid); fault != 0)
    return fail(ErrorCode::invalid_argument,
                fault == ENOENT ? std::string("a picture needs Graphviz, whose program dot is not "
                                              "in PATH: install it, or write a .dot file")
                                : fmt::format("cannot run dot: {}", strerrordesc_np(fault)));
  int status = 0;
  bool is_known = true;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno == EINTR)
      continue;
    if (errno != ECHILD)
      return fail_errno(errno, "cannot wait for dot");
    // The process ignores SIGCHLD, as it may have inherited it, so that the kernel drops the status
    // of its children. waitpid() still returns no sooner than the child has ended.
    is_known = false;
    break;
  }
  if (is_known && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
    return fail(ErrorCode::unsupported, "Graphviz's program dot failed");
  constexpr std::string_view png = "\x89PNG\r\n\x1a\n";
  auto picture = content_of(output);
  if (picture && std::string_view(*picture).substr(0, png.size()) != png)
    return fail(ErrorCode::unsupported, "Graphviz's program dot made no picture");
  return picture;
}

} // namespace tally::dot
