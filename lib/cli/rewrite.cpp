#include "profiles.h"

namespace tally::cli {

Result<void> rewrite_command(const ParsedCommand &given, Outcome &) {
  InputOptions input = input_options(given);
  input.symbolizer.reset(); // names stay as they are
  TALLY_TRY(all, read_inputs(given.arguments, input, true));
  return about(given.arguments[0],
               write_output(all.files[0].content, *all.format, output_options(given), input));
}

} // namespace tally::cli
