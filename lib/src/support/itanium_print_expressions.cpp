#include "support/itanium_printer.h"

#include <fmt/format.h>

namespace tally::itanium {

// Prints an operand, in parentheses unless it is a name.
void Printer::operand(NodeId id) {
  const Node &node = at(id);
  const bool simple = node.kind == Kind::text || node.kind == Kind::nested ||
                      node.kind == Kind::number || node.kind == Kind::initializer;
  if (!simple)
    put("(");
  both(id);
  if (!simple)
    put(")");
}

void Printer::literal(const Node &node) {
  static constexpr std::pair<std::string_view, std::string_view> suffixes[] = {
      {"int", ""},         {"unsigned int", "u"},         {"long", "l"}, {"unsigned long", "ul"},
      {"long long", "ll"}, {"unsigned long long", "ull"},
  };
  std::string_view value = node.text;
  const bool negative = value.starts_with('n');
  if (negative)
    value.remove_prefix(1);
  const Node &of = at(node.a);
  if (of.kind == Kind::text) {
    for (const auto &[name, suffix] : suffixes)
      if (of.text == name) {
        put(negative ? "-" : "");
        put(value);
        put(suffix);
        return;
      }
    if (of.text == "bool" && !negative && (value == "0" || value == "1")) {
      put(value == "1" ? "true" : "false");
      return;
    }
  }
  put("(");
  both(node.a);
  put(")");
  put(negative ? "-" : "");
  const bool floating =
      of.kind == Kind::text && (of.text == "float" || of.text == "double" ||
                                of.text == "long double" || of.text == "__float128");
  put(floating ? "[" : "");
  put(value);
  put(floating ? "]" : "");
}

void Printer::fold(const Node &node) {
  const char kind = static_cast<char>(node.number);
  // A pack's name stays whole.
  put("(");
  if (kind == 'l') {
    put("...");
    put(node.text);
    operand(node.a);
  } else if (kind == 'r') {
    operand(node.a);
    put(node.text);
    put("...");
  } else {
    operand(node.a);
    put(node.text);
    put("...");
    put(node.text);
    operand(node.b);
  }
  put(")");
}

void Printer::expression(const Node &node) {
  switch (node.kind) {
  case Kind::wrapped:
    put(node.text);
    put(node.number ? "(" : "");
    both(node.a);
    put(node.more);
    break;
  case Kind::literal:
    literal(node);
    break;
  case Kind::prefix: {
    NodeId of = node.a;
    // The address of a qualified function is shown without its signature.
    if (node.text == "&" && at(of).kind == Kind::encoding && at(at(of).a).kind == Kind::nested)
      of = at(of).a;
    put(node.text);
    operand(of);
    break;
  }
  case Kind::suffix:
    operand(node.a);
    put(node.text);
    break;
  case Kind::binary: {
    const bool greater = node.text == ">"; // not the end of the arguments
    put(greater ? "(" : "");
    operand(node.a);
    put(node.text);
    operand(node.b);
    put(greater ? ")" : "");
    break;
  }
  case Kind::ternary:
    operand(node.a);
    put("?");
    operand(node.b);
    put(" : ");
    operand(node.c);
    break;
  case Kind::call: {
    NodeId callee = node.a;
    if (!node.b && at(callee).kind == Kind::encoding)
      callee = at(callee).a;
    operand(callee);
    put(node.b ? "[" : "(");
    if (node.b)
      both(node.b);
    else
      list(tree_.list(node));
    put(node.b ? "]" : ")");
    break;
  }
  case Kind::cast:
    put(node.text);
    put("<");
    both(node.a);
    put(last() == '>' ? " >(" : ">(");
    both(node.b);
    put(")");
    break;
  case Kind::convert:
    put("(");
    both(node.a);
    put(")");
    if (node.b) {
      operand(node.b);
    } else {
      put("(");
      list(tree_.list(node));
      put(")");
    }
    break;
  case Kind::initializer:
    if (node.a)
      both(node.a);
    put("{");
    list(tree_.list(node));
    put("}");
    break;
  case Kind::creation:
    put(node.more);
    put("new ");
    if (node.first != node.last) {
      put("(");
      list(tree_.list(node));
      put(") ");
    }
    both(node.a);
    if (node.b) {
      put("(");
      both(node.b);
      put(")");
    }
    break;
  case Kind::pack_size: {
    const Node &of = at(node.a);
    const auto size = of.kind == Kind::pack ? tree_.list(of).size() : pack_size(node.a);
    if (size) {
      put(fmt::format("{}", *size));
    } else {
      put("sizeof...(");
      both(node.a);
      put(")");
    }
    break;
  }
  default:
    fold(node);
    break;
  }
}

} // namespace tally::itanium
