// Defines a fuzz target: FUZZ_TARGET(name) stands before the body of a function of `data` and
// `size` that returns 0, in the target's own namespace. With TALLY_FUZZER the program is a fuzzer
// and has one target. Otherwise all targets are in one program, which replays their corpora
// (replay.cpp): to compile and link one program takes a tenth of the time of thirty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

namespace tally {

using FuzzTarget = int (*)(const uint8_t *data, size_t size);

// The targets of this program by their names.
std::map<std::string_view, FuzzTarget> &fuzz_targets();

} // namespace tally

#ifdef TALLY_FUZZER
#define FUZZ_TARGET(name)                                                                          \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);                         \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
#define FUZZ_TARGET(name)                                                                          \
  static int name##_target(const uint8_t *data, size_t size);                                      \
  [[maybe_unused]] static const bool name##_is_registered =                                        \
      fuzz_targets().emplace(#name, name##_target).second;                                         \
  static int name##_target(const uint8_t *data, size_t size)
#endif
