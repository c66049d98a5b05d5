// Executes the parsed commands.
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tally/file_io.h>
#include <tally/formats.h>
#include <tally/report.h>
#include <tally/sample_filter.h>

#include "session/state.h"
#include "support/clock.h"
#include "support/text.h"

namespace tally {

namespace {

Reply printed(std::string text) { return Reply{std::move(text), {}}; }

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

std::string_view stack_words(const StartOptions &options) {
  if (options.stacks == StackMode::none)
    return "no stacks";
  if (options.backend == Backend::interrupt)
    return "stacks unwound by the debugger";
  return options.stacks == StackMode::dwarf ? "stacks by unwind data" : "stacks by frame pointers";
}

std::string seconds(uint64_t ns) { return fmt::format("{:.2f} s", static_cast<double>(ns) * 1e-9); }

} // namespace

std::string Session::State::sampling_words() const {
  std::string why;
  if (!options.chosen)
    why = passed.empty() ? " (auto: it is allowed here)"
                         : fmt::format(" (auto; {})", fmt::join(passed, "; "));
  const bool user_code = options.backend == Backend::perf && user_code_only;
  return fmt::format("{}{}, {} Hz of {} time{}, {}", name_of(options.backend), why,
                     options.frequency_hz, options.backend == Backend::interrupt ? "wall" : "CPU",
                     user_code ? " in user code only" : "", stack_words(options));
}

Result<Reply> Session::State::run(const ParsedCommand &command) {
  struct Row {
    std::string_view name;
    Result<Reply> (State::*handler)(const ParsedCommand &);
  };
  static constexpr Row rows[] = {
      {"start", &State::start},       {"stop", &State::stop},
      {"status", &State::status},     {"report", &State::report},
      {"break", &State::break_at},    {"list", &State::list},
      {"tree", &State::tree},         {"annotate", &State::annotate},
      {"dump", &State::dump},         {"histogram", &State::histogram},
      {"load", &State::load},         {"diff", &State::diff},
      {"clear", &State::clear},       {"config", &State::config},
      {"region", &State::set_region},
  };
  for (const Row &row : rows)
    if (row.name == command.spec->name)
      return (this->*row.handler)(command);
  return fail(ErrorCode::internal, "the command has no handler", std::string(command.spec->name));
}

Result<Reply> Session::State::stop(const ParsedCommand &) {
  if (!armed && !sampler)
    return fail(ErrorCode::bad_state, "sampling has not begun", "profile stop");
  armed = false;
  Result<Reply> ended = end_sampling("profile stop");
  end_requests(false);
  return ended;
}

Result<Reply> Session::State::start(const ParsedCommand &command) {
  if (sampler || armed) {
    std::string message = sampler ? fmt::format("process {} is already being sampled", sampled_pid)
                                  : "the next run is already set to be sampled";
    if (!command.options.empty())
      message += fmt::format(" at {} Hz; `profile stop` first to change options",
                             (sampler ? sampled_options : options).frequency_hz);
    return fail(ErrorCode::bad_state, std::move(message), "profile start");
  }
  return begin(options_of(command));
}

StartOptions Session::State::options_of(const ParsedCommand &command) const {
  const auto value = [&](std::string_view name) {
    return command.has(name) ? command.value(name) : std::string_view(settings.find(name)->second);
  };
  StartOptions wanted;
  wanted.frequency_hz = number_of(value("frequency"));
  wanted.stacks = *stack_mode_by_name(value("stacks"));
  wanted.wall = value("clock") == "wall";
  wanted.chosen = value("backend") != "auto";
  for (const Backend backend : {Backend::perf, Backend::agent, Backend::interrupt})
    if (name_of(backend) == value("backend"))
      wanted.backend = backend;
  return wanted;
}

std::string Session::State::state_words(bool process_gone) const {
  if (sampler) // the debugger may not have noticed the end of the process yet
    return process_gone ? "ended (the process is gone)" : "sampling";
  if (armed && target.target == TargetKind::native && target.pid != 0)
    return fmt::format("armed (begins when process {} runs on)", target.pid);
  if (armed)
    return "armed (begins with the next process)";
  return kept || frozen ? "stopped" : "idle";
}

Result<Reply> Session::State::status(const ParsedCommand &command) {
  const std::vector<StatusRow> rows = status_rows();
  if (command.has("json"))
    return printed(to_json(rows));
  std::string out;
  for (const StatusRow &row : rows)
    out += fmt::format("{} {}\n", style.paint(Role::variable, row.name), row.text);
  return printed(out);
}

std::vector<StatusRow> Session::State::status_rows() {
  const SamplerStatus now = sums();
  const uint64_t at = now_ns();
  uint64_t run = running_ns, held = stopped_ns;
  if (sampler)
    (running ? run : held) += at - changed_at_ns;
  const bool collected = sampler || kept || frozen;
  const StartOptions &shown = collected ? sampled_options : options;
  const AgentFacts facts = agent ? agent->facts() : agent_facts;

  std::vector<StatusRow> rows;
  const auto line = [&](std::string_view name, const auto &value) {
    rows.emplace_back(name, value);
  };
  const auto noted = [&](std::string_view name, std::string_view text) {
    rows.push_back(StatusRow::noted(name, text));
  };
  const auto time = [&](std::string_view name, uint64_t ns) {
    rows.push_back(StatusRow::seconds(name, ns, seconds(ns)));
  };
  noted("state", state_words(now.ended));
  if (sampler)
    line("pid", static_cast<uint64_t>(sampled_pid));
  if (!collected && !armed) { // show what `start` would use
    for (std::string_view name : {"backend", "clock", "stacks"})
      line(name, settings.find(name)->second);
    line("requested_hz", uint64_t{number_of(settings.find("frequency")->second)});
  } else {
    noted("backend",
          shown.chosen ? std::string(name_of(shown.backend))
          : passed.empty()
              ? fmt::format("{} (auto: perf_event_open is allowed here)", name_of(shown.backend))
              : fmt::format("{} (auto; {})", name_of(shown.backend), fmt::join(passed, "; ")));
    SamplerStatus clock_of = now; // `wall_clock` is not set before the first sample
    clock_of.wall_clock |= shown.backend == Backend::interrupt;
    noted("clock", clock_words(clock_of, facts));
    noted("stacks", shown.stacks == StackMode::none       ? "none"
                    : shown.backend == Backend::interrupt ? "unwound by the debugger"
                    : shown.stacks == StackMode::dwarf
                        ? "dwarf"
                        : "fp (may be cut where code has no frame pointers)");
    line("requested_hz", uint64_t{shown.frequency_hz});
  }
  const uint64_t ticks = now.wall_clock ? now.rounds : now.samples + now.outside;
  const uint64_t clock_ns = now.wall_clock ? run : now.cpu_ns - now.unsampled_ns;
  line("delivered_hz",
       clock_ns == 0 ? uint64_t{0}
                     : static_cast<uint64_t>(
                           static_cast<double>(ticks) * 1e9 / static_cast<double>(clock_ns) + 0.5));
  line("samples", now.samples);
  line("in_kernel", now.kernel_samples);
  if (collected && (shown.region || now.outside != 0))
    line("outside", now.outside);
  line("lost", now.lost);
  if (now.wall_clock) {
    line("queued", now.queued);
    line("unheld", now.unheld);
  }
  line("throttled", now.throttled);
  if (collected && shown.stacks == StackMode::dwarf && shown.backend != Backend::interrupt)
    line("cut_stacks", now.cut_stacks);
  if (now.stack_bytes != 0)
    line("stack_bytes", now.stack_bytes);
  size_t threads = now.threads, parts = now.parts;
  for (const Profile &profile : {kept, frozen})
    if (profile) {
      parts += profile->parts().size();
      for (const Thread &thread : profile->threads())
        threads += !sampler || thread.pid != sampled_pid; // now.threads counts this process's
    }
  line("threads", uint64_t{threads});
  line("parts", uint64_t{parts});
  if (!now.wall_clock)
    time("cpu", now.cpu_ns);
  time("running", run);
  time("stopped", held);
  rows.push_back(
      StatusRow::bytes("memory", now.memory_bytes, fmt::format("{} bytes", now.memory_bytes)));
  if (Region *const region = (collected ? sampled_options : options).region.get()) {
    region->give_up_closed();
    add_region(*region, rows);
  }
  if (collected && shown.backend == Backend::agent) {
    line("interruptions", facts.interruptions);
    if (!facts.conflict.empty())
      line("conflict", facts.conflict);
    const bool never_came =
        facts.phase == AgentPhase::waiting || facts.phase == AgentPhase::refused;
    if (never_came && !facts.reason.empty())
      line("agent", facts.reason);
  }
  if (!now.problem.empty())
    line("problem", now.problem);
  if (loaded)
    line("loaded", loaded->path);
  return rows;
}

std::string Session::State::clock_words(const SamplerStatus &now, const AgentFacts &facts) const {
  const bool remote = (sampler ? sampled_options : options).remote;
  if (now.wall_clock)
    return fmt::format(
        "wall (a round of stops counts each thread that {}; at most {} rounds a second)",
        remote ? "is there" : "runs or sleeps",
        remote ? InterruptClock::most_remote_hz : InterruptClock::most_native_hz);
  if (facts.clock == "ticker")
    return "cpu (ticker: a thread of the agent interrupts the running threads)";
  if (facts.clock == "timer")
    return "cpu (timer: a CPU timer for each thread)";
  const std::string_view ring =
      facts.clock == "ring" ? "ring: the kernel's clocks, opened by the agent" : "";
  const std::string_view user =
      now.kernel_included ? ""
                          : "user code only: the kernel does not let unprivileged users sample it";
  if (ring.empty() && user.empty())
    return "cpu";
  return fmt::format("cpu ({}{}{})", ring, ring.empty() || user.empty() ? "" : "; ", user);
}

std::string warnings_of(const Diagnostics &diagnostics) {
  std::string out;
  for (const Finding &finding : diagnostics.findings())
    if (finding.severity != Severity::note)
      out += finding.text() + '\n';
  return out;
}

Result<Reply> Session::State::with_samples(const ParsedCommand &command, Then what) {
  return with_names([what = std::move(what), name = fmt::format("profile {}", command.spec->name),
                     this](const StackProfile &profile) -> Result<Reply> {
    if (profile.sample_count() == 0)
      return fail(ErrorCode::no_data, why_no_samples(), name);
    return what(profile);
  });
}

std::string Session::State::why_no_samples() {
  const uint64_t ran = running_ns + (running ? now_ns() - changed_at_ns : 0);
  if (ran == 0)
    return "no samples yet: the program has not run while it was sampled";
  if (const Region *region = sampled_options.region.get();
      region && region->passes().count() == 0 && region->inside() == 0)
    return fmt::format("no samples yet: region {} was {}", fmt::join(region->places(), " to "),
                       region->unreturning() != 0
                           ? "entered only where the stack holds no return address"
                       : region->inlined() != 0 ? "entered only in inlined copies"
                                                : "not entered");
  const uint32_t hz = sampled_options.frequency_hz;
  const double ran_seconds = static_cast<double>(ran) * 1e-9;
  if (ran_seconds * hz < 10)
    return fmt::format("no samples yet: the program ran for {:.2g} s, in which a clock of {} Hz "
                       "ticks {} times: let it run longer, or choose a higher frequency",
                       ran_seconds, hz, static_cast<uint64_t>(ran_seconds * hz));
  const SamplerStatus now = sums();
  if (now.lost > 0) {
    const AgentFacts facts = agent ? agent->facts() : agent_facts;
    return fmt::format("no samples yet: {} lost, and none was kept{}{}",
                       counted(now.lost, "ticks") + (now.lost == 1 ? " was" : " were"),
                       facts.conflict.empty() ? "" : ": ", facts.conflict);
  }
  if (now.wall_clock)
    return fmt::format("no samples yet: in {} no thread could be interrupted", seconds(ran));
  return fmt::format("no samples yet: the program ran for {} but used only {} of CPU time, and "
                     "only CPU time is counted",
                     seconds(ran), seconds(now.cpu_ns));
}

Result<Reply> Session::State::dump(const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  TALLY_TRY(format, format_for_output(path, command.value("format"), "--format"));
  const bool in_parts = command.has("parts");
  if (loaded && in_parts)
    return fail(ErrorCode::bad_state,
                "a loaded profile cannot be split into parts: `profile clear` first", "--parts");
  const SampleFilter wanted = command.filter();
  if (loaded) {
    std::optional<tally::Profile> some;
    if (!wanted.takes_all()) {
      const auto take = [&](const auto &profile) -> Result<tally::Profile> {
        TALLY_TRY(taken, filter(profile, wanted));
        return tally::Profile(std::move(taken));
      };
      TALLY_TRY(taken, std::visit(take, loaded->read.profile));
      some = std::move(taken);
    }
    TALLY_TRY(written, write_profile(some ? *some : loaded->read.profile, *format));
    TALLY_CHECK(write_file(path, written.bytes));
    return printed(fmt::format("Wrote {} to {} ({}).\n{}", loaded->path, path, format->name,
                               lost_lines(written)));
  }
  return with_samples(command, [=, this](const StackProfile &all) -> Result<Reply> {
    std::optional<StackProfile> some;
    if (!wanted.takes_all()) {
      TALLY_TRY(taken, filter(all, wanted));
      some = std::move(taken);
    }
    const StackProfile &profile = some ? *some : all;
    const auto total = static_cast<uint64_t>(profile.totals().front());
    if (!in_parts) {
      TALLY_TRY(written, write_profile(profile, *format));
      TALLY_CHECK(write_file(path, written.bytes));
      return printed(fmt::format("Wrote {} to {} ({}).\n{}", counted(total, "ticks"), path,
                                 format->name, lost_lines(written) + warnings_of(diagnostics)));
    }
    TALLY_TRY(files, write_parts(profile, *format));
    for (size_t i = 0; i < files.size(); ++i)
      TALLY_CHECK(write_file(fmt::format("{}.{}", path, i + 1), files[i].bytes));
    const size_t count = files.size();
    size_t last = count; // the last numbered file that exists
    std::error_code ignored;
    while (std::filesystem::exists(fmt::format("{}.{}", path, last + 1), ignored))
      ++last;
    return printed(fmt::format("Wrote {} in {} {} to {} ({}).\n{}{}", counted(total, "ticks"),
                               count, count == 1 ? "part" : "parts", numbered_files(path, 1, count),
                               format->name,
                               last == count ? ""
                                             : fmt::format("{} {} of an earlier dump.\n",
                                                           numbered_files(path, count + 1, last),
                                                           last == count + 1 ? "is" : "are"),
                               lost_lines(files.front()) + warnings_of(diagnostics)));
  });
}

Result<Reply> Session::State::diff(const ParsedCommand &command) {
  const std::string name = command.arguments[0];
  TALLY_TRY(by, by_of(command.value("by")));
  TALLY_TRY(sort, sort_by_of(command.value("sort")));
  const auto table_of = [by, sort](const auto &profile) { return flat_table(profile, by, sort); };
  FlatTable before_table;
  if (name == "previous") {
    if (!previous)
      return fail(ErrorCode::no_data, "there is no run before this one", "previous");
    TALLY_TRY(table, table_of(*previous));
    before_table = std::move(table);
  } else {
    Diagnostics findings;
    TALLY_TRY(path, command.file());
    TALLY_TRY(read, read_named_profile(path, findings, target.program));
    TALLY_TRY(table, std::visit(table_of, read.profile));
    before_table = std::move(table);
  }
  const bool json = command.has("json");
  const uint32_t limit = command.limit();
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    TALLY_TRY(after_table, std::visit([&](auto *each) { return table_of(*each); }, shown));
    if (before_table.events[0] != after_table.events[0])
      return fail(ErrorCode::invalid_argument,
                  fmt::format("counts {}, but {} counts {}: they cannot be compared",
                              before_table.events[0],
                              loaded ? loaded->path : "the program's profile",
                              after_table.events[0]),
                  name);
    const DiffTable changes = diff_tables(before_table, after_table, sort);
    return printed(json ? to_json(changes, limit)
                        : to_text(changes, {.limit = limit, .width = width, .style = style}));
  });
}

Result<Reply> Session::State::clear(const ParsedCommand &) {
  shown_report.reset();
  if (loaded) { // the sampled profile is independent of the loaded one
    const std::string path = loaded->path;
    loaded.reset();
    return printed(fmt::format("Closed {}; what was sampled is kept.\n", path));
  }
  forget();
  return Reply{};
}

void Session::State::forget() {
  kept.reset();
  frozen.reset();
  named.reset();
  done = {};
  running_ns = stopped_ns = 0;
  changed_at_ns = now_ns();
  if (sampled_options.region)
    sampled_options.region->clear();
  if (sampler)
    sampler->clear();
}

Result<Reply> Session::State::config(const ParsedCommand &command) {
  if (command.arguments.empty()) {
    std::string out;
    for (const OptionSpec &each : profile_settings())
      out += fmt::format("{:<20} {}\n",
                         fmt::format("{} {}", each.name, settings.find(each.name)->second),
                         each.summary);
    return printed(out);
  }
  const std::string &name = command.arguments[0];
  if (command.arguments.size() > 1) {
    TALLY_CHECK(set(name, command.arguments[1]));
    return Reply{};
  }
  TALLY_TRY(setting, setting_by_name(name));
  return printed(fmt::format("{} {}\n", setting->name, settings.find(name)->second));
}

} // namespace tally
