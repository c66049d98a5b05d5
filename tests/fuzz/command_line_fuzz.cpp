// Parses and completes arbitrary lines as commands of the debuggers. A line is parsed or rejected
// with one line, and each word that completion offers continues what was typed.
#include <string_view>

#include "fuzz_target.h"
#include "require.h"
#include "session/command_line.h"
#include "session/complete.h"
#include "session/coverage_table.h"
#include "session/profile_table.h"

namespace tally::command_line_fuzz {

FUZZ_TARGET(command_line) {
  const std::string_view line(reinterpret_cast<const char *>(data), size);
  const WordsOf words_of = [](ValueKind) {
    return std::vector<std::string>{"main", "ns::f<int>(char const*)", "operator<<", "a b.c"};
  };
  for (const CommandTable *table : {&profile_table(), &coverage_table()}) {
    const auto parsed = parse_line(*table, line);
    if (parsed)
      require(parsed->spec != nullptr, "a command");
    else
      require_clear(parsed.error(), size);
    static_cast<void>(complete_words(*table, line, words_of));
    static_cast<void>(symbol_to_complete(*table, line));
  }
  return 0;
}

} // namespace tally::command_line_fuzz
