// Code that a program made while it ran, and the files that name it.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// The object of functions that a JIT compiler made. It is the same for all processes, so that
// profiles of several runs can be compared.
constexpr std::string_view jit_object = "[jit]";

inline std::string_view jit_file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Returns whether a path is that of a jitdump: "…/jit-1234.dump". A process maps its jitdump, so
// that profilers find it (Documentation/jitdump-specification.txt of perf).
inline bool is_jit_dump(std::string_view path) {
  const std::string_view name = jit_file_name(path);
  return name.starts_with("jit-") && name.ends_with(".dump") && path != name;
}

// Returns "/tmp/perf-1234.map": where a JIT compiler names the code of its process.
inline std::string perf_map_path(int pid) { return "/tmp/perf-" + std::to_string(pid) + ".map"; }

// Returns whether a path is that of a perf map: "/tmp/perf-1234.map".
inline bool is_perf_map(std::string_view path) {
  const std::string_view name = jit_file_name(path);
  return name.starts_with("perf-") && name.ends_with(".map") && path != name;
}

// Returns whether a mapping's path stands for memory that no file fills: "//anon", "[heap]",
// "/memfd:doublemapper (deleted)"; a perf map stands for it, too.
inline bool is_anonymous_memory(std::string_view path) {
  return path.empty() || is_perf_map(path) || path.starts_with("//anon") ||
         path.starts_with("[anon") || path == "[heap]" || path.starts_with("[stack") ||
         path.starts_with("/memfd:") || path.starts_with("/dev/zero") || path.starts_with("/SYSV");
}

} // namespace tally
