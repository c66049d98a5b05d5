#include <memory>

#include "arguments.h"
#include "profiles.h"

namespace tally::cli {

namespace {

struct ConvertArguments {
  std::vector<std::string> files;
  InputOptions input;
  OutputOptions output;
  std::string to;
};

Result<void> run(const ConvertArguments &options) {
  TALLY_TRY(to, format_for_output(options.output.path, options.to, "--to"));
  TALLY_CHECK(check_inputs(options.files, "convert"));
  TALLY_TRY(all, read_inputs(options.files, options.input, false));
  for (size_t i = 0; i < all.files.size(); ++i)
    if (std::holds_alternative<std::unique_ptr<CounterFile>>(all.files[i].content) &&
        all.files[i].format != to)
      return fail(profile_of(all.paths[i], std::move(all.files[i])).error());
  if (all.files.size() == 1) // adding it up would lose its parts
    return write_output(all.files[0].content, *to, options.output, options.input);
  TALLY_TRY(sum, sum_of(std::move(all), options.input));
  return write_output(sum, *to, options.output, options.input);
}

} // namespace

void add_convert(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<ConvertArguments>();
  CLI::App &command = add_command(app, "convert", "write the sum of profiles in another format",
                                  "tally convert a.folded b.folded.gz -o sum.callgrind");
  add_inputs(command, "IN", options->files, options->input);
  add_output(command, options->output);
  command.add_option("--to", options->to, "the format of OUT, if its name does not imply it")
      ->type_name("FORMAT")
      ->check(known_format());
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
