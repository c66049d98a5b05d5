// What commands over profiles share: their arguments, reading with progress, and writing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/formats.h>
#include <tally/named_profile.h>
#include <tally/report.h>
#include <tally/sample_filter.h>

#include "commands.h"

namespace tally::cli {

CLI::App &add_command(CLI::App &app, const std::string &name, const std::string &summary,
                      const std::string &example);

inline constexpr std::string_view no_names_remedy = "--program FILE gives them";

struct InputOptions {
  std::string from;
  std::string program; // that addresses of a gmon.out are of
  uint64_t max_unpacked_bytes = ReadOptions().max_unpacked_bytes;
};
void add_input(CLI::App &command, const std::string &name, std::string &file,
               InputOptions &options);
void add_inputs(CLI::App &command, const std::string &name, std::vector<std::string> &files,
                InputOptions &options);

// Of what is written: now; or what builds that are to be repeated say instead
// (https://reproducible-builds.org/specs/source-date-epoch/), in seconds since 1970.
int64_t time_told();

struct OutputOptions {
  std::string path;
  bool full_names = false, full_positions = false;
  std::string gcovr_version;
  WriteOptions how() const;
};
void add_output(CLI::App &command, OutputOptions &options);

// Of a table that is printed.
struct TableOptions {
  std::string event;
  std::optional<uint32_t> limit;
  bool json = false;
  TextOptions text(uint32_t fallback) const;
};
void add_table_options(CLI::App &command, TableOptions &options, uint32_t rows);
void add_filter(CLI::App &command, SampleFilter &filter);
// A flag of a debugger's command, with its help.
void add_flag_of(CLI::App &command, std::string_view profile_command, std::string_view name,
                 bool &flag);
// `--by` and `--sort` of a debugger's command, and what they may be.
void add_by_and_sort(CLI::App &command, std::string_view profile_command, std::string &by,
                     std::string &sort);

// Of --program; none where the option was not given.
Result<ProgramNames> names_of_program(const InputOptions &options);

// With a bar on a terminal where it takes longer than a second.
Result<ReadProfile> read_input(const std::string &path, const InputOptions &options,
                               Diagnostics &findings);
// name_all() with a bar as well.
Result<StackProfile> name_shown(StackProfile raw, Symbolization::Processes processes,
                                Diagnostics &findings);
// … or a file of notes or counters.
Result<ReadFile> read_any(const std::string &path, const InputOptions &options,
                          Diagnostics &findings);
// All of them; findings are shown as each has been read. `one_format`: errors out at the first that
// is of another than the first.
struct ReadFiles {
  std::vector<ReadFile> files;
  std::vector<std::string> paths;
  const Format *format = nullptr; // of the first
};
Result<ReadFiles> read_inputs(const std::vector<std::string> &paths, const InputOptions &options,
                              bool one_format);
Result<Content> sum_of(ReadFiles all, const InputOptions &options);
// Valgrind's --separate-threads=yes leaves FILE empty beside FILE-01, FILE-02, …
bool is_empty_beside_threads(const std::string &path);
// The same for what is looked at: findings are shown as warnings, and one event is taken where
// `event` names it, and what `filter` takes. `unfolds_kernel`: with the kernel's own functions.
Result<Profile> read_for_table(const std::string &path, const InputOptions &options,
                               const std::string &event, const SampleFilter &filter = {},
                               bool unfolds_kernel = false);
// One event of it, or all where none is named.
Result<CostProfile> costs_for_event(CostProfile costs, const std::string &event);
Result<void> write_output(const Content &content, const Format &format,
                          const OutputOptions &options, const InputOptions &input);
// Whose fault an error is, where it does not say so itself.
template <class T> Result<T> about(const std::string &file, Result<T> result) {
  if (!result && result.error().source.empty())
    result.error().source = file;
  return result;
}
// '-' can be read once.
Result<void> check_inputs(const std::vector<std::string> &files, const std::string &command);

} // namespace tally::cli
