// What is shown of a profile: the one that was collected, or a file that was loaded.
#include <algorithm>

#include <fmt/format.h>

#include <tally/annotate.h>
#include <tally/formats.h>
#include <tally/report.h>
#include <tally/tree.h>

#include "session/named_profile.h"
#include "session/state.h"

namespace tally {

Result<Reply> Session::State::with_shown(const ParsedCommand &command, Show show) {
  if (loaded) {
    const auto shown = loaded; // until `show` is done
    return std::visit([&](const auto &profile) { return show(&profile); }, shown->profile);
  }
  return with_samples(
      command, [show = std::move(show)](const StackProfile &profile) { return show(&profile); });
}

std::string Session::State::footer() const {
  return loaded ? fmt::format("(loaded from {}; `profile clear` goes back to what was sampled)\n",
                              loaded->path)
                : warnings_of(diagnostics);
}

Result<Reply> Session::State::report(const ParsedCommand &command) {
  const bool json = command.has("json");
  TALLY_TRY(by, by_of(command.value("by")));
  TALLY_TRY(sort, sort_by_of(command.value("sort")));
  const uint32_t limit = command.limit();
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    TALLY_TRY(table, std::visit([&](auto *each) { return flat_table(*each, by, sort); }, shown));
    return Reply{json ? to_json(table, limit)
                      : to_text(table, {.limit = limit, .width = width}) + footer(),
                 {}};
  });
}

Result<Reply> Session::State::tree(const ParsedCommand &command) {
  TreeOptions how;
  if (!command.arguments.empty())
    how.function = command.arguments[0];
  how.callers = command.has("callers");
  how.limit = command.limit();
  const bool json = command.has("json");
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    TALLY_TRY(tree, std::visit([&](auto *each) { return call_tree(*each, how); }, shown));
    return Reply{json ? to_json(tree) : to_text(tree, {.limit = 0, .width = width}) + footer(), {}};
  });
}

Result<Reply> Session::State::annotate(const ParsedCommand &command) {
  const std::string what = command.arguments[0];
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    TALLY_TRY(lines, std::visit([&](auto *each) { return tally::annotate(*each, what); }, shown));
    return Reply{to_text(lines, {.limit = 0, .width = width}) + footer(), {}};
  });
}

Result<Reply> Session::State::load(const ParsedCommand &command) {
  TALLY_TRY(path, command.file());
  Diagnostics findings;
  // Counts of addresses are most likely of the program that is here.
  TALLY_TRY(read, read_named_profile(path, findings, target.program));
  // What makes no table is not shown in place of what was sampled.
  TALLY_TRY(table, std::visit([](const auto &each) { return flat_table(each, By::object); },
                              read.profile));
  loaded = std::make_shared<const Loaded>(Loaded{std::move(read.profile), path});
  return Reply{fmt::format("{}Loaded {} {} from {} ({}).\n", warnings_of(findings),
                           table.totals.front(), table.events.front(), path, read.format->name),
               {}};
}

std::vector<std::string> Session::State::function_names() const {
  std::vector<std::string> out;
  const auto add = [&](const auto &profile) {
    for (const auto &function : profile.functions())
      out.emplace_back(profile.strings[function.name]);
  };
  if (loaded)
    std::visit(add, loaded->profile);
  else if (named || kept)
    add(named ? *named : *kept);
  // A name with blanks would be several words.
  std::erase_if(out, [](const std::string &name) {
    return name.empty() || name.find_first_of(" \t'\"") != name.npos;
  });
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

} // namespace tally
