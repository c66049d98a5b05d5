#include "support/itanium_parser.h"

#include <algorithm>
#include <utility>

namespace tally::itanium {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_name(char c) { return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// Returns the node that a constructor's name comes from: A for ns::A<int>, and for
// ns::A::{unnamed}.
NodeId class_of(const Tree &tree, NodeId id) {
  for (;;) {
    const Node &node = tree.nodes[id];
    const bool is_unnamed = node.kind == Kind::nested && tree.nodes[node.b].kind == Kind::number;
    if (is_unnamed || node.kind == Kind::template_id || node.kind == Kind::tagged)
      id = node.a;
    else if (node.kind == Kind::nested || node.kind == Kind::local)
      id = node.b;
    else
      return id;
  }
}

} // namespace

bool Parser::take(char c) {
  if (peek() != c || rest_.empty())
    return false;
  rest_.remove_prefix(1);
  return true;
}

bool Parser::take(std::string_view text) {
  if (!rest_.starts_with(text))
    return false;
  rest_.remove_prefix(text.size());
  return true;
}

std::string_view Parser::digits() {
  const auto end = std::ranges::find_if_not(rest_, is_digit);
  const std::string_view found = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
  rest_.remove_prefix(found.size());
  return found;
}

std::optional<uint32_t> Parser::number() {
  const std::string_view found = digits();
  if (found.empty() || found.size() > 8)
    return std::nullopt;
  uint32_t value = 0;
  for (const char c : found)
    value = value * 10 + static_cast<uint32_t>(c - '0');
  return value;
}

std::optional<uint32_t> Parser::sequence() {
  if (take('_'))
    return 0;
  const auto value = number();
  return value && take('_') ? std::optional(*value + 1) : std::nullopt;
}

NodeId Parser::remember(NodeId node) {
  if (node)
    substitutions_.push_back(node);
  return node;
}

NodeId Parser::mangled_name() {
  NodeId name = encoding(true);
  while (name && peek() == '.') {
    // GCC and Clang mark clones by .NAME and numbers, each of them possibly absent.
    size_t end = 0;
    if (is_name(peek(1)))
      for (end = 2; is_name(peek(end)); ++end)
        ;
    while (peek(end) == '.' && is_digit(peek(end + 1)))
      for (end += 2; is_digit(peek(end)); ++end)
        ;
    if (end == 0)
      break;
    name = tree_.add({.kind = Kind::clone, .a = name, .text = rest_.substr(0, end)});
    rest_.remove_prefix(end);
  }
  return rest_.empty() ? name : 0;
}

NodeId Parser::encoding(bool with_result) {
  const demangling::Depth depth(depth_);
  if (depth.too_deep())
    return 0;
  if (peek() == 'T' || peek() == 'G')
    return special_name();
  NameState state;
  const NodeId named = name(&state);
  if (!named)
    return 0;
  const auto at_end = [&] { return rest_.empty() || peek() == 'E' || peek() == '.'; };
  if (at_end())
    return named;
  Node node{.kind = Kind::encoding, .flags = state.qualifiers, .a = named};
  if (state.ends_with_arguments && !state.has_no_result && !take('J')) {
    const NodeId returned = type();
    if (!returned)
      return 0;
    node.b = with_result ? returned : 0;
  }
  std::vector<NodeId> list;
  if (!take('v'))
    while (!at_end()) {
      list.push_back(type());
      if (!list.back())
        return 0;
    }
  return tree_.add(node, list);
}

bool Parser::call_offset() {
  const auto offset = [&] { return take('n'), !digits().empty() && take('_'); };
  if (take('h'))
    return offset();
  return take('v') && offset() && offset();
}

NodeId Parser::special_name() {
  static constexpr std::pair<std::string_view, std::string_view> of_types[] = {
      {"TV", "vtable for "},        {"TT", "VTT for "},         {"TI", "typeinfo for "},
      {"TS", "typeinfo name for "}, {"TF", "typeinfo fn for "}, {"TJ", "java Class for "},
  };
  static constexpr std::pair<std::string_view, std::string_view> of_names[] = {
      {"TH", "TLS init function for "},
      {"TW", "TLS wrapper function for "},
      {"GV", "guard variable for "},
  };
  const auto special = [&](std::string_view text, NodeId of) {
    return of ? tree_.add({.kind = Kind::special, .a = of, .text = text}) : 0;
  };
  for (const auto &[code, text] : of_types)
    if (take(code))
      return special(text, type());
  for (const auto &[code, text] : of_names)
    if (take(code))
      return special(text, name(nullptr));
  if (take("TC")) {
    const NodeId derived = type();
    if (!derived || digits().empty() || !take('_'))
      return 0;
    const NodeId base = type();
    if (!base)
      return 0;
    return tree_.add(
        {.kind = Kind::special, .a = base, .b = derived, .text = "construction vtable for "});
  }
  if (take("TA"))
    return special("template parameter object for ", template_arg());
  if (take("Tc"))
    return call_offset() && call_offset() ? special("covariant return thunk to ", encoding(true))
                                          : 0;
  if (peek() == 'T' && (peek(1) == 'h' || peek(1) == 'v')) {
    const bool is_virtual = peek(1) == 'v';
    rest_.remove_prefix(1);
    return call_offset()
               ? special(is_virtual ? "virtual thunk to " : "non-virtual thunk to ", encoding(true))
               : 0;
  }
  if (take("GA"))
    return special("hidden alias for ", encoding(true));
  if (take("GTt"))
    return special("transaction clone for ", encoding(true));
  if (take("GTn"))
    return special("non-transaction clone for ", encoding(true));
  if (take("GR")) {
    const NodeId of = name(nullptr);
    const auto index = of ? sequence() : std::nullopt;
    // GCC before 4.9 has no number.
    if (!of || (!index && !rest_.empty()))
      return 0;
    const NodeId label = tree_.add({.kind = Kind::number,
                                    .text = "reference temporary #",
                                    .more = " for ",
                                    .number = index.value_or(0)});
    return tree_.add({.kind = Kind::special, .a = of, .c = label});
  }
  return 0;
}

NodeId Parser::name(NameState *state) {
  const demangling::Depth depth(depth_);
  if (depth.too_deep())
    return 0;
  if (peek() == 'N')
    return nested_name(state);
  if (peek() == 'Z')
    return local_name(state);
  NodeId found = 0;
  if (peek() == 'S' && peek(1) != 't') {
    found = substitution();
    if (!found || peek() != 'I')
      return 0;
  } else {
    found = unscoped_name(state);
    if (peek() == 'I')
      remember(found);
  }
  if (found && peek() == 'I') {
    found = template_args(found);
    if (state)
      state->ends_with_arguments = true;
  }
  return found;
}

NodeId Parser::unscoped_name(NameState *state) {
  const bool standard = take("St");
  const NodeId found = unqualified_name(state, 0);
  if (!found || !standard)
    return found;
  return tree_.add({.kind = Kind::nested, .a = text("std"), .b = found});
}

NodeId Parser::substitution_or_standard_scope() {
  return take("St") ? text("std") : substitution();
}

NodeId Parser::nested_name(NameState *state) {
  if (!take('N'))
    return 0;
  take('H'); // an explicit object parameter
  uint8_t qualifiers = cv_qualifiers();
  qualifiers |= ref_qualifier();
  NodeId found = 0;
  while (!take('E')) {
    if (rest_.empty())
      return 0;
    if (state)
      state->ends_with_arguments = false;
    const char next = peek();
    if (next == 'S') {
      const bool scope = peek(1) == 't';
      const NodeId part = substitution_or_standard_scope();
      if (found || !part)
        return 0;
      found = part;
      if (scope || peek() != 'E')
        continue; // already in the table, or std
      return 0;
    }
    if (next == 'I') {
      if (!found)
        return 0;
      found = template_args(found);
      if (state)
        state->ends_with_arguments = true;
    } else if (next == 'M') { // the initializer of a data member
      rest_.remove_prefix(1);
      continue;
    } else {
      NodeId part = 0;
      if (next == 'T' && !found)
        part = template_param();
      else if (next == 'D' && (peek(1) == 't' || peek(1) == 'T') && !found)
        part = decltype_type();
      else
        part = unqualified_name(state, found);
      if (!part)
        return 0;
      found = found ? tree_.add({.kind = Kind::nested, .a = found, .b = part}) : part;
    }
    if (!remember(found))
      return 0;
  }
  if (!found || substitutions_.empty())
    return 0;
  substitutions_.pop_back(); // the whole name is remembered as a type only
  if (state)
    state->qualifiers = qualifiers;
  return found;
}

void Parser::discriminator() {
  if (peek() == '_' && is_digit(peek(1))) {
    rest_.remove_prefix(2);
  } else if (peek() == '_' && peek(1) == '_' && is_digit(peek(2))) {
    rest_.remove_prefix(2);
    digits();
    take('_');
  }
}

NodeId Parser::local_name(NameState *state) {
  if (!take('Z'))
    return 0;
  const NodeId function = encoding(false);
  if (!function || !take('E'))
    return 0;
  Node node{.kind = Kind::local, .a = function};
  if (take('s')) {
    discriminator();
    node.b = text("string literal");
  } else if (take('d')) {
    const auto index = sequence();
    if (!index)
      return 0;
    node.c = tree_.add(
        {.kind = Kind::number, .text = "{default arg#", .more = "}", .number = *index + 1});
    node.b = name(state);
  } else {
    node.b = name(state);
    discriminator();
  }
  return node.b ? tree_.add(node) : 0;
}

NodeId Parser::tagged(NodeId name) {
  while (name && peek() == 'B') {
    rest_.remove_prefix(1);
    const NodeId tag = source_name();
    if (!tag)
      return 0;
    name = tree_.add({.kind = Kind::tagged, .a = name, .text = tree_.nodes[tag].text});
  }
  return name;
}

NodeId Parser::unqualified_name(NameState *state, NodeId scope) {
  if (peek() == 'F' && is_digit(peek(1)))
    take('F'); // a friend that is defined in its class
  while (take('L'))
    ; // internal linkage
  const char next = peek();
  NodeId found = 0;
  if (next == 'C' || (next == 'D' && is_digit(peek(1)))) {
    found = structor(state, scope);
  } else if (take("DC")) {
    std::vector<NodeId> list;
    while (!take('E')) {
      list.push_back(source_name());
      if (!list.back())
        return 0;
    }
    found = tree_.add({.kind = Kind::bindings}, list);
  } else if (next == 'U') {
    found = unnamed_type_name();
  } else if (is_digit(next)) {
    found = source_name();
  } else if (is_lower(next)) {
    found = operator_name(state);
  }
  return tagged(found);
}

NodeId Parser::structor(NameState *state, NodeId scope) {
  const bool destroys = peek() == 'D';
  rest_.remove_prefix(1);
  const bool inherits = !destroys && take('I');
  if (!scope || !is_digit(peek()))
    return 0;
  rest_.remove_prefix(1);
  if (inherits) { // its name is that of the class which declares it
    scope = type();
    if (!scope)
      return 0;
  }
  if (state)
    state->has_no_result = true;
  if (Node &node = tree_.nodes[scope]; node.kind == Kind::standard)
    node.flags = 1; // a node of this occurrence alone
  return tree_.add(
      {.kind = Kind::structor, .a = class_of(tree_, scope), .text = destroys ? "~" : ""});
}

NodeId Parser::operator_name(NameState *state) {
  if (take("cv")) {
    const bool with_arguments = std::exchange(with_arguments_, false);
    const NodeId to = type();
    with_arguments_ = with_arguments;
    if (state)
      state->has_no_result = true;
    return to ? tree_.add({.kind = Kind::conversion, .a = to}) : 0;
  }
  if (take("li")) {
    const NodeId suffix = source_name();
    return suffix ? tree_.add({.kind = Kind::special, .a = suffix, .text = "operator\"\" "}) : 0;
  }
  if (peek() == 'v' && is_digit(peek(1))) { // a vendor's operator
    rest_.remove_prefix(2);
    const NodeId named = source_name();
    return named ? tree_.add({.kind = Kind::special, .a = named, .text = "operator "}) : 0;
  }
  const Operator *found = find_operator(peek(), peek(1));
  if (!found)
    return 0;
  rest_.remove_prefix(2);
  std::string_view symbol = found->text;
  if (symbol.ends_with(' '))
    symbol.remove_suffix(1);
  return tree_.add({.kind = Kind::special,
                    .a = text(symbol),
                    .text = is_lower(symbol[0]) ? "operator " : "operator"});
}

NodeId Parser::unnamed_type_name() {
  if (take("Ut")) {
    const auto index = sequence();
    if (!index)
      return 0;
    return remember(tree_.add(
        {.kind = Kind::number, .text = "{unnamed type#", .more = "}", .number = *index + 1}));
  }
  if (!take("Ul"))
    return 0;
  std::vector<NodeId> list;
  bool valid = true;
  if (!(peek() == 'v' && peek(1) == 'E' && take('v')))
    while (valid && peek() != 'E') {
      list.push_back(type());
      valid = list.back() != 0;
    }
  const auto index = valid && take('E') ? sequence() : std::nullopt;
  if (!index)
    return 0;
  return tree_.add({.kind = Kind::lambda, .number = *index + 1}, list);
}

NodeId Parser::source_name() {
  const auto size = number();
  if (!size || *size == 0 || *size > rest_.size())
    return 0;
  const std::string_view found = rest_.substr(0, *size);
  rest_.remove_prefix(*size);
  const bool anonymous = found.size() > 9 && found.starts_with("_GLOBAL_") &&
                         std::string_view("._$").find(found[8]) != std::string_view::npos &&
                         found[9] == 'N';
  return text(anonymous ? "(anonymous namespace)" : found);
}

NodeId Parser::substitution() {
  if (!take('S'))
    return 0;
  if (is_lower(peek())) {
    const auto *found = std::ranges::find(standard_names, peek(), &StandardName::letter);
    if (found == std::end(standard_names))
      return 0;
    rest_.remove_prefix(1);
    const NodeId standard = tree_.add(
        {.kind = Kind::standard, .number = static_cast<uint32_t>(found - standard_names)});
    return peek() == 'B' ? remember(tagged(standard)) : standard;
  }
  size_t index = 0;
  if (!take('_')) {
    for (int count = 0; !take('_'); ++count) {
      const char c = peek();
      if (count == 6 || !(is_digit(c) || (c >= 'A' && c <= 'Z')))
        return 0;
      index = index * 36 + static_cast<size_t>(is_digit(c) ? c - '0' : c - 'A' + 10);
      rest_.remove_prefix(1);
    }
    ++index;
  }
  return index < substitutions_.size() ? substitutions_[index] : 0;
}

NodeId Parser::template_args(NodeId name) {
  const demangling::Depth depth(depth_);
  if (depth.too_deep() || !name || !take('I'))
    return 0;
  const bool with_arguments = std::exchange(with_arguments_, true);
  std::vector<NodeId> list;
  while (!take('E')) {
    const NodeId argument = template_arg();
    if (!argument)
      return 0;
    list.push_back(argument);
  }
  with_arguments_ = with_arguments;
  return tree_.add({.kind = Kind::template_id, .a = name}, list);
}

NodeId Parser::template_arg() {
  const demangling::Depth depth(depth_);
  if (depth.too_deep())
    return 0;
  if (take('X')) {
    const NodeId found = expression();
    return found && take('E') ? found : 0;
  }
  if (peek() == 'L')
    return primary();
  if (peek() == 'J' || peek() == 'I') { // before GCC 4.7 a pack began with I
    rest_.remove_prefix(1);
    std::vector<NodeId> list;
    while (!take('E')) {
      list.push_back(template_arg());
      if (!list.back())
        return 0;
    }
    return tree_.add({.kind = Kind::pack}, list);
  }
  return type();
}

NodeId parse(std::string_view mangled, Tree &tree) {
  if (!mangled.starts_with("_Z") || mangled.size() > demangling::longest_input)
    return 0;
  return Parser(mangled.substr(2), tree).mangled_name();
}

} // namespace tally::itanium
