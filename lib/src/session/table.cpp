// The commands, their options and their help: the one table that every front reads.
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tally/formats.h>
#include <tally/sampler.h>
#include <tally/session.h>

namespace tally {

namespace {

constexpr std::array<OptionSpec, 4> settings{{
    {"backend", "auto|perf|agent|interrupt", "auto", "how samples are taken"},
    {"frequency", "HZ", "1000", "how many samples a second of the clock has"},
    {"clock", "cpu|wall", "cpu", "which time is counted: that on a processor, or all"},
    {"stacks", "none|fp|dwarf", default_stack_mode,
     "how callers are found: not at all, by frame pointers, by unwind data"},
}};

// Of what is shown or written.
constexpr OptionSpec thread_option{"thread", "THREAD", "",
                                   "only samples of this thread: its name or its TID"};
constexpr OptionSpec part_option{"part", "N", "", "only samples of this part: its number"};

constexpr std::array<OptionSpec, 1> status_options{{
    {"json", "", "", "as JSON"},
}};

constexpr OptionSpec kernel_option{"kernel", "", "", "the kernel's functions below [kernel]"};

constexpr std::array<OptionSpec, 7> report_options{{
    {"by", "function|line|object|thread|part", "function", "what a row stands for"},
    {"sort", "self|inclusive", "self", "which column puts the rows in order"},
    thread_option,
    part_option,
    kernel_option,
    {"limit", "N", "20", "rows shown; 0 shows all"},
    {"json", "", "", "as JSON, all rows unless --limit is given"},
}};

constexpr std::array<OptionSpec, 8> tree_options{{
    {"callers", "", "", "who calls FUNCTION, and not whom it calls"},
    {"by", "thread|part", "", "a tree for each"},
    thread_option,
    part_option,
    kernel_option,
    {"full", "", "", "with the layers of std::invoke, std::function and std::thread"},
    {"limit", "N", "40", "calls shown, the heaviest; 0 shows all"},
    {"json", "", "", "as JSON, all calls unless --limit is given"},
}};

constexpr std::array<OptionSpec, 4> annotate_options{{
    {"asm", "", "", "the instructions of FUNCTION, with samples beside each"},
    thread_option,
    part_option,
    {"json", "", "", "as JSON"},
}};

constexpr std::array<OptionSpec, 4> dump_options{{
    {"format", "FORMAT", "", "the format, where the file's name does not tell it"},
    {"parts", "", "", "a file for each part: FILE.1, FILE.2, …"},
    thread_option,
    part_option,
}};

constexpr std::array<OptionSpec, 4> diff_options{{
    {"by", "function|line|object", "function", "what a row stands for"},
    {"sort", "self|inclusive", "self", "which cost is compared"},
    {"limit", "N", "20", "rows shown; 0 shows all"},
    {"json", "", "", "as JSON, all rows unless --limit is given"},
}};

constexpr std::array<OptionSpec, 2> histogram_options{{
    {"scale", "S", "", "profil()'s: 0xFFFF is 2 bytes a bin, 0x7FFF is 4; else what fits a screen"},
    {"json", "", "", "as JSON"},
}};

constexpr CommandSpec commands[] = {
    {"start", "", settings, "begin sampling the program",
     "Sampling begins with the process that is there or, without one, with the next\n"
     "that is run or attached to. It continues over stops and further runs until\n"
     "`profile stop`, or until you detach. Options hold for this start only; `profile\n"
     "config` sets them for good.\n"
     "There are three backends. With perf the kernel samples, and the program notices\n"
     "nothing. With agent a library in the program samples it, which works where perf\n"
     "is refused; the library is preloaded at `run`, or loaded at a stop when you name\n"
     "this backend. With interrupt the debugger stops the program and looks, which\n"
     "works for remote targets and static programs. auto takes the first that works,\n"
     "and says why. Only interrupt counts wall time.",
     "profile start --frequency 4000"},
    {"stop", "", {}, "end sampling; what was collected stays", "", "profile stop"},
    {"status", "", status_options, "what is sampled, how, and what came of it",
     "Each line is a name and its value. `lost` counts samples that could not be taken\n"
     "or kept, `throttled` how often the kernel paused a clock, `interruptions` the\n"
     "signals that the agent sent to the program. `running` is the time between resume\n"
     "and stop; `stopped` is the time at the prompt, which never counts.\n"
     "With --json the names are keys. A time is a number of seconds (`running_s`), a\n"
     "size a number of bytes (`memory_bytes`), and a remark in parentheses has a key\n"
     "of its own (`backend_note`).",
     "profile status"},
    {"report", "", report_options, "a flat table of where the time went",
     "`self` counts samples taken in the row's own code. `incl` counts samples whose\n"
     "stack holds the row, each once however often the row recurs. Inlined functions\n"
     "are rows of their own. `profile break` and `profile list` take the numbers of\n"
     "rows. Time in system calls and page faults is that of the function [kernel],\n"
     "which they call; --kernel shows its own functions, by /proc/kallsyms.",
     "profile report --by line --limit 10"},
    {"break",
     "N",
     {},
     "set a breakpoint where row N of the report is hottest",
     "N is the number of a function's or a line's row in the last report that was\n"
     "shown as a table; the numbers hold until another is shown, or `profile clear`.\n"
     "The breakpoint is the debugger's own, at the line with most samples of the\n"
     "row's own (without lines: at that instruction).",
     "profile break 1"},
    {"list",
     "N",
     {},
     "show the source around the hottest line of row N of the report",
     "N and the line are those of `profile break`; the debugger shows the source.",
     "profile list 1"},
    {"tree", "[FUNCTION]", tree_options, "the call tree, the heaviest path first",
     "The tree shows who calls whom, and the share of samples taken in each call and\n"
     "below it. Inlined calls are calls. A function that calls itself, directly or\n"
     "through others, is marked (recursive): what it calls stands below it once,\n"
     "however often it recurs.\n"
     "FUNCTION is a full name, the last parts of one, or any name that symbol tables\n"
     "have for the function (`write` for `__GI___libc_write`).",
     "profile tree parse --limit 20"},
    {"annotate", "FUNCTION|FILE[:LINE]", annotate_options,
     "source text with samples beside each line",
     "The lines are those of a function, of a file, or those around one line. With\n"
     "--asm all code of a function is disassembled, including what is inlined into it\n"
     "and parts of it that lie elsewhere; source lines stand between. The debugger\n"
     "disassembles; once the process is gone, its files are read. Both follow the\n"
     "debugger's setting `disassembly-flavor`. A call has the samples of its callees.\n"
     "FUNCTION is a full name, the last parts of one, or any name that symbol tables\n"
     "have for the function (`write` for `__GI___libc_write`).",
     "profile annotate parse.c:120"},
    {"histogram", "[RANGE|FUNCTION]", histogram_options,
     "samples by address, bin by bin, with bars",
     "Without an argument the program's own code is shown, else the function or range.\n"
     "RANGE is LOW-HIGH, addresses as the debugger shows them or as the file has them.",
     "profile histogram main --scale 0xFFFF"},
    {"dump", "FILE", dump_options, "write the profile to a file",
     "The file's name tells the format, or --format does. An existing file is replaced\n"
     "only when all is written. With --parts each run from a resume to a stop has a\n"
     "file of its own.",
     "profile dump out.callgrind"},
    {"load",
     "FILE",
     {},
     "read a profile from a file, to report on it here",
     "FILE has any format that is read. Commands show it in place of what was sampled,\n"
     "until `profile clear`, or until the sampled program runs on.",
     "profile load callgrind.out.4711"},
    {"diff", "FILE|previous", diff_options, "what changed since a saved profile or the last run",
     "Costs are compared in percent of each profile's total.", "profile diff previous"},
    {"region",
     "LOCATION [LOCATION]",
     {},
     "sample only inside of a region of the program",
     "One place is a function: each call is sampled until it returns, or until an\n"
     "exception or longjmp leaves it, in the thread that calls it. With two places all\n"
     "threads are sampled from a hit of the first until a hit of the second. A place\n"
     "is what `break` takes; quote it where it has blanks. A new profile begins, and\n"
     "sampling, if it has not begun. `profile status` shows passes and their times;\n"
     "`profile stop` ends the region.",
     "profile region parse"},
    {"clear", "", {}, "forget what was collected; sampling goes on", "", "profile clear"},
    {"config",
     "[NAME [VALUE]]",
     {},
     "show or set what `profile start` takes when not told",
     "Without a name all settings are shown with what they mean, one on a line. With a\n"
     "name that setting is shown, and with a value it is set.",
     "profile config frequency 4000"},
};

// LLDB breaks lines that its terminal does not hold.
constexpr size_t help_width = 80;
constexpr size_t summary_column = 30;

std::string option_lines(std::span<const OptionSpec> options, std::string_view dashes) {
  std::string out;
  for (const OptionSpec &option : options) {
    std::string left = fmt::format("  {}{}", dashes, option.name);
    if (!option.values.empty())
      left += fmt::format(" {}", option.values);
    std::string right(option.summary);
    if (!option.fallback.empty())
      right += fmt::format(" (default {})", option.fallback);
    const bool fits = left.size() < summary_column && summary_column + right.size() <= help_width;
    out += fits ? fmt::format("{:<{}}{}\n", left, summary_column, right)
                : fmt::format("{}\n        {}\n", left, right);
  }
  return out;
}

std::string format_lines() {
  std::string out;
  for (const Format &format : formats())
    if (format.writes_profiles())
      out += fmt::format("  {:<14}{}\n{:<16}{}\n", format.name, format.summary, "",
                         fmt::join(format.file_names, ", "));
  return out;
}

} // namespace

std::span<const CommandSpec> profile_commands() { return commands; }
std::span<const OptionSpec> profile_settings() { return settings; }

std::string command_usage(const CommandSpec &command) {
  std::string out = fmt::format("profile {}", command.name);
  if (!command.arguments.empty())
    out += fmt::format(" {}", command.arguments);
  for (const OptionSpec &option : command.options)
    out += option.values.empty() ? fmt::format(" [--{}]", option.name)
                                 : fmt::format(" [--{} {}]", option.name, option.values);
  return out;
}

std::string command_help(const CommandSpec &command) {
  std::string summary(command.summary);
  summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  std::string out = fmt::format("{}.\nUsage: {}\n", summary, command_usage(command));
  if (!command.details.empty())
    out += fmt::format("\n{}\n", command.details);
  if (!command.options.empty())
    out += "\nOptions:\n" + option_lines(command.options, "--");
  if (command.name == "config")
    out += "\nNames:\n" + option_lines(settings, "");
  if (command.name == "dump")
    out += "\nFormats:\n" + format_lines();
  return out + fmt::format("\nExample: {}", command.example);
}

std::string profile_help() {
  std::string out = "Sample the program and show where its time goes.\n"
                    "Type `profile start`, `continue`, and at the next stop `profile report`.\n\n";
  for (const CommandSpec &command : commands)
    out += fmt::format("profile {:<10} {}\n", command.name, command.summary);
  return out + "\n`help profile NAME` tells more of each.\n";
}

} // namespace tally
