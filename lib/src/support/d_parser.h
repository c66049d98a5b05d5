// Parses and prints names of D.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "support/demangle_limits.h"

namespace tally {

inline bool is_d_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_d_linkage(char c) {
  return std::string_view("FUWVRY").find(c) != std::string_view::npos;
}

// Prints a name while it parses it: back references are parsed again. Each function appends to
// `out`. After a failure, all return at once. It has many methods, one for each rule of the
// grammar.
class DName {
public:
  explicit DName(std::string_view name) : name_(name), earliest_(name.size()) {}

  bool all(std::string &out) {
    mangled_name(out);
    return !failed_ && at_ == name_.size();
  }

private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < name_.size() ? name_[at_ + ahead] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ >= name_.size())
      return false;
    ++at_;
    return true;
  }
  bool take(std::string_view text) {
    if (!name_.substr(at_).starts_with(text))
      return false;
    at_ += text.size();
    return true;
  }
  void fail() { failed_ = true; }
  char next() {
    if (at_ < name_.size())
      return name_[at_++];
    fail();
    return '\0';
  }
  bool is_exceeded(const std::string &out) {
    failed_ |= ++steps_ > demangling::most_steps || out.size() > demangling::longest_output;
    return failed_;
  }

  size_t number();
  size_t reference(); // the place that a back reference names
  bool is_symbol(size_t place) const;
  bool is_symbol() const { return is_symbol(at_); }
  template <class Parse> void at_place(size_t place, Parse parse);

  void mangled_name(std::string &out);
  void qualified(std::string &out, bool with_modifiers);
  void identifier(std::string &out);
  void plain_name(std::string &out, size_t size);
  void instance(std::string &out, size_t size);
  void template_arguments(std::string &out);
  void symbol_argument(std::string &out);
  void value_argument(std::string &out);
  void type(std::string &out);
  void type_reference(std::string &out, bool is_function);
  void enclosed(std::string &out, std::string_view around);
  std::string modifiers();
  void function_type(std::string &out);
  void parameters(std::string &out);
  std::string_view linkage();
  std::string attributes();
  void value(std::string &out, std::string_view type_name, char type_letter);
  void values(std::string &out, bool with_keys);
  void integer(std::string &out, char type_letter);
  void character(std::string &out, char type_letter);
  void real(std::string &out);
  void string_literal(std::string &out);

  std::string_view name_;
  size_t at_ = 0;
  size_t earliest_; // the place of the type reference that is being followed
  size_t steps_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

template <class Parse> void DName::at_place(size_t place, Parse parse) {
  const size_t after = std::exchange(at_, place);
  parse();
  at_ = after;
}

} // namespace tally
