#include "support/rust_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "support/demangle_limits.h"
#include "support/rust_text.h"

namespace tally {

namespace {

// Prints a v0 name while it parses it: back references are parsed again.
class RustName {
public:
  RustName(std::string_view name, std::string &out) : name_(name), out_(out) {}

  bool all() {
    while (is_rust_digit(peek())) // the version of the encoding
      ++at_;
    path(true);
    if (!failed_ && peek() >= 'A' && peek() <= 'Z') {
      silent_ = true; // the crate that instantiated a generic function
      path(false);
    }
    return !failed_ && (at_ == name_.size() || peek() == '.' || peek() == '$');
  }

private:
  char peek() const { return at_ < name_.size() ? name_[at_] : '\0'; }
  char next() {
    if (at_ < name_.size())
      return name_[at_++];
    failed_ = true;
    return '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ >= name_.size())
      return false;
    ++at_;
    return true;
  }
  void put(std::string_view text) {
    if (silent_)
      return;
    out_ += text;
    failed_ |= out_.size() > demangling::longest_output;
  }
  bool is_exceeded() {
    failed_ |= ++steps_ > demangling::most_steps;
    return failed_;
  }

  uint64_t base62();
  uint64_t optional_base62(char tag) { return take(tag) ? base62() + 1 : 0; }
  struct Identifier {
    std::string_view text;
    bool punycode;
  };
  Identifier identifier();
  void put(Identifier name);
  void path(bool value);
  void path_in_type();
  void impl_path();
  void generic_arg();
  void generic_args();
  void type();
  void function();
  void dynamic();
  bool dynamic_path(); // whether a list of arguments is open
  void constant();
  void lifetime(uint64_t index);
  void binder();
  template <class Parse> void back_reference(Parse parse);
  template <class Parse> void separated(Parse parse);

  std::string_view name_;
  std::string &out_;
  size_t at_ = 0;
  size_t steps_ = 0;
  int depth_ = 0;
  uint64_t lifetimes_ = 0; // that binders around this place introduce
  bool silent_ = false;
  bool failed_ = false;
};

uint64_t RustName::base62() {
  if (take('_'))
    return 0;
  uint64_t value = 0;
  while (!take('_')) {
    const char c = next();
    uint64_t digit = 0;
    if (is_rust_digit(c))
      digit = static_cast<uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'z')
      digit = static_cast<uint64_t>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'Z')
      digit = static_cast<uint64_t>(c - 'A') + 36;
    else
      failed_ = true;
    if (failed_ || value > (UINT64_MAX - 1 - digit) / 62) {
      failed_ = true;
      return 0;
    }
    value = value * 62 + digit;
  }
  return value + 1;
}

RustName::Identifier RustName::identifier() {
  const bool punycode = take('u');
  size_t size = 0;
  if (!is_rust_digit(peek()))
    failed_ = true;
  if (!take('0'))
    while (is_rust_digit(peek()) && size < name_.size())
      size = size * 10 + static_cast<size_t>(next() - '0');
  take('_');
  if (failed_ || size > name_.size() - at_) {
    failed_ = true;
    return {};
  }
  const std::string_view text = name_.substr(at_, size);
  at_ += size;
  return {text, punycode};
}

void RustName::put(Identifier name) {
  if (!name.punycode)
    return put(name.text);
  std::string decoded;
  if (put_punycode(name.text, decoded))
    return put(decoded);
  put("punycode{");
  put(name.text);
  put("}");
}

template <class Parse> void RustName::back_reference(Parse parse) {
  const size_t tag = at_ - 1;
  const uint64_t target = base62();
  if (failed_ || target >= tag) {
    failed_ = true;
    return;
  }
  if (silent_)
    return;
  const size_t after = std::exchange(at_, static_cast<size_t>(target));
  parse();
  at_ = after;
}

template <class Parse> void RustName::separated(Parse parse) {
  for (bool first = true; !failed_ && !take('E'); first = false) {
    if (!first)
      put(", ");
    parse();
  }
}

void RustName::impl_path() {
  const bool outside = std::exchange(silent_, true);
  optional_base62('s');
  path(false);
  silent_ = outside;
}

void RustName::path(bool value) {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded())
    return;
  switch (const char tag = next()) {
  case 'C':
    optional_base62('s');
    put(identifier());
    break;
  case 'N': {
    const char space = next();
    failed_ |= !(space >= 'a' && space <= 'z') && !(space >= 'A' && space <= 'Z');
    path(value);
    const uint64_t disambiguator = optional_base62('s');
    const Identifier name = identifier();
    if (space >= 'a') {
      if (!name.text.empty())
        put("::");
      put(name);
      break;
    }
    put("::{");
    put(space == 'C'   ? std::string_view("closure")
        : space == 'S' ? std::string_view("shim")
                       : std::string_view(&space, 1));
    if (!name.text.empty()) {
      put(":");
      put(name);
    }
    put(fmt::format("#{}}}", disambiguator));
    break;
  }
  case 'M':
  case 'X':
    impl_path();
    [[fallthrough]];
  case 'Y':
    put("<");
    type();
    if (tag != 'M') {
      put(" as ");
      path(false);
    }
    put(">");
    break;
  case 'I':
    path(value);
    put(value ? "::<" : "<");
    generic_args();
    put(">");
    break;
  case 'B':
    back_reference([&] { path(value); });
    break;
  default:
    failed_ = true;
  }
}

void RustName::generic_args() {
  separated([&] { generic_arg(); });
}

void RustName::generic_arg() {
  if (take('L'))
    lifetime(base62());
  else if (take('K'))
    constant();
  else
    type();
}

void RustName::lifetime(uint64_t index) {
  put("'");
  if (index == 0)
    return put("_");
  if (index > lifetimes_) {
    failed_ = true;
    return;
  }
  const uint64_t depth = lifetimes_ - index;
  if (depth < 26)
    put(std::string(1, static_cast<char>('a' + depth)));
  else
    put(fmt::format("_{}", depth));
}

void RustName::binder() {
  const uint64_t count = optional_base62('G');
  if (count > 64) {
    failed_ = true;
    return;
  }
  if (count == 0)
    return;
  put("for<");
  for (uint64_t i = 0; i < count; ++i) {
    put(i ? ", " : "");
    ++lifetimes_;
    lifetime(1);
  }
  put("> ");
}

void RustName::type() {
  static constexpr std::array<std::string_view, 26> basic = {
      "i8",    "bool", "char", "f64", "str",  "f32",  "",    "u8", "isize",
      "usize", "",     "i32",  "u32", "i128", "u128", "_",   "",   "",
      "i16",   "u16",  "()",   "...", "",     "i64",  "u64", "!"};
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded())
    return;
  const char tag = next();
  if (tag >= 'a' && tag <= 'z') {
    const std::string_view name = basic[static_cast<size_t>(tag - 'a')];
    failed_ |= name.empty();
    return put(name);
  }
  switch (tag) {
  case 'R':
  case 'Q':
    put("&");
    if (take('L'))
      if (const uint64_t index = base62()) {
        lifetime(index);
        put(" ");
      }
    put(tag == 'Q' ? "mut " : "");
    type();
    break;
  case 'P':
  case 'O':
    put(tag == 'P' ? "*const " : "*mut ");
    type();
    break;
  case 'A':
  case 'S':
    put("[");
    type();
    if (tag == 'A') {
      put("; ");
      constant();
    }
    put("]");
    break;
  case 'T': {
    put("(");
    int count = 0;
    separated([&] { type(), ++count; });
    put(count == 1 ? ",)" : ")");
    break;
  }
  case 'F':
    function();
    break;
  case 'D':
    dynamic();
    break;
  case 'B':
    back_reference([&] { type(); });
    break;
  default:
    --at_;
    path(false);
  }
}

void RustName::function() {
  const uint64_t outside = lifetimes_;
  binder();
  if (take('U'))
    put("unsafe ");
  if (take('K')) {
    std::string abi = "C";
    if (!take('C'))
      abi = identifier().text;
    std::ranges::replace(abi, '_', '-');
    put("extern \"" + abi + "\" ");
  }
  put("fn(");
  separated([&] { type(); });
  put(")");
  if (!take('u')) {
    put(" -> ");
    type();
  }
  lifetimes_ = outside;
}

// The bindings of associated types stand among the arguments of the trait.
bool RustName::dynamic_path() {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded())
    return false;
  if (take('B')) {
    bool open = false;
    back_reference([&] { open = dynamic_path(); });
    return open;
  }
  if (!take('I')) {
    path(false);
    return false;
  }
  path(false);
  put("<");
  generic_args();
  return true;
}

void RustName::dynamic() {
  put("dyn ");
  const uint64_t outside = lifetimes_;
  binder();
  for (bool first = true; !failed_ && !take('E'); first = false) {
    put(first ? "" : " + ");
    bool open = dynamic_path();
    while (!failed_ && take('p')) {
      put(open ? ", " : "<");
      open = true;
      put(identifier());
      put(" = ");
      type();
    }
    put(open ? ">" : "");
  }
  lifetimes_ = outside;
  failed_ |= !take('L');
  if (failed_)
    return;
  if (const uint64_t index = base62()) {
    put(" + ");
    lifetime(index);
  }
}

void RustName::constant() {
  const demangling::Depth depth(depth_);
  failed_ |= depth.too_deep();
  if (is_exceeded())
    return;
  if (take('B'))
    return back_reference([&] { constant(); });
  if (take('p'))
    return put("_");
  const char tag = next();
  if (std::string_view("hatyslimxnjob"
                       "c")
          .find(tag) == std::string_view::npos) {
    failed_ = true; // a structure or a string
    return;
  }
  const bool negative = std::string_view("aslxni").find(tag) != std::string_view::npos && take('n');
  const size_t begin = at_;
  while (is_hex_digit(peek()))
    ++at_;
  const std::string_view digits = name_.substr(begin, at_ - begin);
  if (!take('_') || digits.empty()) {
    failed_ = true;
    return;
  }
  if (digits.size() > 16) {
    put(negative ? "-0x" : "0x");
    return put(digits);
  }
  uint64_t value = 0;
  for (const char c : digits)
    value = value << 4 | static_cast<uint64_t>(is_rust_digit(c) ? c - '0' : c - 'a' + 10);
  if (tag == 'b') {
    failed_ |= value > 1;
    return put(value ? "true" : "false");
  }
  if (tag != 'c')
    return put(fmt::format("{}{}", negative ? "-" : "", value));
  std::string text;
  if (value == '\'' || value == '\\')
    text += '\\';
  if (value == '\n' || value == '\t' || value == '\r')
    text = value == '\n' ? "\\n" : value == '\t' ? "\\t" : "\\r";
  else if (value < 0x20 || value == 0x7f)
    text = fmt::format("\\u{{{:x}}}", value);
  else
    failed_ |= !put_utf8(value, text);
  put("'" + text + "'");
}

} // namespace

bool demangle_rust(std::string_view name, std::string &out) {
  if (name.size() > demangling::longest_input)
    return false;
  if (name.starts_with("_R"))
    return RustName(name.substr(2), out).all();
  return demangle_old_rust(name, out);
}

} // namespace tally
