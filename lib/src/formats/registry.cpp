// Holds the table of all formats. A new format needs a directory beside this file and a row here.

#include <fnmatch.h>
#include <unistd.h>

#include <fmt/format.h>

#include "formats/callgrind/read.h"
#include "formats/callgrind/write.h"
#include "formats/formats.h"
#ifdef TALLY_WITH_XML
#include "formats/cobertura/cobertura.h"
#include "formats/sonarqube/sonarqube.h"
#endif
#include "formats/cpuprofile/cpuprofile.h"
#include "formats/dot/dot.h"
#include "formats/firefox/firefox.h"
#include "formats/flamegraph/flamegraph.h"
#include "formats/folded/folded.h"
#include "formats/foreign.h"
#include "formats/gcov/read.h"
#include "formats/gcov/stream.h"
#include "formats/gcov3/gcov3.h"
#include "formats/gcov_output/gcov_output.h"
#include "formats/gcovr/gcovr.h"
#include "formats/gmon/gmon.h"
#include "formats/gperftools/gperftools.h"
#include "formats/lcov/lcov.h"
#include "formats/llvm/export.h"
#include "formats/llvm/profile_file.h"
#include "formats/perf_data/perf_data.h"
#include "formats/perf_script/perf_script.h"
#ifdef TALLY_WITH_PPROF
#include "formats/pprof/pprof.h"
#include "formats/simpleperf/simpleperf.h"
#endif
#include "formats/speedscope/speedscope.h"
#include "support/memory_limit.h"
#include "support/path.h"
#include "support/text.h"
#include "support/utf16.h"

namespace tally {

std::span<const Format> formats() {
  static const Format table[] = {
      {.name = "callgrind",
       .summary = "Callgrind's profile, for KCachegrind and callgrind_annotate",
       .file_names = {"callgrind.out*", "*.callgrind", "*.cg"},
       .probe = callgrind::probe,
       .read = callgrind::read,
       .write_costs = callgrind::write},
      {.name = "chrome-trace",
       .summary = "Chrome's trace events: nested events as stacks, or profiles of V8",
       .file_names = {},
       .default_name = "*.trace.json",
       .probe = cpuprofile::probe_trace,
       .read = cpuprofile::read_trace},
#ifdef TALLY_WITH_XML
      {.name = "cobertura",
       .summary = "coverage as XML, for GitLab, Jenkins, Azure and others",
       .file_names = {},
       .default_name = "*.cobertura.xml",
       .probe = cobertura::probe,
       .read_coverage = cobertura::read,
       .write_coverage = cobertura::write},
#endif
      {.name = "cpuprofile",
       .summary = "one thread on a time axis, for Chrome DevTools and VS Code",
       .file_names = {"*.cpuprofile"},
       .probe = cpuprofile::probe,
       .read = cpuprofile::read,
       .write_stacks = cpuprofile::write},
      {.name = "dot",
       .summary = "a call graph, for Graphviz, which draws it for *.png",
       .file_names = {"*.dot", "*.png"},
       .write_costs = dot::write,
       .holds_lines = false},
      {.name = "firefox",
       .summary = "samples on a time axis, for Firefox Profiler",
       .file_names = {"*.firefox.json", "*.firefox.json.gz"},
       .gzip = Gzip::by_name,
       .probe = firefox::probe,
       .read_addresses = firefox::read,
       .write_stacks = firefox::write},
      {.name = "flamegraph",
       .summary = "a flame graph: an SVG that any browser opens",
       .file_names = {"*.svg"},
       .write_stacks = flamegraph::write},
      {.name = "folded",
       .summary = "one stack per line with its count, for flame graphs",
       .file_names = {"*.folded", "*.collapsed"},
       .probe = folded::probe,
       .read = folded::read,
       .write_stacks = folded::write},
      {.name = "gcov-data",
       .summary = "counters of GCC's and Clang's coverage",
       .file_names = {"*.gcda"},
       .probe = gcov::is_data,
       .read_counters = gcov::read_data},
      {.name = "gcov-notes",
       .summary = "flow graphs that belong to the counters",
       .file_names = {"*.gcno"},
       .probe = gcov::is_notes,
       .read_counters = gcov::read_notes},
      {.name = "gcfn",
       .summary = "counters of many objects, as freestanding programs send them",
       .file_names = {},
       .default_name = "*.gcfn",
       .probe = gcov::is_stream,
       .probe_log = gcov::has_dump,
       .read_counters = gcov::read_stream,
       .sum_format = "gcov-data"},
      {.name = "gcov3",
       .summary = "coverage of GCC before 3.4: lines (.bb), flow graphs (.bbg), counters (.da)",
       .file_names = {"*.bb", "*.bbg", "*.da"},
       .probe = gcov3::probe,
       .read_counters = gcov3::read},
      {.name = "gcov-json",
       .summary = "the JSON of gcov --json-format",
       .file_names = {},
       .default_name = "*.gcov.json.gz",
       .probe = gcov_output::probe_json,
       .read_coverage = gcov_output::read_json},
      {.name = "gcov-text",
       .summary = "sources that gcov has annotated",
       .file_names = {},
       .default_name = "*.gcov",
       .probe = gcov_output::probe_text,
       .read_coverage = gcov_output::read_text},
      {.name = "gcovr",
       .summary = "coverage of sources, in gcovr's JSON",
       .file_names = {"*.gcovr.json"},
       .probe = gcovr::probe,
       .read_coverage = gcovr::read,
       .write_coverage = gcovr::write},
      {.name = "gmon",
       .summary = "gmon.out: ticks by address and counts of calls, for gprof",
       .file_names = {"gmon.out*", "*.gmon", "mon.out*"},
       .probe = gmon::probe,
       .read_pcs = gmon::read,
       .write_pcs = gmon::write},
      {.name = "gperftools",
       .summary = "CPU and heap profiles of gperftools, heap profiles of jemalloc",
       .file_names = {},
       .default_name = "*.gperftools",
       .probe = gperftools::probe,
       .read_addresses = gperftools::read},
      {.name = "lcov",
       .summary = "coverage of sources, as lcov writes it",
       .file_names = {"*.info"},
       .probe = lcov::probe,
       .read_coverage = lcov::read,
       .write_coverage = lcov::write},
      {.name = "llvm-indexed",
       .summary = "counters of Clang's and Rust's source-based coverage, added up",
       .file_names = {"*.profdata"},
       .probe = llvm::is_indexed_profile,
       .read_counters = llvm::read_indexed_file},
      {.name = "llvm-json",
       .summary = "source-based coverage as the JSON of llvm-cov export",
       .file_names = {},
       .default_name = "*.llvm-cov.json",
       .probe = llvm::probe_export,
       .read_coverage = llvm::read_export},
      {.name = "llvm-raw",
       .summary = "counters of source-based coverage, as programs write them",
       .file_names = {"*.profraw"},
       .probe = llvm::is_raw_profile,
       .read_counters = llvm::read_raw_file,
       .sum_format = "llvm-indexed"},
      {.name = "perf-data",
       .summary = "samples with their stacks, as perf record writes them",
       .file_names = {"perf.data*", "*.perf.data", "*.perf"},
       .probe = perf_data::probe,
       .read_addresses = perf_data::read},
      {.name = "perf-script",
       .summary = "samples with their stacks, as the text that perf script prints",
       .file_names = {},
       .default_name = "*.perf-script",
       .probe = perf_script::probe,
       .read = perf_script::read},
#ifdef TALLY_WITH_PPROF
      {.name = "pprof",
       .summary = "gzipped profile.proto, for `go tool pprof` and others",
       .file_names = {"*.pb.gz", "*.pprof"},
       .gzip = Gzip::always,
       .probe = pprof::probe,
       .read = pprof::read,
       .write_stacks = pprof::write},
#endif
#ifdef TALLY_WITH_PPROF
      {.name = "simpleperf",
       .summary = "samples of Android, as simpleperf report-sample --protobuf writes them",
       .file_names = {},
       .default_name = "*.simpleperf.trace",
       .probe = simpleperf::probe,
       .read = simpleperf::read},
#endif
#ifdef TALLY_WITH_XML
      {.name = "sonarqube",
       .summary = "coverage as SonarQube's generic XML",
       .file_names = {},
       .default_name = "*.sonarqube.xml",
       .write_coverage = sonarqube::write},
#endif
      {.name = "speedscope",
       .summary = "stacks of each thread as JSON, for speedscope; py-spy and others write it, too",
       .file_names = {"*.speedscope.json"},
       .probe = speedscope::probe,
       .read = speedscope::read,
       .write_stacks = speedscope::write},
  };
  return table;
}

Result<const Format *> format_by_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Format &format : formats()) {
    if (format.name == name)
      return &format;
    known.push_back(format.name);
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("unknown format '{}' (there are: {})", name, joined_text(known, ", ")));
}

const Format &sum_format_of(const Format &format) {
  return format.sum_format.empty() ? format : **format_by_name(format.sum_format);
}

Result<const Format *> profile_format_by_name(std::string_view name) {
  std::vector<std::string_view> written;
  bool known = false;
  for (const Format &format : formats()) {
    if (format.writes_profiles()) {
      if (format.name == name)
        return &format;
      written.push_back(format.name);
    }
    known |= format.name == name;
  }
  return fail(
      ErrorCode::invalid_argument,
      known ? fmt::format("the format {} does not hold profiles, or cannot be written (there "
                          "are: {})",
                          name, joined_text(written, ", "))
            : fmt::format("unknown format '{}' (there are: {})", name, joined_text(written, ", ")));
}

const Format *format_by_file_name(std::string_view path) {
  const std::string name(base_name(path));
  for (const Format &format : formats())
    for (std::string_view pattern : format.file_names)
      if (::fnmatch(std::string(pattern).c_str(), name.c_str(), 0) == 0)
        return &format;
  return nullptr;
}

Result<const Format *> format_for_output(std::string_view path, std::string_view name,
                                         std::string_view option) {
  if (!name.empty()) {
    auto named = format_by_name(name);
    if (!named)
      named.error().source = option;
    return named;
  }
  if (const Format *format = format_by_file_name(path))
    return format;
  if (path.ends_with(".html"))
    return fail(ErrorCode::unsupported,
                "HTML is a report of coverage: `tally coverage --report html` writes it",
                std::string(path));
  return fail(ErrorCode::invalid_argument,
              fmt::format("the file's name does not imply a format: add {} callgrind, or another "
                          "format",
                          option),
              std::string(path));
}

std::string default_file_name(const Format &format, std::string_view stem) {
  std::string name(format.file_names.empty() ? format.default_name : format.file_names.front());
  const size_t star = name.find('*');
  return name.replace(star, 1, fmt::format("{}{}", star == 0 ? "" : ".", stem));
}

namespace {

bool is_zero(const StackProfile &profile) {
  for (size_t row = 0; row < profile.sample_count(); ++row)
    for (const int64_t value : profile.sample(row).values)
      if (value != 0)
        return false;
  return true;
}

Result<void> check_not_zero(const Profile &profile, const ByteSource &source) {
  if (const auto *stacks = std::get_if<StackProfile>(&profile); stacks && is_zero(*stacks))
    return fail(ErrorCode::no_data, "holds no samples: every count is 0", source.name());
  return {};
}

constexpr size_t head_bytes = 4096;
constexpr size_t longest_head = size_t{1} << 30;
constexpr size_t longest_log = size_t{1} << 24;

// Removes the byte order mark before JSON and XML, whose readers accept it.
std::string_view without_mark(std::string_view head) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (!head.starts_with(mark))
    return head;
  const std::string_view text = head.substr(mark.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && (text[first] == '{' || text[first] == '[' || text[first] == '<')
             ? text
             : head;
}

// Returns whether the bytes are text in UTF-16, as PowerShell writes it: a mark and two letters.
bool is_utf16_text(std::string_view head) {
  if (!begins_utf16(head) || head.size() < 6)
    return false;
  const size_t high = head.starts_with("\xFE\xFF") ? 0 : 1; // offset of a unit's high byte
  const auto is_letter = [&](size_t at) {
    const char low = head[at + 1 - high];
    return head[at + high] == 0 && ((low >= ' ' && low < 0x7F) || (low >= '\t' && low <= '\r'));
  };
  return is_letter(2) && is_letter(4);
}

// Finds a format whose content may follow other lines of a log; null if there is none.
Result<const Format *> format_of_log(ByteSource &source) {
  TALLY_TRY(text, source.peek(longest_log));
  for (const Format &candidate : formats())
    if (candidate.probe_log && candidate.probe_log(text))
      return &candidate;
  return nullptr;
}

// Detects the format from the content. If several probes accept the content, the file name decides
// between them. If no probe accepts the content, the name selects the reader, which then reports
// what is wrong. Returns null if neither content nor name implies a format, and an error if the
// file is of another tool.
Result<const Format *> format_of(ByteSource &source, std::string_view name) {
  // Readers unpack a packed file, while writers never pack unless the format itself is packed. So
  // only this lookup ignores the suffix of a packed file, such as ".gz".
  const Format *by_name = format_by_file_name(name);
  if (!by_name)
    by_name = format_by_file_name(unpacked_name(name));
  // A probe needs a whole line. Peeking at a very long line takes no more memory than reading the
  // file.
  for (size_t size = head_bytes, searched = 0;; size *= 2) {
    TALLY_TRY(begin, source.peek(size));
    const std::string_view head = without_mark(begin);
    // Check this before any probe: `--- threadz` has lines that a Callgrind file could have.
    if (std::string what = foreign_format(head); !what.empty())
      return fail(ErrorCode::unsupported, std::move(what), source.name());
    const Format *by_content = nullptr;
    for (const Format &candidate : formats())
      if (candidate.probe && candidate.probe(head) && (!by_content || &candidate == by_name))
        by_content = &candidate;
    // Check this after all probes, because the first frame of a stack may look like a line of a
    // table.
    if (std::string what = by_content ? std::string() : foreign_table(head); !what.empty())
      return fail(ErrorCode::unsupported, std::move(what), source.name());
    const bool whole_line = head.find('\n', searched) != head.npos;
    if (by_content || by_name)
      return by_content ? by_content : by_name;
    if (whole_line || begin.size() < size || size >= longest_head)
      return format_of_log(source);
    searched = head.size();
  }
}

// Returns the message for an empty file. Valgrind's --separate-threads=yes leaves FILE empty and
// writes the threads to FILE-01, FILE-02, …
std::string empty_message(const std::string &path) {
  const std::string first = path + "-01";
  if (path == "-" || ::access(first.c_str(), R_OK) != 0)
    return "is empty";
  return fmt::format("is empty; the threads are in separate files: {}, …", base_name(first));
}

Result<ReadFile> read_source(ByteSource &source, const std::string &path, Diagnostics &diagnostics,
                             const Format *from, Unwinder *unwinder) {
  const Format *format = from;
  if (!format) {
    TALLY_TRY(found, format_of(source, path));
    format = found;
  }
  TALLY_TRY(head, source.peek(1));
  // GCC before 3.4 leaves the .bbg of an object without functions empty. So for counters and notes,
  // the format's reader decides whether an empty file is valid.
  if (head.empty() && !(format && format->read_counters))
    return fail(ErrorCode::no_data, empty_message(path), source.name());
  if (!format)
    return fail(ErrorCode::invalid_input, "is not in a known format", source.name());
  if (format->read_counters) {
    TALLY_TRY(counters, format->read_counters(source, diagnostics));
    return ReadFile{std::move(counters), format};
  }
  if (format->read_coverage) {
    TALLY_TRY(coverage, format->read_coverage(source, diagnostics));
    return ReadFile{std::move(coverage), format};
  }
  if (format->read_pcs) {
    TALLY_TRY(pcs, format->read_pcs(source, diagnostics));
    return ReadFile{std::move(pcs), format};
  }
  if (format->read_addresses) {
    TALLY_TRY(profile, format->read_addresses(source, diagnostics, unwinder));
    TALLY_CHECK(check_not_zero(profile, source));
    return ReadFile{std::move(profile), format};
  }
  if (!format->read)
    return fail(ErrorCode::unsupported,
                fmt::format("the format {} can be written, but not read", format->name),
                source.name());
  TALLY_TRY(profile, format->read(source, diagnostics));
  TALLY_CHECK(check_not_zero(profile, source));
  return ReadFile{std::move(profile), format};
}

Result<ReadFile> read_within(ByteSource &source, const std::string &path, Diagnostics &diagnostics,
                             const Format *from, Unwinder *unwinder) {
  TALLY_TRY(begin, source.peek(6));
  if (!is_utf16_text(begin))
    return read_source(source, path, diagnostics, from, unwinder);
  TALLY_TRY(text, source.rest());
  const std::string converted = utf8_of_utf16(text);
  auto out =
      read_source(*ByteSource::of(converted, source.name()), path, diagnostics, from, unwinder);
  if (!out && out.error().where.kind == Position::Kind::offset)
    out.error().message += " (the file is in UTF-16; the offset is that of the same text in UTF-8)";
  return out;
}

} // namespace

Result<const Format *> format_of_file(const std::string &path) {
  TALLY_TRY(source, ByteSource::open(path));
  return format_of(*source, path);
}

Result<ReadFile> read_file(const std::string &path, Diagnostics &diagnostics, const Format *from,
                           const ReadOptions &options, Unwinder *unwinder) {
  TALLY_TRY(source, ByteSource::open(path, options));
  const MemoryLimit limit(options.memory_limit, source->size_hint());
  try {
    return read_within(*source, path, diagnostics, from, unwinder);
  } catch (const MemoryExceeded &exceeded) {
    return fail(ErrorCode::limit, exceeded.what(), source->name());
  }
}

} // namespace tally
