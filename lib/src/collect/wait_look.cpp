#include "collect/wait_look.h"

#include <cerrno>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "collect/proc_info.h"
#include "support/process_memory.h"

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
  const size_t got = read_process_memory(pid_, seen->sp, stack_.data(), stack_.size());
  // A thread that went on has written over its stack.
  if (got == 0 || read_small_file(folder + "/syscall") != before)
    return std::nullopt;
  seen->stack = std::span(stack_).first(got);
  if (traced) {
    const auto status = process_status(fmt::format("{}/task/{}", pid_, tid));
    seen->is_held = status && status->state == 't';
  }
  return seen;
}

} // namespace tally
