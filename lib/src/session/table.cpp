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
    {"frequency", "HZ", "1000", "samples for each second of the clock"},
    {"clock", "cpu|wall", "cpu", "what is counted: time on a processor, or all time"},
    {"stacks", "none|fp|dwarf", default_stack_mode,
     "callers: not recorded, by frame pointers, by unwind data"},
}};

// Of what is shown or written.
constexpr OptionSpec thread_option{"thread", "THREAD", "", "of that alone: its name, or its TID"};
constexpr OptionSpec part_option{"part", "N", "", "of that alone: its number"};

constexpr std::array<OptionSpec, 6> report_options{{
    {"by", "function|line|object|thread|part", "function", "what a row stands for"},
    {"sort", "self|inclusive", "self", "which column puts the rows in order"},
    thread_option,
    part_option,
    {"limit", "N", "20", "rows shown; 0 shows all"},
    {"json", "", "", "as JSON, all rows unless --limit is given"},
}};

constexpr std::array<OptionSpec, 6> tree_options{{
    {"callers", "", "", "who calls FUNCTION, and not whom it calls"},
    {"by", "thread|part", "", "a tree for each"},
    thread_option,
    part_option,
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
    {"format", "FORMAT", "", "when the file's name does not tell it"},
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
     "Begins with the process that is there; without one, with the next that is run\n"
     "or attached to. It goes on over stops and further runs until `profile stop`, or\n"
     "until you detach. Options last for this start only; `profile config` sets them\n"
     "for good.\n"
     "perf: the kernel samples, and the program notices nothing. agent: a library in\n"
     "the program samples it, for where perf is refused; it is preloaded at `run`, or\n"
     "loaded at a stop when you name it. interrupt: the debugger stops the program\n"
     "and looks, for remote targets and static programs; wall time. auto takes the\n"
     "first that works, and says why. Wall time is counted by interrupt alone.",
     "profile start --frequency 4000"},
    {"stop", "", {}, "end sampling; what was collected stays", "", "profile stop"},
    {"status",
     "",
     {},
     "what is sampled, how, and what came of it",
     "One `name value` a line. lost: samples that could not be taken or kept;\n"
     "throttled: times the kernel paused a clock; interruptions: signals that the\n"
     "agent sent to the program; running: time between resume and stop; stopped: time\n"
     "at the prompt, which never counts.",
     "profile status"},
    {"report", "", report_options, "a flat table of where the time went",
     "self: samples taken in the row's own code. incl: samples whose stack holds the\n"
     "row, counted once however often it recurs. Inlined functions are rows of their\n"
     "own. `profile break` and `profile list` take the numbers of the rows.",
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
     "Who calls whom, and the share of samples taken there and below. Inlined calls\n"
     "are calls. A function that calls itself, also by others, is marked (recursive):\n"
     "what it calls stands below it once, however often it recurs.",
     "profile tree parse --limit 20"},
    {"annotate", "FUNCTION|FILE[:LINE]", annotate_options,
     "source text with samples beside each line",
     "Of a function, of a file, or of the lines around one line. With --asm the\n"
     "debugger disassembles all code of a function, parts of it that lie elsewhere and\n"
     "what is inlined into it included; source lines stand between. Where the process\n"
     "is gone, its files are disassembled. A call holds the samples of its callees.",
     "profile annotate parse.c:120"},
    {"histogram", "[RANGE|FUNCTION]", histogram_options,
     "samples by address, bin by bin, with bars",
     "Of the program's own code, or of the object that the function or range lies in.\n"
     "RANGE is LOW-HIGH, addresses as the debugger shows them or as the file has them.",
     "profile histogram main --scale 0xFFFF"},
    {"dump", "FILE", dump_options, "write the profile to a file",
     "The format follows the file's name. An existing file is replaced only when all\n"
     "is written. With --parts each run from a resume to a stop has a file of its own.",
     "profile dump out.callgrind"},
    {"load",
     "FILE",
     {},
     "read a profile from a file, to report on it here",
     "Any format that is read. Commands show it in place of what was sampled, until\n"
     "`profile clear`, or until the sampled program runs on.",
     "profile load callgrind.out.4711"},
    {"diff", "FILE|previous", diff_options, "what changed since a saved profile or the last run",
     "Compares costs in percent of each profile's total.", "profile diff previous"},
    {"region",
     "LOCATION [LOCATION]",
     {},
     "sample only inside of a region of the program",
     "With one place: a function, from each call until it returns, in the thread that\n"
     "calls it (or until an exception or longjmp leaves it). With two: from a hit of\n"
     "the first until a hit of the second, in all threads. A place is what `break`\n"
     "takes; quote it where it has blanks. A new profile begins, and sampling, if it\n"
     "has not. `profile status` tells passes and their times; `profile stop` ends it.",
     "profile region parse"},
    {"clear", "", {}, "forget what was collected; sampling goes on", "", "profile clear"},
    {"config",
     "NAME [VALUE]",
     {},
     "show or set what `profile start` takes when not told",
     "NAME is backend, frequency, clock or stacks.",
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
