// Source text with its costs beside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/report.h>
#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

// Where the text of a source file is now.
struct SourcePaths {
  std::vector<std::pair<std::string, std::string>>
      replaced;                     // a path's beginning, and what it is now
  std::vector<std::string> folders; // searched for the path's last parts, as many as are there

  // Of the paths that exist the first: the path with each replacement, the path itself, the
  // folders.
  TALLY_API std::optional<std::string> find(std::string_view path) const;
};

struct AnnotatedCall {
  std::string name, file, object;
  uint64_t calls = 0;
  std::vector<uint64_t> inclusive; // one for each event
  // The caller is called again on the way, so that these costs hold each other.
  bool recursive = false;
};

struct AnnotatedLine {
  uint32_t line = 0; // 0: costs that no line is known for
  std::string text;
  std::vector<uint64_t> self, inclusive; // empty: the line has no cost, and gives context
  std::vector<AnnotatedCall> calls;      // made there, the costliest first
};

struct AnnotatedFile {
  std::string file;           // as the profile names it
  std::string source;         // where its text was read; empty: nowhere
  std::string problem;        // why it could not be read, where it was found
  uint32_t source_lines = 0;  // how many that has
  std::vector<uint64_t> self; // of the lines shown
  std::vector<AnnotatedLine> lines;
};

struct Annotation {
  std::vector<std::string> events;
  std::vector<uint64_t> totals;     // of the profile
  std::vector<AnnotatedFile> files; // the costliest first
  // That were meant by the name of a function, where these are several; sorted.
  std::vector<std::string> functions;
};

struct AnnotateOptions {
  SourcePaths sources;
  uint32_t context = 3; // lines without cost shown around those with
};

// `what`: FUNCTION, FILE or FILE:LINE. A file is named by its path or by the last parts of it. What
// is neither is not_found, with names that hold it; so is a name of several files, and a line that
// has no cost near it and no text here. Inclusive cost of a line: its self cost and that of calls
// out of the caller's cycle, where "f" and "f'2" are one.
TALLY_API Result<Annotation> annotate(const CostProfile &profile, std::string_view what,
                                      const AnnotateOptions &options = {});

// The same of stacks, aggregated.
TALLY_API Result<Annotation> annotate(const StackProfile &profile, std::string_view what,
                                      const AnnotateOptions &options = {});

TALLY_API std::string to_text(const Annotation &annotation, const TextOptions &options = {});
// limit: of each file's lines; 0: all.
TALLY_API std::string to_json(const Annotation &annotation, uint32_t limit = 0);

} // namespace tally
