#include "stacks/piece_tree.h"

#include <optional>

#include "support/hash.h"

namespace tally {

// A treap: a search tree by `start`, and a heap by priorities that nobody can choose.
struct PieceTree::Node {
  explicit Node(const Piece &held) : piece(held), priority(mix(held.start)) {}
  Piece piece;
  uint64_t priority;
  Link left, right;
};

// Nodes that no copy of the tree has are changed in place.
void PieceTree::make_own(Link &link) {
  if (link.use_count() > 1)
    link = std::make_shared<Node>(*link);
}

std::pair<PieceTree::Link, PieceTree::Link> PieceTree::split(Link tree, uint64_t start) {
  if (!tree)
    return {};
  make_own(tree);
  if (tree->piece.start < start) {
    auto [before, after] = split(std::move(tree->right), start);
    tree->right = std::move(before);
    return {std::move(tree), std::move(after)};
  }
  auto [before, after] = split(std::move(tree->left), start);
  tree->left = std::move(after);
  return {std::move(before), std::move(tree)};
}

PieceTree::Link PieceTree::merge(Link left, Link right) {
  if (!left || !right)
    return left ? std::move(left) : std::move(right);
  if (left->priority > right->priority) {
    make_own(left);
    left->right = merge(std::move(left->right), std::move(right));
    return left;
  }
  make_own(right);
  right->left = merge(std::move(left), std::move(right->left));
  return right;
}

PieceTree::Link PieceTree::with(Link left, const Piece &piece) {
  return merge(std::move(left), std::make_shared<Node>(piece));
}

const Piece *PieceTree::last(const Link &tree) {
  const Node *node = tree.get();
  while (node && node->right)
    node = node->right.get();
  return node ? &node->piece : nullptr;
}

bool PieceTree::put(const Piece &piece) {
  if (const Piece *const there = find(piece.start); there && *there == piece)
    return false;
  std::optional<Piece> rest; // of the one piece that reaches beyond the new one
  const auto keep_rest = [&](const Piece *replaced) {
    if (replaced && replaced->limit > piece.limit)
      rest = {piece.limit, replaced->limit, replaced->range};
  };
  auto [before, others] = split(std::move(root_), piece.start);
  if (const Piece *const cut = last(before); cut && cut->limit > piece.start) {
    keep_rest(cut);
    const Piece shortened{cut->start, piece.start, cut->range};
    before = with(split(std::move(before), shortened.start).first, shortened);
  }
  auto [inside, after] = split(std::move(others), piece.limit);
  keep_rest(last(inside));
  root_ = with(std::move(before), piece);
  if (rest)
    root_ = with(std::move(root_), *rest);
  root_ = merge(std::move(root_), std::move(after));
  return true;
}

const Piece *PieceTree::find(uint64_t address) const {
  const Piece *found = nullptr;
  for (const Node *node = root_.get(); node;)
    if (node->piece.start <= address) {
      found = &node->piece;
      node = node->right.get();
    } else {
      node = node->left.get();
    }
  return found && address < found->limit ? found : nullptr;
}

} // namespace tally
