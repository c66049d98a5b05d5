// Recognizes frames in which a process must not be made to call a function: the code there may hold
// a lock that the call needs, so that the call would never return.

#include <algorithm>
#include <array>

#include "session/session.h"
#include "support/path.h"

namespace tally {

namespace {

using namespace std::string_view_literals;

#if defined(__x86_64__)
constexpr std::array system_call{std::byte{0x0f}, std::byte{0x05}};
#elif defined(__aarch64__)
constexpr std::array system_call{std::byte{0x01}, std::byte{0x00}, std::byte{0x00},
                                 std::byte{0xd4}};
#else
constexpr std::array<std::byte, 0> system_call{};
#endif

constexpr std::array allocators{
    "malloc"sv,
    "calloc"sv,
    "realloc"sv,
    "reallocarray"sv,
    "free"sv,
    "cfree"sv,
    "memalign"sv,
    "valloc"sv,
    "pvalloc"sv,
    "posix_memalign"sv,
    "aligned_alloc"sv,
    "_int_malloc"sv,
    "_int_free"sv,
    "_int_realloc"sv,
    "_int_memalign"sv,
    "sysmalloc"sv,
    "malloc_consolidate"sv,
};

bool is_library(std::string_view path, std::string_view name) {
  const std::string_view file = base_name(path);
  return file.starts_with(name) && file.size() > name.size() &&
         (file[name.size()] == '.' || file[name.size()] == '-');
}

std::string_view without(std::string_view prefix, std::string_view name) {
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

bool allocates(std::string_view function) {
  if (function.starts_with("operator new") || function.starts_with("operator delete"))
    return true;
  const std::string_view plain =
      without("__libc_", without("__GI_", function.substr(0, function.find('('))));
  return std::ranges::find(allocators, plain) != allocators.end();
}

bool is_in_system_call(std::span<const std::byte> before) {
  return !system_call.empty() && before.size() >= system_call.size() &&
         std::ranges::equal(before.last(system_call.size()), system_call);
}

} // namespace

std::string_view why_call_is_unsafe(std::string_view module, std::string_view function,
                                    bool innermost, std::span<const std::byte> before) {
  if (is_library(module, "ld"))
    return "the dynamic loader";
  if (allocates(function))
    return "the allocator";
  if (innermost && is_library(module, "libc") && !is_in_system_call(before))
    return "libc";
  return "";
}

} // namespace tally
