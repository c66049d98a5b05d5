// Parses names of the Itanium C++ ABI, section 5.1.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "support/demangle_limits.h"
#include "support/itanium_tree.h"

namespace tally::itanium {

// What a function's signature depends on.
struct NameState {
  bool ends_with_arguments = false;
  bool has_no_result = false; // a constructor, a destructor or a conversion
  uint8_t qualifiers = 0;
};

// The parser never goes back, so its time is linear in the length of the name. It has more than 30
// methods, because each is a production of the grammar.
class Parser {
public:
  Parser(std::string_view rest, Tree &tree) : rest_(rest), tree_(tree) {}
  // Parses what follows "_Z", and the suffixes of clones.
  NodeId mangled_name();

private:
  // itanium_names.cpp
  NodeId encoding(bool with_result);
  NodeId special_name();
  bool call_offset();
  NodeId name(NameState *state);
  NodeId nested_name(NameState *state);
  NodeId local_name(NameState *state);
  NodeId unscoped_name(NameState *state);
  NodeId unqualified_name(NameState *state, NodeId scope);
  NodeId structor(NameState *state, NodeId scope);
  NodeId operator_name(NameState *state);
  NodeId unnamed_type_name();
  NodeId source_name();
  NodeId tagged(NodeId name);
  NodeId substitution();
  NodeId substitution_or_standard_scope();
  NodeId template_args(NodeId name);
  NodeId template_arg();
  void discriminator();
  // itanium_types.cpp
  NodeId type();
  NodeId qualified_type();
  NodeId function_type(uint8_t flags);
  NodeId array_type();
  NodeId vector_type();
  NodeId d_type();
  NodeId class_type();
  NodeId decltype_type();
  NodeId template_param();
  uint8_t cv_qualifiers();
  uint8_t ref_qualifier();
  // itanium_expressions.cpp
  NodeId expression();
  NodeId operator_expression();
  NodeId primary();
  NodeId fold();
  NodeId creation(bool global);
  NodeId function_param();
  NodeId unresolved_name(bool global);
  NodeId unresolved_type();
  NodeId simple_id();
  NodeId base_unresolved_name();
  bool expressions(std::vector<NodeId> &out);

  // Input. A digit sequence that does not fit is no number.
  char peek(size_t ahead = 0) const { return ahead < rest_.size() ? rest_[ahead] : '\0'; }
  bool take(std::string_view text);
  bool take(char c);
  std::string_view digits();
  std::optional<uint32_t> number();
  std::optional<uint32_t> sequence(); // "_" is 0, "0_" is 1
  NodeId text(std::string_view text) { return tree_.add({.kind = Kind::text, .text = text}); }
  NodeId remember(NodeId node);

  std::string_view rest_;
  Tree &tree_;
  std::vector<NodeId> substitutions_;
  bool with_arguments_ = true; // whether a template parameter takes the arguments that follow
  int depth_ = 0;
};

// An operator of a name or an expression.
struct Operator {
  char code[3];
  char kind; // 0, 1, 2, 3: so many operands; c: a named cast; -: other
  std::string_view text;
};
const Operator *find_operator(char first, char second);

} // namespace tally::itanium
