// Coverage files of GCC before 3.4: the lines of an object's blocks (.bb), the flow graphs of its
// functions (.bbg), and their counters (.da). lib/src/formats/gcov3/FORMAT.md describes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/counter_file.h>
#include <tally/coverage_graph.h>
#include <tally/diagnostics.h>
#include <tally/file_io.h>
#include <tally/result.h>
#include <tally/strings.h>

namespace tally {

namespace gcov3 {
class WordReader;
}

// A word that is written otherwise than its meaning tells: zero with a sign, padding that is not
// zero.
struct Gcov3Oddity {
  uint64_t offset = 0; // in the file
  uint32_t word = 0;
};

class TALLY_API Gcov3File : public CounterFile {
public:
  const std::string &source() const { return source_; } // where it was read
  const StringPool &strings() const { return strings_; }

protected:
  explicit Gcov3File(std::string source) : source_(std::move(source)) {}

  std::string source_;
  StringPool strings_;
  std::vector<Gcov3Oddity> oddities_; // by offset
};

// .bb. An empty file is one without functions.
class TALLY_API Gcov3Lines final : public Gcov3File {
public:
  struct Function {
    StringId name{};
    uint64_t offset = 0;                    // in the file
    uint32_t first_item = 0, last_item = 0; // half-open, into items()
  };
  // 0 goes on to the next block, from the entry, 0; what is above is a line; what is below names
  // the file of the lines that follow, in other blocks and functions too.
  using Item = int32_t;
  static StringId file_of(Item item) { return static_cast<StringId>(-(item + 1)); }

  static Result<Gcov3Lines> read(ByteSource &source, Diagnostics &diagnostics);
  static Result<Gcov3Lines> read(std::string_view bytes, std::string source,
                                 Diagnostics &diagnostics);
  std::span<const Function> functions() const { return functions_; }
  std::span<const Item> items() const { return items_; } // those in front of functions, too
  std::span<const Item> items_of(const Function &f) const {
    return items().subspan(f.first_item, f.last_item - f.first_item);
  }

  Result<std::string> bytes() const override;
  Result<void> add(const CounterFile &other) override;
  Result<void> zero() override;

private:
  using Gcov3File::Gcov3File;

  std::vector<Function> functions_;
  std::vector<Item> items_;
};

// .bbg. An empty file is one without functions.
class TALLY_API Gcov3Graph final : public Gcov3File {
public:
  struct Function {
    StringId name{};      // "": not told
    uint64_t offset = 0;  // in the file
    int32_t checksum = 0; // of the graph as it was before arcs were added: none can compute it
    uint32_t block_count = 0;
    uint32_t first_arc = 0, last_arc = 0; // half-open, into arcs()
  };

  static Result<Gcov3Graph> read(ByteSource &source, Diagnostics &diagnostics);
  static Result<Gcov3Graph> read(std::string_view bytes, std::string source,
                                 Diagnostics &diagnostics);
  // GCC 3.3 writes names and checksums, GCC up to 3.2 neither.
  bool has_names() const { return has_names_; }
  std::span<const Function> functions() const { return functions_; }
  // By source. All bits of the flags, as they are in the file.
  std::span<const GraphArc> arcs() const { return arcs_; }
  std::span<const GraphArc> arcs_of(const Function &f) const {
    return arcs().subspan(f.first_arc, f.last_arc - f.first_arc);
  }

  Result<std::string> bytes() const override;
  Result<void> add(const CounterFile &other) override;
  Result<void> zero() override;

private:
  using Gcov3File::Gcov3File;

  bool has_names_ = true;
  std::vector<Function> functions_;
  std::vector<GraphArc> arcs_;
};

// .da
class TALLY_API Gcov3Data final : public Gcov3File {
public:
  struct Totals {
    int32_t arcs = 0; // that have a counter
    int64_t sum = 0, maximum = 0;
  };
  struct Function {
    StringId name{};
    uint64_t offset = 0; // in the file
    int32_t checksum = 0;
    uint32_t first_counter = 0, last_counter = 0; // half-open, into counters()
  };
  // What one writer wrote. Counters of blocks add up.
  struct Block {
    Totals program, object;
    std::string more;                               // what the header holds behind them
    uint32_t first_function = 0, last_function = 0; // half-open, into functions()
  };

  static Result<Gcov3Data> read(ByteSource &source, Diagnostics &diagnostics);
  static Result<Gcov3Data> read(std::string_view bytes, std::string source,
                                Diagnostics &diagnostics);
  // Without names, as GCC up to 3.2 writes it, there are counters alone.
  bool has_names() const { return has_names_; }
  std::span<const Block> blocks() const { return blocks_; }
  std::span<const Function> functions() const { return functions_; }
  std::span<const Function> functions_of(const Block &b) const {
    return functions().subspan(b.first_function, b.last_function - b.first_function);
  }
  std::span<const int64_t> counters() const { return counters_; }
  std::span<const int64_t> counters_of(const Function &f) const {
    return counters().subspan(f.first_counter, f.last_counter - f.first_counter);
  }

  Result<std::string> bytes() const override;
  // Makes one block. The object's sum and maximum become those of the counters. The program's sum
  // is that of the sums; its maximum the largest of the maxima and of the counters; its number of
  // arcs, and what else the header holds, are of the first block.
  Result<void> add(const CounterFile &other) override;
  Result<void> unite() override;
  // Blocks and their functions stay.
  Result<void> zero() override;

private:
  using Gcov3File::Gcov3File;
  Result<void> read_block(gcov3::WordReader &reader);
  Result<void> check_alike(const Gcov3Data &other) const;
  Result<void> add_blocks(std::span<const Gcov3Data *const> files);
  void place_functions();

  bool has_names_ = true;
  std::vector<Block> blocks_;
  std::vector<Function> functions_;
  std::vector<int64_t> counters_;
};

// The graphs, and where lines are given those of their blocks and, to those without one, names. The
// exit is the last block; the checksum is cfg_checksum. Where lines and graphs disagree, what fits
// is taken, and the rest a finding.
TALLY_API Result<CoverageGraph> gcov3_graph(const Gcov3Graph &graph, const Gcov3Lines *lines,
                                            Diagnostics &diagnostics);

// For each function of the graph its counters, those of all blocks added up, or nothing: where
// there is no data (null), or none that fits. As gcov 3.3 did, what fits no function by name,
// number of counters and checksum is left out; here with a warning. Data without names fits as a
// whole or not at all; it is invalid_input for a graph with names, and so is the reverse.
TALLY_API Result<std::vector<std::vector<int64_t>>>
gcov3_counters(const Gcov3Graph &graph, const Gcov3Data *data, Diagnostics &diagnostics);

} // namespace tally
