
#include "report/annotate.h"
#include "profiles.h"
#include "report/disassembly.h"
#include "report/function_alias.h"
#include "support/file_io.h"

namespace tally::cli {

namespace {

Result<void> show_instructions(const ParsedCommand &given, const Profile &profile,
                               Symbolizer &symbolizer, const SourcePaths &sources) {
  const std::string &what = given.arguments[1];
  const TableOptions options = table_options(given);
  const auto make = [&](const auto &each) -> Result<Disassembly> {
    Diagnostics findings;
    std::string function;
    const auto code_of = [&](const std::string &name) {
      function = name;
      return function_code(each, name, symbolizer, findings);
    };
    TALLY_TRY(code, by_any_name(each, what, symbolizer, 0, code_of));
    TALLY_CHECK(check_code_size(code, what));
    const auto flavor = given.value("disassembly-flavor") == "intel" ? DisassemblyFlavor::intel
                                                                     : DisassemblyFlavor::att;
    if (auto done = disassemble(code, symbolizer, flavor); !done) {
      show(findings); // they say why a file is not available
      return fail(std::move(done.error()));
    }
    return disassembly(each, code, function, symbolizer);
  };
  TALLY_TRY(all, about(given.arguments[0], std::visit(make, profile)));
  return write_file("-", options.json ? to_json(all, options.limit)
                                      : to_text(all, sources, options.text()));
}

} // namespace

Result<void> annotate_command(const ParsedCommand &given, Outcome &) {
  const std::string &file = given.arguments[0], &what = given.arguments[1];
  if (given.has("disassembly-flavor") && !given.has("asm"))
    return fail(ErrorCode::invalid_argument, "requires --asm", "--disassembly-flavor");
  AnnotateOptions how;
  how.context = static_cast<uint32_t>(given.number("context"));
  how.sources.folders = given.values("source-dir");
  for (const std::string &map : given.values("source-map")) {
    const size_t equals = map.find('=');
    if (equals == map.npos || equals == 0)
      return fail(ErrorCode::invalid_argument,
                  "expected FROM=TO, the beginning of a path and its replacement, found '" + map +
                      "'",
                  "--source-map");
    how.sources.replaced.emplace_back(map.substr(0, equals), map.substr(equals + 1));
  }
  const TableOptions options = table_options(given);
  // Its debug files are those that were fetched for the profile.
  const InputOptions input = input_options(given);
  TALLY_TRY(profile, read_for_table(file, input, {given.filter()}));
  if (given.has("asm"))
    return show_instructions(given, profile, *input.symbolizer, how.sources);
  const auto make = [&](const auto &each) {
    return by_any_name(each, what, *input.symbolizer, 0,
                       [&](const std::string &name) { return annotate(each, name, how); });
  };
  TALLY_TRY(annotation, about(file, std::visit(make, profile)));
  return write_file("-", options.json ? to_json(annotation, options.limit)
                                      : to_text(annotation, options.text(),
                                                "; locate it with --source-dir DIR or --source-map "
                                                "FROM=TO"));
}

} // namespace tally::cli
