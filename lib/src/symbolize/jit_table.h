// Names of code that a JIT compiler made: of a perf map, or of a jitdump.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/symbolizer.h"
#include "support/file_systems.h"
#include "support/jit_dump.h"
#include "support/strings.h"
#include "symbolize/die_scan.h"
#include "symbolize/tables.h"

namespace tally::symbolize {

class JitTable {
public:
  // Finds the files for a key: the jitdump that it names, or the perf map of the key's process if
  // it names memory without a file. Returns null if there is none.
  static std::unique_ptr<JitTable> find(const ModuleKey &key, StringPool &pool,
                                        FileSystems &file_systems);

  ModuleKind kind() const { return dump_ ? ModuleKind::jit_dump : ModuleKind::perf_map; }
  // Reads what was added to the file. Views of earlier answers stay valid.
  void refresh();
  // Appends the frame at a link-time address, if a name is known.
  void frames(uint64_t address, std::vector<SourceFrame> &out);

private:
  explicit JitTable(StringPool &pool) : pool_(pool) {}
  static std::unique_ptr<JitTable> open_map(const std::string &path, int pid, StringPool &pool);
  bool read_map(); // returns whether the file can be read and is trusted
  void read_dump();
  void add_map_lines(std::string_view text);

  struct Code {
    uint64_t low, high; // link-time
    StringId name;
    uint32_t first_line, last_line; // of lines_
  };
  struct Line {
    uint64_t address; // link-time
    StringId file;
    uint32_t line;
  };

  StringPool &pool_;
  std::string path_;        // of a perf map
  int map_pid_ = 0;         // its process; 0 if unknown
  bool is_damaged_ = false; // the rest of the perf map is not read
  uint64_t inode_ = 0, read_ = 0;
  std::optional<JitDump> dump_;
  JitLines pending_lines_; // of the code that follows
  std::vector<Code> codes_;
  std::vector<Line> lines_;
  std::vector<ScanRange> ranges_; // disjoint; empty if they have to be computed
};

} // namespace tally::symbolize
