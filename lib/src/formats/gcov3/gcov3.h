#pragma once

#include "formats/formats.h"

namespace tally::gcov3 {

enum class Kind : uint8_t {
  none,
  lines,       // .bb
  graph,       // .bbg
  data,        // .da
  other_graph, // the graph of GCC's branch 3.3-hammer; its other format is rejected
};

// Detects the kind from the content. `whole` says that `head` is the whole file.
Kind kind_of(std::string_view head, bool whole);

bool probe(std::string_view head);
Result<std::unique_ptr<CounterFile>> read(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::gcov3
