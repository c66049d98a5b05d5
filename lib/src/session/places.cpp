// Finds the code of a report's row, for `profile break` and `profile list`.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "session/state.h"
#include "support/number.h"

namespace tally {

void Session::State::remember(FlatTable table, uint32_t limit, SampleFilter wanted) {
  if (limit > 0 && table.rows.size() > limit)
    table.rows.resize(limit);
  shown_report = ShownReport{table.by, std::move(table.rows),    loaded ? nullptr : named,
                             loaded,   loaded ? 0 : sampled_pid, std::move(wanted)};
}

Result<std::vector<std::string>> Session::State::place_words(const ParsedCommand &command) const {
  const std::string source = fmt::format("profile {}", command.spec->name);
  TALLY_TRY(number, whole_number(command.arguments[0], 1, UINT32_MAX, source));
  if (!shown_report)
    return fail(ErrorCode::bad_state, "no report was shown yet: `profile report` numbers its rows",
                source);
  const ShownReport &report = *shown_report;
  if (number > report.rows.size())
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("there is no row {}: the last report showed {}", number,
                    report.rows.empty() ? "none" : fmt::format("1 to {}", report.rows.size())),
        source);
  const FlatRow &row = report.rows[number - 1];
  const auto place_in = [&](const auto &profile) -> Result<HotPlace> {
    if (report.wanted.takes_all())
      return hot_place(profile, report.by, row);
    TALLY_TRY(some, filter(profile, report.wanted));
    return hot_place(some, report.by, row);
  };
  auto place =
      report.loaded ? std::visit(place_in, report.loaded->read.profile) : place_in(*report.sampled);
  const std::string what = row.name.empty() ? fmt::format("row {}", number)
                                            : fmt::format("row {} ({})", number, row.name);
  if (!place) {
    Error error = std::move(place.error());
    if (error.code == ErrorCode::unsupported)
      error.message = fmt::format("row {} {}", number, error.message);
    error.source = source;
    return fail(std::move(error));
  }
  // The name becomes part of a debugger command, and a loaded file may contain any name.
  if (std::ranges::any_of(place->file, [](char c) {
        return c == '"' || c == '\\' || std::iscntrl(static_cast<unsigned char>(c));
      }))
    return fail(ErrorCode::unsupported,
                fmt::format("the file name of {} cannot be passed to the debugger", what), source);
  if (place->line > 0 && !place->file.empty())
    return std::vector<std::string>{place->file, fmt::format("{}", place->line)};
  if (place->address == 0 || command.spec->name == "list")
    return fail(ErrorCode::not_found, fmt::format("no source line is known for {}", what), source);
  if (report.pid != target.pid)
    return fail(ErrorCode::not_found,
                fmt::format("no source line is known for {}, and process {}, to which its "
                            "addresses belong, is gone",
                            what, report.pid),
                source);
  return std::vector<std::string>{"", fmt::format("{:#x}", place->address)};
}

Result<Reply> Session::State::show_place(const ParsedCommand &command, RequestKind kind) {
  TALLY_TRY(words, place_words(command));
  const std::string place = words[0].empty() ? words[1] : fmt::format("{}:{}", words[0], words[1]);
  Request request{kind, {}, {}};
  request.words = std::move(words);
  todo.push_back({std::move(request), [place](std::string_view answer) -> Result<Reply> {
                    if (answer.empty())
                      return Reply{};
                    return fail(ErrorCode::not_found, std::string(answer), place);
                  }});
  return Reply{};
}

Result<Reply> Session::State::break_at(const ParsedCommand &command) {
  return show_place(command, RequestKind::set_breakpoint);
}

Result<Reply> Session::State::list(const ParsedCommand &command) {
  return show_place(command, RequestKind::list_source);
}

} // namespace tally
