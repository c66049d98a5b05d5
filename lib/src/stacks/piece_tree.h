// Disjoint pieces of an address space, in a search tree whose copies share what they have in
// common. A fork copies a million mappings, and a file may have a record of a fork for each hundred
// bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace tally {

struct Piece {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint32_t range = 0;
  friend bool operator==(const Piece &, const Piece &) = default;
};

// All operations take a time that is logarithmic in the number of pieces, whatever their addresses;
// so is the memory that put() takes where the tree has copies.
class PieceTree {
public:
  // Replaces what the pieces hold in a range. Returns whether this changed anything.
  bool put(const Piece &piece);
  // Returns the piece that holds the address; null if none does. It is valid until the next put().
  const Piece *find(uint64_t address) const;
  bool empty() const { return !root_; }
  void clear() { root_.reset(); }

private:
  struct Node;
  using Link = std::shared_ptr<Node>;
  // Returns the pieces that begin before an address, and the others.
  static std::pair<Link, Link> split(Link tree, uint64_t start);
  static Link merge(Link left, Link right); // all pieces of `left` are before those of `right`
  static Link with(Link left, const Piece &piece);
  static void make_own(Link &link);
  static const Piece *last(const Link &tree);

  Link root_;
};

} // namespace tally
