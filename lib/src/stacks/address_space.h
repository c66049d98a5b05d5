// Tracks which ranges of executable memory are mapped, while mappings come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stacks/piece_tree.h"
#include "support/hash.h"

namespace tally {

struct CodeRange {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string path;       // the kernel's name for the file; "//anon" for memory without a file
  std::string build_id{}; // lower-case hex; empty if unknown
  bool is_jit = false;    // see AddressSpace::map_code()
  friend bool operator==(const CodeRange &, const CodeRange &) = default;
};

// Returns the executable ranges that the text of a /proc/PID/maps lists. Lines that cannot be
// parsed are skipped.
std::vector<CodeRange> parse_maps(std::string_view text);

// Gives each range a number when the range first appears. The number stays valid after the range is
// unmapped, so that samples counted there keep their range. A range that is mapped again, with the
// same properties, has its old number.
class CodeRanges {
public:
  uint32_t number_of(const CodeRange &range);
  const std::vector<CodeRange> &all() const { return ranges_; }

private:
  std::vector<CodeRange> ranges_;
  SeededMultimap<uint64_t, uint32_t> by_hash_;
};

class AddressSpace {
public:
  static constexpr uint32_t nowhere = ~uint32_t{0};

  AddressSpace() : AddressSpace(std::make_shared<CodeRanges>()) {}
  // Many spaces may have their numbers from the same ranges.
  explicit AddressSpace(std::shared_ptr<CodeRanges> ranges) : ranges_(std::move(ranges)) {}
  // A copy gives further ranges numbers of its own.
  AddressSpace(const AddressSpace &other);
  AddressSpace &operator=(const AddressSpace &) = delete;
  // Maps what is mapped in a space with the same ranges. It shares the memory for it.
  void inherit(const AddressSpace &parent);

  // Maps `range`. It replaces the parts of older ranges that it overlaps; their other parts remain.
  void map(const CodeRange &range);
  // Maps code that a JIT compiler made, `path` being its jitdump. It is found in memory without a
  // file only, so that it disappears when something else is mapped there. A compiler that changes
  // the protection of its memory maps the memory again, but not the code.
  void map_code(const CodeRange &range);
  bool has_code() const { return !code_.empty(); } // of a JIT compiler
  // Handles exec: unmaps everything. The first file that is mapped afterwards is the program.
  void reset();

  // Returns the number of the range that holds `pc` now, or `nowhere`.
  uint32_t find(uint64_t pc) const {
    const uint32_t range = find_mapping(pc);
    return code_.empty() || range == nowhere ? range : with_code(range, pc);
  }
  // Does the same, but without the ranges of map_code().
  uint32_t find_mapping(uint64_t pc) const;
  // Returns the code that has since become known at `pc`, if `range` is memory without a file;
  // otherwise `range`.
  uint32_t with_code(uint32_t range, uint64_t pc) const;

  const std::vector<CodeRange> &ranges() const { return ranges_->all(); }
  uint32_t program() const { return program_; } // `nowhere` until a file is mapped
  // Returns a number that changes whenever the answers of find() may change.
  uint64_t generation() const { return generation_; }

private:
  PieceTree pieces_;
  PieceTree code_; // those of map_code()
  std::shared_ptr<CodeRanges> ranges_;
  uint32_t program_ = nowhere;
  uint64_t generation_ = 0;
  // The piece that find() returned last; find() tries it first, because most samples fall into few
  // pieces.
  mutable Piece last_{0, 0, nowhere};
};

} // namespace tally
