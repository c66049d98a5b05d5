#include "table.h"

#include <array>

#include <fmt/format.h>

#include "commands.h"
#include "formats/formats.h"
#include "report/coverage_output.h"
#include "report/coverage_report.h"
#include "report/timeline.h"
#include "session/command_help.h"
#include "session/common_options.h"

namespace tally::cli {

namespace {

constexpr OptionSpec help_option{
    .name = "help", .summary = "print this help and exit", .letter = 'h'};

constexpr OptionSpec format_option{.name = "from",
                                   .kind = ValueKind::any_format,
                                   .summary = "the format, if the content does not imply it"};
// Tables are of a stretch of time, too. Only formats that their content implies have times, so that
// nobody needs to give both.
constexpr OptionSpec format_or_time_option{.name = "from",
                                           .kind = ValueKind::format_or_time,
                                           .summary =
                                               "the format, if the content does not imply it;\n"
                                               "or a time: only what was counted after it (1.2s)"};
constexpr std::array<OptionSpec, 3> naming_specs{{
    {.name = "sysroot",
     .kind = ValueKind::directory,
     .summary = "look below DIR for the programs and libraries of\n"
                "another machine, and for their debug files"},
    {.name = "symbols",
     .kind = ValueKind::file,
     .summary = "a program, library or debug file, which is used where\n"
                "its build ID was recorded",
     .repeats = true},
    {.name = "no-debuginfod",
     .summary = "fetch no debug files for stripped code, even if\n"
                "DEBUGINFOD_URLS names servers"},
}};
constexpr OptionSpec memory_limit_option{
    .name = "memory-limit",
    .kind = ValueKind::size,
    .summary = "the most memory that reading a file may take, such as\n"
               "4G (default: 1G, or 64 times the file's size)"};
constexpr std::array<OptionSpec, 2> reading_specs{{
    {.name = "program",
     .kind = ValueKind::file,
     .summary = "the program of a gmon.out, for the names of functions"},
    memory_limit_option,
}};
// Without names, which some commands do not look at.
constexpr auto nameless_input_specs = joined(std::array{help_option, format_option}, reading_specs);
constexpr auto input_specs = joined(nameless_input_specs, naming_specs);
constexpr auto table_input_specs = joined(
    std::array{help_option, format_or_time_option, to_time_option}, reading_specs, naming_specs);

constexpr OptionSpec gcovr_version_option{.name = "gcovr-version",
                                          .kind = ValueKind::text,
                                          .values = "VERSION",
                                          .summary = "the version of gcovr's JSON layout\n"
                                                     "(default: that of the gcovr on PATH)"};

constexpr OptionSpec lcov_version_option{.name = "lcov-version",
                                         .kind = ValueKind::choice,
                                         .values = "1.16|2.3",
                                         .fallback = "1.16",
                                         .summary = "the oldest lcov that is to read a tracefile;\n"
                                                    "2.3 and newer ones read conditions and MC/DC"};

constexpr std::array<OptionSpec, 5> output_specs{{
    {.name = "o",
     .kind = ValueKind::file,
     .values = "OUT",
     .summary = "the output file; - is standard output, and DIR/ a\n"
                "directory for the files of a stream of counters",
     .required = true},
    {.name = "full-names", .summary = "Callgrind: write names in full, not as (id)"},
    {.name = "full-positions", .summary = "Callgrind: write absolute positions, not relative ones"},
    gcovr_version_option,
    lcov_version_option,
}};

constexpr OptionSpec event_option{.name = "event",
                                  .kind = ValueKind::event,
                                  .summary = "the event to show; it may be a derived one\n"
                                             "(default: the first)",
                                  .other_name = "value"};
// `limit` is the default number of rows; "" shows all.
constexpr std::array<OptionSpec, 3> table_specs(std::string_view limit) {
  return {event_option, limit_option(limit), json_rows_option};
}
constexpr auto filter_specs =
    joined(std::array<OptionSpec, 3>{thread_option, process_option, part_option}, frame_options);

constexpr ArgumentSpec one_file{"FILE", "the profile; - is standard input", ValueKind::file};
constexpr std::array<ArgumentSpec, 1> file_argument{one_file};
constexpr std::array<ArgumentSpec, 1> in_argument{
    {{"IN", "the profile; - is standard input", ValueKind::file}}};
constexpr std::array<ArgumentSpec, 1> in_arguments{
    {{"IN", "the profiles; - is standard input", ValueKind::file}}};

constexpr auto report_specs =
    joined(table_input_specs, std::array{by_option(report_keys), report_sort_option}, filter_specs,
           std::array{kernel_option, full_names_option}, table_specs("20"));

constexpr auto tree_specs = joined(
    table_input_specs, std::array{callers_option, inverted_option, tree_by_option}, filter_specs,
    std::array{kernel_option, full_option, full_names_option}, table_specs("40"));
constexpr std::array<ArgumentSpec, 2> tree_arguments{{
    one_file,
    {"FUNCTION", "the function at the root of the tree, with its callers\n"
                 "above it (default: where the program begins)"},
}};

constexpr auto annotate_specs =
    joined(table_input_specs,
           std::array<OptionSpec, 5>{{
               {.name = "source-dir",
                .kind = ValueKind::directory,
                .summary = "a directory to search for sources, by the last\n"
                           "components of their paths",
                .repeats = true},
               {.name = "source-map",
                .kind = ValueKind::text,
                .values = "FROM=TO",
                .summary = "replace FROM by TO at the beginning of paths",
                .repeats = true},
               {.name = "context",
                .kind = ValueKind::number,
                .fallback = "3",
                .summary = "lines without cost to show around others",
                .most = 1'000'000},
               {.name = "asm",
                .summary = "show the instructions of a function, from the files\n"
                           "that were profiled"},
               {.name = "disassembly-flavor",
                .kind = ValueKind::choice,
                .values = "att|intel",
                .fallback = "att",
                .summary = "the syntax of x86 instructions with --asm"},
           }},
           filter_specs, table_specs(""));
constexpr std::array<ArgumentSpec, 2> annotate_arguments{{
    one_file,
    {"WHAT", "a function, a source file, or FILE:LINE with the\nten lines before and after it",
     ValueKind::file},
}};

constexpr auto histogram_specs =
    joined(table_input_specs,
           std::array<OptionSpec, 1>{{
               {.name = "scale",
                .kind = ValueKind::text,
                .values = "S",
                .summary = "as for profil(): 0xFFFF is 2 bytes per bin, 0x7FFF\n"
                           "is 4 (default: the bins fit a screen)"},
           }},
           table_specs(""));
constexpr std::array<ArgumentSpec, 2> histogram_arguments{{
    one_file,
    {"RANGE", "a function, or addresses LOW-HIGH\n(default: the program's own code)"},
}};

constexpr auto diff_specs =
    joined(table_input_specs, std::array{by_option(diff_keys), diff_sort_option}, frame_options,
           std::array{difference_file_option, full_names_option}, table_specs("20"),
           std::array<OptionSpec, 2>{{
               {.name = "fail-over",
                .kind = ValueKind::growth,
                .summary = "exit with status 3 if the total, or the cost of a\n"
                           "function, grew by more than PCT percent"},
               {.name = "function",
                .kind = ValueKind::pattern,
                .summary = "judge only functions whose name matches RE, a PCRE2\n"
                           "pattern, and not the total",
                .repeats = true},
           }});
constexpr std::array<ArgumentSpec, 2> diff_arguments{{
    {"BEFORE", "the profile; - is standard input", ValueKind::file},
    {"AFTER", "the profile to compare with BEFORE", ValueKind::file},
}};

constexpr auto timeline_specs =
    joined(table_input_specs, filter_specs,
           std::array<OptionSpec, 5>{{
               {.name = "width",
                .kind = ValueKind::number,
                .fallback = "80",
                .summary = "the columns of the text; with --json, the number of\n"
                           "stretches that the time is divided into",
                .least = least_timeline_width,
                .most = most_timeline_width},
               limit_option("20", "show at most N threads, the busiest; 0 shows all"),
               {.name = "heat-map",
                .summary = "show how busy each part of each second was, by the\n"
                           "second (left to right) and the offset in it (upwards)"},
               {.name = "json", .summary = "print JSON, with all threads unless --limit is given"},
               {.name = "o",
                .kind = ValueKind::file,
                .values = "OUT",
                .summary = "write to OUT; a picture if its name ends in .svg"},
           }});

constexpr OptionSpec names_object_option{.name = "object",
                                         .kind = ValueKind::file,
                                         .summary =
                                             "LLVM: a program of -profile-correlate=binary, whose\n"
                                             "raw profile has no names",
                                         .repeats = true};
constexpr auto convert_specs = joined(
    input_specs, output_specs,
    std::array<OptionSpec, 4>{{
        {.name = "functions-only", .summary = "keep no lines, addresses and times of stacks"},
        {.name = "to",
         .kind = ValueKind::any_format,
         .summary = "the format of OUT, if its name does not imply it"},
        {.name = "event",
         .kind = ValueKind::event,
         .summary = "the event to write; it may be a derived one\n(default: all)",
         .other_name = "value"},
        names_object_option,
    }},
    filter_specs);
constexpr auto merge_specs =
    joined(input_specs, output_specs, std::array<OptionSpec, 1>{{names_object_option}});
constexpr auto rewrite_specs = joined(nameless_input_specs, output_specs);

constexpr std::array<OptionSpec, 14> recording_specs{{
    help_option,
    {.name = "o",
     .kind = ValueKind::file,
     .summary = "output file (default callgrind.out.PID, PID.folded)"},
    {.name = "format",
     .kind = ValueKind::profile_format,
     .summary = "the format, if the file name does not imply it"},
    {.name = "frequency",
     .kind = ValueKind::number,
     .values = "HZ",
     .fallback = frequency_option.fallback,
     .summary = "samples per second of CPU time",
     .letter = 'F',
     .least = frequency_option.least,
     .most = frequency_option.most},
    sampled_event_option,
    clock_option,
    {.name = "children", .summary = "sample the processes that the program forks, too\n(default)"},
    {.name = "no-children", .summary = "sample only the program's own process"},
    {.name = "parts",
     .summary = "write one file per process: FILE.PID, or\n"
                "callgrind.out.PID (Callgrind's format only)"},
    {.name = "live", .summary = "show the flat table while sampling, anew each second"},
    stacks_option,
    stack_bytes_option,
    {.name = "backend",
     .kind = ValueKind::choice,
     .values = "auto|perf|agent",
     .fallback = "auto",
     .summary = "the sampler: perf in the kernel, or an agent in the\n"
                "program; auto uses the agent if perf is refused"},
    {.name = "pid",
     .kind = ValueKind::number,
     .values = "PID",
     .summary = "sample a running process; Ctrl-C ends sampling",
     .letter = 'p',
     .least = 1,
     .most = INT32_MAX},
}};
constexpr auto record_specs = joined(recording_specs, naming_specs);
constexpr std::array<ArgumentSpec, 1> record_arguments{
    {{"PROGRAM", "the program and its arguments"}}};

constexpr std::array<OptionSpec, 3> gcov_specs{{
    help_option,
    {.name = "b", .summary = "include branches"},
    {.name = "g", .summary = "include conditions (GCC 14, -fcondition-coverage)"},
}};
constexpr std::array<ArgumentSpec, 1> gcov_arguments{
    {{"FILE", "counters (.gcda, .da), or notes (.gcno, .bbg)"}}};

constexpr std::array<ArgumentSpec, 1> validate_arguments{
    {{"FILE", "the profiles; - is standard input", ValueKind::file}}};

constexpr std::array<OptionSpec, 2> zero_specs{{
    help_option,
    {.name = "build",
     .kind = ValueKind::directory,
     .summary = "a build directory: remove the counters of the objects\n"
                "that its compile_commands.json names, and no others"},
}};
constexpr std::array<ArgumentSpec, 1> zero_arguments{
    {{"PATH", "counter files, or directories to search for them", ValueKind::file}}};

constexpr std::array<OptionSpec, 2> setup_specs{{
    help_option,
    {.name = "undo", .summary = "remove what `tally setup` added, and nothing else"},
}};
constexpr std::array<ArgumentSpec, 1> setup_arguments{
    {{"gdb|lldb", "the debugger", ValueKind::choice}}};

constexpr std::array<OptionSpec, 39> coverage_specs{{
    help_option,
    {.name = "report",
     .kind = ValueKind::text,
     .values = "FORMAT[:FILE]",
     .summary = "also write a report; FORMAT is explained below",
     .repeats = true},
    {.name = "fail-under",
     .kind = ValueKind::percent,
     .summary = "exit with status 3 if a smaller part of the lines ran"},
    {.name = "fail-under-branch",
     .kind = ValueKind::percent,
     .summary = "exit with status 3 if a smaller part of the branches\nwas taken"},
    {.name = "fail-under-mcdc",
     .kind = ValueKind::percent,
     .summary = "exit with status 3 if a smaller part of the conditions\n"
                "was shown to decide alone (MC/DC)"},
    {.name = "fail-under-region",
     .kind = ValueKind::percent,
     .summary = "exit with status 3 if a smaller part of the regions\n"
                "of source-based coverage ran"},
    {.name = "baseline",
     .kind = ValueKind::file,
     .summary = "exit with status 3 if the coverage of a file, of a\n"
                "directory or in total is smaller than in FILE"},
    {.name = "fail-under-new",
     .kind = ValueKind::percent,
     .summary = "with --baseline, exit with status 3 if a smaller part\n"
                "of the lines of a file ran that FILE does not have"},
    {.name = "update-baseline",
     .summary = "with --baseline, write the new numbers to FILE, unless\n"
                "something has fallen"},
    {.name = "filter",
     .kind = ValueKind::text,
     .values = "RE",
     .summary = "count only sources whose path, as in the table,\n"
                "matches RE, a PCRE2 pattern (default: all sources\n"
                "below the root)",
     .repeats = true},
    {.name = "exclude",
     .kind = ValueKind::text,
     .values = "RE",
     .summary = "leave out sources whose path matches RE",
     .repeats = true},
    {.name = "exclude-lines",
     .kind = ValueKind::text,
     .values = "RE",
     .summary = "leave out the lines whose text in the source matches\n"
                "RE, as if they were marked by GCOVR_EXCL_LINE",
     .repeats = true},
    memory_limit_option,
    {.name = "exclude-objects",
     .kind = ValueKind::text,
     .values = "RE",
     .summary = "leave out objects whose path matches RE; the path is\n"
                "relative to the build directory with --build, and as\n"
                "given otherwise",
     .repeats = true},
    {.name = "object",
     .kind = ValueKind::file,
     .summary = "a program or library with Clang's source-based\n"
                "coverage, for profiles (*.profraw, *.profdata);\n"
                "default: those below PATH",
     .repeats = true},
    {.name = "substitute",
     .kind = ValueKind::text,
     .values = "FROM=TO",
     .summary = "look below TO for sources that were recorded below\n"
                "FROM, by -ffile-prefix-map or on another machine",
     .repeats = true},
    {.name = "missing-once",
     .kind = ValueKind::file,
     .summary = "do not repeat warnings about missing sources: FILE has\n"
                "those of the last run, and gets those of this one"},
    {.name = "root",
     .kind = ValueKind::directory,
     .fallback = ".",
     .summary = "the project's directory"},
    {.name = "j",
     .kind = ValueKind::number,
     .summary = "number of threads (default: one per processor)",
     .least = 1,
     .most = 1024},
    {.name = "build",
     .kind = ValueKind::directory,
     .summary = "a build directory: count only the objects that its\n"
                "compile_commands.json names; it is also the default\n"
                "of PATH"},
    {.name = "pid",
     .kind = ValueKind::number,
     .values = "PID",
     .summary = "count what the process PID has run until now, by the\n"
                "counters in its memory",
     .least = 1,
     .most = INT32_MAX},
    {.name = "core",
     .kind = ValueKind::file,
     .values = "CORE",
     .summary = "count what a program had run when it wrote the core\n"
                "file CORE; PATH is then the program, if it is not where\n"
                "it was"},
    {.name = "counters",
     .kind = ValueKind::file,
     .values = "DIR",
     .summary = "with --pid or --core, also write the counters as\n"
                ".gcda files below DIR"},
    {.name = "diff",
     .kind = ValueKind::anything,
     .values = "REV",
     .summary = "count only lines that `git diff REV` shows as added\nor changed"},
    {.name = "per-test",
     .kind = ValueKind::directory,
     .summary = "count each test separately; DIR holds the counters of\n"
                "test N in DIR/N, or packed by --harvest, and\n"
                "tests.json: [{\"n\": 1, \"name\": \"of DIR/1\"}, …]"},
    {.name = "harvest",
     .kind = ValueKind::anything,
     .values = "FOLDER",
     .summary = "only pack the counters below FOLDER, which was the\n"
                "GCOV_PREFIX of a test, or the directory of its\n"
                "LLVM_PROFILE_FILE, into FOLDER.counters, and remove\n"
                "FOLDER"},
    {.name = "redundant",
     .summary = "also print the tests that reach no line that others\n"
                "do not reach; needs --per-test or lcov tracefiles\n"
                "with TN: sections"},
    {.name = "tests-by-function",
     .kind = ValueKind::file,
     .summary = "only write to FILE, as JSON, which tests reached each\n"
                "function; needs --per-test"},
    {.name = "which-tests",
     .kind = ValueKind::text,
     .values = "FILE:LINE",
     .summary = "print the tests that reached a line; needs --per-test\n"
                "or lcov tracefiles with TN: sections"},
    {.name = "json",
     .summary =
         "print the counts of all files, functions and lines as\nJSON, in place of the table"},
    limit_option("0", "show at most N files; 0 shows all"),
    {.name = "full",
     .summary = "show all lines that did not run, not only those that\n"
                "fit into two lines on a terminal, or 20 ranges"},
    {.name = "sort",
     .kind = ValueKind::choice,
     .values = file_order_words,
     .fallback = "file",
     .summary = "the order of files in text and JSON: by path, by\n"
                "the smallest percentage, or by the most lines that\n"
                "did not run"},
    gcovr_version_option,
    lcov_version_option,
    {.name = "throw-branches", .summary = "also count the branches that exceptions take"},
    {.name = "no-markers",
     .summary = "ignore exclusion markers in sources (GCOVR_EXCL_LINE,\nLCOV_EXCL_START, …)"},
    {.name = "strict",
     .summary = "fail if an object cannot be used, or if objects\ndisagree about a source"},
    {.name = "demangle", .summary = "print function names as in the source, also in\ntracefiles"},
}};
constexpr auto all_coverage_specs =
    joined(coverage_specs,
           std::array<OptionSpec, 1>{{{.name = "verbose", .summary = "show all diagnostics"}}});
constexpr std::array<ArgumentSpec, 1> coverage_arguments{
    {{"PATH",
      "directories to search for counters (.gcda, .da) and\n"
      "notes (.gcno, .bbg), such files, streams of counters\n"
      "(gcfn), or reports (lcov's, gcovr's JSON) (default: .)",
      ValueKind::file}}};

// The completions of the shells read the names from this paragraph.
std::string format_paragraph(std::string_view names) {
  constexpr size_t width = 78;
  std::string out = "\nFORMAT is one of";
  size_t column = out.size() - 1;
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    const std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    const bool fits = column + 1 + name.size() < width;
    out.append(fits ? " " : "\n").append(name);
    column = fits ? column + 1 + name.size() : name.size();
  }
  return out + ".\n";
}

std::string report_formats() { return format_paragraph(coverage_report_names()); }

std::string any_formats() {
  std::string names;
  for (const Format &format : formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  return format_paragraph(names);
}

constexpr CommandRow<Command> rows[] = {
    {record_command,
     {"record", "[PROGRAM...]", record_specs,
      "sample a program or a process, and write its profile",
      "All its threads are sampled, and the processes that it forks.",
      "tally record -o out.folded -F 4000 -- xz -9 --keep file", record_arguments, nullptr, true}},
    {report_command,
     {"report", "FILE", report_specs, "print the flat table of a profile", "",
      "tally report out.folded --sort inclusive --limit 10", file_argument, any_formats}},
    {tree_command,
     {"tree", "FILE [FUNCTION]", tree_specs, "print the call tree, the heaviest path first", "",
      "tally tree callgrind.out.4711 main --limit 20", tree_arguments, any_formats}},
    {annotate_command,
     {"annotate", "FILE WHAT", annotate_specs, "print source text with costs and calls beside it",
      "", "tally annotate callgrind.out.4711 parse.c:120 --source-dir ~/src/parse",
      annotate_arguments, any_formats}},
    {histogram_command,
     {"histogram", "FILE [RANGE]", histogram_specs, "print ticks by address, bin by bin, with bars",
      "", "tally histogram gmon.out --program ./words read_words", histogram_arguments,
      any_formats}},
    {timeline_command,
     {"timeline", "FILE", timeline_specs, "print what each thread did when", "",
      "tally timeline perf.data --from 1.2s --to 3s -o timeline.svg", file_argument, any_formats}},
    {diff_command,
     {"diff", "BEFORE AFTER", diff_specs, "print what changed from one profile to another",
      "Costs are compared in percent of each profile's total. With -o OUT.svg, a flame graph\n"
      "shows the stacks of AFTER: red functions have a larger share of their own than in\n"
      "BEFORE, blue ones a smaller one, and grey ones none that is more than chance.\n"
      "OUT.folded has a line for each stack, with both counts, as FlameGraph's\n"
      "difffolded.pl writes it. OUT.md has a table in Markdown.\n"
      "With --fail-over, the total is judged, and each function with at least 1 % of it that\n"
      "both profiles have. Costs that Callgrind counted are exact. For sampled ones a growth\n"
      "must also be significant: unchanged programs fail in fewer than one of 1000\n"
      "comparisons. Several runs of a program, recorded one by one and joined by `tally\n"
      "merge`, show how much it varies. If the samples are too few for PCT, or a profile is\n"
      "empty, the status is 4.\n",
      "tally diff before.callgrind after.callgrind", diff_arguments, any_formats}},
    {convert_command,
     {"convert", "IN...", convert_specs, "write the sum of profiles in another format", "",
      "tally convert a.folded b.folded.gz -o sum.callgrind", in_arguments, any_formats}},
    {merge_command,
     {"merge", "IN...", merge_specs, "add up profiles, counters or coverage of one format",
      "LLVM's raw (*.profraw) and indexed profiles (*.profdata), of any mix of versions, are\n"
      "written as one indexed profile, for llvm-cov of the newest of these versions.\n",
      "tally merge callgrind.out.* -o all.callgrind", in_arguments, any_formats}},
    {coverage_command,
     {"coverage", "[PATH...]", all_coverage_specs, "print which lines, functions and branches ran",
      "", "tally coverage build --report html --report lcov:all.info --fail-under 80",
      coverage_arguments, report_formats}},
    {gcov_command,
     {"gcov", "FILE...", gcov_specs, "print the JSON that the compiler's gcov would print", "",
      "tally gcov -b build/*.gcda", gcov_arguments}},
    {validate_command,
     {"validate", "FILE...", nameless_input_specs,
      "print what is wrong with files; status 1 on an error", "", "tally validate callgrind.out.*",
      validate_arguments}},
    {rewrite_command,
     {"rewrite", "IN", rewrite_specs, "rewrite a profile in its own format, in a fixed order", "",
      "tally rewrite callgrind.out.4711 -o sorted.callgrind", in_argument}},
    {zero_command,
     {"zero", "[PATH...]", zero_specs, "reset coverage counters to 0", "", "tally zero build",
      zero_arguments}},
    {setup_command,
     {"setup", "gdb|lldb", setup_specs, "let a debugger load Tally whenever it starts",
      "Adds the line that loads the plug-in to the init file that the debugger reads:\n"
      "GDB's is ~/.config/gdb/gdbinit if that exists, otherwise ~/.gdbinit; LLDB's is\n"
      "~/.lldbinit-lldb if that exists, otherwise ~/.lldbinit. A line that is already\n"
      "there is not added again.",
      "tally setup gdb", setup_arguments}},
};

constexpr auto commands = specs_of(rows);
constexpr CommandTable table{"tally", Prompt::shell, commands};

constexpr std::array<OptionSpec, 2> program_options{
    {help_option, {.name = "version", .summary = "print the version and exit"}}};
constexpr ProgramHelp program{
    .description =
        "Tally counts what a program does: where its time goes, by function, line and\n"
        "call path. It reads perf's recordings, the text of `perf script`, Callgrind's\n"
        "files, gmon.out, pprof's files, folded stacks and coverage counters, compressed\n"
        "or not.",
    .options = program_options,
    .example = "tally record -o out.folded -- ./program && tally report out.folded",
};

} // namespace

const CommandTable &tally_table() { return table; }

Result<void> run_command(const ParsedCommand &given, Outcome &outcome) {
  return rows[given.spec - commands.data()].run(given, outcome);
}

const ProgramHelp &tally_program() { return program; }

std::string tally_help() {
  return fmt::format("{}\nUsage: tally [OPTIONS] COMMAND\n\nOptions:\n{}\nCommands:\n{}\n"
                     "Example: {}\nType `tally COMMAND --help` for more about a command.\n",
                     program.description, option_lines(program.options),
                     command_list(table, "  ", 23), program.example);
}

} // namespace tally::cli
