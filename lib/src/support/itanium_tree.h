// A name of the Itanium C++ ABI as a tree, between the parser and the printer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally::itanium {

// 0 is no node: a part that is absent, or one that could not be parsed.
using NodeId = uint32_t;

enum class Kind : uint8_t {
  none,
  // Names.
  text,        // `text`: a builtin type, an identifier, the name of an operator
  number,      // `text`, then `number`, then `more`
  standard,    // std::string and its like; `number` is an index of standard_names, `flags` is 1 if
               // the name is printed in full
  nested,      // a::b
  local,       // a::b, where a is an encoding
  template_id, // a<list>
  pack,        // the list is one template argument
  structor,    // the last name of a; `text` is "~" for a destructor
  conversion,  // operator a
  tagged,      // a[abi:text]
  bindings,    // [list]
  lambda,      // {lambda(list)#number}
  encoding,    // a(list), where b is the result type or absent; `flags` qualify it
  special,     // text a; for a construction vtable a-in-b
  clone,       // a [clone text]
  // Types.
  qualified,      // a; `flags` qualify it
  suffixed,       // a text
  pointer,        // a*
  reference,      // a& or a&&; `number` is the number of ampersands
  array,          // a [b], or a [text]
  vector,         // a __vector(b)
  member_pointer, // b a::*
  function,       // a (list); `flags` qualify it, b is the condition of noexcept
  expansion,      // a...; each element of a's pack if it is known
  parameter,      // the argument with the index `number`, of the template around it
  // Expressions.
  wrapped,     // text(a)more, without further parentheses
  literal,     // (a)text
  prefix,      // text a; "ad" takes an address
  suffix,      // a text
  binary,      // a text b
  ternary,     // a ? b : c
  call,        // a(list); `text` is "[" and "]" for an index
  cast,        // text<a>(b)
  convert,     // (a)(list) or (a)b
  initializer, // a{list}
  creation,    // new (list) a(b); b is a list
  pack_size,   // the number of elements of a's pack
  fold,        // `number` is the kind's letter, a and b the operands, `text` the operator
  list,        // list, separated by commas
};

enum Qualifier : uint8_t {
  is_const = 1,
  is_volatile = 2,
  is_restrict = 4,
  is_lvalue = 8,
  is_rvalue = 16,
  is_noexcept = 32,
  is_transaction_safe = 64,
};

struct Node {
  Kind kind = Kind::none;
  uint8_t flags = 0;
  NodeId a = 0, b = 0, c = 0;
  std::string_view text = {};
  std::string_view more = {};
  uint32_t number = 0;
  uint32_t first = 0, last = 0; // of the list, in Tree::items
};

struct StandardName {
  char letter;
  std::string_view shorter;
  std::string_view full;
  std::string_view last; // the name of a constructor
};

inline constexpr StandardName standard_names[] = {
    {'a', "std::allocator", "std::allocator", "allocator"},
    {'b', "std::basic_string", "std::basic_string", "basic_string"},
    {'s', "std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
     "basic_string"},
    {'i', "std::istream", "std::basic_istream<char, std::char_traits<char> >", "basic_istream"},
    {'o', "std::ostream", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"},
    {'d', "std::iostream", "std::basic_iostream<char, std::char_traits<char> >", "basic_iostream"},
};

struct Tree {
  Tree() { nodes.reserve(128); }

  std::vector<Node> nodes = std::vector<Node>(1);
  std::vector<NodeId> items;

  NodeId add(Node node) {
    nodes.push_back(node);
    return static_cast<NodeId>(nodes.size() - 1);
  }
  NodeId add(Node node, const std::vector<NodeId> &list) {
    node.first = static_cast<uint32_t>(items.size());
    items.insert(items.end(), list.begin(), list.end());
    node.last = static_cast<uint32_t>(items.size());
    return add(node);
  }
  std::span<const NodeId> list(const Node &node) const {
    return std::span(items).subspan(node.first, node.last - node.first);
  }
};

// Each returns 0 or false if the name is not of the ABI, or if it exceeds a limit (demangle.cpp).
NodeId parse(std::string_view mangled, Tree &tree);
bool print(const Tree &tree, NodeId name, std::string &out);

} // namespace tally::itanium
