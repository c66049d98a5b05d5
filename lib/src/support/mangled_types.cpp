// Types and expressions.
#include "support/mangled_parts.h"

namespace tally::mangled {

Size Sizes::type() {
  if (++depth_ > most_depth)
    return fail();
  const Size size = type_itself();
  --depth_;
  return size;
}

Size Sizes::type_itself() {
  const char c = peek(), next = peek(1);
  const auto behind = [&](size_t bytes) {
    at_ += bytes;
    Size size = type();
    size += word;
    return candidate(size);
  };
  if (c == 'r' || c == 'V' || c == 'K' || (c == 'D' && next == 'o'))
    return qualified();
  if (is_lower(c) && c != 'u') {
    ++at_;
    return word;
  }
  switch (c) {
  case 'P':
  case 'R':
  case 'O':
  case 'C':
  case 'G':
    return behind(1);
  case 'F':
    return candidate(function());
  case 'A': {
    ++at_;
    Size size = word;
    if (is_digit(peek()))
      number();
    else if (peek() != '_')
      size += expression();
    size += Size{text_.size(), 0};
    expect('_');
    size += type();
    return candidate(size);
  }
  case 'M': {
    ++at_;
    Size size = type();
    size += type();
    size += word;
    return candidate(size);
  }
  case 'T': {
    Size size = candidate(template_parameter());
    if (peek() != 'I')
      return size;
    size += template_arguments();
    return candidate(size);
  }
  case 'D':
    if (next == 'p') { // prints its pattern as often as there are arguments
      at_ += 2;
      Size size = type();
      pack_expanded_ = true;
      size = {product(size.text, longest_list_), product(size.parameters, longest_list_)};
      return candidate(size += word);
    }
    if (next == 't' || next == 'T') {
      at_ += 2;
      Size size = expression();
      expect('E');
      size += word;
      return candidate(size);
    }
    if (next == '\0' || std::string_view("acfdehsiun").find(next) == std::string_view::npos)
      return fail();
    at_ += 2;
    return word;
  default:
    return class_type();
  }
}

Size Sizes::class_type() {
  const char next = peek(1);
  if (peek() == 'S' && next != 't') {
    Size size = substitution();
    if (peek() != 'I')
      return size;
    size += template_arguments();
    return candidate(size);
  }
  if (!is_digit(peek()) && peek() != 'N' && peek() != 'Z' && peek() != 'S')
    return fail();
  bool is_template = false;
  return candidate(name(is_template));
}

Size Sizes::qualified() {
  Size size;
  for (;; ++at_) {
    if (take("Do"))
      --at_;
    else if (peek() != 'r' && peek() != 'V' && peek() != 'K')
      break;
    size += word;
  }
  size += peek() == 'F' ? function() : type();
  return candidate(size);
}

Size Sizes::function() {
  expect('F');
  take("Y");
  Size size = parameters();
  expect('E');
  return size;
}

Size Sizes::literal() {
  expect('L');
  Size size = word;
  if (take("_Z")) {
    size += encoding();
    expect('E');
    return size;
  }
  size += type();
  while (good_ && at_ < text_.size() && peek() != 'E') {
    ++at_;
    size += Size{1, 0};
  }
  expect('E');
  return size;
}

Size Sizes::expression() {
  if (++depth_ > most_depth)
    return fail();
  Size size = word;
  const auto one_of = [&](std::string_view codes) {
    const std::string_view code = text_.substr(at_, 2);
    for (size_t i = 0; code.size() == 2 && i < codes.size(); i += 3)
      if (codes.substr(i, 2) == code) {
        at_ += 2;
        return true;
      }
    return false;
  };
  if (peek() == 'L') {
    size += literal();
  } else if (peek() == 'T') {
    size += template_parameter();
  } else if (take("sr")) {
    size += type();
    size += unqualified();
    if (peek() == 'I')
      size += template_arguments();
  } else if (one_of("st ti at")) {
    size += type();
  } else if (one_of("sc dc cc rc")) {
    size += type();
    size += expression();
  } else if (one_of("ps ng ad de co nt nx sz az te")) {
    size += expression();
  } else if (one_of("pl mi ml dv rm an or eo ls rs eq ne lt gt le ge ss aa oo cm ix")) {
    size += expression();
    size += expression();
  } else if (take("qu")) {
    for (int i = 0; i < 3; ++i)
      size += expression();
  } else if (take("cl")) {
    size += until_end([&] { return expression(); });
  } else if (is_digit(peek())) {
    size += source_name();
    if (peek() == 'I')
      size += template_arguments();
  } else {
    return fail();
  }
  --depth_;
  return size;
}

} // namespace tally::mangled
