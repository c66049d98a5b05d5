// Numbers addresses, each together with the mapped range that held it at the time. Processes that
// have the same part of a file mapped, wherever, share the numbers of the code there, so that
// memory does not grow with the number of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stacks/address_space.h"
#include "stacks/common_root.h"
#include "support/chunks.h"
#include "support/hash.h"
#include "support/id_table.h"

namespace tally {

class AddressTable {
public:
  // A process whose addresses are numbered. The space must outlive it.
  class Process {
  public:
    explicit Process(const AddressSpace &space) : space_(&space) {}
    const AddressSpace &space() const { return *space_; }

  private:
    friend class AddressTable;
    const AddressSpace *space_;
    std::vector<uint32_t> ranges_; // the table's number of each range of the space, or `nowhere`
    CommonRoot<uint32_t> previous_;
    uint32_t cleared_ = 0; // AddressTable::cleared_ when `previous_` was made
  };

  // Sets the first process, in which each mapping is a range of its own, so that its addresses stay
  // as they are. Otherwise it is the one of the first address.
  void set_first(Process &process) { main_ = &process; }

  // Forgets the addresses. The ranges keep their numbers.
  void clear();

  // Returns the numbers of a chain's addresses, outermost first. The chain is leaf first. The
  // result is valid until the next call for this process.
  std::span<const uint32_t> numbers_of(Process &process, std::span<const uint64_t> pcs);

  // The ranges of all processes. A range that several processes share has the addresses of the
  // process in which an address of the range was numbered first.
  const std::vector<CodeRange> &ranges() const { return ranges_; }
  // Returns the number of a range of the process's space, or `nowhere` for `nowhere`.
  uint32_t range_of(Process &process, uint32_t number);

  // Gives the process's memory without a file another path: that of the file that names its code.
  void name_anonymous(Process &process, const std::string &path);

  struct Entry {
    uint32_t range; // an index of ranges(); AddressSpace::nowhere if there is none
    uint64_t pc;    // in this range
  };
  Entry operator[](uint32_t number) const;
  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  size_t memory_bytes() const;

private:
  uint32_t number_of(Process &process, uint64_t pc);
  uint32_t add_range(Process &process, const CodeRange &range);
  uint32_t range_of_main(const CodeRange &range);

  std::vector<CodeRange> ranges_;
  SeededMultimap<uint64_t, uint32_t> by_file_;
  Process *main_ = nullptr;             // the first process, if it was set
  const AddressSpace *first_ = nullptr; // otherwise the space of the process of the first address
  // An entry of entries_ holds the range's number in the upper 24 bits, and in the lower 40 bits
  // the offset in that range; if the number is no_range, the lower bits are an index into
  // elsewhere_.
  static constexpr unsigned offset_bits = 40;
  static constexpr uint64_t most_offset = (uint64_t{1} << offset_bits) - 1;
  static constexpr uint32_t no_range = (1 << (64 - offset_bits)) - 1;
  Chunks<uint64_t, 10> entries_;
  DenseIdTable by_entry_;
  // Truncation marks, and addresses that are outside of every range or at a large offset in one.
  std::vector<uint64_t> elsewhere_;
  DenseIdTable by_address_;
  uint32_t cleared_ = 0; // how often
};

} // namespace tally
