// Shows a profile, either the collected one or a loaded file.
#include <set>

#include <fmt/format.h>

#include <tally/annotate.h>
#include <tally/formats.h>
#include <tally/function_alias.h>
#include <tally/report.h>
#include <tally/sample_filter.h>
#include <tally/tree.h>

#include "session/state.h"
#include "support/text.h"

namespace tally {

Result<Reply> Session::State::with_shown(const ParsedCommand &command, Show show) {
  const auto unfolded = [show = std::move(show),
                         unfolds = command.has("kernel")](const auto &profile) -> Result<Reply> {
    if (!unfolds)
      return show(&profile);
    TALLY_TRY(whole, unfold_kernel(profile));
    return show(&whole);
  };
  const auto show_some = [unfolded,
                          wanted = command.filter()](const auto &profile) -> Result<Reply> {
    if (wanted.takes_all())
      return unfolded(profile);
    TALLY_TRY(some, filter(profile, wanted));
    return unfolded(some);
  };
  if (loaded) {
    const auto shown = loaded; // keeps the profile alive while `show` runs
    return std::visit(show_some, shown->read.profile);
  }
  return with_samples(command, show_some);
}

namespace {

// Returns the paths of the sources whose code has samples.
std::vector<std::string> source_paths(const StackProfile &profile) {
  std::set<StringId> paths;
  for (uint32_t i = 0; i < profile.location_count(); ++i)
    for (const SourceLine &line : profile.location(static_cast<LocationId>(i)).lines)
      paths.insert(line.file);
  std::vector<std::string> out;
  for (const StringId path : paths)
    out.emplace_back(profile.strings[path]);
  return out;
}

std::vector<std::string> source_paths(const CostProfile &profile) {
  std::vector<std::string> out;
  for (const StringId path : profile.files())
    out.emplace_back(profile.strings[path]);
  return out;
}

} // namespace

std::string Session::State::footer_line(const std::string &text) const {
  return style.paint(Role::metadata, text) + '\n';
}

std::string Session::State::user_code_footer() {
  const SamplerStatus now = sums();
  if (now.kernel_included)
    return {};
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  return footer_line(fmt::format("(user code only: the kernel's part, {:.2f} s of {:.2f} s of CPU "
                                 "time, was not sampled)",
                                 seconds(now.unsampled_ns), seconds(now.cpu_ns)));
}

std::string Session::State::wall_time_footer() {
  const SamplerStatus now = sums();
  std::string out;
  if (now.queued != 0)
    out += footer_line(fmt::format("(wall time; waits for a processor are left out: {})",
                                   counted(now.queued, "ticks")));
  if (now.unheld != 0)
    out += footer_line(fmt::format("({} of {} rounds stopped the threads late: they show the ends "
                                   "of system calls too often)",
                                   now.unheld, now.rounds));
  return out;
}

std::string Session::State::footer() {
  if (loaded)
    return footer_line(
        fmt::format("(loaded from {}; `profile clear` returns to what was sampled)", loaded->path));
  const Region *const region = sampled_options.region.get();
  return (region ? footer_line(region_footer(*region)) : std::string()) + user_code_footer() +
         wall_time_footer() + warnings_of(diagnostics);
}

Symbolizer &Session::State::names() {
  if (!symbolizer)
    symbolizer = make_symbolizer();
  return *symbolizer;
}

int Session::State::live_pid() const {
  return !loaded && target.pid == sampled_pid ? target.pid : 0;
}

Result<Reply> Session::State::report(const ParsedCommand &command) {
  const bool json = command.has("json");
  TALLY_TRY(by, by_of(command.value("by")));
  TALLY_TRY(sort, sort_by_of(command.value("sort")));
  const uint32_t limit = command.limit();
  const SampleFilter wanted = command.filter();
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    TALLY_TRY(table, std::visit([&](auto *each) { return flat_table(*each, by, sort); }, shown));
    if (json)
      return Reply{to_json(table, limit), {}};
    Reply reply{to_text(table, {.limit = limit, .width = width, .style = style}) + footer(), {}};
    remember(std::move(table), limit, wanted);
    return reply;
  });
}

Result<Reply> Session::State::tree(const ParsedCommand &command) {
  TreeOptions how;
  if (!command.arguments.empty())
    how.function = command.arguments[0];
  how.callers = command.has("callers");
  how.full = command.has("full");
  if (command.has("by")) {
    TALLY_TRY(by, by_of(command.value("by")));
    how.by = by;
  }
  how.limit = command.limit();
  const bool json = command.has("json");
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    const auto tree_of = [&](auto *each) {
      return by_any_name(*each, how.function, names(), live_pid(), [&](const std::string &name) {
        TreeOptions by_name = how;
        by_name.function = name;
        return call_tree(*each, by_name);
      });
    };
    TALLY_TRY(tree, std::visit(tree_of, shown));
    return Reply{json ? to_json(tree)
                      : to_text(tree, {.limit = 0, .width = width, .style = style}) + footer(),
                 {}};
  });
}

Result<Reply> Session::State::annotate(const ParsedCommand &command) {
  const std::string what = command.arguments[0];
  if (command.has("asm"))
    return annotate_code(command);
  const bool json = command.has("json");
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    const auto lines_of = [&](auto *each) {
      return by_any_name(*each, what, names(), live_pid(),
                         [&](const std::string &name) { return tally::annotate(*each, name); });
    };
    TALLY_TRY(lines, std::visit(lines_of, shown));
    return Reply{json ? to_json(lines)
                      : to_text(lines, {.limit = 0, .width = width, .style = style}) + footer(),
                 {}};
  });
}

Result<Reply> Session::State::load(const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  Diagnostics findings;
  // A profile of addresses most likely belongs to the current program.
  TALLY_TRY(read, read_named_profile(path, findings, target.program));
  // Make a table first, so that a profile that cannot be shown does not replace the sampled one.
  TALLY_TRY(table, std::visit([](const auto &each) { return flat_table(each, By::object); },
                              read.profile));
  const std::string_view format = read.format->name;
  loaded = std::make_shared<const Loaded>(Loaded{std::move(read), path, target.program});
  return Reply{fmt::format("{}Loaded {} from {} ({}).\n", warnings_of(findings),
                           counted(table.totals.front(), table.events.front()), path, format),
               {}};
}

std::vector<std::string> Session::State::words_of(std::string_view kind) const {
  std::vector<std::string> out;
  const auto add = [&](const auto &profile) {
    if (kind == "FUNCTION")
      for (const auto &function : profile.functions())
        out.emplace_back(profile.strings[function.name]);
    else if (kind == "FILE")
      out = source_paths(profile);
    else if (kind == "THREAD")
      out = thread_words(profile);
    else
      for (const auto &part : profile.parts())
        out.push_back(std::to_string(part.number));
  };
  if (loaded)
    std::visit(add, loaded->read.profile);
  else if (named || kept)
    add(named ? *named : *kept);
  std::erase(out, "");
  return out;
}

} // namespace tally
