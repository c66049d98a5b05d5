#include "coverage_collect/counted_object.h"

#include <utility>

#include <fmt/format.h>

#include "coverage/gcov3_counts.h"
#include "coverage_collect/real_paths.h"
#include "formats/gcov.h"
#include "formats/gcov3.h"
#include "support/file_io.h"
#include "support/path.h"

namespace tally {

namespace {

Result<GcovNotes> read_notes(const std::string &path, Diagnostics &diagnostics) {
  TALLY_TRY(source, ByteSource::open_found(path));
  TALLY_TRY(bytes, source->rest());
  return read_gcov_notes(std::move(bytes), path, diagnostics);
}

// Completes the options as count_object() describes.
void complete(GcovOptions &options, const GcovNotes &notes) {
  options.blocks &= notes.header.version >= GcovVersion::v14;
  if (!options.is_plain_directory)
    options.is_plain_directory = [](const std::string &name, std::string_view) {
      return is_plain_directory(name);
    };
}

// Returns whether the object ran. An object without functions has no counters and nothing to run,
// so it counts as run.
bool graph_ran(const CoverageGraph &graph, const CoverageCounters &counters) {
  return graph.functions.size() == 0 || !(counters.none || counters.unknown);
}

Result<std::optional<GcovData>> read_data(const std::string &path, Diagnostics &diagnostics) {
  TALLY_TRY(source, ByteSource::open_if_there(path));
  if (!source)
    return std::optional<GcovData>();
  TALLY_TRY(bytes, source->rest());
  TALLY_TRY(data, read_gcov_data(bytes, path, diagnostics));
  return std::optional(std::move(data));
}

// Adds the counters of a stream, or replaces those of another compilation.
Result<void> add_streamed(const ObjectFiles &files, std::optional<GcovData> &stored,
                          Diagnostics &diagnostics) {
  const StreamedCounters &streamed = *files.streamed;
  if (stored && stored->header.stamp == streamed.data.header.stamp) {
    auto added = stored->add(streamed.data);
    if (!added)
      added.error().source = streamed.stream;
    return added;
  }
  if (stored)
    diagnostics.add(
        Severity::warning,
        fmt::format("is of another compilation than the counters in {}: left out", streamed.stream),
        files.data);
  stored = streamed.data;
  return {};
}

Result<CountedObject> count_gcov(const ObjectFiles &files, GcovOptions options,
                                 Diagnostics &diagnostics) {
  std::shared_ptr<const GcovNotes> notes = files.live ? files.live->notes : nullptr;
  if (!notes) {
    TALLY_TRY(read, read_notes(files.notes, diagnostics));
    notes = std::make_shared<GcovNotes>(std::move(read));
  }
  std::optional<GcovData> stored;
  if (!files.live) {
    TALLY_TRY(read, read_data(files.data, diagnostics));
    stored = std::move(read);
    if (files.streamed)
      TALLY_CHECK(add_streamed(files, stored, diagnostics));
  }
  const GcovData *const data = files.live ? &files.live->data : stored ? &*stored : nullptr;
  const CoverageCounters counters = match_counters(*notes, data, files.data, diagnostics);
  complete(options, *notes);
  if (files.live) {
    options.frames = files.live->frames;
    options.only_entries = true;
    if (!files.live->wanted.empty())
      options.wants_function = [&](GraphFunctionId id) {
        return files.live->wanted[static_cast<size_t>(id)];
      };
  }
  CountedObject out;
  out.counts = count_as_gcov(notes->graph, counters, files.notes, diagnostics, options);
  const auto version = static_cast<uint32_t>(notes->header.version);
  out.compiler = fmt::format("{}.{}", version / 100, version % 100);
  out.ran = graph_ran(notes->graph, counters);
  out.foreign_counters = data && (counters.none || counters.unknown);
  out.has_blocks = options.blocks;
  out.graph = {notes, &notes->graph};
  return out;
}

Result<CountedObject> count_gcov3(const ObjectFiles &files, const GcovOptions &options,
                                  Diagnostics &diagnostics) {
  TALLY_TRY(graph_source, ByteSource::open_found(files.notes));
  TALLY_TRY(flow, Gcov3Graph::read(*graph_source, diagnostics));
  std::optional<Gcov3Lines> lines;
  std::optional<Gcov3Data> data;
  TALLY_TRY(lines_source, ByteSource::open_if_there(files.lines));
  if (lines_source) {
    TALLY_TRY(read, Gcov3Lines::read(*lines_source, diagnostics));
    lines = std::move(read);
  }
  TALLY_TRY(data_source, ByteSource::open_if_there(files.data));
  if (data_source) {
    TALLY_TRY(read, Gcov3Data::read(*data_source, diagnostics));
    data = std::move(read);
  }
  CountedObject out;
  TALLY_TRY(graph, gcov3_graph(flow, lines ? &*lines : nullptr, diagnostics));
  TALLY_TRY(counters, gcov3_counters(flow, data ? &*data : nullptr, diagnostics));
  TALLY_TRY(counts,
            gcov3_counts(graph, counters, diagnostics, files.data, options.report_negative));
  out.counts = as_gcov_counts(graph, counts);
  // The files do not record where a function begins; assume its first line.
  for (uint32_t i = 0; i < graph.functions.size(); ++i)
    graph.functions[static_cast<GraphFunctionId>(i)].start_line = counts.functions[i].first_line;
  out.compiler = flow.has_names() ? "3.3" : "3.2";
  out.gcc3 = true;
  out.ran = data.has_value() || graph.functions.size() == 0;
  out.graph = std::make_shared<CoverageGraph>(std::move(graph));
  return out;
}

} // namespace

ObjectFiles files_of_object(std::string_view path) {
  const size_t name = path.size() - base_name(path).size();
  const size_t dot = path.rfind('.');
  const bool has_ending = dot != path.npos && dot >= name;
  const std::string stem(path.substr(0, has_ending ? dot : path.size()));
  const std::string_view ending = has_ending ? path.substr(dot) : "";
  if (ending == ".da" || ending == ".bbg" || ending == ".bb")
    return {stem + ".bbg", stem + ".da", stem + ".bb"};
  return {stem + ".gcno", stem + ".gcda", ""};
}

Result<CountedObject> count_object(const ObjectFiles &files, GcovOptions options,
                                   Diagnostics &diagnostics) {
  return files.gcc3() ? count_gcov3(files, options, diagnostics)
                      : count_gcov(files, std::move(options), diagnostics);
}

Result<CountedRuns> count_runs(const std::string &path, std::span<const RunCounters> runs,
                               GcovOptions options, Diagnostics &diagnostics) {
  TALLY_TRY(notes, read_notes(path, diagnostics));
  complete(options, notes);
  CountedRuns out;
  for (const RunCounters &run : runs) {
    out.counts.emplace_back();
    const auto data = read_gcov_data(run.bytes, run.source, diagnostics);
    if (!data) {
      const Error &error = data.error();
      diagnostics.add(Severity::warning, error.message + ": left out", error.source, error.where);
      continue;
    }
    const CoverageCounters counters = match_counters(notes, &*data, run.source, diagnostics);
    if (!counters.none && !counters.unknown)
      out.counts.back() = count_as_gcov(notes.graph, counters, path, diagnostics, options);
  }
  out.graph = std::move(notes.graph);
  return out;
}

} // namespace tally
