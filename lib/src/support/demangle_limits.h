// Limits of demangling. A name refers back to its own parts, so that a name of 250 bytes may stand
// for gigabytes of text. A name that exceeds a limit is shown as it is. The longest name in
// Debian's libraries has 15 KiB when it is demangled.
#pragma once

#include <cstddef>

namespace tally::demangling {

inline constexpr size_t longest_input = size_t{128} * 1024;
inline constexpr size_t longest_output = size_t{128} * 1024;
inline constexpr size_t most_steps = 200'000; // nodes that are visited
inline constexpr int deepest = 1000;          // of recursion; about 300 KiB of stack

// Counts a level of recursion while it exists.
class Depth {
public:
  explicit Depth(int &depth) : depth_(++depth) {}
  ~Depth() { --depth_; }
  Depth(const Depth &) = delete;
  Depth &operator=(const Depth &) = delete;
  bool too_deep() const { return depth_ > deepest; }

private:
  int &depth_;
};

} // namespace tally::demangling
