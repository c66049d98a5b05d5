#include "progress.h"

#include <algorithm>

#include <unistd.h>

#include <fmt/format.h>

#include "support/text.h"

namespace tally::cli {

Progress::Progress(std::string what)
    : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_)
    fmt::print(stderr, "\r\x1b[K");
}

bool Progress::is_due() {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now < next_)
    return false;
  next_ = now + std::chrono::milliseconds(200);
  return true;
}

void Progress::draw(const std::string &text) {
  shown_ = true;
  fmt::print(stderr, "\r\x1b[Ktally: {}: {}", printable(what_), printable(text));
}

void Progress::bytes(uint64_t position, uint64_t size) {
  if (!is_due())
    return;
  constexpr double mega = 1e6;
  const auto done = static_cast<double>(position) / mega;
  draw(size == 0 ? fmt::format("{:.0f} MB", done)
                 : fmt::format("{:.0f} of {:.0f} MB ({}%)", done, static_cast<double>(size) / mega,
                               100 * position / size));
}

void Progress::items(uint64_t done, uint64_t all) {
  if (!is_due() || all == 0)
    return;
  constexpr uint64_t width = 30;
  const uint64_t filled = width * std::min(done, all) / all;
  draw(fmt::format("[{}{}] {} of {}", std::string(filled, '#'), std::string(width - filled, '.'),
                   done, all));
}

} // namespace tally::cli
