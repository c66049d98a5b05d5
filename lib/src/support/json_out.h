// JSON as it is written: a value that holds only its text. nlohmann::json takes seconds to compile
// wherever it is included, and each list of fields becomes kilobytes of code.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

namespace tally {

class JsonOut {
public:
  struct Field;

  JsonOut() : text_("null") {}
  // Bytes that are not UTF-8 become U+FFFD.
  JsonOut(std::string_view text);
  JsonOut(const char *text) : JsonOut(std::string_view(text)) {}
  JsonOut(const std::string &text) : JsonOut(std::string_view(text)) {}
  JsonOut(double number);
  template <std::same_as<bool> Truth> JsonOut(Truth truth) : text_(truth ? "true" : "false") {}
  template <std::signed_integral Number> JsonOut(Number number) : JsonOut(of(int64_t{number})) {}
  template <std::unsigned_integral Number>
  requires(!std::same_as<Number, bool>) JsonOut(Number number) : JsonOut(of(uint64_t{number})) {}
  // A list.
  template <std::ranges::input_range Values>
  requires(!std::convertible_to<const Values &, std::string_view>) JsonOut(const Values &values)
      : JsonOut(list()) {
    for (const auto &value : values)
      push_back(value);
  }
  JsonOut(std::initializer_list<Field> fields); // an object

  static JsonOut list();
  static JsonOut object();
  void push_back(const JsonOut &value);                 // to a list
  void add(std::string_view key, const JsonOut &value); // to an object

  size_t size() const { return size_; } // of a list or an object
  const std::string &text() const { return text_; }

private:
  static JsonOut of(int64_t number);
  static JsonOut of(uint64_t number);
  void extend(std::string_view first, std::string_view second);

  std::string text_;
  size_t size_ = 0;
};

struct JsonOut::Field {
  std::string_view key;
  JsonOut value;
};

} // namespace tally
