// What the parts of a mangled name print at most: for demangles_within() alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tally::mangled {

inline constexpr uint64_t too_large = uint64_t{1} << 40;

inline uint64_t sum(uint64_t a, uint64_t b) { return std::min(a + b, too_large); }
inline uint64_t product(uint64_t a, uint64_t b) {
  return b != 0 && a > too_large / b ? too_large : std::min(a * b, too_large);
}

// What a part prints: text, and template parameters of whatever size.
struct Size {
  uint64_t text = 0, parameters = 0;
  Size &operator+=(const Size &more) {
    text = sum(text, more.text);
    parameters = sum(parameters, more.parameters);
    return *this;
  }
};

inline constexpr Size word{24, 0};   // longer than any operator, builtin type or punctuation
inline constexpr Size known{100, 0}; // than std::basic_string<…> and its like
inline constexpr int most_depth = 500;

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// Parses what names of programs are made of, and takes candidates of substitutions in their order.
// What is rare (a decltype before "::", say) is not understood.
class Sizes {
public:
  explicit Sizes(std::string_view text) : text_(text) {}

  // None: not understood.
  std::optional<uint64_t> of_name() {
    const Size size = encoding();
    if (at_ < text_.size() && peek() != '.') // a clone's suffix
      good_ = false;
    return good_ ? std::optional(sum(size.text, text_.size())) : std::nullopt;
  }

private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool take(std::string_view what) {
    const bool there = text_.substr(at_).starts_with(what);
    at_ += there ? what.size() : 0;
    return there;
  }
  Size fail() {
    good_ = false;
    at_ = text_.size();
    return {};
  }
  void expect(char c) {
    if (peek() == c)
      ++at_;
    else
      fail();
  }
  Size candidate(Size size) {
    candidates_.push_back(size);
    return size;
  }
  uint64_t number() {
    uint64_t value = 0;
    while (is_digit(peek()))
      value = std::min(value * 10 + static_cast<uint64_t>(text_[at_++] - '0'), too_large);
    return value;
  }
  void discriminator() {
    if (peek() != '_')
      return;
    const bool is_long = take("__");
    if (!is_long)
      ++at_;
    number();
    if (is_long)
      take("_");
  }
  template <class Part> Size until_end(Part part) {
    Size size = word;
    while (good_ && peek() != 'E') {
      if (at_ >= text_.size())
        return fail();
      size += part();
      size += word;
    }
    expect('E');
    return size;
  }

  Size encoding();
  Size special();
  Size parameters();
  Size name(bool &is_template);
  Size nested(bool &is_template);
  Size local(bool &is_template);
  Size unqualified();
  Size operator_name();
  Size source_name();
  Size substitution();
  Size template_parameter();
  Size template_arguments();
  Size template_argument();
  Size type();
  Size type_itself();
  Size class_type();
  Size qualified();
  Size function();
  Size expression();
  Size literal();

  std::string_view text_;
  size_t at_ = 0;
  bool good_ = true;
  int depth_ = 0;
  std::vector<Size> candidates_;
  uint64_t lambdas_ = 0; // some demanglers take each for a candidate, others do not
  uint64_t longest_name_ = known.text;
  uint64_t longest_list_ = 1; // of template arguments
  bool pack_expanded_ = false;
  // Of the encoding that is read.
  bool in_name_ = true, in_lambda_ = false;
  uint64_t largest_argument_ = 0;
};

} // namespace tally::mangled
