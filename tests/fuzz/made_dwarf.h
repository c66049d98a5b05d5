// Makes sections of DWARF of the input, for targets that compare what Tally reads with what libdw
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <elfutils/libdw.h>

#include "require.h"
#include "symbolize/elf_file.h"
#include "symbolize/elf_image.h"

namespace tally {

// Takes numbers from the input. After its end, all numbers are 0.
class Choices {
public:
  Choices(const uint8_t *data, size_t size) : at_(data), end_(data + size) {}
  bool left() const { return at_ < end_; }
  uint8_t byte() { return at_ < end_ ? *at_++ : uint8_t{0}; }
  uint8_t below(unsigned limit) { return static_cast<uint8_t>(byte() % limit); }
  // Most numbers are small, as in real tables.
  uint64_t number() {
    const unsigned bytes = byte() & 0xc0 ? 1 : 1U << below(4);
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i)
      value = value << 8 | byte();
    return value;
  }

private:
  const uint8_t *at_, *end_;
};

class Bytes {
public:
  explicit Bytes(bool is_big) : big_(is_big) {}
  std::string text;

  void fixed(uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      text += static_cast<char>(value >> 8 * (big_ ? bytes - 1 - i : i));
  }
  void uleb(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      text += static_cast<char>(0x80 | (value & 0x7f));
    text += static_cast<char>(value);
  }
  void sleb(int64_t value) {
    while (value < -0x40 || value > 0x3f) {
      text += static_cast<char>(0x80 | (value & 0x7f));
      value >>= 7;
    }
    text += static_cast<char>(value & 0x7f);
  }
  void string(std::string_view value) {
    text += value;
    text += '\0';
  }
  // Writes a unit or a table behind its length.
  void sized(const Bytes &content) {
    fixed(content.text.size(), 4);
    text += content.text;
  }
  // Writes an extended opcode with its operands.
  void extended(std::string_view content) {
    fixed(0, 1);
    uleb(content.size());
    text += content;
  }

private:
  bool big_;
};

// The first unit of a file in memory.
struct MadeUnit {
  symbolize::ElfFile file;
  symbolize::DwarfHandle dwarf;
  Dwarf_Die die{};

  static MadeUnit open(symbolize::ElfImage &image) {
    auto file = symbolize::ElfFile::of_image(image.finish(), "made");
    require(file.has_value(), "the image opens");
    symbolize::DwarfHandle dwarf = file->open_dwarf();
    require(dwarf != nullptr, "libdw opens it");
    Dwarf_CU *unit = nullptr;
    Dwarf_Die die{};
    require(dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0 &&
                die.addr,
            "it has a unit");
    return {std::move(*file), std::move(dwarf), die};
  }
};

} // namespace tally
