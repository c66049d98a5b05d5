#include "profiles.h"
#include "transform/function_stacks.h"

namespace tally::cli {

Result<void> convert_command(const ParsedCommand &given, Outcome &) {
  const InputOptions input = input_options(given);
  const OutputOptions output = output_options(given);
  const bool is_folder = output.path.ends_with('/'); // for the files of a stream of counters
  TALLY_TRY(to, format_for_output(output.path,
                                  is_folder && !given.has("to") ? "gcov-data" : given.value("to"),
                                  "--to"));
  TALLY_CHECK(check_inputs(given.arguments, "convert"));
  TALLY_TRY(all, read_inputs(given.arguments, input, false));
  Diagnostics findings;
  auto content = content_to_convert(std::move(all), *to, input.program, findings);
  show(findings);
  TALLY_TRY(converted, std::move(content));
  if (const SampleFilter wanted = given.filter(); !wanted.takes_all()) {
    Profile *const profile = std::get_if<Profile>(&converted);
    if (!profile)
      return fail(ErrorCode::unsupported,
                  "options that select samples cannot select from coverage, nor from a histogram "
                  "of addresses",
                  given.arguments[0]);
    TALLY_TRY(selected, select_from(std::move(*profile), {wanted}, given.arguments[0]));
    converted = std::move(selected);
  }
  if (given.has("functions-only")) {
    Profile *const profile = std::get_if<Profile>(&converted);
    const StackProfile *const stacks = profile ? std::get_if<StackProfile>(profile) : nullptr;
    if (!stacks)
      return fail(ErrorCode::unsupported, "--functions-only requires a profile of stacks",
                  given.arguments[0]);
    TALLY_TRY(functions, function_stacks(*stacks));
    *profile = std::move(functions);
  }
  // A sum of several files has no name but that of the output.
  return about(given.arguments.size() == 1 ? given.arguments[0] : output.path,
               write_output(converted, *to, output, input));
}

} // namespace tally::cli
