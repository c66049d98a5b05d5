#include <memory>

#include <tally/file_io.h>

#include "profiles.h"

namespace tally::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  InputOptions input;
  OutputOptions output;
};

Result<void> add_counters(const ReadFiles &all, const std::string &output) {
  CounterFile &sum = *std::get<std::unique_ptr<CounterFile>>(all.files[0].content);
  for (size_t i = 1; i < all.files.size(); ++i)
    TALLY_CHECK(about(all.paths[i],
                      sum.add(*std::get<std::unique_ptr<CounterFile>>(all.files[i].content))));
  TALLY_TRY(bytes, sum.bytes());
  return write_file(output, bytes);
}

Result<void> run(const Options &options) {
  TALLY_CHECK(check_inputs(options.files, "merge"));
  TALLY_TRY(all, read_inputs(options.files, options.input, true));
  if (!std::holds_alternative<Profile>(all.files[0].content))
    return add_counters(all, options.output.path);
  std::vector<Profile> profiles;
  for (ReadFile &file : all.files)
    profiles.push_back(std::move(std::get<Profile>(file.content)));
  TALLY_TRY(sum, merge_profiles(std::move(profiles), all.paths));
  return write_output(sum, *all.format, options.output);
}

} // namespace

void add_merge(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App &command = add_command(app, "merge", "add up profiles or counters of one format",
                                  "tally merge callgrind.out.* -o all.callgrind");
  add_inputs(command, "IN", options->files, options->input);
  add_output(command, options->output);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
