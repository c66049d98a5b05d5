#include <array>

#include <gtest/gtest.h>

#include "session/session.h"

namespace tally::session_unsafe_frame_test {
namespace {

std::string_view caller(std::string_view module, std::string_view function) {
  return why_call_is_unsafe(module, function, false, {});
}

TEST(UnsafeFrame, RefusesTheAllocatorAndTheLoader) {
  for (const std::string_view function :
       {"malloc", "free", "__GI___libc_malloc", "__libc_calloc", "_int_free", "realloc",
        "operator new(unsigned long)", "operator delete[](void*)", "posix_memalign"})
    EXPECT_EQ(caller("/opt/lib/any.so", function), "the allocator") << function;
  for (const std::string_view module :
       {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-2.31.so", "ld.so", "/x/ld-musl-x86_64.so.1"})
    EXPECT_EQ(caller(module, "_start"), "the dynamic loader") << module;
}

TEST(UnsafeFrame, AllowsOtherFunctions) {
  for (const std::string_view function :
       {"main", "my_malloc", "malloc_hook", "freeze", "free_list", "", "operator+", "mallocator"})
    EXPECT_EQ(caller("/home/me/prog", function), "") << function;
  for (const std::string_view module : {"", "/home/me/ldap.so", "/usr/lib/libcrypto.so", "ld"})
    EXPECT_EQ(caller(module, "f"), "") << module;
}

TEST(UnsafeFrame, AllowsLibcOnlyInASystemCall) {
  const std::string_view libc = "/lib/x86_64-linux-gnu/libc.so.6";
#if defined(__x86_64__)
  constexpr std::array call{std::byte{0x90}, std::byte{0x90}, std::byte{0x0f}, std::byte{0x05}};
  EXPECT_EQ(why_call_is_unsafe(libc, "nanosleep", true, call), "");
#endif
  constexpr std::array other{std::byte{0x0f}, std::byte{0x05}, std::byte{0x90}, std::byte{0x90}};
  EXPECT_EQ(why_call_is_unsafe(libc, "printf", true, other), "libc");
  EXPECT_EQ(why_call_is_unsafe(libc, "printf", true, {}), "libc"); // the code cannot be read
  EXPECT_EQ(caller(libc, "qsort"), "");
  EXPECT_EQ(why_call_is_unsafe("/x/libc-2.31.so", "printf", true, other), "libc");
}

} // namespace
} // namespace tally::session_unsafe_frame_test
