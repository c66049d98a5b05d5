#include <memory>

#include "profiles.h"

namespace tally::cli {

namespace {

struct RewriteArguments {
  std::string file;
  InputOptions input;
  OutputOptions output;
};

Result<void> run(const RewriteArguments &options) {
  TALLY_TRY(all, read_inputs({options.file}, options.input, true));
  return about(options.file,
               write_output(all.files[0].content, *all.format, options.output, options.input));
}

} // namespace

void add_rewrite(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<RewriteArguments>();
  CLI::App &command =
      add_command(app, "rewrite", "rewrite a profile in its own format, in a fixed order",
                  "tally rewrite callgrind.out.4711 -o sorted.callgrind");
  add_input(command, "IN", options->file, options->input);
  add_output(command, options->output);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
