#include "support/d_names.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "support/demangle_limits.h"

namespace tally {

namespace {

bool is_d_digit(char c) { return c >= '0' && c <= '9'; }
bool is_d_hex(char c) { return is_d_digit(c) || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'); }
bool is_d_linkage(char c) { return std::string_view("FUWVRY").find(c) != std::string_view::npos; }

std::string_view basic_d_type(char c) {
  switch (c) {
  case 'a':
    return "char";
  case 'b':
    return "bool";
  case 'c':
    return "creal";
  case 'd':
    return "double";
  case 'e':
    return "real";
  case 'f':
    return "float";
  case 'g':
    return "byte";
  case 'h':
    return "ubyte";
  case 'i':
    return "int";
  case 'j':
    return "ireal";
  case 'k':
    return "uint";
  case 'l':
    return "long";
  case 'm':
    return "ulong";
  case 'n':
    return "typeof(null)";
  case 'o':
    return "ifloat";
  case 'p':
    return "idouble";
  case 'q':
    return "cfloat";
  case 'r':
    return "cdouble";
  case 's':
    return "short";
  case 't':
    return "ushort";
  case 'u':
    return "wchar";
  case 'v':
    return "void";
  case 'w':
    return "dchar";
  default:
    return {};
  }
}

// Prints a name while it parses it: back references are parsed again. Each function appends to
// `out`. After a failure, all return at once.
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

template <class Parse> void DName::at_place(size_t place, Parse parse) {
  const size_t after = std::exchange(at_, place);
  parse();
  at_ = after;
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

void DName::enclosed(std::string &out, std::string_view around) {
  out += around;
  out += '(';
  type(out);
  out += ')';
}

void DName::type(std::string &out) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded(out))
    return;
  if (peek() == 'Q') {
    type_reference(out, false);
    return;
  }
  if (is_d_linkage(peek())) {
    function_type(out);
    out += "function";
    return;
  }
  const char letter = next();
  switch (letter) {
  case 'O':
    enclosed(out, "shared");
    return;
  case 'x':
    enclosed(out, "const");
    return;
  case 'y':
    enclosed(out, "immutable");
    return;
  case 'N':
    if (take('g'))
      enclosed(out, "inout");
    else if (take('h'))
      enclosed(out, "__vector");
    else if (take('n'))
      out += "typeof(*null)";
    else
      fail();
    return;
  case 'A':
    type(out);
    out += "[]";
    return;
  case 'G': {
    const size_t begin = at_;
    while (is_d_digit(peek()))
      ++at_;
    const std::string_view length = name_.substr(begin, at_ - begin);
    type(out);
    out += fmt::format("[{}]", length);
    return;
  }
  case 'H': {
    std::string key;
    type(key);
    type(out);
    out += fmt::format("[{}]", key);
    return;
  }
  case 'P':
    if (is_d_linkage(peek())) {
      function_type(out);
      out += "function";
      return;
    }
    type(out);
    out += '*';
    return;
  case 'C':
  case 'S':
  case 'E':
  case 'T':
    if (!is_symbol() && peek() != '0')
      fail();
    qualified(out, false);
    return;
  case 'D': {
    const std::string of_this = modifiers();
    if (peek() == 'Q')
      type_reference(out, true);
    else
      function_type(out);
    out += "delegate" + of_this;
    return;
  }
  case 'B': {
    out += "Tuple!(";
    for (size_t left = number(); left > 0 && !is_exceeded(out); --left) {
      type(out);
      if (left > 1)
        out += ", ";
    }
    out += ')';
    return;
  }
  case 'z':
    if (take('i'))
      out += "cent";
    else if (take('k'))
      out += "ucent";
    else
      fail();
    return;
  default:
    break;
  }
  const std::string_view basic = basic_d_type(letter);
  failed_ |= basic.empty();
  out += basic;
}

// References go backwards only, so that none refers to itself.
void DName::type_reference(std::string &out, bool is_function) {
  if (at_ >= earliest_) {
    fail();
    return;
  }
  const size_t outside = std::exchange(earliest_, at_);
  const size_t place = reference();
  at_place(place, [&] {
    if (failed_)
      return;
    if (is_function)
      function_type(out);
    else
      type(out);
  });
  earliest_ = outside;
}

std::string DName::modifiers() {
  std::string out;
  while (!failed_) {
    if (take('x'))
      return out + " const";
    if (take('y'))
      return out + " immutable";
    if (take('O'))
      out += " shared";
    else if (take("Ng"))
      out += " inout";
    else
      return out;
  }
  return out;
}

void DName::function_type(std::string &out) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded(out))
    return;
  out += linkage();
  const std::string how = attributes();
  std::string arguments;
  parameters(arguments);
  type(out); // that it returns
  out += arguments + ' ' + how;
}

std::string_view DName::linkage() {
  if (take('F'))
    return "";
  if (take('U'))
    return "extern(C) ";
  if (take('W'))
    return "extern(Windows) ";
  if (take('V'))
    return "extern(Pascal) ";
  if (take('R'))
    return "extern(C++) ";
  if (take('Y'))
    return "extern(Objective-C) ";
  fail();
  return "";
}

std::string DName::attributes() {
  std::string out;
  while (peek() == 'N' && !failed_) {
    constexpr std::string_view letters = "abcdefijlm";
    constexpr std::string_view words[] = {"pure",  "nothrow", "ref",    "@property", "@trusted",
                                          "@safe", "@nogc",   "return", "scope",     "@live"};
    const size_t index = letters.find(peek(1));
    if (index == letters.npos)
      return out; // it belongs to the first parameter
    at_ += 2;
    out += fmt::format("{} ", words[index]);
  }
  return out;
}

void DName::parameters(std::string &out) {
  out += '(';
  for (bool first = true; !take('Z'); first = false) {
    if (is_exceeded(out) || at_ >= name_.size()) {
      fail();
      return;
    }
    if (take('X')) { // the last parameter takes any number
      out += "...)";
      return;
    }
    if (!first)
      out += ", ";
    if (take('Y')) { // any number of others may follow
      out += "...)";
      return;
    }
    if (take('M'))
      out += "scope ";
    if (take("Nk"))
      out += "return ";
    if (take('I'))
      out += take('K') ? "in ref " : "in ";
    else if (take('J'))
      out += "out ";
    else if (take('K'))
      out += "ref ";
    else if (take('L'))
      out += "lazy ";
    type(out);
  }
  out += ')';
}

void DName::value(std::string &out, std::string_view type_name, char type_letter) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded(out))
    return;
  if (is_d_digit(peek())) { // early versions of D wrote no 'i'
    integer(out, type_letter);
    return;
  }
  switch (peek()) {
  case 'a':
  case 'w':
  case 'd':
    string_literal(out);
    return;
  default:
    break;
  }
  switch (next()) {
  case 'n':
    out += "null";
    return;
  case 'N':
    out += '-';
    [[fallthrough]];
  case 'i':
    integer(out, type_letter);
    return;
  case 'e':
    real(out);
    return;
  case 'c':
    real(out);
    out += '+';
    failed_ |= !take('c');
    real(out);
    out += 'i';
    return;
  case 'A':
    out += '[';
    values(out, type_letter == 'H');
    out += ']';
    return;
  case 'S':
    out += type_name;
    out += '(';
    values(out, false);
    out += ')';
    return;
  case 'f':
    mangled_name(out);
    return;
  default:
    fail();
  }
}

void DName::values(std::string &out, bool with_keys) {
  for (size_t left = number(); left > 0 && !is_exceeded(out); --left) {
    value(out, {}, '\0');
    if (with_keys) {
      out += ':';
      value(out, {}, '\0');
    }
    if (left > 1)
      out += ", ";
  }
}

void DName::integer(std::string &out, char type_letter) {
  if (type_letter == 'a' || type_letter == 'u' || type_letter == 'w') {
    character(out, type_letter);
    return;
  }
  const size_t begin = at_;
  while (is_d_digit(peek()))
    ++at_;
  const std::string_view digits = name_.substr(begin, at_ - begin);
  if (digits.empty())
    fail();
  if (type_letter == 'b') {
    out += digits.find_first_not_of('0') == digits.npos ? "false" : "true";
    return;
  }
  out += digits;
  if (type_letter == 'h' || type_letter == 't' || type_letter == 'k')
    out += 'u';
  else if (type_letter == 'l')
    out += 'L';
  else if (type_letter == 'm')
    out += "uL";
}

void DName::character(std::string &out, char type_letter) {
  uint32_t code = 0;
  if (!is_d_digit(peek()))
    fail();
  for (; is_d_digit(peek()); ++at_)
    code = code * 10 + static_cast<uint32_t>(peek() - '0');
  if (type_letter == 'a' && code >= ' ' && code < 0x7F)
    out += fmt::format("'{}'", static_cast<char>(code));
  else if (type_letter == 'a')
    out += fmt::format("'\\x{:02x}'", code);
  else if (type_letter == 'u')
    out += fmt::format("'\\u{:04x}'", code);
  else
    out += fmt::format("'\\U{:08x}'", code);
}

void DName::real(std::string &out) {
  if (take("NAN")) {
    out += "NaN";
    return;
  }
  if (take("INF")) {
    out += "Inf";
    return;
  }
  if (take("NINF")) {
    out += "-Inf";
    return;
  }
  if (take('N'))
    out += '-';
  if (!is_d_hex(peek())) {
    fail();
    return;
  }
  out += fmt::format("0x{}.", peek());
  for (++at_; is_d_hex(peek()); ++at_)
    out += peek();
  if (!take('P'))
    fail();
  out += 'p';
  if (take('N'))
    out += '-';
  for (; is_d_digit(peek()); ++at_)
    out += peek();
}

void DName::string_literal(std::string &out) {
  const char kind = next();
  size_t left = number();
  if (!take('_'))
    fail();
  out += '"';
  for (; left > 0 && !is_exceeded(out); --left) {
    if (!is_d_hex(peek()) || !is_d_hex(peek(1))) {
      fail();
      return;
    }
    const std::string_view hex = name_.substr(at_, 2);
    const auto digit = [](char c) { return is_d_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; };
    const char c = static_cast<char>(digit(hex[0]) * 16 + digit(hex[1]));
    at_ += 2;
    constexpr std::string_view escaped = "\t\n\r\f\v", letters = "tnrfv";
    if (const size_t index = escaped.find(c); index != escaped.npos)
      out += {'\\', letters[index]};
    else if (c >= ' ' && c < 0x7F)
      out += c;
    else
      out += fmt::format("\\x{}", hex);
  }
  out += '"';
  if (kind != 'a')
    out += kind;
}

} // namespace

bool demangle_d(std::string_view name, std::string &out) {
  if (name == "_Dmain") {
    out += "D main";
    return true;
  }
  return name.starts_with("_D") && name.size() <= demangling::longest_input && DName(name).all(out);
}

} // namespace tally
