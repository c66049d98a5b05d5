#include "collect/wait_look.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string>

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/proc_info.h"

namespace tally {

std::optional<WaitLook::Seen> WaitLook::parse(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  Seen seen;
  for (uint64_t *const field : {&seen.pc, &seen.sp}) { // the last fields
    const size_t blank = text.rfind(' ');
    if (blank == text.npos)
      return std::nullopt;
    std::string_view word = text.substr(blank + 1);
    text = text.substr(0, blank);
    if (!word.starts_with("0x"))
      return std::nullopt;
    word.remove_prefix(2);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *field, 16);
    if (error != std::errc() || end != word.data() + word.size())
      return std::nullopt;
  }
  return seen;
}

std::optional<WaitLook::Seen> WaitLook::at(pid_t tid, bool traced) {
  const std::string folder = fmt::format("/proc/{}/task/{}", pid_, tid);
  errno = 0;
  const auto before = read_small_file(folder + "/syscall");
  if (!before) {
    is_refused_ |= errno == EACCES || errno == EPERM;
    return std::nullopt;
  }
  std::optional<Seen> seen = parse(*before);
  if (!seen)
    return std::nullopt;
  stack_.resize(stack_bytes);
  // Page by page, because nothing is read of a piece that is not readable to its end.
  constexpr uint64_t page = 4096;
  std::array<iovec, stack_bytes / page + 1> there{};
  size_t pieces = 0;
  for (uint64_t at = seen->sp, end = seen->sp + stack_bytes; at < end; ++pieces) {
    const uint64_t next = std::min((at / page + 1) * page, end);
    there[pieces] = {reinterpret_cast<void *>(at), next - at};
    at = next;
  }
  const iovec here{stack_.data(), stack_.size()};
  const ssize_t got = ::process_vm_readv(pid_, &here, 1, there.data(), pieces, 0);
  // A thread that went on has written over its stack.
  if (got <= 0 || read_small_file(folder + "/syscall") != before)
    return std::nullopt;
  seen->stack = std::span(stack_).first(static_cast<size_t>(got));
  if (traced) {
    const auto status = process_status(fmt::format("{}/task/{}", pid_, tid));
    seen->is_held = status && status->state == 't';
  }
  return seen;
}

} // namespace tally
