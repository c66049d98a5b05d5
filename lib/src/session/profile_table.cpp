// The table of the `profile` commands, with their options and help.
#include "session/profile_table.h"

#include <array>

#include <fmt/format.h>

#include "formats/formats.h"
#include "report/timeline.h"
#include "session/command_help.h"
#include "session/common_options.h"
#include "session/profile_commands.h"
#include "session/profile_group.h"
#include "support/text.h"

namespace tally {

namespace {

constexpr std::array<OptionSpec, 4> options_of_start{{
    {"backend", ValueKind::choice, "auto|perf|agent|interrupt", "auto", "the sampling backend"},
    frequency_option,
    clock_option,
    stacks_option,
}};

constexpr auto settings = joined(
    options_of_start,
    std::array<OptionSpec, 2>{{{"stop-times", ValueKind::choice, "on|off", "off",
                                "whether each stop shows how long the program ran before it, and\n"
                                "its CPU time: [11.3 ms, 10.1 ms CPU]"},
                               {"debuginfod", ValueKind::choice, "on|off", "off",
                                "whether debug files of stripped code are fetched from the\n"
                                "servers that DEBUGINFOD_URLS names"}}});

constexpr auto all_options_of_start = joined(
    options_of_start, std::array<OptionSpec, 5>{
                          {{.name = "children",
                            .summary = "sample the processes that the program forks, too,\n"
                                       "except one that the debugger follows in its place"},
                           sampled_event_option,
                           stack_bytes_option,
                           {.name = "for",
                            .kind = ValueKind::time,
                            .summary = "end after this running time (10s): the program stops\n"
                                       "as by Ctrl-C, and the report is shown"},
                           {.name = "continue", .summary = "with --for, let the program run on"}}});

constexpr std::array<OptionSpec, 1> status_options{json_option};

constexpr auto options_that_select =
    joined(std::array<OptionSpec, 5>{thread_option, process_option, part_option, from_time_option,
                                     to_time_option},
           frame_options);

constexpr auto report_options =
    joined(std::array<OptionSpec, 3>{by_option(report_keys), report_sort_option, event_option},
           options_that_select,
           std::array<OptionSpec, 4>{kernel_option, full_names_option, limit_option("20"),
                                     json_rows_option});

constexpr auto tree_options = joined(
    std::array<OptionSpec, 4>{callers_option, inverted_option, tree_by_option, event_option},
    options_that_select,
    std::array<OptionSpec, 5>{
        {kernel_option,
         full_option,
         full_names_option,
         limit_option("40", "show the N heaviest calls; 0 shows all"),
         {.name = "json", .summary = "print JSON, with all calls unless --limit is given"}}});

constexpr auto annotate_options = joined(
    std::array<OptionSpec, 2>{
        {{.name = "asm", .summary = "show the instructions of FUNCTION, with samples beside each"},
         event_option}},
    options_that_select, std::array<OptionSpec, 1>{json_option});

constexpr auto dump_options = joined(
    std::array<OptionSpec, 3>{
        {{.name = "format",
          .kind = ValueKind::profile_format,
          .summary = "the format, if the file name does not imply it"},
         {.name = "parts",
          .summary = "write one file per part: FILE.1, FILE.2, …\n(Callgrind's format only)"},
         event_option}},
    options_that_select);

constexpr auto timeline_options =
    joined(std::array<OptionSpec, 1>{{{.name = "width",
                                       .kind = ValueKind::number,
                                       .fallback = "80",
                                       .summary = "the columns of the text; with --json, the\n"
                                                  "number of stretches of the time",
                                       .least = least_timeline_width,
                                       .most = most_timeline_width}}},
           options_that_select,
           std::array<OptionSpec, 3>{limit_option("20", "show the N busiest threads; 0 shows all"),
                                     {.name = "heat-map",
                                      .summary = "show how busy each part of each second was: the\n"
                                                 "seconds from left to right, and the offset in\n"
                                                 "them upwards"},
                                     json_option});

constexpr auto diff_options =
    joined(std::array<OptionSpec, 2>{by_option(diff_keys), diff_sort_option}, frame_options,
           std::array<OptionSpec, 4>{difference_file_option, full_names_option, limit_option("20"),
                                     json_rows_option});

constexpr std::array<OptionSpec, 1> region_options{json_option};

constexpr std::array<OptionSpec, 2> histogram_options{{
    {"scale", ValueKind::text, "S", "", "as for profil(): 0xFFFF is 2 bytes per bin, 0x7FFF is 4"},
    json_option,
}};

std::string names_of_settings() { return "\nNames:\n" + option_lines(settings, true); }

std::string written_formats() {
  std::string out = "\nFormats:\n";
  for (const Format &format : formats())
    if (format.writes_profiles())
      out += fmt::format("  {:<14}{}\n{:<16}{}\n", format.name, format.summary, "",
                         joined_text(format.file_names, ", "));
  return out;
}

using ProfileCommand = Result<std::string>(ProfileGroup &group, const ParsedCommand &command);

constexpr CommandRow<ProfileCommand> profile_rows[] = {
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return start_command(group.sampling, group.backends, group.settings, command);
     },
     {"start", "", all_options_of_start, "begin sampling the program",
      "Sampling begins with the current process or, if there is none, with the next\n"
      "process that you run or attach to. It continues over stops and further runs\n"
      "until `profile stop`, or until you detach. The options apply to this start only;\n"
      "`profile config` sets them for all later starts.\n"
      "There are three backends. With perf, the kernel takes samples, and the program\n"
      "is not disturbed. With agent, a library in the program takes them, which works\n"
      "if perf is refused; the library is preloaded at `run`, or loaded at a stop if\n"
      "you name this backend. With interrupt, the debugger stops the program for each\n"
      "sample, which works for remote targets and static programs. auto selects the\n"
      "first backend that works, and says why.\n"
      "With --clock wall, perf also measures each wait of each thread, with its stack,\n"
      "and the time for which the thread was queued: it could run, and had no\n"
      "processor. The values are cpu, wait, queued and the number of waits. Where perf\n"
      "is refused, the waits of the agent's program are looked at every 10 ms: the times\n"
      "are the kernel's, and what is not seen waiting has no stack. interrupt counts\n"
      "threads that run and that sleep.\n"
      "With --event, perf samples an event in place of the clock: each page-faults,\n"
      "minor-faults, major-faults, context-switches or cpu-migrations; and, where the\n"
      "processor counts them for perf, one in many cycles, instructions, ref-cycles,\n"
      "bus-cycles, branches, branch-misses, cache-references, cache-misses, or rHEX for\n"
      "a raw event. With --clock wall, events are sampled beside the waits.\n"
      "With --children, perf also samples the processes that the program forks and the\n"
      "debugger does not follow. `profile report --by process` tells them apart. What\n"
      "they do while the program is stopped does not count.\n"
      "With --for, sampling ends by itself once the program has run for so long, stops\n"
      "not counted, and the report is shown.",
      "profile start --frequency 4000"}},
    {[](ProfileGroup &group, const ParsedCommand &) {
       return stop_command(group.sampling, group.backends);
     },
     {"stop", "", {}, "end sampling and keep the samples", "", "profile stop"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return status_command(group.status_sources(), command);
     },
     {"status", "", status_options, "show what is sampled, how, and the counts so far",
      "Each line is a name and its value. `lost` counts samples that could not be taken\n"
      "or kept, `throttled` counts how often the kernel paused a clock, `outside` counts\n"
      "ticks outside of the region or in the debugger's own stops, and `interruptions`\n"
      "counts the signals that the agent sent to the program. `queued` is the time in\n"
      "which threads were ready without a processor; with the interrupt backend, how\n"
      "often a tick left out such a thread. `unheld` counts rounds of that backend that\n"
      "stopped the threads too late. `running` is the time between resume and stop;\n"
      "`stopped` is the time at the prompt, which is never counted. In tables,\n"
      "[not sampled] is CPU time that the kernel counted and no tick showed.\n"
      "With --json the names are keys. Times are in seconds (`running_s`) and sizes in\n"
      "bytes (`memory_bytes`); remarks in parentheses have keys of their own\n"
      "(`backend_note`).",
      "profile status"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return report_command(group.shown, group.front, command);
     },
     {"report", "", report_options, "show a flat table of where the time is spent",
      "`self` counts samples taken in the row's own code. `incl` counts samples whose\n"
      "stack contains the row; recursion counts once. Inlined functions are rows of\n"
      "their own. `profile break` and `profile list` take the number of a row. Time in\n"
      "system calls and page faults is attributed to the function [kernel], which they\n"
      "call; --kernel shows the kernel's own functions, named by /proc/kallsyms.",
      "profile report --by line --limit 10"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return break_command(group.shown, group.front, command);
     },
     {"break",
      "N",
      {},
      "set a breakpoint where row N of the report is hottest",
      "N is the number of a function's or line's row in the last report that was shown\n"
      "as a table. The numbers are valid until the next such report or `profile clear`.\n"
      "The breakpoint is one of the debugger's, at the line with the most samples of\n"
      "the row's own code, or at the instruction if no line is known.",
      "profile break 1"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return list_command(group.shown, group.front, command);
     },
     {"list",
      "N",
      {},
      "show the source around the hottest line of report row N",
      "The row and the line are chosen as by `profile break`; the debugger shows the\n"
      "source.",
      "profile list 1"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return tree_command(group.shown, group.front, command);
     },
     {"tree",
      {"[FUNCTION]", ValueKind::function},
      tree_options,
      "show the call tree, the heaviest path first",
      "The tree shows which function calls which, and the share of samples taken in\n"
      "each call and below it. Inlined calls are included. A function that calls\n"
      "itself, directly or through others, is marked (recursive): its callees appear\n"
      "below it once, however often it recurs.\n"
      "With FUNCTION, its callers stand above it, the nearest next to it.\n"
      "FUNCTION is a full name, its last components, or any name of the function in a\n"
      "symbol table (`write` for `__GI___libc_write`).",
      "profile tree parse --limit 20"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return timeline_command(group.shown, group.front, command);
     },
     {"timeline", "[FILE.svg]", timeline_options, "show when each thread ran and waited",
      "Each thread has a row, in which a character stands for a stretch of the time that\n"
      "the program ran: # is running, . is waiting, - is queued for a processor, and\n"
      "| is a stop of the debugger. Waits are known if sampling began with --clock wall.\n"
      "With FILE.svg, the same is drawn as a picture.\n"
      "--from and --to, here and in the tables, are running time: what the program spent\n"
      "at the prompt is not part of it.",
      "profile timeline --width 100"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return annotate_command(group.shown, group.front, command);
     },
     {"annotate",
      {"FUNCTION|FILE[:LINE]", ValueKind::source},
      annotate_options,
      "show source text with samples beside each line",
      "The argument selects the lines of a function, of a file, or around one line.\n"
      "With --asm, all code of a function is disassembled, including functions inlined\n"
      "into it and parts of it that lie elsewhere, with source lines in between. The\n"
      "debugger disassembles it or, once the process is gone, Tally does from the\n"
      "files. Both obey the debugger's setting `disassembly-flavor`. The inclusive\n"
      "count of a call includes its callees.\n"
      "FUNCTION is a full name, its last components, or any name of the function in a\n"
      "symbol table (`write` for `__GI___libc_write`).",
      "profile annotate parse.c:120"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return histogram_command(group.shown, group.front, command);
     },
     {"histogram",
      {"[RANGE|FUNCTION]", ValueKind::function},
      histogram_options,
      "show samples by address, bin by bin, with bars",
      "The histogram shows the function or range or, without an argument, the program's\n"
      "own code. RANGE is LOW-HIGH, with addresses as the debugger shows them or as in\n"
      "the file. Without --scale, the size of the bins is chosen to fit a screen.",
      "profile histogram main --scale 0xFFFF"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return dump_command(group.shown, command);
     },
     {"dump",
      {"FILE", ValueKind::file},
      dump_options,
      "write the profile to a file",
      "The file name implies the format, unless --format is given. An existing file is\n"
      "replaced only when the new one is complete. With --parts, each part (a stretch\n"
      "from a resume to a stop) is written to a file of its own.",
      "profile dump out.callgrind",
      {},
      written_formats}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return load_command(group.profiles, group.front.target.program, command);
     },
     {"load",
      {"FILE", ValueKind::file},
      {},
      "read a profile from a file, to report on it here",
      "FILE may have any format that Tally reads. The commands show it in place of what\n"
      "was sampled, until `profile clear` or until the sampled program resumes.",
      "profile load callgrind.out.4711"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return diff_command(group.shown, group.front, command);
     },
     {"diff",
      {"FILE|previous", ValueKind::file},
      diff_options,
      "show what changed since a saved profile or the last run",
      "Costs are compared in percent of each profile's total. With -o FILE.svg, a flame\n"
      "graph shows the stacks of the current profile: red functions have a larger share\n"
      "of their own than before, and blue ones a smaller one. FILE.folded has a line for\n"
      "each stack, with its count before and after.",
      "profile diff previous"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return region_command(group, command);
     },
     {"region", "[LOCATION [LOCATION]]", region_options,
      "sample only inside a region of the program",
      "A single LOCATION is a function: each call is sampled in the calling thread,\n"
      "until it returns or is left by an exception or longjmp. With two locations, all\n"
      "threads are sampled from a hit of the first until a hit of the second. LOCATION\n"
      "is what `break` takes; quote it if it contains blanks. The command begins a new\n"
      "profile, and begins sampling if necessary; `profile stop` ends the region. Without\n"
      "a LOCATION it shows the passes, with a histogram of their times. A pass has a wall\n"
      "time and a CPU time, both without the cost of the debugger's stops. A time below\n"
      "twice its error is shown as \"under\".",
      "profile region parse"}},
    {[](ProfileGroup &group, const ParsedCommand &) {
       return clear_command(group.shown, group.profiles, group.sampling);
     },
     {"clear", "", {}, "discard the collected samples; sampling continues", "", "profile clear"}},
    {[](ProfileGroup &group, const ParsedCommand &command) {
       return config_command(group.settings, group.has_begun(), command);
     },
     {"config",
      {"[NAME [VALUE]]", ValueKind::setting},
      {},
      "show or set the defaults of `profile start`, and what is shown",
      "Without an argument, shows each setting with its value and meaning. With a name,\n"
      "shows that setting. With a name and a value, changes it.",
      "profile config frequency 4000",
      {},
      names_of_settings}},
};

constexpr auto commands = specs_of(profile_rows);
constexpr CommandTable profile_commands{"profile", Prompt::debugger, commands, settings};

} // namespace

const CommandTable &profile_table() { return profile_commands; }

Result<std::string> ProfileGroup::run(const ParsedCommand &command) {
  return profile_rows[command.spec - commands.data()].run(*this, command);
}

std::string profile_help() {
  return "Sample the program and show where its time goes.\n"
         "Type `profile start`, `continue`, and at the next stop `profile report`.\n\n" +
         command_list(profile_commands, "profile ", 10) +
         "\nType `help profile NAME` for more about a command.\n";
}

} // namespace tally
