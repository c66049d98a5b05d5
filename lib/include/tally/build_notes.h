// What a build folder makes, by its compilation database.
#pragma once

#include <set>
#include <string>

#include <tally/export.h>
#include <tally/result.h>

namespace tally {

// The notes (.gcno) that the compiler leaves beside the objects of FOLDER/compile_commands.json;
// real, absolute paths. They need not be there. An object is an entry's "output" or, where it has
// none, what follows -o in its "arguments" or "command" (clang.llvm.org/docs/
// JSONCompilationDatabase.html); an entry without any is left out.
TALLY_API Result<std::set<std::string>> notes_of_build(const std::string &folder);

} // namespace tally
