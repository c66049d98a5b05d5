#include <fmt/format.h>

#include "formats/baseline/baseline.h"

namespace tally::baseline {

namespace {

// Returns a path as it is or, if it cannot stand in a line so, in quotation marks, with three octal
// digits for each byte that a line cannot hold.
std::string quoted(const std::string &path) {
  const auto needs_digits = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' || byte == 0x7F;
  };
  bool plain = !path.empty() && path.front() != '"';
  for (const char c : path)
    plain = plain && !needs_digits(c);
  if (plain)
    return path;
  std::string out = "\"";
  for (const char c : path)
    if (needs_digits(c))
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else
      out.append(c == '"' || c == '\\' ? "\\" : "").append(1, c);
  return out + '"';
}

} // namespace

std::string write(const Baseline &baseline) {
  std::string out = "tally-coverage-baseline 1\n"
                    "# Coverage may not fall below these numbers. This file is made by\n"
                    "# tally coverage --baseline FILE --update-baseline\n";
  for (const auto &[path, record] : baseline) {
    const std::string name = quoted(path);
    // The first and the last line of a record never change, so that Git merges changes of two
    // neighbours. All lines have the path: equal lines of two records would let a difference begin
    // within one and end within the other.
    out += fmt::format("file {}\nlines {} of {}", name, record.lines.ran, record.lines.all);
    if (record.branches.all > 0)
      out += fmt::format(", branches {} of {}", record.branches.ran, record.branches.all);
    out += fmt::format(": {0}\nend {0}\n", name);
  }
  return out;
}

} // namespace tally::baseline
