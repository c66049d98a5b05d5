// The entries of call frame information, read without libdw: its own function for that (0.188)
// reads past the end of the section if an augmentation has more letters than data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "support/hash.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize {

// An entry, without its length and its ID.
struct FrameEntry {
  uint64_t offset; // in the section
  uint64_t id_at;  // likewise, of the ID of a CIE, or of the pointer to the CIE
  uint64_t id;
  std::string_view content; // what follows the ID
  bool is_64_bit;
};

// A common information entry holds what its functions share. An entry is *safe* if libdw can
// interpret its instructions with little memory.
struct Cie {
  bool safe = false;
  bool sized = false;   // its FDEs have augmentation data behind their length
  uint8_t encoding = 0; // of the addresses in its FDEs
};

// The entry of a function.
struct Fde {
  uint64_t start = 0;
  uint64_t offset = 0; // in the section
  bool safe = false;
};

// .eh_frame or .debug_frame.
struct FrameSection {
  std::string_view bytes;
  uint64_t address = 0;
  bool is_eh_frame = true;
  bool swap = false; // another byte order than this machine's
  uint32_t pointer_bytes = 8;

  // Returns the file's .eh_frame, or nothing if it has no such section.
  static std::optional<FrameSection> eh_frame_of(const ElfFile &file);
};

class FrameEntries {
public:
  // The bytes of the section must outlive this object.
  explicit FrameEntries(const FrameSection &section) : section_(section) {}

  // Calls see_cie(entry, CIE) or see_fde(entry, FDE, offset of its CIE) for each entry. A CIE must
  // precede its FDEs, so that each is looked at once. The instructions of an FDE of .eh_frame are
  // taken for safe: there may be a million of them, and safe_entry_at() looks at one.
  template <class SeeCie, class SeeFde> void for_each(SeeCie see_cie, SeeFde see_fde) const {
    SeededMap<uint64_t, Cie> cies;
    for (uint64_t at = 0; at < section_.bytes.size();) {
      const auto entry = entry_at(at, at);
      if (!entry)
        continue;
      if (is_cie(*entry)) {
        const Cie cie = cie_of(entry->content);
        see_cie(*entry, cie);
        cies.emplace(entry->offset, cie);
        continue;
      }
      const uint64_t cie_at = section_.is_eh_frame ? entry->id_at - entry->id : entry->id;
      const auto found = cies.find(cie_at);
      const Cie cie = found == cies.end() ? Cie{} : found->second;
      see_fde(*entry, fde_of(*entry, cie, !section_.is_eh_frame), cie_at);
    }
  }

  // Returns the entry of a function at an offset of .eh_frame, and its CIE; nothing unless both are
  // safe.
  std::optional<std::pair<FrameEntry, FrameEntry>> safe_entry_at(uint64_t offset) const;

private:
  std::optional<FrameEntry> entry_at(uint64_t offset, uint64_t &next) const;
  bool is_cie(const FrameEntry &entry) const;
  bool is_usable(uint8_t encoding) const;
  Cie cie_of(std::string_view content) const;
  Fde fde_of(const FrameEntry &entry, const Cie &cie, bool checks) const;

  FrameSection section_;
};

// Returns the functions that .eh_frame describes, in its order. Their instructions are taken for
// safe.
std::vector<Fde> described_functions(const FrameSection &eh_frame);

// A function that the search table of .eh_frame_hdr lists, by addresses.
struct ListedFunction {
  uint64_t start;
  uint64_t entry; // in .eh_frame
};
// Returns the table (Linux Standard Base, Core 5.0, section 10.6.2); nothing if it has other
// encodings than linkers write.
std::vector<ListedFunction> listed_functions(const ElfFile &file);

} // namespace tally::symbolize
