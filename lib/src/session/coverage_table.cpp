// The table of the `coverage` commands, with their options and help.
#include "session/coverage_table.h"

#include <array>

#include <fmt/format.h>

#include "report/coverage_output.h"
#include "session/command_help.h"
#include "session/common_options.h"
#include "session/coverage_commands.h"
#include "session/coverage_group.h"

namespace tally {

namespace {

constexpr std::array<OptionSpec, 2> coverage_settings{{
    {.name = "notes",
     .kind = ValueKind::anything,
     .values = "DIR",
     .fallback = "none",
     .summary = "where the notes (.gcno) are: a directory, or FROM=TO for their paths"},
    {"auto-mark", ValueKind::choice, "auto|on|off", "auto",
     "whether each stop makes a mark for --since stop;\nauto: while that takes at most 10 ms"},
}};

constexpr OptionSpec since_option{
    .name = "since",
    .kind = ValueKind::choice,
    .values = "mark|stop",
    .summary = "only what ran since `coverage mark`, or since the\nprevious stop"};

constexpr std::array<OptionSpec, 4> coverage_report_options{{{.name = "by",
                                                              .kind = ValueKind::choice,
                                                              .values = "file|function|line|object",
                                                              .fallback = "file",
                                                              .summary = "what each row shows"},
                                                             since_option,
                                                             limit_option("20"),
                                                             json_rows_option}};
constexpr std::array<OptionSpec, 2> coverage_annotate_options{{since_option, json_option}};
constexpr std::array<OptionSpec, 1> coverage_status_options{json_option};
constexpr std::array<OptionSpec, 1> coverage_dump_options{{
    {.name = "format",
     .kind = ValueKind::anything,
     .values = "FORMAT",
     .summary = "the format, if the file name does not imply it"},
}};

std::string coverage_setting_names() {
  return "\nNames:\n" + option_lines(coverage_settings, true);
}

std::string coverage_formats() {
  return fmt::format("\nFormats: {}.\nA FILE that ends in '/' is a directory for .gcda files. "
                     "FILE.profraw\n(llvm-raw) gets the counters of a program with Clang's "
                     "source-based coverage.\n",
                     coverage_report_names());
}

using CoverageCommand = Result<std::string>(CoverageGroup &group, const ParsedCommand &command);

constexpr CommandRow<CoverageCommand> coverage_rows[] = {
    {[](CoverageGroup &group, const ParsedCommand &command) {
       return coverage_report_command(group.reader, group.front, command);
     },
     {"report", "", coverage_report_options, "show what the program has run until now",
      "The counters are read from the memory of the stopped program, which must have\n"
      "been compiled with --coverage, or with Clang's -fprofile-instr-generate\n"
      "-fcoverage-mapping. By file, the table shows which lines and\n"
      "functions ran; by function, how often each was called; by line, how often each\n"
      "ran; by object, which part of each object file (.o, named by its notes) ran.\n"
      "With --since, only what ran in between is shown.\n"
      "`7?` means 7 or 6, and `>=7` means 7 or more: a thread is inside of the function,\n"
      "or the code is optimized and keeps counters in registers.",
      "coverage report --by function --since stop"}},
    {[](CoverageGroup &group, const ParsedCommand &command) {
       return coverage_annotate_command(group.reader, group.front, command);
     },
     {"annotate",
      {"FUNCTION|FILE[:LINE]", ValueKind::source},
      coverage_annotate_options,
      "show source text with the count of each line",
      "The argument selects the lines of a function, of a file, or around one line.\n"
      "`=>` marks the lines where threads are.",
      "coverage annotate parse --since mark"}},
    {[](CoverageGroup &group, const ParsedCommand &command) {
       return coverage_break_command(group.program, group.front, command);
     },
     {"break",
      "[FILE|MODULE]",
      {},
      "set temporary breakpoints on functions that have not run",
      "Each function of the file or module (program or library), by default each function\n"
      "outside of /usr, that no thread has entered gets a breakpoint behind its prologue,\n"
      "which disappears at its first hit or when the process ends. At most 10000 are set\n"
      "at once. A function all of whose calls are inlined cannot have one.",
      "coverage break parser.c"}},
    {[](CoverageGroup &group, const ParsedCommand &) {
       return coverage_list_command(group.program, group.front);
     },
     {"list",
      "",
      {},
      "show the source around the last line that ran",
      "This is the line at which the selected thread is in its innermost function that\n"
      "has counters or, if it is in none, the same of another thread. A thread that has\n"
      "stopped at the beginning of a line has not run it yet. The debugger shows the\n"
      "source.",
      "coverage list"}},
    {[](CoverageGroup &group, const ParsedCommand &) {
       return coverage_mark_command(group.program, group.marks);
     },
     {"mark",
      "",
      {},
      "remember the counters as they are now, for --since mark",
      "",
      "coverage mark"}},
    {[](CoverageGroup &group, const ParsedCommand &command) {
       return coverage_status_command(group.program, group.marks, group.front.target.pid, command);
     },
     {"status", "", coverage_status_options, "show what is counted, and which marks there are", "",
      "coverage status"}},
    {[](CoverageGroup &group, const ParsedCommand &command) {
       return coverage_dump_command(group.program, group.reader, command);
     },
     {"dump",
      {"FILE", ValueKind::file},
      coverage_dump_options,
      "write the coverage to a file",
      "The file name implies the format, unless --format is given. An existing file is\n"
      "replaced only when the new one is complete. Formats hold one count for each\n"
      "line: the smallest one, where a count is uncertain.",
      "coverage dump out.info",
      {},
      coverage_formats}},
    {[](CoverageGroup &group, const ParsedCommand &) {
       group.marks.clear();
       return Result<std::string>("");
     },
     {"clear", "", {}, "forget the marks", "", "coverage clear"}},
    {[](CoverageGroup &group, const ParsedCommand &command) {
       return configure(group.settings, coverage_table(), command);
     },
     {"config",
      {"[NAME [VALUE]]", ValueKind::setting},
      {},
      "show or set how coverage is read",
      "Without an argument, shows each setting with its value and meaning. With a name,\n"
      "shows that setting. With a name and a value, changes it.",
      "coverage config notes /build",
      {},
      coverage_setting_names}},
};

constexpr auto coverage_specs = specs_of(coverage_rows);
constexpr CommandTable coverage_commands{"coverage", Prompt::debugger, coverage_specs,
                                         coverage_settings};

} // namespace

const CommandTable &coverage_table() { return coverage_commands; }

Result<std::string> CoverageGroup::run(const ParsedCommand &command) {
  return coverage_rows[command.spec - coverage_specs.data()].run(*this, command);
}

std::string coverage_help() {
  return "Show which code of the stopped program ran, and how often.\n"
         "The program must be compiled with --coverage, or with Clang's\n"
         "-fprofile-instr-generate -fcoverage-mapping. Type `coverage report`.\n\n" +
         command_list(coverage_commands, "coverage ", 10) +
         "\nType `help coverage NAME` for more about a command.\n";
}

} // namespace tally
