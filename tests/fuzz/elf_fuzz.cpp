// Opens arbitrary bytes as an ELF file with debug information, and asks for everything that a
// report needs of it. Whatever the file holds, each answer comes, the addresses and ranges are in
// order, and asking again gives the same.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz_target.h"
#include "live/counter_places.h"
#include "model/symbolizer.h"
#include "require.h"
#include "scratch_file.h"
#include "symbolize/debugdata.h"
#include "symbolize/elf_file.h"
#include "symbolize/unwind/rows.h"

namespace tally::elf_fuzz {

namespace {

constexpr size_t most_asked = 64; // addresses and functions of one file

// Appends addresses of each range: both ends and what lies between, so that the input need not say
// where its code is.
std::vector<uint64_t> addresses_in(const symbolize::ElfFile &file) {
  std::vector<uint64_t> out{0, ~uint64_t{0}};
  for (const symbolize::Segment &segment : file.code_segments()) {
    const uint64_t step = std::max<uint64_t>(1, std::min<uint64_t>(segment.size, 4096) / 16);
    for (uint64_t i = 0; i <= 16 && out.size() < most_asked; ++i)
      out.push_back(segment.address + i * step);
  }
  return out;
}

struct Answer {
  std::string text;
  std::vector<InstructionRange> code;
  friend bool operator==(const Answer &, const Answer &) = default;
};

std::vector<Answer> ask(Symbolizer &symbolizer, ModuleId module,
                        const std::vector<uint64_t> &addresses) {
  std::vector<Answer> out;
  std::vector<SourceFrame> frames;
  for (const uint64_t address : addresses) {
    Answer answer;
    frames.clear();
    symbolizer.frames(module, address, frames);
    for (size_t i = 0; i < frames.size(); ++i) {
      answer.text += fmt::format("{} {} {}:{} {}:{}\n", frames[i].function, frames[i].system_name,
                                 frames[i].function_file, frames[i].function_line, frames[i].file,
                                 frames[i].line);
      if (i >= 4)
        continue;
      for (const InstructionRange &range : symbolizer.code_of(module, address, i)) {
        require(range.start < range.end, "a range of code is not empty");
        require(answer.code.empty() || i > 0 || answer.code.back().end <= range.start,
                "ranges of code are in order");
        answer.code.push_back(range);
      }
    }
    if (const auto start = symbolizer.function_start(module, address))
      require(*start <= address, "a function begins at or before its code");
    const auto text = symbolizer.instructions(module, {address, address + 16});
    if (text)
      for (const Instruction &each : *text)
        require(each.address >= address && each.address < address + 16, "an instruction's address");
    out.push_back(std::move(answer));
  }
  return out;
}

} // namespace

// libelf 0.188 loses what it has read of a file with damaged section headers. LeakSanitizer calls
// this function by its name.
extern "C" const char *__lsan_default_suppressions();                               // NOLINT
extern "C" const char *__lsan_default_suppressions() { return "leak:libelf.so\n"; } // NOLINT

FUZZ_TARGET(elf) {
  const ScratchFile scratch(data, size);
  const auto file = symbolize::ElfFile::open(scratch.path());
  if (!file) {
    require_clear(file.error(), size);
    return 0;
  }
  static_cast<void>(symbolize::open_debugdata(*file));
  static_cast<void>(file->debug_link());
  static_cast<void>(live::find_places(*file));

  const std::vector<uint64_t> addresses = addresses_in(*file);
  SymbolizerOptions options;
  options.debug_directories.clear();
  options.use_cache = false;
  const auto symbolizer = make_symbolizer(options);
  Diagnostics diagnostics;
  ModuleKey key;
  key.path = scratch.path();
  const ModuleId module = symbolizer->module(key, diagnostics);
  const std::vector<Answer> first = ask(*symbolizer, module, addresses);
  require(ask(*symbolizer, module, addresses) == first, "the same answers again");
  uint64_t before = 0;
  size_t asked = 0;
  for (const FunctionExtent &function : symbolizer->functions(module)) {
    require(before <= function.start && function.start <= function.end, "functions are in order");
    before = function.start;
    if (++asked <= 8)
      static_cast<void>(symbolizer->addresses_of(module, function.system_name));
  }
  symbolizer->take_diagnostics(diagnostics);

  if (const auto processor = file->processor()) {
    auto again = symbolize::ElfFile::open(scratch.path());
    require(again.has_value(), "the file opens again");
    symbolize::UnwindRows rows(*processor, std::move(*again), std::nullopt);
    for (const uint64_t address : addresses) {
      if (const symbolize::UnwindRow *row = rows.at(address))
        if (row->general != symbolize::UnwindRow::not_general)
          require(!rows.general(*row).cfa.empty(), "a general row has a CFA");
      if (const auto start = rows.start_of(address))
        require(*start <= address, "a function begins at or before its code");
    }
  }
  return 0;
}

} // namespace tally::elf_fuzz
