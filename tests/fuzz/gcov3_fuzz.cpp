// Reads arbitrary bytes as files of GCC 3. They are read or rejected, and what was read is written
// unchanged. A file of the corpus may hold all three files of an object: it begins with the sizes
// of the graph and of the lines in bytes, two bytes each; the rest are the counters.
#include <optional>
#include <string_view>

#include "coverage/gcov3_counts.h"
#include "formats/gcov3.h"
#include "formats/gcov3/gcov3.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::gcov3_fuzz {

namespace {

template <class File> std::optional<File> read(std::string_view bytes, std::string name) {
  Diagnostics diagnostics;
  auto file = File::read(bytes, std::move(name), diagnostics);
  if (!file) {
    require(file.error().code != ErrorCode::internal);
    return std::nullopt;
  }
  const auto written = file->bytes();
  require(written && *written == bytes);
  return std::move(*file);
}

// Changes the counters. add() leaves at most one block, which can be read again at the same
// offsets; if it fails, it changes nothing.
void change(std::string_view bytes) {
  auto data = read<Gcov3Data>(bytes, "x.da"), other = read<Gcov3Data>(bytes, "y.da");
  if (!data)
    return;
  if (data->add(*other)) {
    const auto sum = read<Gcov3Data>(*data->bytes(), "sum.da");
    require(sum && sum->blocks().size() == data->blocks().size() && data->blocks().size() <= 1);
    for (size_t i = 0; i < sum->functions().size(); ++i)
      require(sum->functions()[i].offset == data->functions()[i].offset);
  } else {
    require(*data->bytes() == bytes);
  }
  require(other->zero().has_value());
  const auto zeros = read<Gcov3Data>(*other->bytes(), "zero.da");
  require(zeros && other->bytes()->size() == bytes.size());
  for (const int64_t counter : zeros->counters())
    require(counter == 0);
}

void count(const Gcov3Graph &graph, const Gcov3Lines *lines, const Gcov3Data *data) {
  Diagnostics diagnostics;
  const auto coverage = gcov3_graph(graph, lines, diagnostics);
  require(coverage && coverage->functions.size() == graph.functions().size() &&
          coverage->arcs.size() == graph.arcs().size());
  for (const GraphFunction &function : coverage->functions)
    for (const GraphLocation &location : coverage->locations_of(function))
      require(location.block > 0 && location.block < function.exit_block &&
              !coverage->lines_of(location).empty());
  require(!lines || coverage->lines.size() <= lines->items().size());
  const auto counters = gcov3_counters(graph, data, diagnostics);
  if (!counters)
    return;
  require(counters->size() == graph.functions().size());
  const auto counts = gcov3_counts(*coverage, *counters, diagnostics, "x.da");
  if (!counts)
    return;
  size_t rows = 0, branches = 0;
  for (const Gcov3Source &source : counts->sources) {
    rows += source.lines.size();
    branches += source.branches.size();
    for (size_t i = 1; i < source.lines.size(); ++i)
      require(source.lines[i - 1].number < source.lines[i].number);
  }
  require(rows <= coverage->lines.size() && branches <= graph.arcs().size());
}

} // namespace

FUZZ_TARGET(gcov3) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics;
  const bool probed = gcov3::probe(bytes.substr(0, 4096));
  const auto any = gcov3::read(*ByteSource::of(bytes, "input", {.piece_bytes = 7}), diagnostics);
  require(!any || *(*any)->bytes() == bytes || bytes.starts_with("\x1f\x8b") ||
          bytes.starts_with("\x28\xb5\x2f\xfd"));
  static_cast<void>(probed);

  read<Gcov3Lines>(bytes, "x.bb");
  if (const auto graph = read<Gcov3Graph>(bytes, "x.bbg"))
    count(*graph, nullptr, nullptr);
  change(bytes);

  if (size < 4)
    return 0;
  const auto number = [&](size_t at) { return size_t{data[at]} | size_t{data[at + 1]} << 8; };
  std::string_view rest = bytes.substr(4);
  const std::string_view graph_bytes = rest.substr(0, number(0));
  rest.remove_prefix(graph_bytes.size());
  const std::string_view lines_bytes = rest.substr(0, number(2));
  rest.remove_prefix(lines_bytes.size());
  const auto graph = read<Gcov3Graph>(graph_bytes, "x.bbg");
  if (!graph)
    return 0;
  const auto lines = read<Gcov3Lines>(lines_bytes, "x.bb");
  const auto counters = read<Gcov3Data>(rest, "x.da");
  count(*graph, lines ? &*lines : nullptr, counters ? &*counters : nullptr);
  change(rest);
  return 0;
}

} // namespace tally::gcov3_fuzz
