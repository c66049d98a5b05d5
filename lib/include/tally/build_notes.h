// What a build folder makes, by its compilation database.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <tally/export.h>
#include <tally/result.h>

namespace tally {

// Paths that are `from`, or lie below it, lie at `to` instead.
struct PathMap {
  std::string from, to;
};

struct BuildNotes {
  // The notes (.gcno) that the compiler leaves beside the objects; real, absolute paths. They need
  // not be there.
  std::set<std::string> paths;
  // These undo the options by which compilers record other paths than the real ones
  // (-ffile-prefix-map and related ones): `from` is the recorded path. Each stands once. Where
  // several have the same `from`, only the existing files show which one was meant.
  std::vector<PathMap> maps;
  // False: there are commands, and none of them asks for counters.
  bool asks_for_counters = true;
};

// Reads FOLDER/compile_commands.json. An object is an entry's "output" or, where it has none, what
// follows -o in its "arguments" or "command" (clang.llvm.org/docs/JSONCompilationDatabase.html); an
// entry without any is left out.
TALLY_API Result<BuildNotes> notes_of_build(const std::string &folder);

} // namespace tally
