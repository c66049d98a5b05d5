#include <fmt/format.h>

#include "formats/gcov3/words.h"

namespace tally {

using namespace gcov3;

namespace {

constexpr uint32_t known_flags = arc_on_tree | arc_fake | arc_fall_through;

// The size of an arc, which has a destination and flags, and of a block without arcs, which has the
// number of its arcs.
constexpr size_t arc_bytes = 8, block_bytes = 4;

Result<void> read_arcs(WordReader &reader, Gcov3Graph::Function &function,
                       std::vector<GraphArc> &arcs) {
  TALLY_TRY(block_count, reader.count("blocks", block_bytes));
  if (block_count < 2)
    return reader.error(reader.before(),
                        fmt::format("{} blocks: a function has an entry and an exit", block_count));
  TALLY_TRY(arc_count, reader.count("arcs", arc_bytes));
  const size_t count_at = reader.before();
  function.block_count = block_count;
  function.first_arc = static_cast<uint32_t>(arcs.size());
  size_t exit_at = 0;
  for (uint32_t block = 0; block < block_count; ++block) {
    exit_at = reader.offset();
    TALLY_TRY(out_count, reader.count("arcs of a block", arc_bytes));
    for (uint32_t i = 0; i < out_count; ++i) {
      // These reads cannot fail, because count() has checked the size.
      const int32_t destination = reader.word();
      if (destination < 0 || static_cast<uint32_t>(destination) >= block_count)
        return reader.error(reader.before(),
                            fmt::format("an arc from block {} to block {}: there are {}", block,
                                        destination, block_count));
      const uint32_t flags = reader.raw();
      if (flags & ~known_flags)
        reader.add_finding(Severity::warning, reader.before(),
                           fmt::format("an arc with unknown flags: {:#x}", flags), "flags");
      if ((flags & arc_fake) && !(flags & arc_on_tree))
        reader.add_finding(Severity::error, reader.before(),
                           "a fake arc that is not on the spanning tree", "fake");
      arcs.push_back({block, static_cast<uint32_t>(destination), flags});
    }
  }
  function.last_arc = static_cast<uint32_t>(arcs.size());
  if (const uint32_t sum = function.last_arc - function.first_arc; sum != arc_count)
    return reader.error(
        count_at, fmt::format("the number of arcs is {}, but the blocks have {}", arc_count, sum));
  const auto of_exit = [&](const GraphArc &arc) { return arc.source == block_count - 1; };
  const std::span own = std::span(arcs).subspan(function.first_arc);
  if (own.empty() || !of_exit(own.back()) || own.back().destination != 0 ||
      !(own.back().flags & arc_on_tree) || (own.size() > 1 && of_exit(own[own.size() - 2])))
    reader.add_finding(Severity::error, exit_at,
                       "the exit needs exactly one arc, to the entry and on the tree", "exit");
  if (const uint32_t separator = reader.raw(); reader.failed() || separator != minus_one)
    return reader.failed() ? reader.ends_within("the -1 after a function")
                           : reader.error(reader.before(),
                                          fmt::format("expected the -1 after a function, found {}",
                                                      word_of(separator)));
  return {};
}

} // namespace

Result<Gcov3Graph> Gcov3Graph::read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, whole(source));
  return read(bytes, source.name(), diagnostics);
}

Result<Gcov3Graph> Gcov3Graph::read(std::string_view bytes, std::string source,
                                    Diagnostics &diagnostics) {
  Gcov3Graph out(std::move(source));
  if (bytes.starts_with(other_graph_magic))
    return refuse_other_graph(out.source_);
  WordReader reader(bytes, out.source_, diagnostics);
  out.has_names_ = bytes.empty() || ByteCursor(bytes).u32() == minus_one;
  while (reader.left() > 0) {
    Function function;
    function.offset = reader.offset();
    if (out.has_names_) {
      TALLY_TRY(name, reader.name());
      function.name = out.strings_.intern(name);
      function.checksum = reader.word();
      if (reader.failed())
        return reader.ends_within("a checksum");
    }
    TALLY_CHECK(read_arcs(reader, function, out.arcs_));
    out.functions_.push_back(function);
  }
  out.oddities_ = reader.take_oddities();
  return out;
}

Result<std::string> Gcov3Graph::bytes() const {
  WordWriter writer;
  for (const Function &function : functions_) {
    if (has_names_) {
      writer.name(strings_[function.name]);
      writer.word(function.checksum);
    }
    writer.word(function.block_count);
    const auto arcs = arcs_of(function);
    writer.word(static_cast<int64_t>(arcs.size()));
    for (size_t block = 0, arc = 0; block < function.block_count; ++block) {
      size_t end = arc;
      while (end < arcs.size() && arcs[end].source == block)
        ++end;
      writer.word(static_cast<int64_t>(end - arc));
      for (; arc < end; ++arc) {
        writer.word(arcs[arc].destination);
        writer.raw(arcs[arc].flags);
      }
    }
    writer.raw(minus_one);
  }
  return writer.finish(oddities_);
}

Result<void> Gcov3Graph::add(const CounterFile &) { return no_counters(*this); }
Result<void> Gcov3Graph::zero() { return no_counters(*this); }

} // namespace tally
