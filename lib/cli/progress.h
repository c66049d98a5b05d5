// Shows the progress of long operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tally::cli {

// A line on the terminal that is updated in place and cleared at the end. It appears after a
// second; if standard error is not a terminal, nothing is shown.
class Progress {
public:
  explicit Progress(std::string what); // "reading names"
  ~Progress();
  Progress(const Progress &) = delete;

  void bytes(uint64_t position, uint64_t size); // size is 0 if unknown
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
