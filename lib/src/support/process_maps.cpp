#include "support/process_maps.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <sys/sysmacros.h>

#include <fmt/format.h>

namespace tally {

namespace {

// Parses a number and the single character that must follow it, and removes both from `text`.
bool take_number(std::string_view &text, int base, char after, uint64_t &value) {
  const char *const limit = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), limit, value, base);
  if (error != std::errc{} || end == limit || *end != after)
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

} // namespace

// A line is such as "55d0c2a00000-55d0c2a05000 r-xp 00002000 08:01 1234    /bin/cat".
std::optional<ProcessMap> parse_process_map(std::string_view line) {
  ProcessMap out;
  if (!take_number(line, 16, '-', out.start) || !take_number(line, 16, ' ', out.limit) ||
      out.start >= out.limit || line.size() < 5)
    return std::nullopt;
  out.is_readable = line[0] == 'r';
  out.is_executable = line[2] == 'x';
  out.is_private = line[3] == 'p';
  line.remove_prefix(5);
  uint64_t major_number = 0, minor_number = 0;
  if (!take_number(line, 16, ' ', out.file_offset) || !take_number(line, 16, ':', major_number) ||
      !take_number(line, 16, ' ', minor_number))
    return std::nullopt;
  out.device = makedev(static_cast<unsigned>(major_number), static_cast<unsigned>(minor_number));
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), out.inode, 10);
  if (error != std::errc{})
    return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  out.path = line;
  return out;
}

void each_process_map(pid_t pid, const std::function<bool(const ProcessMap &)> &use) {
  const std::string path = pid == 0 ? "/proc/self/maps" : fmt::format("/proc/{}/maps", pid);
  const std::unique_ptr<FILE, int (*)(FILE *)> maps(std::fopen(path.c_str(), "re"), std::fclose);
  char *line = nullptr;
  size_t room = 0;
  while (maps) {
    const ssize_t size = ::getline(&line, &room, maps.get());
    if (size <= 0)
      break;
    const std::string_view text(line, static_cast<size_t>(size));
    if (const auto map = parse_process_map(text.substr(0, text.find('\n'))); map && !use(*map))
      break;
  }
  std::free(line);
}

} // namespace tally
