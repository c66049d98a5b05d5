// Stores the tables of one module on disk, under its build ID. README.md describes the layout.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"
#include "support/mapped_file.h"
#include "symbolize/elf_file.h"
#include "symbolize/tables.h"

namespace tally::symbolize {

// The file that the tables were built from. A cache built from any other file is not used.
struct CacheSource {
  std::string build_id;
  std::string path;    // of the file with the debug information, or of the module itself
  FileIdentity file{}; // another mount namespace may have another file of the same ID and path
  friend bool operator==(const CacheSource &, const CacheSource &) = default;
};

// Returns $TALLY_CACHE_DIR, otherwise $XDG_CACHE_HOME/tally, otherwise ~/.cache/tally; empty if
// there is none, or if one of the latter two belongs to another user, as under sudo.
std::string cache_directory();
std::string cache_path(const std::string &directory, std::string_view build_id);

// A mapped cache file. Its content is not trusted: pages are checked against their checksums when
// they are first touched, and every reference against the bounds of its target.
class Cache final : private PageGuard {
public:
  // Returns nullptr if the file does not exist, is damaged, or has another version or source.
  static std::unique_ptr<Cache> open(const std::string &path, const CacheSource &source);
  ~Cache() = default;

  struct Unit {
    uint64_t key;
    UnitTables tables;
  };
  const std::vector<Unit> &units() const { return units_; }
  const Unit *unit(uint64_t key) const;
  const Rows<UnitRange> &unit_ranges() const { return unit_ranges_; }
  // Returns whether unit_ranges() also includes what .debug_aranges leaves out.
  bool has_all_units() const { return all_units_; }
  bool has_symbols() const { return has_symbols_; }
  const Rows<SymbolRow> &symbols() const { return symbols_; }
  std::string_view text(TextRef ref) const;
  // Returns whether any data read so far was damaged.
  bool damaged() const { return damaged_; }

private:
  Cache() = default;
  bool read(const CacheSource &source);
  bool check(const void *bytes, size_t size) const override;
  template <class Row> bool rows(uint64_t offset, uint64_t count, Rows<Row> &out) const;

  MappedFile file_;
  std::string_view bytes_;
  const uint64_t *page_sums_ = nullptr;
  uint64_t body_ = 0; // where the pages begin
  mutable std::vector<bool> checked_;
  mutable bool damaged_ = false;
  uint64_t texts_ = 0;
  uint64_t texts_size_ = 0;
  std::vector<Unit> units_;
  SeededMap<uint64_t, size_t> by_key_;
  Rows<UnitRange> unit_ranges_;
  Rows<SymbolRow> symbols_;
  bool all_units_ = false;
  bool has_symbols_ = false;
};

// Writes the checksums of a file whose header and body are complete. Leaves bytes with other sizes
// than those that the header states unchanged.
void seal_cache(std::string &file);

// Collects tables from several owners into one file.
class CacheWriter {
public:
  CacheWriter();
  TextRef text(std::string_view text);
  // The rows of one unit; their texts are references that text() returned.
  struct Unit {
    uint64_t key = 0;
    uint64_t base = 0;
    std::vector<RangeRow> ranges;
    std::vector<LineRow> lines;
    std::vector<NodeRow> nodes;
    std::vector<FunctionRow> functions;
  };
  void add(const Unit &unit);
  void set_unit_ranges(std::vector<UnitRange> ranges, bool all);
  void set_symbols(std::vector<SymbolRow> symbols);
  // Returns the bytes of the file, or an empty string if there are too many for the format.
  std::string finish(const CacheSource &source);

private:
  template <class Row> uint64_t append(const std::vector<Row> &rows);

  struct DirectoryEntry {
    uint64_t key, base;
    uint64_t ranges, lines, nodes, functions; // offsets in the body
    uint64_t range_count, line_count, node_count, function_count;
  };
  friend class Cache;

  std::string body_;
  std::vector<DirectoryEntry> directory_;
  std::string texts_;
  SeededMap<std::string, TextRef> text_refs_;
  std::vector<UnitRange> unit_ranges_;
  std::vector<SymbolRow> symbols_;
  bool all_units_ = false;
  bool has_symbols_ = false;
};

} // namespace tally::symbolize
