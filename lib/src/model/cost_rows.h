// Defines the rows of a CostProfile: self costs, calls and jumps, in columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "support/chunks.h"
#include "support/strings.h"

namespace tally {

enum class FileId : uint32_t {};
enum class CostFunctionId : uint32_t {};

struct CostPosition {
  uint64_t address = 0;     // link-time; 0 if unknown
  uint32_t line = 0;        // 0 if unknown
  uint64_t basic_block = 0; // address at which the basic block begins; 0 if unknown
  friend auto operator<=>(const CostPosition &, const CostPosition &) = default;
};

// The positions of rows. Fields that no row carries take no memory.
class PositionColumn {
public:
  // Adds fields that rows carry from now on. In existing rows the new fields are 0.
  void carry(bool addresses, bool basic_blocks);
  void push_back(const CostPosition &position) {
    if (addresses_)
      address_.push_back(position.address);
    if (basic_blocks_)
      basic_block_.push_back(position.basic_block);
    line_.push_back(position.line);
  }
  CostPosition operator[](size_t row) const {
    return {addresses_ ? address_[row] : 0, line_[row], basic_blocks_ ? basic_block_[row] : 0};
  }
  size_t size() const { return line_.size(); }
  size_t memory_bytes() const {
    return address_.memory_bytes() + basic_block_.memory_bytes() + line_.memory_bytes();
  }

private:
  bool addresses_ = false, basic_blocks_ = false;
  Chunks<uint64_t> address_, basic_block_;
  Chunks<uint32_t> line_;
};

// A table of unsigned costs. Zeros at the end of a row are not stored; the other costs are stored
// as LEB128, one byte for each seven bits, because most costs are small.
class CostTable {
public:
  CostTable() = default;
  CostTable(CostTable &&other) noexcept { *this = std::move(other); }
  CostTable &operator=(CostTable &&other) noexcept;
  CostTable(const CostTable &other);
  CostTable &operator=(const CostTable &other);
  ~CostTable() = default;

  // Appends a row. Returns false if the table is full (2^32 rows, or about 4 GiB), or if the row
  // has more than about 6500 costs, not counting zeros at its end.
  [[nodiscard]] bool push(std::span<const uint64_t> costs);
  uint32_t rows() const { return static_cast<uint32_t>(first_.size()); }
  // Stores the row's costs in `out`, one for each event, and 0 for those that are not stored.
  void get(uint32_t row, std::span<uint64_t> out) const;
  // Adds the row to `sums`. Returns false if a sum exceeds 64 bits.
  [[nodiscard]] bool add_to(uint32_t row, std::span<uint64_t> sums) const;
  size_t memory_bytes() const;

private:
  class Decoder;
  static constexpr size_t chunk_bytes = size_t{1} << 16;

  Chunks<uint32_t> first_; // offset of each row: its number of costs, then the costs
  std::vector<std::unique_ptr<uint8_t[]>> chunks_;
  size_t used_ = chunk_bytes; // bytes used of the newest chunk
};

struct CostCall {
  CostPosition from; // of the call
  CostFunctionId callee{};
  CostPosition target; // of the callee
  uint64_t count = 0;  // number of calls; for stacks, of the samples that hold the call
};

struct CostJump {
  CostPosition from;
  CostPosition target;
  FileId target_file = none<FileId>;                     // none if it is the block's file
  CostFunctionId target_function = none<CostFunctionId>; // none if it is the block's
  bool conditional = false;
  uint64_t executed = 0; // how often the jump ran
  uint64_t followed = 0; // how often it was taken
};

// The self costs: a position and one cost for each event.
class SelfRows {
public:
  // Returns false if the table of costs is full, see CostTable::push().
  [[nodiscard]] bool push(const CostPosition &position, std::span<const uint64_t> costs) {
    positions_.push_back(position);
    return costs_.push(costs);
  }
  void carry(bool addresses, bool basic_blocks) { positions_.carry(addresses, basic_blocks); }
  uint32_t count() const { return costs_.rows(); }
  CostPosition position(uint32_t row) const { return positions_[row]; }
  const CostTable &costs() const { return costs_; }
  size_t memory_bytes() const { return positions_.memory_bytes() + costs_.memory_bytes(); }

private:
  PositionColumn positions_;
  CostTable costs_;
};

// The calls, with their inclusive costs, one for each event.
class CallRows {
public:
  // Returns false if the table of costs is full, see CostTable::push().
  [[nodiscard]] bool push(const CostCall &call, std::span<const uint64_t> inclusive_costs);
  void carry(bool addresses, bool basic_blocks);
  uint32_t count() const { return costs_.rows(); }
  CostCall operator[](size_t row) const {
    return {from_[row], callees_[row], target_[row], counts_[row]};
  }
  const CostTable &costs() const { return costs_; }
  size_t memory_bytes() const;

private:
  PositionColumn from_, target_;
  Chunks<CostFunctionId> callees_;
  Chunks<uint64_t> counts_;
  CostTable costs_;
};

class JumpRows {
public:
  // Returns false if the table of counts is full, see CostTable::push().
  [[nodiscard]] bool push(const CostJump &jump);
  void carry(bool addresses, bool basic_blocks);
  uint32_t count() const { return counts_.rows(); }
  CostJump operator[](uint32_t row) const;
  size_t memory_bytes() const;

private:
  struct Target {
    FileId file;
    CostFunctionId function;
  };
  PositionColumn from_, target_;
  Chunks<Target> targets_;
  Chunks<bool> conditional_;
  CostTable counts_; // executed, followed
};

} // namespace tally
