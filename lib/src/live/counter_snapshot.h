// The values of a program's counters at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/gcov.h"
#include "live/counter_layout.h"
#include "live/memory.h"
#include "support/hash.h"

namespace tally::live {

class CounterSnapshot {
public:
  // Copies the counters of a layout. Arrays with small gaps between them are read at once, because
  // a debugger needs much longer for a request than for a byte. Returns nothing if some counters
  // cannot be read.
  static std::optional<CounterSnapshot> take(const CounterLayout &layout, Memory &memory);

  // Returns the snapshot as one of another layout. The counters of modules that were not loaded
  // when it was taken are 0.
  CounterSnapshot carried_to(const CounterLayout &layout,
                             const std::function<bool(uint32_t module)> &was_loaded) const;

  // Returns the bytes of an array, in the program's byte order; nothing if it is not of the layout.
  std::string_view bytes_of(const CounterArray &array) const;
  std::string_view bytes_of(const AddressRange &range) const;
  size_t size() const; // of all bytes

private:
  struct Piece {
    uint64_t address = 0;
    std::vector<char> bytes;
  };
  // Returns the piece that holds a range, or null.
  const Piece *piece_with(const AddressRange &range) const;
  void copy_from(const CounterSnapshot &other, const AddressRange &range);

  std::vector<Piece> pieces_; // sorted by address, disjoint
};

// Returns whether the program reset its counters: some arc has a smaller counter than before. This
// has no meaning for functions in `unsure` (by function of the layout; empty for none): a thread
// that had a counter in a register writes it to memory without what other threads added meanwhile.
// For these, only a counter that became 0 shows it.
bool was_reset(const CounterLayout &layout, const CounterSnapshot &now,
               const CounterSnapshot &before, const std::vector<bool> &unsure);
// Returns for each function of the layout whether any of its counters differs.
std::vector<bool> changed_functions(const CounterLayout &layout, const CounterSnapshot &now,
                                    const CounterSnapshot &before);

// Makes what the program would write to its files of counters if it exited now, and if the files
// did not exist.
class CounterFiles {
public:
  // The arguments must outlive the object. Values that counters keep in lists (the most frequent
  // values, indirect calls) are read from `memory`. The summary of a file takes all counters of its
  // module; without `has_summary`, it is 0.
  CounterFiles(const CounterLayout &layout, const CounterSnapshot &snapshot, Memory &memory,
               bool has_summary = true);
  GcovData data_of(const CountedModuleObject &object);

private:
  uint32_t largest_arc(uint32_t module);

  const CounterLayout &layout_;
  const CounterSnapshot &snapshot_;
  Memory &memory_;
  bool has_summary_;
  SeededMap<uint32_t, uint32_t> largest_; // by module
};

} // namespace tally::live
