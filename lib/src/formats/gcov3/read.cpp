#include "formats/gcov3/gcov3.h"

#include "formats/gcov3.h"
#include "formats/gcov3/words.h"
#include "support/path.h"

namespace tally::gcov3 {

namespace {

// More blocks or arcs than any compiler of that time could handle.
constexpr uint32_t most_in_a_function = 1 << 24;

// Returns whether `head` is a .bbg file without names, by the part of the first function that it
// holds.
bool is_nameless_graph(std::string_view head, bool whole) {
  ByteCursor cursor(head);
  const auto at_end = [&] { return cursor.failed() && !whole; };
  const uint32_t blocks = cursor.u32(), arcs = cursor.u32();
  if (cursor.failed() || blocks < 2 || blocks > most_in_a_function || arcs > most_in_a_function)
    return false;
  uint32_t sum = 0;
  for (uint32_t block = 0; block < blocks; ++block) {
    const uint32_t count = cursor.u32();
    if (cursor.failed())
      return at_end();
    if (count > arcs - sum)
      return false;
    sum += count;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t destination = cursor.u32();
      cursor.u32();
      if (cursor.failed())
        return at_end();
      if (destination >= blocks)
        return false;
    }
  }
  const uint32_t separator = cursor.u32();
  return cursor.failed() ? at_end() : sum == arcs && separator == minus_one;
}

// Returns whether `head`, which begins with -1, is a .bbg file with names. In such a file, a length
// and a name follow, and then another -1. In a .bb file, text follows directly.
bool is_named_graph(std::string_view head) {
  ByteCursor cursor(head.substr(4));
  const uint32_t size = cursor.u32();
  if (cursor.failed() || size > cursor.left())
    return false;
  const std::string_view name = cursor.take(padded(size));
  return cursor.u32() == minus_one && name[size] == '\0';
}

// Returns whether `head`, which begins with a mark, is a .bb file. In such a file, a name that ends
// in a NUL is between this mark and the next mark of the same value.
bool is_lines(std::string_view head, bool whole) {
  const uint32_t mark = ByteCursor(head).u32();
  ByteCursor cursor(head.substr(4));
  while (!cursor.failed())
    if (const uint32_t word = cursor.u32(); !cursor.failed() && word == mark)
      return head.substr(4, cursor.before()).find('\0') != head.npos;
  return !whole;
}

// Returns whether `head` is a .da file without names. Real counts are at most `largest`. Text or
// machine code that is read as counts exceeds this limit.
bool is_nameless_data(std::string_view head, bool whole) {
  constexpr uint64_t largest = uint64_t{1} << 48;
  ByteCursor cursor(head);
  const uint64_t count = cursor.u64();
  if (cursor.failed() || count > largest)
    return false;
  const uint64_t bytes = 8 + 8 * count;
  if (whole ? bytes != head.size() : bytes < head.size())
    return false;
  while (cursor.left() >= 8)
    if (cursor.u64() > largest)
      return false;
  return true;
}

// Returns the kind that the file's name implies, so that the reader of that kind reports the error.
Kind kind_of_name(std::string_view name) {
  name = unpacked_name(name);
  if (name.ends_with(".bbg"))
    return Kind::graph;
  if (name.ends_with(".bb"))
    return Kind::lines;
  return Kind::data;
}

template <class File> Result<std::unique_ptr<CounterFile>> owned(Result<File> file) {
  if (!file)
    return fail(std::move(file.error()));
  return std::make_unique<File>(std::move(*file));
}

} // namespace

Kind kind_of(std::string_view head, bool whole) {
  ByteCursor cursor(head);
  const uint32_t first = cursor.u32();
  if (cursor.failed())
    return Kind::none;
  if (head.starts_with(other_graph_magic))
    return Kind::other_graph;
  if (first == data_magic)
    return Kind::data;
  if (first == minus_one && is_named_graph(head))
    return Kind::graph;
  if (first == minus_one || first == minus_two)
    return is_lines(head, whole) ? Kind::lines : Kind::none;
  if (is_nameless_graph(head, whole))
    return Kind::graph;
  return is_nameless_data(head, whole) ? Kind::data : Kind::none;
}

// Format::probe passes at least `least_head` bytes of a file that is longer than that, so a shorter
// head is the whole file.
bool probe(std::string_view head) {
  constexpr size_t least_head = 4096;
  return kind_of(head, head.size() < least_head) != Kind::none;
}

Result<std::unique_ptr<CounterFile>> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, whole(source));
  Kind kind = kind_of(bytes, true);
  if (kind == Kind::none)
    kind = kind_of_name(source.name());
  switch (kind) {
  case Kind::lines:
    return owned(Gcov3Lines::read(bytes, source.name(), diagnostics));
  case Kind::graph:
  case Kind::other_graph:
    return owned(Gcov3Graph::read(bytes, source.name(), diagnostics));
  case Kind::data:
  case Kind::none:
    break;
  }
  return owned(Gcov3Data::read(bytes, source.name(), diagnostics));
}

} // namespace tally::gcov3
