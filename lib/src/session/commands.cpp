// The `profile` commands that control sampling or write files.
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "formats/formats.h"
#include "report/value_text.h"
#include "session/command_help.h"
#include "session/profile_commands.h"
#include "session/profile_table.h"
#include "support/file_io.h"
#include "support/text.h"

namespace tally {

namespace {

std::string numbered_files(std::string_view path, size_t first, size_t last) {
  return first == last ? fmt::format("{}.{}", path, first)
                       : fmt::format("{}.{} … {}.{}", path, first, path, last);
}

std::string lost_lines(const Written &written) {
  std::string out;
  for (const std::string &what : written.lost)
    out += fmt::format("Not in this format: {}.\n", what);
  return out;
}

} // namespace

Result<std::string> start_command(const Sampling &sampling, Backends &backends,
                                  const Settings &settings, const ParsedCommand &command) {
  if (sampling.is_active() || backends.is_armed()) {
    std::string message = sampling.is_active()
                              ? fmt::format("process {} is already being sampled", sampling.pid())
                              : "the next run is already set to be sampled";
    const StartOptions &now = sampling.is_active() ? sampling.options() : backends.options();
    if (!command.options.empty())
      message += fmt::format("{}; `profile stop` first to change options",
                             now.events.empty() ? fmt::format(" at {} Hz", now.frequency_hz)
                                                : ": " + event_words(now));
    return fail(ErrorCode::bad_state, std::move(message), "profile start");
  }
  StartOptions wanted = start_options(settings, command);
  TALLY_TRY(events, sampled_events(command, wanted.wall));
  wanted.events = std::move(events);
  wanted.children = command.has("children");
  wanted.stack_bytes = stack_bytes_of(command);
  TALLY_TRY(limit_ns, limit_ns_of(command));
  wanted.limit_ns = limit_ns;
  wanted.runs_on = command.has("continue");
  if (wanted.stack_bytes != 0 && wanted.stacks != StackMode::dwarf)
    return fail(ErrorCode::invalid_argument, "needs --stacks dwarf, which copies the stacks",
                "--stack-bytes");
  if (wanted.children && wanted.wall)
    return fail(ErrorCode::invalid_argument,
                "cannot be used with --clock wall, because a wait of a child may span a stop of "
                "the program",
                "--children");
  return backends.begin(wanted);
}

StartOptions start_options(const Settings &settings, const ParsedCommand &command) {
  const auto value = [&](std::string_view name) {
    return command.has(name) ? command.value(name) : settings.value(name);
  };
  StartOptions wanted;
  wanted.frequency_hz = static_cast<uint32_t>(number_of(value("frequency")));
  wanted.stacks = *stack_mode_by_name(value("stacks"));
  wanted.wall = value("clock") == "wall";
  wanted.chosen = value("backend") != "auto";
  for (const Backend backend : {Backend::perf, Backend::agent, Backend::interrupt})
    if (name_of(backend) == value("backend"))
      wanted.backend = backend;
  return wanted;
}

Result<std::string> stop_command(Sampling &sampling, Backends &backends) {
  if (!backends.is_armed() && !sampling.is_active())
    return fail(ErrorCode::bad_state, "sampling has not begun", "profile stop");
  backends.disarm();
  auto ended = sampling.end_all("profile stop");
  backends.undo_changes(false);
  return ended;
}

namespace {

Result<std::string> dump_parts(const StackProfile &profile, const std::string &warnings,
                               const std::string &path, const Format &format) {
  TALLY_TRY(files, write_parts(profile, format));
  for (size_t i = 0; i < files.size(); ++i)
    TALLY_CHECK(write_file(fmt::format("{}.{}", path, i + 1), files[i].bytes));
  const size_t count = files.size();
  size_t last = count; // the highest number that exists
  std::error_code ignored;
  while (std::filesystem::exists(fmt::format("{}.{}", path, last + 1), ignored))
    ++last;
  std::string text =
      fmt::format("Wrote {} in {} {} to {} ({}).\n", totals_text(profile), count,
                  count == 1 ? "part" : "parts", numbered_files(path, 1, count), format.name);
  if (last != count)
    text += fmt::format("{} {} of an earlier dump.\n", numbered_files(path, count + 1, last),
                        last == count + 1 ? "is" : "are");
  return text + lost_lines(files.front()) + warnings;
}

} // namespace

Result<std::string> dump_command(ShownProfile &profile, const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  TALLY_TRY(format, format_for_output(path, command.value("format"), "--format"));
  const bool in_parts = command.has("parts");
  const auto loaded = profile.loaded();
  if (loaded && in_parts)
    return fail(ErrorCode::bad_state,
                "a loaded profile cannot be split into parts: `profile clear` first", "--parts");
  TALLY_TRY(shown, profile.selected(command));
  const StackProfile *const sampled =
      loaded ? nullptr : std::get<std::shared_ptr<const StackProfile>>(shown).get();
  if (in_parts)
    return dump_parts(*sampled, profile.warnings(), path, *format);
  TALLY_TRY(written,
            std::visit([&](const auto &each) { return write_profile(*each, *format); }, shown));
  TALLY_CHECK(write_file(path, *format, written));
  return fmt::format("Wrote {} to {} ({}).\n{}{}", sampled ? totals_text(*sampled) : loaded->path,
                     path, format->name, lost_lines(written), sampled ? profile.warnings() : "");
}

Result<std::string> clear_command(ShownProfile &profile, ProfileStore &profiles,
                                  Sampling &sampling) {
  profile.forget_table();
  if (const auto loaded = profiles.loaded()) { // what was sampled stays
    profiles.unload();
    return fmt::format("Closed {}; what was sampled is kept.\n", loaded->path);
  }
  sampling.forget();
  return "";
}

Result<std::string> config_command(Settings &settings, bool has_begun,
                                   const ParsedCommand &command) {
  TALLY_TRY(text, configure(settings, profile_table(), command));
  const std::string name = command.argument(0);
  const bool is_of_start = name != "stop-times" && name != "debuginfod";
  if (command.arguments.size() == 2 && is_of_start && has_begun)
    text = "The next `profile start` uses the new value; what has begun goes on as it was.\n";
  return text;
}

} // namespace tally
