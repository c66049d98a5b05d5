// The lines of `perf script`, each by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::perf_script {

// "1130 leaf+0x11 (/bin/prog)"
struct FrameLine {
  uint64_t address = 0;
  std::string_view symbol; // without its offset; "" where it is not known
  std::string_view object; // "" where it is not known
  bool inlined = false;    // the object is not told then
};

// "prog 5/6 [000] 12.345678:    1001001 cpu-clock:"
struct SampleLine {
  std::string_view command;
  int32_t pid = 0, tid = 0; // 0: not told
  bool has_time = false;
  std::optional<int64_t> period;
  std::string_view event; // "" where it is not told
  std::optional<FrameLine> frame;
  bool is_record = false; // another record than a sample (--show-mmap-events)
};

struct SourceLineText {
  std::string_view file;
  uint32_t line = 0;
  bool has_blank = false; // in the file's name, known or not
};

std::optional<FrameLine> frame_line(std::string_view line);
// A line of a command and a TID alone is only taken where `bare` allows it.
std::optional<SampleLine> sample_line(std::string_view line, bool bare);
// What -F +srcline prints below a frame, behind two blanks: "file.c:12", or "??:0" and "prog[1130]"
// of a place that is not known, both without a file here.
std::optional<SourceLineText> source_line(std::string_view line);

} // namespace tally::perf_script
