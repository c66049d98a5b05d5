#include <memory>

#include <sys/stat.h>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/gcov.h>
#include <tally/gcov3.h>
#include <tally/gcov3_counts.h>
#include <tally/gcov_counts.h>
#include <tally/gcov_json.h>

#include "profiles.h"

namespace tally::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  bool branches = false, conditions = false;
};

bool is_plain_folder(const std::string &path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && !S_ISLNK(info.st_mode);
}

Result<std::string> read_whole(const std::string &path) {
  TALLY_TRY(source, ByteSource::open(path));
  return source->rest();
}

// "x.gcno" for "x.gcda".
std::string with_ending(const std::string &file, std::string_view ending) {
  const size_t dot = file.rfind('.');
  const size_t slash = file.rfind('/');
  const bool has_ending = dot != file.npos && (slash == file.npos || dot > slash);
  return file.substr(0, has_ending ? dot : file.size()) + std::string(ending);
}

Result<std::string> json_of(const std::string &file, const Options &options) {
  const std::string notes_path = with_ending(file, ".gcno"), data_path = with_ending(file, ".gcda");
  Diagnostics findings;
  TALLY_TRY(notes_bytes, read_whole(notes_path));
  TALLY_TRY(notes, read_gcov_notes(std::move(notes_bytes), notes_path, findings));
  std::optional<GcovData> data;
  if (::access(data_path.c_str(), F_OK) == 0) {
    TALLY_TRY(data_bytes, read_whole(data_path));
    TALLY_TRY(read, read_gcov_data(data_bytes, data_path, findings));
    data = std::move(read);
  }
  const CoverageCounters counters =
      match_counters(notes, data ? &*data : nullptr, data_path, findings);
  GcovOptions counting;
  counting.branches = options.branches;
  counting.blocks = notes.header.version >= GcovVersion::v14;
  counting.is_plain_folder = is_plain_folder;
  const GcovCounts counts = count_as_gcov(notes.graph, counters, notes_path, findings, counting);
  show(findings);
  const auto version = static_cast<uint32_t>(notes.header.version);
  return to_gcov_json({.compiler = fmt::format("{}.{}", version / 100, version % 100),
                       .data_file = file,
                       .gcc3 = false,
                       .branches = options.branches,
                       .format_2 = counting.blocks,
                       .conditions = options.conditions,
                       .graph = &notes.graph,
                       .counts = &counts});
}

Result<std::unique_ptr<ByteSource>> open_if_there(const std::string &path) {
  if (::access(path.c_str(), F_OK) != 0)
    return nullptr;
  return ByteSource::open(path);
}

// Of GCC before 3.4: .bbg, with .bb and .da where they are there.
Result<std::string> json_of_gcc3(const std::string &file, const Options &options) {
  const auto beside = [&](std::string_view ending) {
    return open_if_there(with_ending(file, ending));
  };
  Diagnostics findings;
  TALLY_TRY(graph_source, ByteSource::open(with_ending(file, ".bbg")));
  TALLY_TRY(flow, Gcov3Graph::read(*graph_source, findings));
  std::optional<Gcov3Lines> lines;
  std::optional<Gcov3Data> data;
  TALLY_TRY(lines_source, beside(".bb"));
  if (lines_source) {
    TALLY_TRY(read, Gcov3Lines::read(*lines_source, findings));
    lines = std::move(read);
  }
  TALLY_TRY(data_source, beside(".da"));
  if (data_source) {
    TALLY_TRY(read, Gcov3Data::read(*data_source, findings));
    data = std::move(read);
  }
  TALLY_TRY(graph, gcov3_graph(flow, lines ? &*lines : nullptr, findings));
  TALLY_TRY(counters, gcov3_counters(flow, data ? &*data : nullptr, findings));
  TALLY_TRY(counts, gcov3_counts(graph, counters, findings, with_ending(file, ".da")));
  show(findings);
  const GcovCounts as_gcov = as_gcov_counts(graph, counts);
  return to_gcov_json({.compiler = flow.has_names() ? "3.3" : "3.2",
                       .data_file = file,
                       .gcc3 = true,
                       .branches = options.branches,
                       .format_2 = false,
                       .conditions = false,
                       .graph = &graph,
                       .counts = &as_gcov});
}

bool is_of_gcc3(const std::string &file) {
  return file.ends_with(".da") || file.ends_with(".bbg") || file.ends_with(".bb");
}

void run(const Options &options, Outcome &outcome) {
  std::string out;
  for (const std::string &file : options.files) {
    auto json = is_of_gcc3(file) ? json_of_gcc3(file, options) : json_of(file, options);
    if (!json) {
      outcome.end(fail(json.error()));
      continue;
    }
    out += *json;
  }
  if (!out.empty())
    if (auto written = write_file("-", out); !written)
      outcome.end(written);
}

} // namespace

void add_gcov(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App &command = add_command(app, "gcov", "print what the compiler's gcov would, as JSON",
                                  "tally gcov -b build/*.gcda");
  command.add_option("FILE", options->files, "counters (.gcda, .da), or notes (.gcno, .bbg)")
      ->type_name("")
      ->required();
  command.add_flag("-b", options->branches, "with branches")->disable_flag_override();
  command.add_flag("-g", options->conditions, "with conditions (GCC 14, -fcondition-coverage)")
      ->disable_flag_override();
  command.callback([options, &outcome] { run(*options, outcome); });
}

} // namespace tally::cli
