// Reads split units from a DWARF package file (.dwp), which libdw 0.188 does not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"
#include "support/result.h"
#include "symbolize/dwp_index.h"
#include "symbolize/elf_file.h"
#include "symbolize/split_unit.h"

namespace tally::symbolize {

class DwpFile {
public:
  // Fails if the file is not a package, or if its index is damaged.
  static Result<std::unique_ptr<DwpFile>> open(const std::string &path);

  // Returns the split unit with an ID, or nullptr if the package does not contain it. The unit
  // lives as long as this object.
  Result<const SplitUnit *> unit(uint64_t id);
  const std::string &path() const { return path_; }

private:
  // A section of the package. A compressed one is read as a whole, any other only where needed.
  struct SectionBytes {
    uint64_t offset = 0;
    uint64_t size = 0;
    std::string_view whole; // if it is compressed
    bool compressed = false;
  };

  explicit DwpFile(ElfFile file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  SectionBytes find_section(const std::string &name) const;
  Result<std::string> bytes_of(PackagePart part, const DwpIndex::Row &row) const;
  Result<std::unique_ptr<SplitUnit>> make_unit(uint64_t id, const DwpIndex::Row &row);

  ElfFile file_;
  std::string path_;
  bool swap_ = false;
  DwpIndex index_;
  SectionBytes sections_[DwpIndex::part_count];
  std::string_view strings_; // .debug_str.dwo
  SeededMap<uint64_t, std::unique_ptr<SplitUnit>> units_;
};

} // namespace tally::symbolize
