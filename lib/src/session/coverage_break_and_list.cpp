// `coverage break` and `coverage list`: from the counters to the code.
#include <algorithm>
#include <charconv>
#include <span>

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

// `answer` is the number of breakpoints that the front end has set.
Result<Reply> breakpoints_set(std::string_view answer, size_t wanted, size_t without_code,
                              const std::string &source) {
  size_t set = 0;
  const char *const end = answer.data() + answer.size();
  if (answer.empty() || std::from_chars(answer.data(), end, set).ptr != end || set > wanted)
    return fail(ErrorCode::unsupported, std::string(answer), source);
  const size_t others = without_code + (wanted - set);
  return Reply{fmt::format("Set {} on {}.{}\n",
                           set == 1 ? "1 temporary breakpoint"
                                    : fmt::format("{} temporary breakpoints", set),
                           set == 1 ? "a function that has not run" : "functions that have not run",
                           others == 0 ? ""
                                       : fmt::format(" {} more {} no code where one could be.",
                                                     others, others == 1 ? "has" : "have")),
               {}};
}

// Lists the source around a line.
Result<Reply> list_source(CoverageGroup &group, const std::string &source, const std::string &file,
                          uint32_t line) {
  if (!can_be_passed(file))
    return fail(ErrorCode::unsupported,
                "the name of the source file cannot be passed to the debugger", source);
  Request request{RequestKind::list_source, {}, {}};
  request.words = {file, fmt::format("{}", line)};
  group.front.actions.push_about(std::move(request), fmt::format("{}:{}", file, line));
  return Reply{};
}

} // namespace

Result<Reply> coverage_break_command(CoverageGroup &group, const ParsedCommand &command) {
  const std::string source = "coverage break";
  const std::string place = command.arguments.empty() ? "" : command.arguments[0];
  return group.with_counters(
      source,
      [&group, source, place](Result<std::shared_ptr<const CounterMark>> read) -> Result<Reply> {
        TALLY_TRY(now, std::move(read));
        TALLY_TRY(program, group.counted_program(source));
        if (program->layout().objects.empty())
          return fail(ErrorCode::unsupported,
                      "needs gcov's counters (--coverage): the program counts source-based",
                      source);
        auto found = live::functions_not_run(program->layout(), program->modules(),
                                             program->notes_of_objects(group.notes()),
                                             now->snapshot, now->threads, place);
        if (!found)
          return fail(ErrorCode::not_found,
                      place.empty() ? "the notes (.gcno) of the program cannot be read"
                                    : "there is no file or module of this name that has counters",
                      place.empty() ? source : place);
        const size_t wanted = found->addresses.size(), without_code = found->all - found->with_code;
        if (wanted == 0)
          return Reply{nothing_to_break(without_code, place), {}};
        if (wanted > most_breakpoints)
          return fail(ErrorCode::invalid_argument,
                      fmt::format("{} have not run, and at most {} can have a breakpoint: name a "
                                  "file or a module",
                                  functions_text(wanted), most_breakpoints),
                      source);
        Request request{RequestKind::break_once, {}, std::move(found->addresses)};
        group.front.actions.push(std::move(request),
                                 [wanted, without_code, source](std::string_view answer) {
                                   return breakpoints_set(answer, wanted, without_code, source);
                                 });
        return Reply{};
      });
}

Result<Reply> coverage_list_command(CoverageGroup &group, const ParsedCommand &command) {
  static_cast<void>(command);
  const std::string source = "coverage list";
  return group.with_counters(
      source, [&group, source](Result<std::shared_ptr<const CounterMark>> read) -> Result<Reply> {
        TALLY_TRY(now, std::move(read));
        TALLY_TRY(program, group.counted_program(source));
        for (const live::StoppedThread &thread : now->threads)
          for (const std::vector<OpenFrame> &frames :
               program->frames(std::span(&thread, 1), group.notes()))
            for (const OpenFrame &frame : frames)
              if (frame.line > 0 && !frame.file.empty())
                return list_source(group, source, frame.file, frame.line);
        static_cast<void>(program->source_based({now->snapshot, now->threads}, nullptr));
        for (const live::SourceBasedFrame &frame : program->source_based_frames())
          if (frame.line > 0 && !frame.file.empty())
            return list_source(group, source, frame.file, frame.line);
        return fail(ErrorCode::no_data, "no thread is in a function that has counters", source);
      });
}

} // namespace tally
