// Parses and completes arbitrary lines as commands of the debuggers. A line is parsed or rejected
// with one line, and each word that completion offers continues what was typed.
#include <string_view>

#include "require.h"
#include "session/command_line.h"
#include "session/complete.h"
#include "session/coverage_table.h"
#include "session/profile_table.h"

using namespace tally;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view line(reinterpret_cast<const char *>(data), size);
  const WordsOf words_of = [](std::string_view) {
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
