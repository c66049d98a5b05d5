// Reads link-time addresses from standard input, and prints their frames as llvm-symbolizer does.
//   symbolize-bench [--no-cache] [--no-demangle] [--debug-dir=DIR]... FILE
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "model/symbolizer.h"

int main(int argc, char **argv) {
  tally::SymbolizerOptions options;
  tally::ModuleKey key;
  bool linkage = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--no-cache")
      options.use_cache = false;
    else if (word == "--no-demangle")
      linkage = true;
    else if (word.starts_with("--debug-dir="))
      options.debug_directories.emplace_back(word.substr(12));
    else
      key.path = word;
  }
  if (key.path.empty()) {
    std::fputs("usage: symbolize-bench [--no-cache] [--no-demangle] [--debug-dir=DIR] FILE\n",
               stderr);
    return 2;
  }
  tally::Diagnostics diagnostics;
  const auto symbolizer = tally::make_symbolizer(options);
  const tally::ModuleId module = symbolizer->module(key, diagnostics);
  std::vector<tally::SourceFrame> frames;
  std::string text;
  auto put = [&](std::string_view words, std::string_view otherwise) {
    text += words.empty() ? otherwise : words;
  };
  char line[64];
  while (std::fgets(line, sizeof line, stdin)) {
    frames.clear();
    symbolizer->frames(module, std::strtoull(line, nullptr, 16), frames);
    if (frames.empty())
      frames.emplace_back();
    for (const tally::SourceFrame &frame : frames) {
      put(linkage && !frame.system_name.empty() ? frame.system_name : frame.function, "??");
      text += '\n';
      put(frame.file, "??");
      text += ':' + std::to_string(frame.line) + ":0\n";
    }
    text += '\n';
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  symbolizer->take_diagnostics(diagnostics);
  for (const tally::Finding &finding : diagnostics.findings())
    std::fprintf(stderr, "%s\n", finding.text().c_str());
  symbolizer->save_cache();
}
