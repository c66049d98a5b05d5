// Demangles arbitrary names of C++, Rust and D. The text has a limit in size, is the same each
// time, and a name that is not mangled stays as it is.
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "require.h"
#include "support/demangle.h"
#include "support/demangle_limits.h"

namespace tally::demangle_fuzz {

FUZZ_TARGET(demangle) {
  const std::string_view name(reinterpret_cast<const char *>(data), size);
  const std::string text = demangled(name);
  require(demangled(name) == text, "the same text again");
  require(demangle(name) == name || text.size() <= demangling::longest_output + name.size(),
          "the text has a limit");
  static_cast<void>(base_object_variant(name));
  for (const std::string_view prefix : {"_Z", "_R", "_D"})
    static_cast<void>(demangled(std::string(prefix) + std::string(name)));
  return 0;
}

} // namespace tally::demangle_fuzz
