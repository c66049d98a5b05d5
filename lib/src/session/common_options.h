// Options that commands of a debugger and of a shell share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "collect/sampler.h"
#include "join/difference_file.h"
#include "session/command_line.h"

namespace tally {

inline constexpr OptionSpec frequency_option{.name = "frequency",
                                             .kind = ValueKind::number,
                                             .values = "HZ",
                                             .fallback = "1000",
                                             .summary =
                                                 "the number of samples per second of the clock",
                                             .least = 1,
                                             .most = 1'000'000};

inline constexpr OptionSpec stacks_option{
    .name = "stacks",
    .kind = ValueKind::choice,
    .values = "none|fp|dwarf",
    .fallback = default_stack_mode,
    .summary = "how callers are found: not at all, by frame pointers,\nby unwind data"};

inline constexpr OptionSpec stack_bytes_option{
    .name = "stack-bytes",
    .kind = ValueKind::number,
    .summary = "how much of each stack perf copies to find callers, a\n"
               "multiple of 8; by default 65528 up to 1000 Hz, above 8192,\n"
               "and 65528 once stacks are deeper",
    .least = 1024,
    .most = most_stack_bytes};

inline constexpr OptionSpec sampled_event_option{
    .name = "event",
    .kind = ValueKind::events,
    .summary = "the events to sample in place of the clock, by perf's\n"
               "names: page-faults, cache-misses, …, and clock"};

inline constexpr OptionSpec clock_option{
    "clock", ValueKind::choice, "cpu|wall", "cpu",
    "the time that is counted: CPU time, or wall time with each wait"};

// Options that select samples.
inline constexpr OptionSpec thread_option{.name = "thread",
                                          .kind = ValueKind::thread,
                                          .summary =
                                              "only samples of this thread (its name or its TID)"};
inline constexpr OptionSpec process_option{
    .name = "process",
    .kind = ValueKind::process,
    .summary = "only samples of the processes with this name, or of\n"
               "the one with this PID"};
inline constexpr OptionSpec event_option{
    .name = "event",
    .kind = ValueKind::event,
    .summary = "only this event or value of the samples: its name is\n"
               "in the first line of the table",
    .other_name = "value"};
inline constexpr OptionSpec part_option{.name = "part",
                                        .kind = ValueKind::part,
                                        .summary = "only samples of the part with this number",
                                        .most = UINT32_MAX};

inline constexpr OptionSpec from_time_option{.name = "from",
                                             .kind = ValueKind::time,
                                             .summary =
                                                 "only what was counted after this time (300ms)"};
inline constexpr OptionSpec to_time_option{.name = "to",
                                           .kind = ValueKind::time,
                                           .summary =
                                               "only what was counted up to this time (1.2s)"};

// Options that select samples by the frames on their stacks, and frames. See SampleFilter.
inline constexpr std::array<OptionSpec, 5> frame_options{{
    {.name = "focus",
     .kind = ValueKind::pattern,
     .summary = "only stacks with a frame whose function, file or object\n"
                "matches RE, a PCRE2 pattern"},
    {.name = "ignore",
     .kind = ValueKind::pattern,
     .summary = "only stacks without a frame that matches RE"},
    {.name = "hide",
     .kind = ValueKind::pattern,
     .summary = "leave out frames that match RE; their callers get\n"
                "their cost"},
    {.name = "fold",
     .kind = ValueKind::pattern,
     .summary = "show adjacent frames that match RE as one: the\n"
                "outermost, with the cost of all"},
    {.name = "no-inlines",
     .summary = "count inlined functions for the function that contains\n"
                "their code"},
}};

inline constexpr OptionSpec kernel_option{.name = "kernel",
                                          .summary = "show the kernel's functions below [kernel]"};
inline constexpr OptionSpec json_option{.name = "json", .summary = "print JSON"};
// For tables that --limit shortens.
inline constexpr OptionSpec json_rows_option{
    .name = "json", .summary = "print JSON, with all rows unless --limit is given"};

// The options of a flat table. `keys` are the values of --by.
constexpr OptionSpec by_option(std::string_view keys) {
  return {.name = "by",
          .kind = ValueKind::choice,
          .values = keys,
          .fallback = "function",
          .summary = "what each row shows"};
}
constexpr OptionSpec sort_option(std::string_view summary) {
  return {.name = "sort",
          .kind = ValueKind::choice,
          .values = "self|inclusive",
          .fallback = "self",
          .summary = summary};
}
constexpr OptionSpec limit_option(std::string_view fallback,
                                  std::string_view summary = "show at most N rows; 0 shows all") {
  return {.name = "limit",
          .kind = ValueKind::number,
          .fallback = fallback,
          .summary = summary,
          .most = UINT32_MAX};
}
inline constexpr std::string_view report_keys =
    "function|line|module|object|namespace|directory|thread|part|process";
inline constexpr std::string_view diff_keys = "function|line|module|object|namespace|directory";
inline constexpr OptionSpec report_sort_option = sort_option("the column to sort by");
inline constexpr OptionSpec diff_sort_option = sort_option("the cost to compare");

// An option of `diff`; write_difference() performs it.
inline constexpr OptionSpec difference_file_option{
    .name = "o",
    .kind = ValueKind::file,
    .summary = "write the stacks of both to FILE in place of the table:\n"
               "FILE.svg is a flame graph of the difference"};

// Returns the format that a command's -o implies. Fails if an option is for the table, in place of
// which -o writes stacks, or as difference_format() does. Call it before profiles are read.
inline Result<const Format *> difference_format_of(const ParsedCommand &command,
                                                   const std::string &path) {
  for (const std::string_view option : {"by", "sort", "limit", "json"})
    if (command.has(option))
      return fail(ErrorCode::invalid_argument,
                  "is for the table, in place of which -o writes stacks",
                  fmt::format("--{}", option));
  return difference_format(path);
}

// The options of a call tree.
inline constexpr OptionSpec callers_option{
    .name = "callers", .summary = "show only the callers of FUNCTION, below it"};
inline constexpr OptionSpec inverted_option{
    .name = "inverted",
    .summary = "show the self cost of each function, heaviest first,\n"
               "with its callers below it"};
inline constexpr OptionSpec tree_by_option{
    .name = "by",
    .kind = ValueKind::choice,
    .values = "thread|part|process",
    .summary = "show one tree per thread, part or name of processes"};
inline constexpr OptionSpec full_option{
    .name = "full", .summary = "show std::invoke, std::function and std::thread layers"};

// For tables of functions.
inline constexpr OptionSpec full_names_option{.name = "full-names",
                                              .summary = "do not shorten the names of functions"};

// Returns one array with the elements of all `parts`.
template <size_t... Sizes> constexpr auto joined(const std::array<OptionSpec, Sizes> &...parts) {
  std::array<OptionSpec, (Sizes + ...)> out{};
  size_t at = 0;
  const auto append = [&](const auto &part) {
    for (const OptionSpec &option : part)
      out[at++] = option;
  };
  (append(parts), ...);
  return out;
}

} // namespace tally
