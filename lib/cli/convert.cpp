#include "profiles.h"

namespace tally::cli {

Result<void> convert_command(const ParsedCommand &given, Outcome &) {
  const InputOptions input = input_options(given);
  const OutputOptions output = output_options(given);
  TALLY_TRY(to, format_for_output(output.path, given.value("to"), "--to"));
  TALLY_CHECK(check_inputs(given.arguments, "convert"));
  TALLY_TRY(all, read_inputs(given.arguments, input, false));
  for (size_t i = 0; i < all.files.size(); ++i)
    if (std::holds_alternative<std::unique_ptr<CounterFile>>(all.files[i].content) &&
        all.files[i].format != to)
      return fail(profile_of(all.paths[i], std::move(all.files[i])).error());
  if (all.files.size() == 1) // adding it up would lose its parts
    return write_output(all.files[0].content, *to, output, input);
  TALLY_TRY(sum, sum_of(std::move(all), input));
  return write_output(sum, *to, output, input);
}

} // namespace tally::cli
