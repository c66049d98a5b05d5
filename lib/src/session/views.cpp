// What is shown of a profile: the one that was collected, or a file that was loaded.
#include <algorithm>

#include <fmt/format.h>

#include <tally/annotate.h>
#include <tally/formats.h>
#include <tally/report.h>
#include <tally/sample_filter.h>
#include <tally/tree.h>

#include "session/state.h"

namespace tally {

Result<Reply> Session::State::with_shown(const ParsedCommand &command, Show show) {
  const auto show_some = [show = std::move(show),
                          wanted = command.filter()](const auto &profile) -> Result<Reply> {
    if (wanted.takes_all())
      return show(&profile);
    TALLY_TRY(some, filter(profile, wanted));
    return show(&some);
  };
  if (loaded) {
    const auto shown = loaded; // until `show` is done
    return std::visit(show_some, shown->read.profile);
  }
  return with_samples(command, show_some);
}

std::string Session::State::footer() const {
  if (loaded)
    return style.paint(
               Role::metadata,
               fmt::format("(loaded from {}; `profile clear` goes back to what was sampled)",
                           loaded->path)) +
           '\n';
  const Region *const region = sampled_options.region.get();
  return (region ? style.paint(Role::metadata, region_footer(*region)) + '\n' : std::string()) +
         warnings_of(diagnostics);
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
  if (command.has("by")) {
    TALLY_TRY(by, by_of(command.value("by")));
    how.by = by;
  }
  how.limit = command.limit();
  const bool json = command.has("json");
  return with_shown(command, [=, this](Shown shown) -> Result<Reply> {
    TALLY_TRY(tree, std::visit([&](auto *each) { return call_tree(*each, how); }, shown));
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
    TALLY_TRY(lines, std::visit([&](auto *each) { return tally::annotate(*each, what); }, shown));
    return Reply{json ? to_json(lines)
                      : to_text(lines, {.limit = 0, .width = width, .style = style}) + footer(),
                 {}};
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
  const std::string_view format = read.format->name;
  loaded = std::make_shared<const Loaded>(Loaded{std::move(read), path, target.program});
  return Reply{fmt::format("{}Loaded {} {} from {} ({}).\n", warnings_of(findings),
                           table.totals.front(), table.events.front(), path, format),
               {}};
}

std::vector<std::string> Session::State::words_of(std::string_view kind) const {
  std::vector<std::string> out;
  const auto add = [&](const auto &profile) {
    if (kind == "FUNCTION")
      for (const auto &function : profile.functions())
        out.emplace_back(profile.strings[function.name]);
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
  // A name with blanks would be several words.
  std::erase_if(out, [](const std::string &name) {
    return name.empty() || name.find_first_of(" \t'\"") != name.npos;
  });
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

} // namespace tally
