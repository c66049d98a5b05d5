#include "profiles.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <tally/file_io.h>

#include "gcovr_version.h"
#include "progress.h"
#include "session/session.h"
#include "support/number.h"
#include "support/path.h"

namespace tally::cli {

namespace {

// Returns the terminal's columns; 0, which means unlimited, for a file or a pipe.
uint32_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// https://no-color.org
Style terminal_style() {
  const char *refused = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool coloured = ::isatty(STDOUT_FILENO) && !(refused && *refused) && terminal &&
                        std::string_view(terminal) != "dumb";
  return coloured ? Style::standard() : Style();
}

} // namespace

InputOptions input_options(const ParsedCommand &given) {
  InputOptions out;
  out.from = given.value("from");
  out.program = given.value("program");
  if (given.has("max-unpacked"))
    out.max_unpacked_bytes = given.number("max-unpacked");
  return out;
}

OutputOptions output_options(const ParsedCommand &given) {
  return {std::string(given.value("o")), given.has("full-names"), given.has("full-positions"),
          std::string(given.value("gcovr-version"))};
}

TableOptions table_options(const ParsedCommand &given) {
  return {std::string(given.value("event")), given.limit(), given.has("json")};
}

int64_t time_told() {
  const char *told = std::getenv("SOURCE_DATE_EPOCH");
  if (told)
    if (const auto seconds = whole_number(told, 0, INT64_MAX / 1000, "SOURCE_DATE_EPOCH"))
      return static_cast<int64_t>(*seconds);
  return static_cast<int64_t>(std::time(nullptr));
}

WriteOptions OutputOptions::how() const {
  WriteOptions out{.compress_names = !full_names, .compress_positions = !full_positions};
  out.time = time_told();
  return out;
}

TextOptions TableOptions::text() const {
  return {.limit = limit, .width = terminal_width(), .style = terminal_style()};
}

Result<StackProfile> name_shown(StackProfile raw, Symbolization::Processes processes,
                                Diagnostics &findings) {
  Progress progress("names");
  return name_all(std::move(raw), processes, findings,
                  [&](uint64_t done, uint64_t all) { progress.items(done, all); });
}

Result<ReadFile> read_any(const std::string &path, const InputOptions &options,
                          Diagnostics &findings) {
  const Format *from = nullptr;
  if (!options.from.empty()) {
    TALLY_TRY(named, format_by_name(options.from));
    from = named;
  }
  std::optional<Progress> progress(std::in_place, path);
  bool naming = false;
  ReadOptions reading;
  reading.max_unpacked_bytes = options.max_unpacked_bytes;
  reading.progress = [&](uint64_t position, uint64_t size) { progress->bytes(position, size); };
  return read_named_file(path, findings, from, reading, [&](uint64_t done, uint64_t all) {
    if (!std::exchange(naming, true)) {
      progress.reset(); // clears the old line first
      progress.emplace("names");
    }
    progress->items(done, all);
  });
}

Result<ProgramNames> names_of_program(const InputOptions &options) {
  if (options.program.empty())
    return ProgramNames();
  std::error_code fault;
  const std::string path = std::filesystem::canonical(options.program, fault).string();
  if (fault || ::access(path.c_str(), R_OK) != 0)
    return fail_errno(fault ? fault.value() : errno, "cannot read", options.program);
  Diagnostics findings;
  ProgramNames out(path, findings);
  show(findings);
  return out;
}

Result<ReadProfile> read_input(const std::string &path, const InputOptions &options,
                               Diagnostics &findings) {
  TALLY_TRY(file, read_any(path, options, findings));
  if (!std::holds_alternative<PcProfile>(file.content))
    return profile_of(path, std::move(file));
  TALLY_TRY(program, names_of_program(options));
  if (!program.get())
    warn_of_no_names(path, no_names_remedy, findings);
  return profile_of(path, std::move(file), program.get());
}

bool is_empty_beside_threads(const std::string &path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0 &&
         ::access((path + "-01").c_str(), R_OK) == 0;
}

Result<ReadFiles> read_inputs(const std::vector<std::string> &paths, const InputOptions &options,
                              bool one_format) {
  ReadFiles all;
  for (const std::string &path : paths) {
    Diagnostics findings;
    auto read = read_any(path, options, findings);
    show(findings);
    if (!read && paths.size() > 1 && is_empty_beside_threads(path)) {
      say("tally: warning: " + read.error().text());
      continue;
    }
    if (!read)
      return fail(read.error());
    if (!all.format)
      all.format = read->format;
    if (one_format && read->format != all.format)
      return fail(ErrorCode::invalid_input,
                  fmt::format("is {}, but {} is {}: only files of one format are merged",
                              read->format->name, paths[0], all.format->name),
                  path);
    all.files.push_back(std::move(*read));
    all.paths.push_back(path);
  }
  if (all.files.empty())
    return fail(ErrorCode::no_data, "all files are empty");
  return all;
}

Result<Content> sum_of(ReadFiles all, const InputOptions &options) {
  Diagnostics findings;
  TALLY_TRY(program, names_of_program(options));
  auto sum = merge_files(std::move(all.files), all.paths, findings, program.get());
  show(findings);
  return sum;
}

Result<CostProfile> costs_for_event(CostProfile costs, const std::string &event) {
  if (event.empty())
    return costs;
  return one_event(costs, event);
}

namespace {

Result<Profile> filtered(Profile profile, const SampleFilter &wanted) {
  if (wanted.takes_all())
    return profile;
  const auto some = [&](const auto &each) -> Result<Profile> {
    TALLY_TRY(kept, filter_samples(each, wanted));
    return Profile(std::move(kept));
  };
  return std::visit(some, profile);
}

} // namespace

Result<Profile> read_for_table(const std::string &path, const InputOptions &options,
                               const std::string &event, const SampleFilter &wanted,
                               bool unfolds_kernel) {
  Diagnostics findings;
  auto result = read_input(path, options, findings);
  show(findings);
  TALLY_TRY(read, std::move(result));
  if (const auto *costs = std::get_if<CostProfile>(&read.profile);
      costs && costs->cost_count() == 0 && costs->call_count() == 0)
    return fail(ErrorCode::no_data, "holds no costs", path);
  TALLY_TRY(profile, about(path, filtered(std::move(read.profile), wanted)));
  if (unfolds_kernel) {
    const auto unfold = [](auto &each) -> Result<Profile> {
      TALLY_TRY(unfolded, unfold_kernel(std::move(each)));
      return Profile(std::move(unfolded));
    };
    TALLY_TRY(unfolded, std::visit(unfold, profile));
    profile = std::move(unfolded);
  }
  if (event.empty())
    return profile;
  const auto one = [&](auto &each) -> Result<Profile> {
    TALLY_TRY(taken, one_event(std::move(each), event));
    return Profile(std::move(taken));
  };
  return about(path, std::visit(one, profile));
}

Result<void> write_output(const Content &content, const Format &format,
                          const OutputOptions &options, const InputOptions &input) {
  const bool named_as_packed = format.is_gzip && options.path.ends_with(".gz");
  if (const size_t size = unpacked_name(options.path).size();
      size < options.path.size() && !named_as_packed)
    return fail(ErrorCode::invalid_argument,
                fmt::format("output is not compressed: remove {} from the name, or write to - and "
                            "compress that",
                            options.path.substr(size)),
                options.path);
  TALLY_TRY(program, names_of_program(input));
  WriteOptions how = options.how();
  how.names = program.get();
  if (std::holds_alternative<PcProfile>(content) && !format.write_pcs && !how.names)
    say(fmt::format("tally: the functions are named by address: {}", no_names_remedy));
  TALLY_TRY(written,
            write_for_gcovr(format.name, options.gcovr_version, [&](const std::string &version) {
              how.gcovr_version = version;
              return write_content(content, format, how);
            }));
  TALLY_CHECK(write_file(options.path, written.bytes));
  for (const std::string &what : written.lost)
    say(fmt::format("tally: not in {}: {}", format.name, what));
  return {};
}

Result<void> check_inputs(const std::vector<std::string> &files, const std::string &command) {
  if (std::ranges::count(files, "-") > 1)
    return fail(ErrorCode::invalid_argument,
                "'-' is given more than once, but standard input can be read only once", command);
  return {};
}

} // namespace tally::cli
