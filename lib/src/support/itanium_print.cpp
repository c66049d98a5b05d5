#include "support/itanium_printer.h"

#include <algorithm>

#include <fmt/format.h>

namespace tally::itanium {

namespace {

// Returns the template_id whose arguments the parameters in a function's signature refer to.
NodeId arguments_of(const Tree &tree, NodeId name) {
  for (;;) {
    const Node &node = tree.nodes[name];
    if (node.kind == Kind::template_id)
      return name;
    if (node.kind == Kind::local || (node.kind == Kind::nested && arguments_of(tree, node.b)))
      name = node.b;
    else if (node.kind == Kind::nested || node.kind == Kind::tagged)
      name = node.a;
    else
      return 0;
  }
}

} // namespace

Printer::Meaning Printer::resolve(NodeId id, Context context) const {
  while (at(id).kind == Kind::parameter) {
    if (!context.scope)
      return {0, context};
    if (!context.scope->arguments)
      break; // prints as "auto"
    const auto arguments = tree_.list(at(context.scope->arguments));
    if (at(id).number >= arguments.size())
      return {0, context};
    id = arguments[at(id).number];
    if (at(id).kind == Kind::pack && context.element) {
      const auto items = tree_.list(at(id));
      if (*context.element >= items.size())
        return {0, context};
      id = items[*context.element];
    }
    context = {context.scope->outside};
  }
  return {id, context};
}

Kind Printer::kind_of(Meaning of) const {
  for (int i = 0; i < demangling::deepest; ++i) {
    of = resolve(of.id, of.context);
    const Node &node = at(of.id);
    if (node.kind != Kind::qualified && node.kind != Kind::suffixed)
      return node.kind;
    of.id = node.a;
  }
  return Kind::none;
}

bool Printer::is_declarator(NodeId type) const {
  Meaning of{type, now_};
  for (int i = 0; i < demangling::deepest; ++i) {
    of = resolve(of.id, of.context);
    const Node &node = at(of.id);
    if (node.kind == Kind::function || node.kind == Kind::array)
      return true;
    if (node.kind != Kind::pointer && node.kind != Kind::reference &&
        node.kind != Kind::qualified && node.kind != Kind::member_pointer)
      return false;
    of.id = node.kind == Kind::member_pointer ? node.b : node.a;
  }
  return false;
}

// A reference to a reference is one reference.
Printer::Meaning Printer::under_references(NodeId id, uint32_t &ampersands) const {
  Meaning of{id, now_};
  for (int i = 0; i < demangling::deepest; ++i) {
    const Meaning inner = resolve(of.id, of.context);
    const Node &node = at(inner.id);
    if (node.kind != Kind::reference)
      break;
    ampersands = std::min(ampersands, node.number);
    of = {node.a, inner.context};
  }
  return of;
}

void Printer::qualifiers(uint8_t flags) {
  if (flags & is_const)
    put(" const");
  if (flags & is_volatile)
    put(" volatile");
  if (flags & is_restrict)
    put(" restrict");
  if (flags & is_transaction_safe)
    put(" transaction_safe");
  if (flags & is_noexcept)
    put(" noexcept");
  if (flags & is_lvalue)
    put(" &");
  if (flags & is_rvalue)
    put(" &&");
}

// As in GCC's printer, an empty pack leaves its comma, unless nothing follows.
void Printer::list(std::span<const NodeId> items) {
  size_t filled = out_.size();
  for (size_t i = 0; i < items.size(); ++i) {
    if (is_exceeded())
      return;
    if (i != 0)
      put(", ");
    const size_t begin = out_.size();
    both(items[i]);
    if (out_.size() != begin)
      filled = out_.size();
  }
  if (out_.size() == filled)
    return;
  out_.resize(filled);
  emptied_at_ = filled;
}

void Printer::arguments(const Node &node) {
  if (last() == '<')
    put(" ");
  put("<");
  list(tree_.list(node));
  put(last() == '>' ? " >" : ">");
}

// Returns the number of elements of the first pack that a pattern refers to.
std::optional<size_t> Printer::pack_size(NodeId id) {
  const demangling::Depth depth(depth_);
  if (is_exceeded())
    return std::nullopt;
  if (depth.too_deep()) {
    exceeded_ = true;
    return std::nullopt;
  }
  const Node &node = at(id);
  switch (node.kind) {
  case Kind::parameter: {
    const Meaning whole = resolve(id, {now_.scope});
    if (at(whole.id).kind == Kind::pack)
      return tree_.list(at(whole.id)).size();
    return std::nullopt;
  }
  case Kind::expansion:
  case Kind::lambda:
  case Kind::none:
    return std::nullopt;
  default:
    break;
  }
  for (const NodeId part : {node.a, node.b, node.c})
    if (part)
      if (const auto found = pack_size(part))
        return found;
  for (const NodeId item : tree_.list(node))
    if (const auto found = pack_size(item))
      return found;
  return std::nullopt;
}

void Printer::expansion(const Node &node) {
  const auto size = pack_size(node.a);
  if (!size) {
    operand(node.a);
    put("...");
    return;
  }
  const size_t begin = out_.size();
  for (size_t i = 0; i < *size && !is_exceeded(); ++i) {
    if (out_.size() != begin)
      put(", ");
    in({now_.scope, i}, [&] { both(node.a); });
  }
}

void Printer::left(NodeId id) {
  const demangling::Depth depth(depth_);
  exceeded_ |= depth.too_deep();
  if (is_exceeded())
    return;
  const Node &node = at(id);
  switch (node.kind) {
  case Kind::none:
    break;
  case Kind::text:
    put(node.text);
    break;
  case Kind::number:
    put(node.text);
    put(fmt::format("{}", node.number));
    put(node.more);
    break;
  case Kind::parameter: {
    const Meaning to = resolve(id, now_);
    exceeded_ |= to.id == 0; // there is no such argument
    if (at(to.id).kind == Kind::parameter)
      put(fmt::format("auto:{}", at(to.id).number + 1));
    else
      in(to.context, [&] { left(to.id); });
    break;
  }
  case Kind::qualified:
  case Kind::suffixed:
  case Kind::pointer:
  case Kind::reference:
  case Kind::array:
  case Kind::vector:
  case Kind::member_pointer:
  case Kind::function:
    left_of_type(node);
    break;
  case Kind::expansion:
    expansion(node);
    break;
  case Kind::wrapped:
  case Kind::literal:
  case Kind::prefix:
  case Kind::suffix:
  case Kind::binary:
  case Kind::ternary:
  case Kind::call:
  case Kind::cast:
  case Kind::convert:
  case Kind::initializer:
  case Kind::creation:
  case Kind::pack_size:
  case Kind::fold:
    expression(node);
    break;
  default:
    left_of_name(node);
    break;
  }
}

void Printer::signature(const Node &node) {
  if (node.b) {
    left(node.b);
    if (!is_declarator(node.b))
      put(" ");
  }
  both(node.a);
  put("(");
  list(tree_.list(node));
  put(")");
  qualifiers(node.flags);
  if (node.b)
    right(node.b);
}

void Printer::left_of_name(const Node &node) {
  switch (node.kind) {
  case Kind::standard:
    put(node.flags ? standard_names[node.number].full : standard_names[node.number].shorter);
    break;
  case Kind::nested:
    both(node.a);
    put("::");
    both(node.b);
    break;
  case Kind::local:
    both(node.a);
    put("::");
    if (node.c) {
      both(node.c);
      put("::");
    }
    both(node.b);
    break;
  case Kind::template_id:
    both(node.a);
    arguments(node);
    break;
  case Kind::pack:
  case Kind::list:
    list(tree_.list(node));
    break;
  case Kind::structor: {
    put(node.text);
    const Node &of = at(node.a);
    if (of.kind == Kind::standard)
      put(standard_names[of.number].last);
    else
      both(node.a);
    break;
  }
  case Kind::conversion:
    put("operator ");
    both(node.a);
    break;
  case Kind::tagged:
    both(node.a);
    put("[abi:");
    put(node.text);
    put("]");
    break;
  case Kind::bindings:
    put("[");
    list(tree_.list(node));
    put("]");
    break;
  case Kind::lambda:
    put("{lambda(");
    {
      const Scope scope{0, now_.scope};
      in({&scope}, [&] { list(tree_.list(node)); });
    }
    put(fmt::format(")#{}}}", node.number));
    break;
  case Kind::encoding: {
    const NodeId arguments = arguments_of(tree_, node.a);
    const Scope scope{arguments, now_.scope};
    in({arguments ? &scope : now_.scope}, [&] { signature(node); });
    break;
  }
  case Kind::special:
    put(node.text);
    if (node.c)
      both(node.c);
    both(node.a);
    if (node.b) {
      put("-in-");
      both(node.b);
    }
    break;
  case Kind::clone:
    both(node.a);
    put(" [clone ");
    put(node.text);
    put("]");
    break;
  default:
    exceeded_ = true;
    break;
  }
}

void Printer::left_of_type(const Node &node) {
  switch (node.kind) {
  case Kind::qualified:
    left(node.a);
    if (kind_of(node.a) != Kind::function) {
      const Node &inner = at(resolve(node.a, now_).id);
      const int known = inner.kind == Kind::qualified ? inner.flags : 0;
      qualifiers(static_cast<uint8_t>(node.flags & ~known));
    }
    break;
  case Kind::suffixed:
    left(node.a);
    put(node.text);
    if (node.b)
      both(node.b);
    break;
  case Kind::pointer:
  case Kind::reference: {
    uint32_t ampersands = node.number;
    const Meaning of = ampersands ? under_references(node.a, ampersands) : Meaning{node.a, now_};
    in(of.context, [&] { left(of.id); });
    const Kind kind = kind_of(of);
    put(kind == Kind::array ? " (" : kind == Kind::function ? "(" : "");
    put(ampersands == 0 ? "*" : ampersands == 1 ? "&" : "&&");
    break;
  }
  case Kind::member_pointer:
    left(node.b);
    put(surrounds(node.b) ? "(" : " ");
    both(node.a);
    put("::*");
    break;
  case Kind::array:
    left(node.a);
    break;
  case Kind::vector:
    left(node.a);
    put(" __vector(");
    both(node.b);
    put(")");
    break;
  default: // a function
    left(node.a);
    if (last() != '(')
      put(" ");
    break;
  }
}

void Printer::right(NodeId id) {
  const demangling::Depth depth(depth_);
  exceeded_ |= depth.too_deep();
  if (is_exceeded())
    return;
  const Node &node = at(id);
  switch (node.kind) {
  case Kind::parameter:
    if (const Meaning to = resolve(id, now_); at(to.id).kind != Kind::parameter)
      in(to.context, [&] { right(to.id); });
    break;
  case Kind::qualified:
  case Kind::suffixed:
  case Kind::vector:
    right(node.a);
    break;
  case Kind::pointer:
  case Kind::reference: {
    uint32_t ampersands = node.number;
    const Meaning of = ampersands ? under_references(node.a, ampersands) : Meaning{node.a, now_};
    const Kind kind = kind_of(of);
    put(kind == Kind::array || kind == Kind::function ? ")" : "");
    in(of.context, [&] { right(of.id); });
    break;
  }
  case Kind::member_pointer:
    if (surrounds(node.b))
      put(")");
    right(node.b);
    break;
  case Kind::array:
    if (last() != ']')
      put(" ");
    put("[");
    if (node.b)
      both(node.b);
    else
      put(node.text);
    put("]");
    right(node.a);
    break;
  case Kind::function:
    put("(");
    list(tree_.list(node));
    put(")");
    qualifiers(node.flags);
    if (node.b) {
      put("(");
      both(node.b);
      put(")");
    }
    if (node.c) {
      put(" throw(");
      both(node.c);
      put(")");
    }
    right(node.a);
    break;
  default:
    break;
  }
}

bool print(const Tree &tree, NodeId name, std::string &out) {
  return name && Printer(tree, out).all(name);
}

} // namespace tally::itanium
