// Parses single lines of `perf script`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::perf_script {

// "1130 leaf+0x11 (/bin/prog)"
struct FrameLine {
  uint64_t address = 0;
  std::string_view symbol; // without its offset; "" if unknown
  std::string_view object; // "" if unknown
  bool inlined = false;    // if true, the line does not name the object
};

// "prog 5/6 [000] 12.345678:    1001001 cpu-clock:"
struct SampleLine {
  std::string_view command;
  int32_t pid = 0, tid = 0; // 0 if missing
  std::optional<uint64_t> time_ns;
  std::optional<int64_t> period;
  std::string_view event; // "" if missing
  std::optional<FrameLine> frame;
  bool is_record = false; // the record is not a sample (--show-mmap-events)
};

struct SourceLineText {
  std::string_view file;
  uint32_t line = 0;
  bool has_blank = false; // the name of the file, known or not, contains a blank
};

std::optional<FrameLine> frame_line(std::string_view line);
// Accepts a line with only a command and a TID if `bare` is true.
std::optional<SampleLine> sample_line(std::string_view line, bool bare);
// Parses the line that -F +srcline prints below a frame, after two blanks: "file.c:12", or "??:0"
// or "prog[1130]" if the source line is unknown. The result of the latter two has no file.
std::optional<SourceLineText> source_line(std::string_view line);

} // namespace tally::perf_script
