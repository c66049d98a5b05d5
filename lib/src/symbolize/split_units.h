// Finds the split units (-gsplit-dwarf) of a program, in a package (.dwp) or in files of their own
// (.dwo).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

#include "support/diagnostics.h"
#include "symbolize/dwp_file.h"
#include "symbolize/elf_file.h"
#include "symbolize/split_unit.h"
#include "symbolize/unit_addresses.h"

namespace tally::symbolize {

class SplitUnits {
public:
  // `file` has the skeleton units, and `path` is its name. The first of `packages` that there is
  // is the package. `file` and `diagnostics` must outlive this object.
  SplitUnits(const ElfFile &file, std::string path, std::vector<std::string> packages,
             Diagnostics &diagnostics)
      : sections_(AddressSections::of(file)), path_(std::move(path)),
        packages_(std::move(packages)), diagnostics_(diagnostics) {}

  struct Found {
    Dwarf_Die die;
    UnitAddresses addresses;
  };
  const AddressSections &sections() const { return sections_; }
  // Returns the split unit of a skeleton unit. Reports, once, that one is missing.
  std::optional<Found> find(Dwarf_Die skeleton);

private:
  const SplitUnit *in_package(uint64_t id);
  std::vector<std::string> own_paths(Dwarf_Die skeleton) const;
  const SplitUnit *in_own_file(const std::vector<std::string> &paths, uint64_t id);
  void report_package(const Error &error);
  void report_missing(Dwarf_Die skeleton);

  AddressSections sections_;
  std::string path_;
  std::vector<std::string> packages_;
  std::unique_ptr<DwpFile> package_; // opened when the first unit is needed
  std::vector<std::unique_ptr<SplitUnit>> own_files_;
  bool reported_missing_ = false;
  bool reported_package_ = false;
  Diagnostics &diagnostics_;
};

} // namespace tally::symbolize
