#include "support/d_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/d_parser.h"

namespace tally {

size_t DName::number() {
  size_t value = 0;
  if (!is_d_digit(peek()))
    fail();
  for (; is_d_digit(peek()) && !failed_; ++at_) {
    value = value * 10 + static_cast<size_t>(peek() - '0');
    failed_ |= value > demangling::longest_input;
  }
  return value;
}

// The distance to the place is written in base 26: capitals, and a small letter last.
size_t DName::reference() {
  const size_t place = at_;
  size_t distance = 0;
  if (!take('Q'))
    fail();
  while (!failed_) {
    const char c = peek();
    const bool last = c >= 'a' && c <= 'z';
    if (!last && (c < 'A' || c > 'Z')) {
      fail();
      break;
    }
    distance = distance * 26 + static_cast<size_t>(c - (last ? 'a' : 'A'));
    ++at_;
    if (distance > place)
      fail();
    if (last)
      break;
  }
  if (distance == 0)
    fail();
  return failed_ ? 0 : place - distance;
}

bool DName::is_symbol(size_t place) const {
  DName there(*this);
  there.at_ = place;
  if (is_d_digit(there.peek()))
    return true;
  if (there.peek() == '_' && there.peek(1) == '_')
    return there.peek(2) == 'T' || there.peek(2) == 'U';
  if (there.peek() != 'Q')
    return false;
  const size_t target = there.reference();
  return !there.failed_ && is_d_digit(name_[target]);
}

void DName::mangled_name(std::string &out) {
  if (!take("_D") || !is_symbol()) {
    fail();
    return;
  }
  qualified(out, true);
  if (take('Z') || failed_) // what the compiler makes has no type
    return;
  std::string ignored;
  type(ignored);
}

void DName::qualified(std::string &out, bool with_modifiers) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  bool first = true;
  do {
    if (is_exceeded(out))
      return;
    if (peek() == '0') { // without a name
      while (take('0'))
        ;
      continue;
    }
    if (!first)
      out += '.';
    first = false;
    identifier(out);
    if (failed_ || (peek() != 'M' && !is_d_linkage(peek())))
      continue;
    // The parameters of a function belong to the name only if something follows: at least the type
    // that it returns.
    const size_t before = at_, size = out.size();
    const std::string of_this = take('M') ? modifiers() : std::string();
    linkage();
    attributes();
    parameters(out);
    if (with_modifiers)
      out += of_this;
    if (failed_ || at_ >= name_.size()) {
      failed_ = steps_ > demangling::most_steps || depth.too_deep();
      at_ = before;
      out.resize(size);
    }
  } while (!failed_ && is_symbol());
}

void DName::identifier(std::string &out) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded(out))
    return;
  if (peek() == 'Q') {
    at_place(reference(), [&] { plain_name(out, number()); });
    return;
  }
  if (peek() == '_') {
    instance(out, 0);
    return;
  }
  const size_t size = number();
  if (size == 0 || size > name_.size() - at_)
    fail();
  if (failed_)
    return;
  const std::string_view text = name_.substr(at_, size);
  if (size >= 5 && (text.starts_with("__T") || text.starts_with("__U"))) {
    instance(out, size);
    return;
  }
  // A parent that only makes the name unique.
  if (size >= 4 && text.starts_with("__S") && std::ranges::all_of(text.substr(3), is_d_digit)) {
    at_ += size;
    identifier(out);
    return;
  }
  plain_name(out, size);
}

void DName::plain_name(std::string &out, size_t size) {
  if (size > name_.size() - std::min(at_, name_.size()))
    fail();
  if (failed_)
    return;
  const std::string_view text = name_.substr(at_, size);
  at_ += size;
  struct Made {
    std::string_view name, text;
  };
  for (const Made &made : {Made{"__init", "initializer for "}, Made{"__vtbl", "vtable for "},
                           Made{"__Class", "ClassInfo for "}, Made{"__Interface", "Interface for "},
                           Made{"__ModuleInfo", "ModuleInfo for "}})
    if (text == made.name && peek() == 'Z') {
      if (out.ends_with('.'))
        out.pop_back();
      out.insert(0, made.text);
      return;
    }
  if (text == "__ctor")
    out += "this";
  else if (text == "__dtor")
    out += "~this";
  else if (text == "__postblit" && take("MFZ"))
    out += "this(this)";
  else
    out += text;
}

// A template's name with its arguments. `size` is the size of its text; 0 if that is not written.
void DName::instance(std::string &out, size_t size) {
  const size_t begin = at_;
  if (!take("__T") && !take("__U"))
    fail();
  if (!is_symbol())
    fail();
  if (failed_)
    return;
  identifier(out);
  std::string arguments;
  template_arguments(arguments);
  out += fmt::format("!({})", arguments);
  if (size != 0 && at_ - begin != size)
    fail();
}

void DName::template_arguments(std::string &out) {
  for (bool first = true; !take('Z'); first = false) {
    if (is_exceeded(out) || at_ >= name_.size()) {
      fail();
      return;
    }
    if (!first)
      out += ", ";
    take('H'); // a specialized parameter
    if (take('S')) {
      symbol_argument(out);
    } else if (take('T')) {
      type(out);
    } else if (take('V')) {
      value_argument(out);
    } else if (take('X')) {
      const size_t size = number();
      if (size > name_.size() - at_)
        fail();
      if (failed_)
        return;
      out += name_.substr(at_, size);
      at_ += size;
    } else {
      fail();
    }
  }
}

void DName::symbol_argument(std::string &out) {
  if (peek() == '_' && peek(1) == 'D') {
    mangled_name(out);
    return;
  }
  if (peek() == 'Q' || peek() == '_') {
    qualified(out, false);
    return;
  }
  // Compilers before 2.077 wrote the size of the symbol before it. Then the digits of the symbol's
  // own first number follow at once, and only the size that fits tells where they begin.
  const size_t begin = at_, before = out.size();
  for (size_t digits = 1; is_d_digit(peek(digits)); ++digits) {
    size_t size = 0;
    for (size_t i = 0; i < digits && size < name_.size(); ++i)
      size = size * 10 + static_cast<size_t>(name_[begin + i] - '0');
    at_ = begin + digits;
    qualified(out, false);
    if (!failed_ && at_ - (begin + digits) == size)
      return;
    failed_ = steps_ > demangling::most_steps;
    at_ = begin;
    out.resize(before);
  }
  if (!failed_)
    qualified(out, false);
}

void DName::value_argument(std::string &out) {
  char letter = peek();
  if (letter == 'Q') {
    const size_t before = at_;
    const size_t place = reference();
    if (failed_)
      return;
    letter = name_[place];
    at_ = before;
  }
  std::string type_name;
  type(type_name);
  value(out, type_name, letter);
}

bool demangle_d(std::string_view name, std::string &out) {
  if (name == "_Dmain") {
    out += "D main";
    return true;
  }
  return name.starts_with("_D") && name.size() <= demangling::longest_input && DName(name).all(out);
}

} // namespace tally
