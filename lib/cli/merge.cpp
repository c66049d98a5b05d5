#include "profiles.h"

namespace tally::cli {

Result<void> merge_command(const ParsedCommand &given, Outcome &) {
  const InputOptions input = input_options(given);
  TALLY_CHECK(check_inputs(given.arguments, "merge"));
  TALLY_TRY(all, read_inputs(given.arguments, input, true));
  const Format &format = *all.format;
  TALLY_TRY(sum, sum_of(std::move(all), input));
  return write_output(sum, format, output_options(given), input);
}

} // namespace tally::cli
