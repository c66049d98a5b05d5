// Prints names of the Itanium C++ ABI.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "support/demangle_limits.h"
#include "support/itanium_tree.h"

namespace tally::itanium {

// Prints a tree as GCC's libraries do. A declarator surrounds the name that it declares, so each
// type has a left and a right part.
class Printer {
public:
  Printer(const Tree &tree, std::string &out) : tree_(tree), out_(out) {}
  // A parameter refers to the template whose signature it is in, also if a substitution repeats it
  // from the signature of another function. In the signature of a lambda it is an `auto`.
  struct Scope {
    NodeId arguments; // a template_id; 0 in a lambda
    const Scope *outside;
  };
  struct Context {
    const Scope *scope = nullptr;
    std::optional<size_t> element = {}; // of the packs that are being expanded
  };

  bool all(NodeId id) {
    both(id);
    return !exceeded_;
  }

private:
  const Node &at(NodeId id) const { return tree_.nodes[id]; }
  bool is_exceeded() {
    exceeded_ |= ++steps_ > demangling::most_steps || out_.size() > demangling::longest_output;
    return exceeded_;
  }
  // Returns the last character as GCC's printer sees it: it remembers the blank of the ", " that it
  // removes before an empty pack.
  char last() const { return out_.empty() ? '\0' : out_.size() == emptied_at_ ? ' ' : out_.back(); }
  void put(std::string_view text) { out_ += text; }

  void both(NodeId id) {
    left(id);
    right(id);
  }
  void left(NodeId id);
  void right(NodeId id);
  void left_of_type(const Node &node);
  void left_of_name(const Node &node);
  void signature(const Node &node);
  void expression(const Node &node);
  void operand(NodeId id);
  void literal(const Node &node);
  void fold(const Node &node);
  void qualifiers(uint8_t flags);
  void list(std::span<const NodeId> items);
  void arguments(const Node &node);
  void expansion(const Node &node);
  // What stands for a node, with what its own parameters refer to.
  struct Meaning {
    NodeId id;
    Context context;
  };
  Meaning resolve(NodeId id, Context context) const;
  Meaning under_references(NodeId id, uint32_t &ampersands) const;
  // Returns the kind of a type under its qualifiers. A pointer to a function or an array needs
  // parentheses.
  Kind kind_of(NodeId id) const { return kind_of({id, now_}); }
  Kind kind_of(Meaning of) const;
  bool is_declarator(NodeId type) const; // whether its right part is not empty
  bool surrounds(NodeId id) const {
    return kind_of(id) == Kind::function || kind_of(id) == Kind::array;
  }
  template <class Print> void in(Context context, Print print) {
    const Context outside = std::exchange(now_, context);
    print();
    now_ = outside;
  }
  std::optional<size_t> pack_size(NodeId id);

  const Tree &tree_;
  std::string &out_;
  size_t emptied_at_ = std::string::npos; // the size of the text where a ", " was removed last
  size_t steps_ = 0;
  bool exceeded_ = false;
  int depth_ = 0;
  Context now_;
};

} // namespace tally::itanium
