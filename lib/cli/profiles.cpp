#include "profiles.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "formats/gcov/stream.h"
#include "formats/llvm/profile_file.h"
#include "gcovr_version.h"
#include "progress.h"
#include "session/session.h"
#include "support/duration.h"
#include "support/file_io.h"
#include "support/number.h"
#include "support/path.h"

namespace tally::cli {

namespace {

// Returns the terminal's columns; 0, which means unlimited, for a file or a pipe.
uint32_t terminal_width() {
  constexpr uint32_t of_unknown = 80; // a terminal that does not tell its width
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
    return 0;
  return size.ws_col > 0 ? size.ws_col : of_unknown;
}

// https://no-color.org
Style terminal_style() {
  const char *refused = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  const bool coloured = ::isatty(STDOUT_FILENO) && !(refused && *refused) && terminal &&
                        std::string_view(terminal) != "dumb";
  return coloured ? Style::standard() : Style();
}

} // namespace

namespace {

ModuleSources module_sources(const ParsedCommand &given) {
  return {std::string(given.value("sysroot")), given.values("symbols"),
          "--symbols FILE or --sysroot DIR names it"};
}

} // namespace

InputOptions input_options(const ParsedCommand &given) {
  InputOptions out;
  if (!is_like_duration(given.value("from"))) // otherwise it selects samples
    out.from = given.value("from");
  out.program = given.value("program");
  out.objects = given.values("object");
  out.reading = reading_of(given);
  out.symbolizer = symbolizer_for(given);
  out.sources = module_sources(given);
  return out;
}

ReadOptions reading_of(const ParsedCommand &given) {
  ReadOptions out;
  if (given.has("memory-limit"))
    out.memory_limit = byte_size_of(given.value("memory-limit")).value();
  out.max_unpacked_bytes = std::max(out.max_unpacked_bytes, out.memory_limit);
  return out;
}

std::unique_ptr<Symbolizer> symbolizer_for(const ParsedCommand &given) {
  const char *const servers = std::getenv("DEBUGINFOD_URLS");
  SymbolizerOptions options;
  options.debuginfod = servers && *servers && !given.has("no-debuginfod");
  options.sources = module_sources(given);
  return make_symbolizer(std::move(options));
}

OutputOptions output_options(const ParsedCommand &given) {
  return {std::string(given.value("o")), given.has("full-names"), given.has("full-positions"),
          std::string(given.value("gcovr-version")), std::string(given.value("lcov-version"))};
}

TableOptions table_options(const ParsedCommand &given) {
  return {given.limit(), given.has("json"), given.has("full-names")};
}

int64_t stated_time() {
  const char *text = std::getenv("SOURCE_DATE_EPOCH");
  if (text)
    if (const auto seconds = whole_number(text, 0, INT64_MAX / 1000, "SOURCE_DATE_EPOCH"))
      return static_cast<int64_t>(*seconds);
  return static_cast<int64_t>(std::time(nullptr));
}

WriteOptions OutputOptions::how() const {
  WriteOptions out{.compress_names = !full_names, .compress_positions = !full_positions};
  out.time = stated_time();
  out.lcov_version = lcov_version;
  return out;
}

TextOptions TableOptions::text() const {
  return {.limit = limit,
          .width = terminal_width(),
          .style = terminal_style(),
          .full_names = full_names};
}

namespace {

// Takes Ctrl-C while it exists, without a handler: the signal stays blocked.
class BlockedInterrupt {
public:
  BlockedInterrupt() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~BlockedInterrupt() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedInterrupt(const BlockedInterrupt &) = delete;
  bool take() const {
    const timespec now{};
    return ::sigtimedwait(&set_, nullptr, &now) == SIGINT;
  }

private:
  sigset_t set_{}, before_{};
};

// Shows the progress of naming in place of what is shown.
class NamingProgress {
public:
  explicit NamingProgress(std::optional<Progress> &shown) : shown_(shown) {}

  Naming naming(Symbolizer *symbolizer) {
    return {.looked_up =
                [this](uint64_t done, uint64_t all) {
                  interrupt_.reset();
                  show("reading names");
                  shown_->items(done, all);
                },
            .fetched = [this](const FetchProgress *now) { return may_fetch(now); },
            .symbolizer = symbolizer};
  }

private:
  void show(std::string what) {
    if (what == what_)
      return;
    shown_.reset(); // clears the old line first
    shown_.emplace(what);
    what_ = std::move(what);
  }

  bool may_fetch(const FetchProgress *now) {
    if (!interrupt_)
      interrupt_.emplace();
    if (!now)
      return true;
    if (interrupt_->take()) {
      shown_.reset();
      what_.clear();
      interrupt_.reset();
      say("tally: interrupted: no further debug files are fetched");
      return false;
    }
    show(fmt::format("fetching debug information of {} (file {} of {}; Ctrl-C stops fetching)",
                     base_name(now->module), now->done + 1, now->all));
    shown_->bytes(now->received, now->size);
    return true;
  }

  std::optional<Progress> &shown_;
  std::string what_;
  std::optional<BlockedInterrupt> interrupt_; // while debug files are fetched
};

} // namespace

Result<StackProfile> name_shown(StackProfile raw, Symbolization::Processes processes,
                                Symbolizer &symbolizer, Diagnostics &findings) {
  std::optional<Progress> shown;
  NamingProgress progress(shown);
  return name_all(std::move(raw), processes, findings, progress.naming(&symbolizer));
}

Result<ReadFile> read_any(const std::string &path, const InputOptions &options,
                          Diagnostics &findings) {
  const Format *from = nullptr;
  if (!options.from.empty()) {
    TALLY_TRY(named, format_by_name(options.from));
    from = named;
  }
  std::optional<Progress> progress(std::in_place, "reading " + path);
  NamingProgress naming(progress);
  ReadOptions reading = options.reading;
  reading.progress = [&](uint64_t position, uint64_t size) { progress->bytes(position, size); };
  Naming how = naming.naming(options.symbolizer.get());
  how.sources = options.sources;
  return read_named_file(path, findings, from, reading, how);
}

Result<ProgramNames> program_names(const InputOptions &options) {
  Diagnostics findings;
  auto names = tally::program_names(options.program, findings);
  show(findings);
  return names;
}

Result<NamedProfile> read_input(const std::string &path, const InputOptions &options,
                                Diagnostics &findings) {
  TALLY_TRY(file, read_any(path, options, findings));
  return named_profile_with(path, std::move(file), options.program, no_names_remedy, findings);
}

namespace {

Result<void> name_counters(ReadFile &file, const std::vector<std::string> &objects,
                           Diagnostics &findings) {
  const auto *counters = std::get_if<std::unique_ptr<CounterFile>>(&file.content);
  auto *profile = counters ? dynamic_cast<llvm::ProfileFile *>(counters->get()) : nullptr;
  return profile && !objects.empty() ? profile->correlate(objects, findings) : Result<void>();
}

} // namespace

Result<ReadFiles> read_inputs(const std::vector<std::string> &paths, const InputOptions &options,
                              bool one_format) {
  const auto read = [&](const std::string &path) {
    Diagnostics findings;
    auto file = read_any(path, options, findings);
    if (file)
      if (auto named = name_counters(*file, options.objects, findings); !named)
        file = fail(named.error());
    show(findings);
    return file;
  };
  return read_files(paths, one_format, read,
                    [](const Error &error) { say("tally: warning: " + error.text()); });
}

Result<CostProfile> costs_for_event(CostProfile costs, const std::string &event) {
  if (event.empty())
    return costs;
  return one_event(costs, event);
}

Result<Profile> read_for_table(const std::string &path, const InputOptions &options,
                               const Selection &wanted, OnDamage on_damage) {
  Diagnostics findings;
  auto result = read_input(path, options, findings);
  show(findings);
  TALLY_TRY(read, std::move(result));
  const auto error = std::ranges::find(findings.findings(), Severity::error, &Finding::severity);
  if (on_damage == OnDamage::refuse && error != findings.findings().end())
    return fail(ErrorCode::invalid_input, "is damaged: its costs are not judged", path);
  TALLY_CHECK(check_costs(read.profile, path));
  return select_from(std::move(read.profile), wanted, path);
}

Result<void> write_output(const Content &content, const Format &format,
                          const OutputOptions &options, const InputOptions &input) {
  const auto *counters = std::get_if<std::unique_ptr<CounterFile>>(&content);
  if (const auto *stream = counters ? dynamic_cast<const GcovStream *>(counters->get()) : nullptr;
      stream && format.name == "gcov-data" && options.path.ends_with('/'))
    return stream->write_below(options.path);
  TALLY_CHECK(check_output_name(options.path, format));
  TALLY_TRY(program, program_names(input));
  WriteOptions how = options.how();
  how.names = program.get();
  if (needs_names(content, format) && !how.names)
    say(fmt::format("tally: the functions are named by address: {}", no_names_remedy));
  TALLY_TRY(written,
            write_for_gcovr(format.name, options.gcovr_version, [&](const std::string &version) {
              how.gcovr_version = version;
              return write_content(content, format, how);
            }));
  TALLY_CHECK(write_file(options.path, format, written));
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
