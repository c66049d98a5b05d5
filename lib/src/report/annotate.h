// Annotates source text with its costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "report/report.h"
#include "support/result.h"

namespace tally {

// Describes where source files are now, which may differ from the profile's paths.
struct SourcePaths {
  std::vector<std::pair<std::string, std::string>> replaced; // a path's prefix, and its replacement
  std::vector<std::string> folders; // directories in which the end of a path is searched

  // Returns the first of these that is a regular file: `path` with each matching replacement,
  // `path` itself, and for each directory the longest end of `path` that exists in it. Returns
  // nothing if there is none.
  std::optional<std::string> find(std::string_view path) const;
};

// The calls of one function from one line.
struct AnnotatedCall {
  std::string name, file, object; // of the callee
  uint64_t calls = 0;
  std::vector<uint64_t> inclusive; // one for each event
  // The call can lead back to its caller (both are in one cycle of the call graph, or are recursion
  // levels of one function), so that the costs of nested calls include each other.
  bool recursive = false;
};

struct AnnotatedLine {
  uint32_t line = 0; // 0 for costs whose line is unknown
  std::string text;
  std::vector<uint64_t> self, inclusive; // one for each event; empty for a line of context
  std::vector<AnnotatedCall> calls;      // made there, by falling inclusive cost
};

struct AnnotatedFile {
  std::string file;           // the path in the profile
  std::string source;         // the path that was read; empty if none was
  std::string problem;        // why a source that was found cannot be read; else empty
  uint32_t source_lines = 0;  // number of lines in `source`
  std::string older;          // an object of its code that is older than `source`; else empty
  std::vector<uint64_t> self; // sum over `lines`, one for each event
  std::vector<AnnotatedLine> lines;
};

struct Annotation {
  std::vector<std::string> events;
  std::vector<uint64_t> totals; // of the whole profile, one for each event
  std::vector<AnnotatedFile>
      files; // files of the functions' definitions first; by falling self cost
  // The functions that the name matches, sorted; empty unless there are several.
  std::vector<std::string> functions;
  std::vector<std::string> units; // of each event: "count" or "nanoseconds"; empty means counts
};

struct AnnotateOptions {
  SourcePaths sources;
  uint32_t context = 3; // lines without cost to show before and after each line with cost
};

// Annotates `what`, which is FUNCTION, FILE or FILE:LINE. A file is named by its path or by the
// last components of it. The inclusive cost of a line is its self cost plus that of its calls,
// except calls within the caller's cycle; "f" and "f'2" (Callgrind's recursion levels) count as one
// function. Errors: not_found if `what` is neither a function nor a file (the message lists similar
// names), if it is the name of several files, or if the line has neither a cost near it nor a
// readable text; no_data if it has calls to it, but no costs of its own.
Result<Annotation> annotate(const CostProfile &profile, std::string_view what,
                            const AnnotateOptions &options = {});

// Aggregates the stacks, then does the same.
Result<Annotation> annotate(const StackProfile &profile, std::string_view what,
                            const AnnotateOptions &options = {});

// Returns a table for each file: self and inclusive cost of the first event, line number and text.
// `how_to_locate` completes "the source file was not found" by what the user can do about it.
std::string to_text(const Annotation &annotation, const TextOptions &options = {},
                    std::string_view how_to_locate = "");
// Returns
// {"events","totals","files":[{"file","source","older","self","lines":[{"line","text","self",
// "inclusive","calls":[{"name","file","object","calls","recursive","inclusive"}]}]}]}. `limit` is
// the maximum number of lines for each file; 0 means all.
std::string to_json(const Annotation &annotation, uint32_t limit = 0);

} // namespace tally
