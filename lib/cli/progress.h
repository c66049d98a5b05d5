// How far long work has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tally::cli {

// A line on the terminal that is drawn over, and taken away at the end. It begins after a second;
// where standard error is no terminal nothing is shown.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;

  void bytes(uint64_t position, uint64_t size); // size 0: not known
  void items(uint64_t done, uint64_t all);

private:
  bool is_due();
  void draw(const std::string &text);

  std::string what_;
  bool terminal_, shown_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

} // namespace tally::cli
