// Builds text from very many short pieces.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace tally {

// Collects pieces in a buffer, because a std::string would check its capacity and write a
// terminating null for each piece.
class TextSink {
public:
  explicit TextSink(std::string &out) : out_(out) {}
  ~TextSink() { flush(); }
  TextSink(const TextSink &) = delete;

  void put(char c) {
    room(1);
    *at_++ = c;
  }
  void put(std::string_view text) {
    if (text.size() > size) {
      flush();
      out_ += text;
      return;
    }
    room(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void put(uint64_t value, int base = 10) {
    room(most_digits);
    if (value < 10)
      *at_++ = static_cast<char>('0' + value);
    else
      at_ = std::to_chars(at_, at_ + most_digits, value, base).ptr;
  }
  void put_signed(int64_t value) {
    if (value < 0)
      put('-');
    put(value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
  }
  void flush() {
    out_.append(buffer_.get(), at_);
    at_ = buffer_.get();
  }

private:
  static constexpr size_t size = size_t{1} << 16;
  static constexpr size_t most_digits = 64;

  void room(size_t bytes) {
    if (static_cast<size_t>(buffer_.get() + size - at_) < bytes)
      flush();
  }

  std::string &out_;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(size);
  char *at_ = buffer_.get();
};

} // namespace tally
