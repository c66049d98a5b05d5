#include "support/mangled_size.h"

#include "support/mangled_parts.h"

namespace tally {

namespace mangled {

Size Sizes::encoding() {
  if (++depth_ > most_depth)
    return fail();
  const bool outer_in_name = in_name_, outer_in_lambda = in_lambda_;
  const uint64_t outer_largest = largest_argument_;
  in_name_ = true;
  in_lambda_ = false;
  largest_argument_ = 0;
  Size size;
  if (peek() == 'G' || peek() == 'T') {
    size = special();
  } else {
    bool is_template = false;
    size = name(is_template);
    in_name_ = !is_template; // parameters are those of the name
    if (good_ && at_ < text_.size() && peek() != 'E' && peek() != '.')
      size += parameters();
  }
  size = {sum(size.text, product(size.parameters, largest_argument_)), 0};
  in_name_ = outer_in_name;
  in_lambda_ = outer_in_lambda;
  largest_argument_ = std::max(outer_largest, largest_argument_);
  --depth_;
  return size;
}

Size Sizes::special() {
  Size size = known;
  bool is_template = false;
  if (take("GV") || take("TH") || take("TW"))
    return size += name(is_template);
  if (take("TV") || take("TT") || take("TI") || take("TS"))
    return size += type();
  if (take("GR")) {
    size += name(is_template);
    while (good_ && at_ < text_.size() && !take("_"))
      ++at_;
    return size;
  }
  const auto offset = [&] {
    take("n");
    number();
    expect('_');
  };
  const auto call_offset = [&] {
    if (take("v")) {
      offset();
      offset();
    } else if (take("h")) {
      offset();
    } else {
      fail();
    }
  };
  if (take("Tc")) {
    call_offset();
    call_offset();
    return size += encoding();
  }
  if (take("TC")) {
    size += type();
    offset();
    return size += type();
  }
  if (peek() == 'T' && (peek(1) == 'h' || peek(1) == 'v')) {
    ++at_;
    call_offset();
    return size += encoding();
  }
  return fail();
}

Size Sizes::parameters() {
  Size size = word;
  while (good_ && at_ < text_.size() && peek() != 'E' && peek() != '.') {
    if ((peek() == 'R' || peek() == 'O') && peek(1) == 'E') {
      ++at_;
      break;
    }
    size += type();
    size += word;
  }
  return size;
}

Size Sizes::name(bool &is_template) {
  if (++depth_ > most_depth)
    return fail();
  Size size;
  bool is_candidate = true;
  if (peek() == 'N') {
    size = nested(is_template);
    --depth_;
    return size;
  }
  if (peek() == 'Z') {
    size = local(is_template);
    --depth_;
    return size;
  }
  if (take("St")) {
    size = word;
    size += unqualified();
  } else if (peek() == 'S') {
    size = substitution();
    is_candidate = false;
  } else {
    size = unqualified();
  }
  if (good_ && peek() == 'I') {
    if (is_candidate)
      candidate(size);
    size += template_arguments();
    is_template = true;
  }
  --depth_;
  return size;
}

Size Sizes::nested(bool &is_template) {
  expect('N');
  Size size;
  while (peek() == 'r' || peek() == 'V' || peek() == 'K') {
    ++at_;
    size += word;
  }
  if (peek() == 'R' || peek() == 'O') {
    ++at_;
    size += word;
  }
  bool first = true;
  while (good_ && peek() != 'E') {
    const char c = peek();
    is_template = c == 'I';
    if (c == 'S')
      size += substitution();
    else if (c == 'I' && !first)
      size += template_arguments();
    else if (c == 'T')
      size += template_parameter();
    else if (c == 'M') // a member's lambda
      ++at_;
    else
      size += unqualified();
    size += word;
    if (c != 'S' && c != 'M' && peek() != 'E')
      candidate(size);
    first = false;
  }
  expect('E');
  return size;
}

Size Sizes::local(bool &is_template) {
  expect('Z');
  Size size = encoding();
  expect('E');
  size += known;
  if (take("s")) {
    discriminator();
    return size;
  }
  if (take("d")) {
    number();
    expect('_');
  }
  size += name(is_template);
  discriminator();
  return size;
}

Size Sizes::unqualified() {
  Size size;
  if (is_digit(peek())) {
    size = source_name();
  } else if (is_lower(peek())) {
    size = operator_name();
  } else if (peek() == 'L') {
    ++at_;
    size = source_name();
    discriminator();
  } else if (peek() == 'C' || (peek() == 'D' && is_digit(peek(1)))) {
    ++at_;
    const bool inherits = take("I");
    if (!is_digit(peek()))
      return fail();
    ++at_;
    if (inherits)
      size += type();
    size += Size{longest_name_, 0};
  } else if (take("Ut")) {
    ++lambdas_;
    size = known;
    number();
    expect('_');
  } else if (take("Ul")) {
    ++lambdas_;
    const bool outer = in_lambda_;
    in_lambda_ = true;
    size = until_end([&] { return type(); });
    in_lambda_ = outer;
    size = {sum(size.text, product(size.parameters, word.text)), 0}; // as "auto:1"
    size += known;
    number();
    expect('_');
  } else {
    return fail();
  }
  while (good_ && take("B")) {
    size += source_name();
    size += word;
  }
  return size;
}

Size Sizes::operator_name() {
  if (take("cv")) { // its parameters are of arguments that come behind
    const bool outer = in_name_;
    in_name_ = true;
    Size size = type();
    in_name_ = outer;
    return size += word;
  }
  const bool is_literal = take("li");
  if (!is_literal)
    at_ += 2;
  return is_literal ? source_name() : word;
}

Size Sizes::source_name() {
  const uint64_t length = number();
  if (length == 0 || length > text_.size() - at_)
    return fail();
  at_ += length;
  longest_name_ = std::max(longest_name_, length);
  return {sum(length, word.text), 0};
}

Size Sizes::substitution() {
  expect('S');
  if (is_lower(peek())) {
    ++at_;
    return known;
  }
  uint64_t index = 0;
  if (peek() != '_') {
    while (is_digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) {
      const char c = text_[at_++];
      index = std::min(index * 36 + static_cast<uint64_t>(is_digit(c) ? c - '0' : c - 'A' + 10),
                       too_large);
    }
    ++index;
  }
  expect('_');
  const uint64_t first = index - std::min(index, lambdas_);
  if (first >= candidates_.size())
    return fail();
  Size largest;
  for (uint64_t i = first; i <= std::min<uint64_t>(index, candidates_.size() - 1); ++i) {
    largest.text = std::max(largest.text, candidates_[i].text);
    largest.parameters = std::max(largest.parameters, candidates_[i].parameters);
  }
  return largest;
}

Size Sizes::template_parameter() {
  expect('T');
  number();
  expect('_');
  if (in_lambda_) // "auto:1"
    return word;
  // What names the arguments would be needed before they were read.
  return in_name_ ? fail() : Size{word.text, 1};
}

Size Sizes::template_arguments() {
  if (peek() != 'I' && peek() != 'J')
    return fail();
  ++at_;
  if (++depth_ > most_depth)
    return fail();
  const bool outer = in_lambda_;
  in_lambda_ = false;
  uint64_t length = 0;
  const Size size = until_end([&] {
    ++length;
    return template_argument();
  });
  in_lambda_ = outer;
  if (length > longest_list_) {
    longest_list_ = length;
    if (pack_expanded_) // by less
      return fail();
  }
  --depth_;
  return size;
}

Size Sizes::template_argument() {
  Size size;
  if (take("X")) {
    size = expression();
    expect('E');
  } else if (peek() == 'L') {
    size = literal();
  } else if (peek() == 'I' || peek() == 'J') {
    size = template_arguments();
  } else {
    size = type();
  }
  if (in_name_) {
    if (size.parameters != 0) // of an encoding that was left
      return fail();
    largest_argument_ = std::max(largest_argument_, size.text);
  }
  return size;
}

} // namespace mangled

namespace {

// Of a name that is not understood: three references at most triple what they stand for, and a pack
// is at most as long as the name.
uint64_t size_by_references(std::string_view mangled) {
  uint64_t size = mangled::product(mangled.size(), mangled::word.text);
  uint64_t references = 0;
  for (size_t i = 0; i + 1 < mangled.size(); ++i) {
    const char c = mangled[i], next = mangled[i + 1];
    if (c == 'D' && next == 'p')
      size = mangled::product(size, mangled.size());
    references += (c == 'S' || c == 'T') &&
                  (next == '_' || mangled::is_digit(next) || (next >= 'A' && next <= 'Z'));
    if (references == 3) {
      size = mangled::product(size, 3);
      references = 0;
    }
  }
  return references == 0 ? size : mangled::product(size, 3);
}

} // namespace

bool demangles_within(std::string_view mangled, size_t most) {
  constexpr size_t few_bytes = 64; // which cannot double often
  if (mangled.size() <= few_bytes)
    return true;
  std::optional<uint64_t> size;
  if (mangled.starts_with("_Z"))
    size = mangled::Sizes(mangled.substr(2)).of_name();
  return size.value_or(size_by_references(mangled)) <= most;
}

} // namespace tally
