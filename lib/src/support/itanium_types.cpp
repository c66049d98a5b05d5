#include "support/itanium_parser.h"

#include <utility>

namespace tally::itanium {

namespace {

constexpr std::string_view builtin_types[26] = {
    "signed char",   // a
    "bool",          // b
    "char",          // c
    "double",        // d
    "long double",   // e
    "float",         // f
    "__float128",    // g
    "unsigned char", // h
    "int",           // i
    "unsigned int",  // j
    {},
    "long",              // l
    "unsigned long",     // m
    "__int128",          // n
    "unsigned __int128", // o
    {},
    {},
    {},
    "short",          // s
    "unsigned short", // t
    {},
    "void",               // v
    "wchar_t",            // w
    "long long",          // x
    "unsigned long long", // y
    "...",                // z
};

constexpr std::pair<char, std::string_view> builtin_d_types[] = {
    {'a', "auto"},      {'c', "decltype(auto)"}, {'d', "decimal64"}, {'e', "decimal128"},
    {'f', "decimal32"}, {'h', "half"},           {'i', "char32_t"},  {'n', "decltype(nullptr)"},
    {'s', "char16_t"},  {'u', "char8_t"},
};

} // namespace

uint8_t Parser::cv_qualifiers() {
  uint8_t found = 0;
  for (;;) {
    if (take('r'))
      found |= is_restrict;
    else if (take('V'))
      found |= is_volatile;
    else if (take('K'))
      found |= is_const;
    else
      return found;
  }
}

uint8_t Parser::ref_qualifier() {
  if (take('R'))
    return is_lvalue;
  return take('O') ? is_rvalue : 0;
}

NodeId Parser::type() {
  const demangling::Depth depth(depth_);
  if (depth.too_deep())
    return 0;
  const char next = peek();
  if (next >= 'a' && next <= 'z' && !builtin_types[next - 'a'].empty()) {
    rest_.remove_prefix(1);
    return text(builtin_types[next - 'a']);
  }
  const auto modified = [&](Node node) {
    rest_.remove_prefix(1);
    node.a = type();
    return node.a ? remember(tree_.add(node)) : 0;
  };
  switch (next) {
  case 'r':
  case 'V':
  case 'K':
    return qualified_type();
  case 'P':
    return modified({.kind = Kind::pointer});
  case 'R':
    return modified({.kind = Kind::reference, .number = 1});
  case 'O':
    return modified({.kind = Kind::reference, .number = 2});
  case 'C':
    return modified({.kind = Kind::suffixed, .text = " _Complex"});
  case 'G':
    return modified({.kind = Kind::suffixed, .text = " _Imaginary"});
  case 'F':
    return remember(function_type(0));
  case 'A':
    return remember(array_type());
  case 'D':
    return d_type();
  case 'u': {
    rest_.remove_prefix(1);
    NodeId found = source_name();
    if (found && peek() == 'I')
      found = template_args(found);
    return remember(found);
  }
  case 'U': { // a vendor's qualifier
    if (peek(1) == 't' || peek(1) == 'l')
      return class_type();
    rest_.remove_prefix(1);
    NodeId qualifier = source_name();
    if (qualifier && peek() == 'I')
      qualifier = template_args(qualifier);
    const NodeId of = qualifier ? type() : 0;
    return of ? remember(tree_.add({.kind = Kind::suffixed, .a = of, .b = qualifier, .text = " "}))
              : 0;
  }
  case 'M': {
    rest_.remove_prefix(1);
    const NodeId of = type();
    const NodeId member = of ? type() : 0;
    return member ? remember(tree_.add({.kind = Kind::member_pointer, .a = of, .b = member})) : 0;
  }
  case 'T': {
    if (peek(1) == 's' || peek(1) == 'u' || peek(1) == 'e') { // struct, union, enum
      rest_.remove_prefix(2);
      return class_type();
    }
    const bool with_arguments = with_arguments_;
    const NodeId found = remember(template_param());
    if (!found || peek() != 'I' || !with_arguments)
      return found;
    return remember(template_args(found));
  }
  case 'S': {
    if (peek(1) == 't')
      return class_type();
    const NodeId found = substitution();
    if (!found || peek() != 'I' || !with_arguments_)
      return found;
    return remember(template_args(found));
  }
  default:
    return class_type();
  }
}

NodeId Parser::class_type() { return remember(name(nullptr)); }

NodeId Parser::qualified_type() {
  const uint8_t flags = cv_qualifiers();
  const bool function =
      peek() == 'F' ||
      (peek() == 'D' && (peek(1) == 'o' || peek(1) == 'O' || peek(1) == 'w' || peek(1) == 'x'));
  if (function)
    return remember(function_type(flags));
  const NodeId of = type();
  return of ? remember(tree_.add({.kind = Kind::qualified, .flags = flags, .a = of})) : 0;
}

NodeId Parser::function_type(uint8_t flags) {
  Node node{.kind = Kind::function, .flags = flags};
  std::vector<NodeId> thrown;
  if (take("Do")) {
    node.flags |= is_noexcept;
  } else if (take("DO")) {
    node.flags |= is_noexcept;
    node.b = expression();
    if (!node.b || !take('E'))
      return 0;
  } else if (take("Dw")) {
    while (!take('E')) {
      thrown.push_back(type());
      if (!thrown.back())
        return 0;
    }
    node.c = tree_.add({.kind = Kind::list}, thrown);
  }
  if (take("Dx"))
    node.flags |= is_transaction_safe;
  if (!take('F'))
    return 0;
  take('Y'); // extern "C"
  node.a = type();
  if (!node.a)
    return 0;
  std::vector<NodeId> list;
  if (peek() == 'v')
    take('v');
  else
    while (peek() != 'E' && !((peek() == 'R' || peek() == 'O') && peek(1) == 'E')) {
      list.push_back(type());
      if (!list.back())
        return 0;
    }
  node.flags |= ref_qualifier();
  return take('E') ? tree_.add(node, list) : 0;
}

NodeId Parser::array_type() {
  take('A');
  Node node{.kind = Kind::array};
  if (peek() >= '0' && peek() <= '9') {
    node.text = digits();
  } else if (peek() != '_') {
    node.b = expression();
    if (!node.b)
      return 0;
  }
  if (!take('_'))
    return 0;
  node.a = type();
  return node.a ? tree_.add(node) : 0;
}

NodeId Parser::vector_type() {
  Node node{.kind = Kind::vector};
  if (peek() >= '0' && peek() <= '9') {
    node.b = text(digits());
  } else {
    take('_');
    node.b = expression();
  }
  if (!node.b || !take('_'))
    return 0;
  node.a = type();
  return node.a ? tree_.add(node) : 0;
}

NodeId Parser::decltype_type() {
  if (!take("Dt") && !take("DT"))
    return 0;
  const NodeId of = expression();
  return of && take('E')
             ? tree_.add({.kind = Kind::wrapped, .a = of, .text = "decltype (", .more = ")"})
             : 0;
}

NodeId Parser::d_type() {
  switch (peek(1)) {
  case 't':
  case 'T': {
    const NodeId found = remember(decltype_type());
    if (!found || peek() != 'I')
      return found;
    return remember(template_args(found));
  }
  case 'p': {
    rest_.remove_prefix(2);
    const NodeId of = type();
    return of ? remember(tree_.add({.kind = Kind::expansion, .a = of})) : 0;
  }
  case 'v':
    rest_.remove_prefix(2);
    return remember(vector_type());
  case 'o':
  case 'O':
  case 'w':
  case 'x':
    return remember(function_type(0));
  case 'F': {
    rest_.remove_prefix(2);
    const auto bits = number();
    if (!bits)
      return 0;
    if (take('b') && *bits == 16)
      return text("std::bfloat16_t");
    const std::string_view suffix = take('x') ? "x" : "";
    return take('_') || !suffix.empty()
               ? tree_.add(
                     {.kind = Kind::number, .text = "_Float", .more = suffix, .number = *bits})
               : 0;
  }
  case 'B':
  case 'U': {
    const bool is_unsigned = peek(1) == 'U';
    rest_.remove_prefix(2);
    const auto bits = number();
    return bits && take('_')
               ? tree_.add({.kind = Kind::number,
                            .text = is_unsigned ? "unsigned _BitInt(" : "signed _BitInt(",
                            .more = ")",
                            .number = *bits})
               : 0;
  }
  default:
    break;
  }
  for (const auto &[letter, name] : builtin_d_types)
    if (peek(1) == letter) {
      rest_.remove_prefix(2);
      return text(name);
    }
  return 0;
}

NodeId Parser::template_param() {
  if (!take('T'))
    return 0;
  if (take('L') &&
      !sequence()) // the level of a template that is nested in another one's parameters
    return 0;
  const auto index = sequence();
  if (!index)
    return 0;
  return tree_.add({.kind = Kind::parameter, .number = *index});
}

} // namespace tally::itanium
