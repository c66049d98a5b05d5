// The code that commands for profiles share: arguments, reading with a progress bar, and writing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "formats/formats.h"
#include "join/profile_files.h"
#include "report/report.h"
#include "support/file_io.h"

namespace tally::cli {

inline constexpr std::string_view no_names_remedy = "use --program FILE to name the functions";

struct InputOptions {
  std::string from;
  std::string program;              // the program that the addresses of a gmon.out belong to
  std::vector<std::string> objects; // which have the names of counters without names
  ReadOptions reading{};
  // It names the code of all files that the command reads. If it is null, each file gets a
  // symbolizer of its own, which fetches no debug files.
  std::shared_ptr<Symbolizer> symbolizer{};
  ModuleSources sources{}; // of the code, for unwinding
};
InputOptions input_options(const ParsedCommand &given);
// Returns how a command reads its files: with --memory-limit, a packed file may unpack to as much.
ReadOptions reading_of(const ParsedCommand &given);
// Returns a symbolizer that looks for files as --sysroot and --symbols say, and that fetches debug
// files where DEBUGINFOD_URLS is set, unless --no-debuginfod is given.
std::unique_ptr<Symbolizer> symbolizer_for(const ParsedCommand &given);

// Returns the time to record in output, in seconds since 1970: SOURCE_DATE_EPOCH if that is set,
// for reproducible builds (https://reproducible-builds.org/specs/source-date-epoch/), otherwise
// now.
int64_t stated_time();

struct OutputOptions {
  std::string path;
  bool full_names = false, full_positions = false;
  std::string gcovr_version, lcov_version;
  WriteOptions how() const;
};
OutputOptions output_options(const ParsedCommand &given);

// The options of a table that is printed.
struct TableOptions {
  uint32_t limit = 0; // 0 means all rows
  bool json = false, full_names = false;
  TextOptions text() const;
};
TableOptions table_options(const ParsedCommand &given);

// Returns the names of the functions of --program; empty if the option was not given.
Result<ProgramNames> program_names(const InputOptions &options);

// Reads a profile. Shows a progress bar on a terminal if this takes longer than a second.
Result<NamedProfile> read_input(const std::string &path, const InputOptions &options,
                                Diagnostics &findings);
// Calls name_all() and shows a progress bar. Ctrl-C ends the transfer of debug files.
Result<StackProfile> name_shown(StackProfile raw, Symbolization::Processes processes,
                                Symbolizer &symbolizer, Diagnostics &findings);
// Reads a profile, or a notes or counters file, and shows a progress bar.
Result<ReadFile> read_any(const std::string &path, const InputOptions &options,
                          Diagnostics &findings);
// Reads all files, see read_files(), and prints the diagnostics of each.
Result<ReadFiles> read_inputs(const std::vector<std::string> &paths, const InputOptions &options,
                              bool one_format);
enum class OnDamage : bool { warn, refuse };
// Reads a profile for a table, and prints the diagnostics as warnings. Keeps only what `wanted`
// selects. If damage is to be refused, fails for a file of which only a part could be read.
Result<Profile> read_for_table(const std::string &path, const InputOptions &options,
                               const Selection &wanted, OnDamage on_damage = OnDamage::warn);
// Returns the costs of one event, or of all if `event` is empty.
Result<CostProfile> costs_for_event(CostProfile costs, const std::string &event);
Result<void> write_output(const Content &content, const Format &format,
                          const OutputOptions &options, const InputOptions &input);
// Fails if "-" is given more than once, because standard input can be read only once.
Result<void> check_inputs(const std::vector<std::string> &files, const std::string &command);

} // namespace tally::cli
