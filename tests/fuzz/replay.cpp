// Runs a fuzz target over the files of a directory, so that inputs found by fuzzing are tests in
// every build, with any compiler: fuzz-replay TARGET DIRECTORY.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz_target.h"

std::map<std::string_view, tally::FuzzTarget> &tally::fuzz_targets() {
  static std::map<std::string_view, FuzzTarget> targets;
  return targets;
}

int main(int argc, char **argv) {
  const auto &targets = tally::fuzz_targets();
  const auto target = argc == 3 ? targets.find(argv[1]) : targets.end();
  if (target == targets.end()) {
    std::fprintf(stderr, "usage: fuzz-replay TARGET DIRECTORY\n");
    return 2;
  }
  size_t files = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(argv[2])) {
    if (!entry.is_regular_file())
      continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::fprintf(stderr, "%s\n", entry.path().c_str());
    target->second(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    ++files;
  }
  return files == 0;
}
