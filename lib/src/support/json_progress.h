// Follows how far nlohmann::json has read, because its parser does not pass offsets to a handler of
// its events.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace tally {

class JsonProgress {
public:
  // An iterator over the text that records how far the parser has read.
  class Cursor {
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char *;
    using reference = const char &;

    Cursor() = default;
    Cursor(const char *at, const char **progress) : at_(at), progress_(progress) {}
    reference operator*() const { return *at_; }
    Cursor &operator++() {
      *progress_ = ++at_;
      return *this;
    }
    Cursor operator++(int) {
      Cursor before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Cursor &a, const Cursor &b) { return a.at_ == b.at_; }

  private:
    const char *at_ = nullptr;
    const char **progress_ = nullptr;
  };

  // The text must outlive the object, which stays where it is while the parser runs.
  explicit JsonProgress(std::string_view text) : text_(text), progress_(text.data()) {}
  JsonProgress(const JsonProgress &) = delete;
  JsonProgress &operator=(const JsonProgress &) = delete;

  Cursor begin() { return {text_.data(), &progress_}; }
  Cursor end() { return {text_.data() + text_.size(), &progress_}; }

  std::string_view text() const { return text_; }
  size_t offset() const { return static_cast<size_t>(progress_ - text_.data()); }

  struct Fault {
    size_t offset = 0;
    std::string message;
  };
  // Explains an error that the parser reports, by the id and the text of its exception.
  Fault fault(int id, std::string_view what) const;

private:
  std::string_view text_;
  const char *progress_;
};

// Returns the offset of a number, a string or a word, where `end` is the parser's offset when it
// reports the value: directly behind it, or one character further if it is a number.
size_t json_value_offset(std::string_view text, size_t end);

} // namespace tally
