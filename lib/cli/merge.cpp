#include "profiles.h"

namespace tally::cli {

Result<void> merge_command(const ParsedCommand &given, Outcome &) {
  const InputOptions input = input_options(given);
  TALLY_CHECK(check_inputs(given.arguments, "merge"));
  TALLY_TRY(all, read_inputs(given.arguments, input, true));
  const Format &format = sum_format_of(*all.format);
  Diagnostics findings;
  auto result = sum_of(std::move(all), input.program, findings);
  show(findings);
  TALLY_TRY(sum, std::move(result));
  return write_output(sum, format, output_options(given), input);
}

} // namespace tally::cli
