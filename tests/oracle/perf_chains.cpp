// Prints the stacks of a perf.data for perf_script_test.py: `count tid frame frame …`, leaf first.
// A frame is object+0xoffset, with the offset in the object's file.
#include <map>
#include <string>

#include <fmt/format.h>

#include "../support/read_profile.h"
#include "formats/formats.h"

using namespace tally;

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  Diagnostics findings;
  const auto unwinder = make_unwinder();
  const auto read = read_profile(argv[1], findings, unwinder.get());
  for (const Finding &finding : findings.findings())
    fmt::print(stderr, "{}\n", finding.text());
  if (!read) {
    fmt::print(stderr, "{}\n", read.error().text());
    return 1;
  }
  const auto &profile = std::get<StackProfile>(read->profile);
  const auto name = [&](LocationId id) {
    const Location at = profile.location(id);
    if (at.mapping == none<MappingId> || !at.lines.empty()) { // "[kernel]", "[truncated: …]"
      std::string words =
          at.lines.empty()
              ? fmt::format("{:#x}", at.address)
              : std::string(profile.strings[profile.functions()[at.lines[0].function].name]);
      for (char &c : words)
        c = c == ' ' ? '_' : c;
      return words;
    }
    const Mapping &mapping = profile.mappings()[at.mapping];
    const std::string path(profile.strings[mapping.path]);
    return fmt::format("{}+{:#x}", path.substr(path.rfind('/') + 1),
                       at.address - mapping.start + mapping.file_offset);
  };
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    std::string line = fmt::format("{} {}", sample.values[0], profile.threads()[sample.thread].tid);
    for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at))
      line += " " + name(profile.stack_location(at));
    fmt::print("{}\n", line);
  }
  return 0;
}
