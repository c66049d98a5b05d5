// Reads and writes the three forms of gmon.out, which FORMAT.md describes.
#pragma once

#include <string_view>

#include "formats/formats.h"
#include "model/pc_profile.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally::gmon {

inline constexpr std::string_view magic = "gmon";
inline constexpr uint32_t version = 1;
inline constexpr size_t header_bytes = 20;
enum Tag : uint8_t { histogram = 0, arc = 1, block_counts = 2 };
inline constexpr size_t dimension_bytes = 15;

// The header of 4.4BSD consists of two pointers and of `bsd_words` words of four bytes. The second
// word is the version.
inline constexpr size_t bsd_words = 6;
inline constexpr uint32_t bsd_version = 0x51879;

// The header of V7's mon.out consists of two pointers and a word, which is padded to the size of a
// pointer.
inline constexpr size_t mon_header_bytes(size_t pointer_bytes) { return 3 * pointer_bytes; }

// Recognizes the GNU form, and BSD's form by its version. Nothing in a mon.out is distinctive, so
// it is not recognized.
bool probe(std::string_view head);
Result<PcProfile> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const PcProfile &profile, const WriteOptions &options);

} // namespace tally::gmon
