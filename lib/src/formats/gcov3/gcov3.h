#pragma once

#include <tally/formats.h>

namespace tally::gcov3 {

enum class Kind : uint8_t {
  none,
  lines,       // .bb
  graph,       // .bbg
  data,        // .da
  other_graph, // of the branch 3.3-hammer, another format: refused by name
};

// By content. `whole`: `head` is all of the file.
Kind kind_of(std::string_view head, bool whole);

bool probe(std::string_view head);
Result<std::unique_ptr<CounterFile>> read(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::gcov3
