// Reads and writes the coverage files of GCC before 3.4: the lines of an object's blocks (.bb), the
// flow graphs of its functions (.bbg), and their counters (.da).
// lib/src/formats/gcov3/FORMAT.md describes the files and names the source of each rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/counter_file.h"
#include "model/coverage_graph.h"
#include "support/diagnostics.h"
#include "support/file_io.h"
#include "support/result.h"
#include "support/strings.h"

namespace tally {

namespace gcov3 {
class WordReader;
}

// A word that the file encodes in an unusual way: a zero with a sign, or padding that is not zero.
// The word is kept so that bytes() returns the bytes that were read.
struct Gcov3Oddity {
  uint64_t offset = 0; // in the file
  uint32_t word = 0;
};

class Gcov3File : public CounterFile {
public:
  const std::string &source() const { return source_; } // the file's name
  const StringPool &strings() const { return strings_; }

protected:
  explicit Gcov3File(std::string source) : source_(std::move(source)) {}

  std::string source_;
  StringPool strings_;
  std::vector<Gcov3Oddity> oddities_; // by offset
};

// The content of a .bb file. An empty file is valid and has no functions.
class Gcov3Lines final : public Gcov3File {
public:
  struct Function {
    StringId name{};
    uint64_t offset = 0;                    // in the file
    uint32_t first_item = 0, last_item = 0; // half-open, into items()
  };
  // 0 begins the next block, counted from the entry, which is block 0. A positive item is a line of
  // the current block. A negative item names the file of all lines that follow, in later blocks and
  // functions, too.
  using Item = int32_t;
  static StringId file_of(Item item) { return static_cast<StringId>(-(item + 1)); }

  static Result<Gcov3Lines> read(ByteSource &source, Diagnostics &diagnostics);
  static Result<Gcov3Lines> read(std::string_view bytes, std::string source,
                                 Diagnostics &diagnostics);
  std::span<const Function> functions() const { return functions_; }
  std::span<const Item> items() const { return items_; } // with those before the first function
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

// The content of a .bbg file. An empty file is valid and has no functions.
class Gcov3Graph final : public Gcov3File {
public:
  struct Function {
    StringId name{};     // empty if the file has no names
    uint64_t offset = 0; // in the file
    // The checksum of the graph before the compiler added the arcs of calls. It cannot be computed
    // from the file, only compared with that of the counters.
    int32_t checksum = 0;
    uint32_t block_count = 0;
    uint32_t first_arc = 0, last_arc = 0; // half-open, into arcs()
  };

  static Result<Gcov3Graph> read(ByteSource &source, Diagnostics &diagnostics);
  static Result<Gcov3Graph> read(std::string_view bytes, std::string source,
                                 Diagnostics &diagnostics);
  // Returns whether the functions have names and checksums: GCC 3.3 writes both, GCC up to 3.2
  // neither.
  bool has_names() const { return has_names_; }
  std::span<const Function> functions() const { return functions_; }
  // Returns the arcs by function and source block, with all bits of the flags that are in the file.
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

// The content of a .da file. An empty file is no_data.
class Gcov3Data final : public Gcov3File {
public:
  struct Totals {
    int32_t arcs = 0;             // the arcs that have a counter
    int64_t sum = 0, maximum = 0; // of the counters
  };
  struct Function {
    StringId name{};
    uint64_t offset = 0; // in the file
    int32_t checksum = 0;
    uint32_t first_counter = 0, last_counter = 0; // half-open, into counters()
  };
  // The data that one program wrote. If a file has several blocks, their counters are added up.
  struct Block {
    Totals program, object;
    std::string more;                               // the bytes of the header after the totals
    uint32_t first_function = 0, last_function = 0; // half-open, into functions()
  };

  static Result<Gcov3Data> read(ByteSource &source, Diagnostics &diagnostics);
  static Result<Gcov3Data> read(std::string_view bytes, std::string source,
                                Diagnostics &diagnostics);
  // Returns whether the functions have names. Files of GCC up to 3.2 have none: they hold only
  // counters, without blocks and functions.
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
  // Adds a file of the same object, and leaves one block. The object's sum and maximum become those
  // of the counters. The program's sum is the sum of all blocks' sums, and its maximum is the
  // largest of all blocks' maxima and of the counters. The program's number of arcs and the rest of
  // the header are those of the first block. A sum of more than 63 bits is an overflow.
  Result<void> add(const CounterFile &other) override;
  Result<void> unite() override;
  // Sets counters, sums and maxima to 0. Keeps blocks and functions.
  Result<void> zero() override;

private:
  using Gcov3File::Gcov3File;
  Result<void> read_block(gcov3::WordReader &reader);
  Result<void> check_alike(const Gcov3Data &other) const;
  Result<void> add_blocks(std::span<const Gcov3Data *const> files);
  void find_offsets();

  bool has_names_ = true;
  std::vector<Block> blocks_;
  std::vector<Function> functions_;
  std::vector<int64_t> counters_;
};

// Returns the flow graphs, with the lines of their blocks if `lines` is not null. A graph without
// names of functions gets the names from the lines. The exit is the last block; the file's checksum
// becomes cfg_checksum. Where lines and graphs disagree, the lines that fit are used, and a
// diagnostic reports the others.
Result<CoverageGraph> gcov3_graph(const Gcov3Graph &graph, const Gcov3Lines *lines,
                                  Diagnostics &diagnostics);

// Returns the counters of each function of the graph, added up over all blocks of the data. A
// function's counters are empty if `data` is null or holds none that fit. As in gcov 3.3, counters
// that do not match a function by name, number of counters and checksum are left out, with a
// warning. Data without names fits if the total number of counters matches. Data without names for
// a graph with names is invalid_input, and so is the reverse.
Result<std::vector<std::vector<int64_t>>>
gcov3_counters(const Gcov3Graph &graph, const Gcov3Data *data, Diagnostics &diagnostics);

} // namespace tally
