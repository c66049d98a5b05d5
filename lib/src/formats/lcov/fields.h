// Parses the fields of one line.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace tally::lcov {

// Parses fields that are separated by commas. Keeps the first fault and ignores later faults.
class Fields {
public:
  Fields(std::string_view line, size_t at) : line_(line), at_(at) {}

  std::string_view rest() const { return line_.substr(at_); }
  // Returns the text up to the next comma, and skips that comma.
  std::string_view word() {
    word_at_ = at_;
    const size_t end = std::min(line_.find(',', at_), line_.size());
    const std::string_view word = line_.substr(at_, end - at_);
    at_ = std::min(end + 1, line_.size());
    return word;
  }
  template <class T> T number(std::string_view what) {
    const std::string_view text = word();
    T value{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault == std::errc::result_out_of_range)
      fault_at(word_at_, fmt::format("{} does not fit in {} bits", shown(text), bits<T>()));
    else if (fault != std::errc() || end != text.data() + text.size())
      fault_at(word_at_, fmt::format("expected {}, found '{}'", what, shown(text)));
    else
      return value;
    return {};
  }
  // Parses an integer of any size. Returns nothing if it exceeds 63 bits, and -1 if it is below
  // -2^63.
  std::optional<int64_t> count(std::string_view what) {
    const std::string_view text = line_.substr(at_, line_.find(',', at_) - at_);
    int64_t value{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc::result_out_of_range || end != text.data() + text.size())
      return number<int64_t>(what);
    word();
    return text.starts_with('-') ? std::optional<int64_t>(-1) : std::nullopt;
  }
  // Returns the rest of the line, because a name may contain commas.
  std::string_view name(std::string_view what) {
    const std::string_view text = rest();
    if (text.empty())
      fault_at(at_, fmt::format("expected {}", what));
    at_ = line_.size();
    return text;
  }
  bool take(char c) {
    const bool there = at_ < line_.size() && line_[at_] == c;
    at_ += there;
    return there;
  }
  void skip(size_t bytes) { at_ += bytes; }
  void fault_at(size_t at, std::string message) {
    if (message_.empty()) {
      fault_at_ = at;
      message_ = std::move(message);
    }
  }
  void fault_here(std::string message) { fault_at(word_at_, std::move(message)); }
  size_t at() const { return at_; }

  bool good() const { return message_.empty(); }
  const std::string &message() const { return message_; }
  size_t fault_column() const { return fault_at_ + 1; }

private:
  template <class T> static constexpr int bits() { return std::numeric_limits<T>::digits; }
  static std::string_view shown(std::string_view text) { return text.substr(0, 40); }

  std::string_view line_;
  size_t at_, word_at_ = 0, fault_at_ = 0;
  std::string message_;
};

} // namespace tally::lcov
