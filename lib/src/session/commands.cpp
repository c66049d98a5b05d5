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

Result<std::string> start_command(ProfileGroup &group, const ParsedCommand &command) {
  const Sampling &sampling = group.sampling;
  if (sampling.is_active() || group.backends.is_armed()) {
    std::string message = sampling.is_active()
                              ? fmt::format("process {} is already being sampled", sampling.pid())
                              : "the next run is already set to be sampled";
    const StartOptions &now = sampling.is_active() ? sampling.options() : group.backends.options();
    if (!command.options.empty())
      message += fmt::format("{}; `profile stop` first to change options",
                             now.events.empty() ? fmt::format(" at {} Hz", now.frequency_hz)
                                                : ": " + event_words(now));
    return fail(ErrorCode::bad_state, std::move(message), "profile start");
  }
  StartOptions wanted = start_options(group.settings, command);
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
  return group.backends.begin(wanted);
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

Result<std::string> stop_command(ProfileGroup &group, const ParsedCommand &) {
  if (!group.backends.is_armed() && !group.sampling.is_active())
    return fail(ErrorCode::bad_state, "sampling has not begun", "profile stop");
  group.backends.disarm();
  auto ended = group.sampling.end_all("profile stop");
  group.backends.undo_changes(false);
  return ended;
}

namespace {

Result<std::string> dump_parts(ProfileGroup &group, const StackProfile &profile,
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
  return text + lost_lines(files.front()) + warnings_of(group.names.diagnostics());
}

} // namespace

Result<std::string> dump_command(ProfileGroup &group, const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  TALLY_TRY(format, format_for_output(path, command.value("format"), "--format"));
  const bool in_parts = command.has("parts");
  const auto loaded = group.profiles.loaded();
  if (loaded && in_parts)
    return fail(ErrorCode::bad_state,
                "a loaded profile cannot be split into parts: `profile clear` first", "--parts");
  TALLY_TRY(shown, shown_profile(group, command));
  const StackProfile *const sampled =
      loaded ? nullptr : std::get<std::shared_ptr<const StackProfile>>(shown).get();
  if (in_parts)
    return dump_parts(group, *sampled, path, *format);
  TALLY_TRY(written,
            std::visit([&](const auto &each) { return write_profile(*each, *format); }, shown));
  TALLY_CHECK(write_file(path, *format, written));
  return fmt::format("Wrote {} to {} ({}).\n{}{}", sampled ? totals_text(*sampled) : loaded->path,
                     path, format->name, lost_lines(written),
                     sampled ? warnings_of(group.names.diagnostics()) : "");
}

Result<std::string> clear_command(ProfileGroup &group, const ParsedCommand &) {
  group.shown_table.reset();
  if (const auto loaded = group.profiles.loaded()) { // what was sampled stays
    group.profiles.unload();
    return fmt::format("Closed {}; what was sampled is kept.\n", loaded->path);
  }
  group.sampling.forget();
  return "";
}

Result<std::string> config_command(ProfileGroup &group, const ParsedCommand &command) {
  TALLY_TRY(text, configure(group.settings, profile_table(), command));
  const std::string name = command.argument(0);
  const bool is_of_start = name != "stop-times" && name != "debuginfod";
  if (command.arguments.size() == 2 && is_of_start &&
      (group.sampling.is_active() || group.backends.is_armed()))
    text = "The next `profile start` uses the new value; what has begun goes on as it was.\n";
  return text;
}

} // namespace tally
