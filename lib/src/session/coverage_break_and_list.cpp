// `coverage break` and `coverage list`: from the counters to the code.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "live/functions_not_run.h"
#include "session/coverage_commands.h"

namespace tally {

namespace {

// A debugger needs seconds for more, and a minute for 30,000.
constexpr size_t most_breakpoints = 10'000;

std::string functions_text(size_t count) {
  return count == 1 ? "1 function" : fmt::format("{} functions", count);
}

// Says that all functions have run that can have a breakpoint.
std::string nothing_to_break(size_t without_code, const std::string &place) {
  const std::string where = place.empty() ? "" : fmt::format(" of {}", place);
  if (without_code == 0)
    return fmt::format("All functions{} have run.\n", where);
  return fmt::format("No breakpoint: {}{} {} not run, without code where one could be.\n",
                     functions_text(without_code), where, without_code == 1 ? "has" : "have");
}

} // namespace

Result<std::string> coverage_break_command(CountedProgram &program, Front &front,
                                           const ParsedCommand &command) {
  const std::string source = "coverage break";
  const std::string place(command.argument(0));
  TALLY_TRY(live, program.open(source));
  TALLY_TRY(now, program.counters_of(*live, source));
  if (live->layout().objects.empty())
    return fail(ErrorCode::unsupported,
                "needs gcov's counters (--coverage): the program counts source-based", source);
  auto found = live::functions_not_run(live->layout(), live->modules(),
                                       live->notes_of_objects(program.notes()), now->snapshot,
                                       now->threads, place);
  if (!found)
    return fail(ErrorCode::not_found,
                place.empty() ? "the notes (.gcno) of the program cannot be read"
                              : "there is no file or module of this name that has counters",
                place.empty() ? source : place);
  const size_t wanted = found->addresses.size(), without_code = found->all - found->with_code;
  if (wanted == 0)
    return nothing_to_break(without_code, place);
  if (wanted > most_breakpoints)
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} have not run, and at most {} can have a breakpoint: name a file or "
                            "a module",
                            functions_text(wanted), most_breakpoints),
                source);
  auto answer = front.ask(&Debugger::break_once, found->addresses);
  if (!answer)
    return fail(error_about(source, ErrorCode::unsupported, std::move(answer.error())));
  const size_t set = std::min(*answer, wanted), others = without_code + (wanted - set);
  return fmt::format("Set {} on {}.{}\n",
                     set == 1 ? "1 temporary breakpoint"
                              : fmt::format("{} temporary breakpoints", set),
                     set == 1 ? "a function that has not run" : "functions that have not run",
                     others == 0 ? ""
                                 : fmt::format(" {} more {} no code where one could be.", others,
                                               others == 1 ? "has" : "have"));
}

Result<std::string> coverage_list_command(CountedProgram &program, Front &front) {
  const std::string source = "coverage list";
  TALLY_TRY(live, program.open(source));
  TALLY_TRY(now, program.counters_of(*live, source));
  std::optional<std::pair<std::string, uint32_t>> shown;
  const auto take = [&](const std::string &file, uint32_t line) {
    if (!shown && line > 0 && !file.empty())
      shown.emplace(file, line);
  };
  for (auto thread = now->threads.begin(); thread != now->threads.end() && !shown; ++thread)
    for (const std::vector<OpenFrame> &frames :
         live->frames(std::span(&*thread, 1), program.notes()))
      for (const OpenFrame &frame : frames)
        take(frame.file, frame.line);
  if (!shown) {
    static_cast<void>(live->source_based({now->snapshot, now->threads}, nullptr));
    for (const live::SourceBasedFrame &frame : live->source_based_frames())
      take(frame.file, frame.line);
  }
  TALLY_CHECK(program.check_memory());
  if (!shown)
    return fail(ErrorCode::no_data, "no thread is in a function that has counters", source);
  const auto &[file, line] = *shown;
  if (!can_be_passed(file))
    return fail(ErrorCode::unsupported,
                "the name of the source file cannot be passed to the debugger", source);
  if (auto listed = front.ask(&Debugger::list_source, file, uint64_t{line}); !listed)
    return fail(error_about(fmt::format("{}:{}", file, line), ErrorCode::not_found,
                            std::move(listed.error())));
  return "";
}

} // namespace tally
