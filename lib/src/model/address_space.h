// What is mapped executable where, as time goes by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tally {

struct CodeRange {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string path;       // as the kernel names it; "//anon" for memory without a file
  std::string build_id{}; // lower-case hex; empty when not known
  friend bool operator==(const CodeRange &, const CodeRange &) = default;
};

// The executable lines of /proc/PID/maps.
std::vector<CodeRange> parse_maps(std::string_view text);

// Ranges get a number when they first appear and keep it: what was counted in a range that is gone
// still knows it. The same range come back has the same number.
class AddressSpace {
public:
  static constexpr uint32_t nowhere = ~uint32_t{0};

  // What lies under the new range is replaced; what sticks out of it stays.
  void map(const CodeRange &range);
  // exec: nothing is mapped any more. The first file mapped after it is the program.
  void reset();

  // The range that holds pc now, or `nowhere`.
  uint32_t find(uint64_t pc) const;

  const std::vector<CodeRange> &ranges() const { return ranges_; }
  uint32_t program() const { return program_; } // `nowhere` while nothing is mapped
  // Changes with whatever find() may answer differently for.
  uint64_t generation() const { return generation_; }

private:
  struct Piece {
    uint64_t start;
    uint64_t limit;
    uint32_t range;
  };
  uint32_t number_of(const CodeRange &range);

  std::vector<Piece> pieces_; // ascending, disjoint
  std::vector<CodeRange> ranges_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
  uint32_t program_ = nowhere;
  uint64_t generation_ = 0;
  mutable size_t last_ = 0; // the piece found last: most samples fall in few
};

} // namespace tally
