#include "support/itanium_parser.h"

#include <algorithm>

namespace tally::itanium {

namespace {

bool is_digit_of_expression(char c) { return c >= '0' && c <= '9'; }

// In the order of their codes. The texts are GCC's: an operator that is a word ends with a blank.
constexpr Operator operators[] = {
    {"aN", '2', "&="},
    {"aS", '2', "="},
    {"aa", '2', "&&"},
    {"ad", '1', "&"},
    {"an", '2', "&"},
    {"at", '1', "alignof "},
    {"aw", '1', "co_await "},
    {"az", '1', "alignof "},
    {"cc", 'c', "const_cast"},
    {"cl", '-', "()"},
    {"cm", '2', ","},
    {"co", '1', "~"},
    {"dV", '2', "/="},
    {"da", '1', "delete[] "},
    {"dc", 'c', "dynamic_cast"},
    {"de", '1', "*"},
    {"dl", '1', "delete "},
    {"ds", '2', ".*"},
    {"dt", '2', "."},
    {"dv", '2', "/"},
    {"eO", '2', "^="},
    {"eo", '2', "^"},
    {"eq", '2', "=="},
    {"ge", '2', ">="},
    {"gs", '1', "::"},
    {"gt", '2', ">"},
    {"ix", '-', "[]"},
    {"lS", '2', "<<="},
    {"le", '2', "<="},
    {"ls", '2', "<<"},
    {"lt", '2', "<"},
    {"mI", '2', "-="},
    {"mL", '2', "*="},
    {"mi", '2', "-"},
    {"ml", '2', "*"},
    {"mm", '1', "--"},
    {"na", '-', "new[]"},
    {"ne", '2', "!="},
    {"ng", '1', "-"},
    {"nt", '1', "!"},
    {"nw", '-', "new"},
    {"nx", '1', "noexcept"},
    {"oR", '2', "|="},
    {"oo", '2', "||"},
    {"or", '2', "|"},
    {"pL", '2', "+="},
    {"pl", '2', "+"},
    {"pm", '2', "->*"},
    {"pp", '1', "++"},
    {"ps", '1', "+"},
    {"pt", '2', "->"},
    {"qu", '3', "?"},
    {"rM", '2', "%="},
    {"rS", '2', ">>="},
    {"rc", 'c', "reinterpret_cast"},
    {"rm", '2', "%"},
    {"rs", '2', ">>"},
    {"sP", '-', "sizeof..."},
    {"sZ", '-', "sizeof..."},
    {"sc", 'c', "static_cast"},
    {"ss", '2', "<=>"},
    {"st", 't', "sizeof "},
    {"sz", '1', "sizeof "},
    {"te", '1', "typeid "},
    {"ti", 't', "typeid "},
    {"tr", '0', "throw"},
    {"tw", '1', "throw "},
};

} // namespace

const Operator *find_operator(char first, char second) {
  const auto code = [](const Operator &each) { return std::string_view(each.code, 2); };
  const char wanted[] = {first, second};
  const auto *found = std::ranges::lower_bound(operators, std::string_view(wanted, 2), {}, code);
  return found != std::end(operators) && code(*found) == std::string_view(wanted, 2) ? found
                                                                                     : nullptr;
}

bool Parser::expressions(std::vector<NodeId> &out) {
  while (!take('E')) {
    out.push_back(expression());
    if (!out.back())
      return false;
  }
  return true;
}

NodeId Parser::expression() {
  const demangling::Depth depth(depth_);
  if (depth.too_deep())
    return 0;
  const char next = peek();
  if (next == 'L')
    return primary();
  if (next == 'T')
    return template_param();
  if (is_digit_of_expression(next))
    return unresolved_name(false);
  const bool global = take("gs");
  switch (peek()) {
  case 'f':
    if (peek(1) == 'p' || (peek(1) == 'L' && is_digit_of_expression(peek(2))))
      return function_param();
    return fold();
  case 's':
    if (peek(1) == 'r')
      return unresolved_name(global);
    if (take("sp")) {
      const NodeId of = expression();
      return of ? tree_.add({.kind = Kind::expansion, .a = of}) : 0;
    }
    if (take("sZ")) {
      const NodeId of = peek() == 'T' ? template_param() : function_param();
      return of ? tree_.add({.kind = Kind::pack_size, .a = of}) : 0;
    }
    if (take("sP")) {
      std::vector<NodeId> list;
      while (!take('E')) {
        list.push_back(template_arg());
        if (!list.back())
          return 0;
      }
      const NodeId pack = tree_.add({.kind = Kind::pack}, list);
      return tree_.add({.kind = Kind::pack_size, .a = pack});
    }
    break;
  case 'o':
  case 'd':
    if (peek(1) == 'n')
      return unresolved_name(global);
    break;
  case 'n':
    if ((peek(1) == 'w' || peek(1) == 'a'))
      return creation(global);
    break;
  case 'i':
  case 't':
    if (peek(1) == 'l') {
      Node node{.kind = Kind::initializer};
      if (peek() == 't') {
        rest_.remove_prefix(2);
        node.a = type();
        if (!node.a)
          return 0;
      } else {
        rest_.remove_prefix(2);
      }
      std::vector<NodeId> list;
      return expressions(list) ? tree_.add(node, list) : 0;
    }
    break;
  default:
    break;
  }
  if (global && is_digit_of_expression(peek()))
    return unresolved_name(true);
  if (take("cv")) {
    const bool with_arguments = with_arguments_;
    with_arguments_ = false;
    Node node{.kind = Kind::convert, .a = type()};
    with_arguments_ = with_arguments;
    if (!node.a)
      return 0;
    std::vector<NodeId> list;
    if (take('_'))
      return expressions(list) ? tree_.add(node, list) : 0;
    node.b = expression();
    return node.b ? tree_.add(node) : 0;
  }
  if (take("cl") || take("cp")) {
    const NodeId callee = expression();
    std::vector<NodeId> list;
    return callee && expressions(list) ? tree_.add({.kind = Kind::call, .a = callee}, list) : 0;
  }
  return operator_expression();
}

NodeId Parser::operator_expression() {
  const Operator *found = find_operator(peek(), peek(1));
  if (!found)
    return 0;
  rest_.remove_prefix(2);
  const std::string_view code(found->code, 2);
  switch (found->kind) {
  case '0':
    return text(found->text);
  case 't': {
    const NodeId of = type();
    return of ? tree_.add(
                    {.kind = Kind::wrapped, .a = of, .text = found->text, .more = ")", .number = 1})
              : 0;
  }
  case '1': {
    const bool step = code == "pp" || code == "mm";
    const bool after = step && !take('_');
    const NodeId of = code == "at" ? type() : expression();
    if (!of)
      return 0;
    if (code == "at" || code == "nx")
      return tree_.add(
          {.kind = Kind::wrapped, .a = of, .text = found->text, .more = ")", .number = 1});
    return tree_.add({.kind = after ? Kind::suffix : Kind::prefix, .a = of, .text = found->text});
  }
  case '2': {
    const NodeId left = expression();
    const NodeId right = left ? expression() : 0;
    return right ? tree_.add({.kind = Kind::binary, .a = left, .b = right, .text = found->text})
                 : 0;
  }
  case '3': {
    const NodeId condition = expression();
    const NodeId left = condition ? expression() : 0;
    const NodeId right = left ? expression() : 0;
    return right ? tree_.add({.kind = Kind::ternary, .a = condition, .b = left, .c = right}) : 0;
  }
  case 'c': {
    const NodeId to = type();
    const NodeId of = to ? expression() : 0;
    return of ? tree_.add({.kind = Kind::cast, .a = to, .b = of, .text = found->text}) : 0;
  }
  default:
    break;
  }
  if (code == "ix") {
    const NodeId left = expression();
    const NodeId right = left ? expression() : 0;
    return right ? tree_.add({.kind = Kind::call, .a = left, .b = right}) : 0;
  }
  return 0;
}

NodeId Parser::primary() {
  const demangling::Depth depth(depth_);
  if (depth.too_deep() || !take('L'))
    return 0;
  if (take("_Z") || take('Z')) {
    const NodeId named = encoding(true);
    return named && take('E') ? named : 0;
  }
  Node node{.kind = Kind::literal, .a = type()};
  if (!node.a)
    return 0;
  const size_t end = rest_.find('E');
  if (end == rest_.npos)
    return 0;
  node.text = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return tree_.add(node);
}

NodeId Parser::fold() {
  const char kind = peek(1);
  if (!take('f') || std::string_view("lrLR").find(kind) == std::string_view::npos)
    return 0;
  rest_.remove_prefix(1);
  const Operator *found = find_operator(peek(), peek(1));
  if (!found)
    return 0;
  rest_.remove_prefix(2);
  Node node{.kind = Kind::fold, .text = found->text, .number = static_cast<uint32_t>(kind)};
  node.a = expression();
  if (kind == 'L' || kind == 'R')
    node.b = node.a ? expression() : 0;
  return node.a && (node.b || kind == 'l' || kind == 'r') ? tree_.add(node) : 0;
}

NodeId Parser::creation(bool global) {
  Node node{.kind = Kind::creation, .text = peek(1) == 'a' ? "new[]" : "new"};
  if (global)
    node.more = "::";
  rest_.remove_prefix(2);
  std::vector<NodeId> placement, arguments;
  while (!take('_')) {
    placement.push_back(expression());
    if (!placement.back())
      return 0;
  }
  node.a = type();
  if (!node.a)
    return 0;
  if (take("pi")) {
    if (!expressions(arguments))
      return 0;
    node.b = tree_.add({.kind = Kind::list}, arguments);
  } else if (!take('E')) {
    return 0;
  }
  return tree_.add(node, placement);
}

NodeId Parser::function_param() {
  if (take("fpT"))
    return text("this");
  if (take("fL")) {
    if (!number() || !take('p'))
      return 0;
  } else if (!take("fp")) {
    return 0;
  }
  cv_qualifiers();
  const auto index = sequence();
  if (!index)
    return 0;
  return tree_.add({.kind = Kind::number, .text = "{parm#", .more = "}", .number = *index + 1});
}

NodeId Parser::simple_id() {
  const NodeId found = tagged(source_name());
  return found && peek() == 'I' ? template_args(found) : found;
}

NodeId Parser::unresolved_type() {
  NodeId found = 0;
  if (peek() == 'T') {
    found = remember(template_param());
    if (found && peek() == 'I')
      found = remember(template_args(found));
    return found;
  }
  if (peek() == 'D')
    return remember(decltype_type());
  return substitution();
}

NodeId Parser::base_unresolved_name() {
  if (is_digit_of_expression(peek()))
    return simple_id();
  NodeId found = 0;
  if (take("dn")) {
    const NodeId of = is_digit_of_expression(peek()) ? simple_id() : unresolved_type();
    found = of ? tree_.add({.kind = Kind::special, .a = of, .text = "~"}) : 0;
  } else {
    take("on");
    found = operator_name(nullptr);
  }
  return found && peek() == 'I' ? template_args(found) : found;
}

NodeId Parser::unresolved_name(bool global) {
  NodeId found = 0;
  const auto append = [&](NodeId part) {
    if (part)
      found = found ? tree_.add({.kind = Kind::nested, .a = found, .b = part}) : part;
    return part != 0;
  };
  if (take("srN")) {
    if (!append(peek() == 'S' && peek(1) == 't' ? class_type() : unresolved_type()))
      return 0;
    if (peek() == 'I')
      found = template_args(found);
    while (!take('E'))
      if (!append(simple_id()))
        return 0;
  } else if (take("sr")) {
    if (is_digit_of_expression(peek())) {
      while (!take('E'))
        if (!append(simple_id()))
          return 0;
    } else if (peek() == 'S' && peek(1) == 't') {
      if (!append(class_type()))
        return 0;
    } else {
      if (!append(peek() == 'T' || peek() == 'D' || peek() == 'S' ? unresolved_type() : type()))
        return 0;
      if (peek() == 'I') {
        found = remember(template_args(found));
        if (!found)
          return 0;
      }
    }
  }
  if (!append(base_unresolved_name()))
    return 0;
  return global ? tree_.add({.kind = Kind::special, .a = found, .text = "::"}) : found;
}

} // namespace tally::itanium
