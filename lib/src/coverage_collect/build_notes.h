// Determines what a build directory builds, from its compilation database.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "support/result.h"

namespace tally {

// Maps the path `from`, and all paths below it, to `to`.
struct PathMap {
  std::string from, to;
};

struct BuildNotes {
  // Paths of the notes (.gcno) that the compiler writes beside the objects, absolute and without
  // symbolic links. The files need not exist.
  std::set<std::string> paths;
  // Path maps that undo the options by which a compiler records other paths than the real ones
  // (-ffile-prefix-map, -fdebug-prefix-map, -fprofile-prefix-map, -fcoverage-prefix-map): `from` is
  // the recorded path. There are no duplicates. If several maps have the same `from`, only the
  // existing files show which map is right.
  std::vector<PathMap> maps;
  // False if the database has commands and none of them enables coverage (--coverage,
  // -fprofile-arcs, -ftest-coverage). A response file (@FILE) may contain such an option, so it
  // counts as one.
  bool asks_for_counters = true;
  // The same for source-based coverage (-fprofile-instr-generate, -Cinstrument-coverage).
  bool asks_for_profiles = true;
};

// Reads `folder`/compile_commands.json. The object of an entry is its "output" or, if it has none,
// the operand of -o in its "arguments" or "command" (see
// clang.llvm.org/docs/JSONCompilationDatabase.html). An entry without either is ignored. Fails if
// the file cannot be read, and with invalid_input if it is not a compilation database.
Result<BuildNotes> notes_of_build(const std::string &folder);

} // namespace tally
