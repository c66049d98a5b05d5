#include <fmt/format.h>

#include "formats/gcov3/words.h"

namespace tally {

using namespace gcov3;

Result<Gcov3Lines> Gcov3Lines::read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, whole(source));
  return read(bytes, source.name(), diagnostics);
}

Result<Gcov3Lines> Gcov3Lines::read(std::string_view bytes, std::string source,
                                    Diagnostics &diagnostics) {
  Gcov3Lines out(std::move(source));
  WordReader reader(bytes, out.source_, diagnostics);
  while (reader.left() > 0) {
    const Item item = reader.word();
    const size_t at = reader.before();
    if (reader.failed())
      return reader.ends_within("a word");
    if (item < -2)
      return reader.error(at, fmt::format("{} is not a line, an end of a block or a mark", item));
    if (item >= 0) {
      if (out.functions_.empty())
        reader.add_finding(Severity::error, at, "lines before the name of the first function",
                           "no name");
      out.items_.push_back(item);
      continue;
    }
    TALLY_TRY(name, reader.name_until(item == -1 ? minus_one : minus_two));
    const StringId id = out.strings_.intern(name);
    const auto next = static_cast<uint32_t>(out.items_.size());
    if (item == -1) {
      out.items_.push_back(-static_cast<Item>(index_of(id)) - 1);
      continue;
    }
    if (!out.functions_.empty())
      out.functions_.back().last_item = next;
    out.functions_.push_back({id, at, next, next});
  }
  if (!out.functions_.empty())
    out.functions_.back().last_item = static_cast<uint32_t>(out.items_.size());
  out.oddities_ = reader.take_oddities();
  return out;
}

Result<std::string> Gcov3Lines::bytes() const {
  WordWriter writer;
  const auto named = [&](uint32_t mark, StringId name) {
    writer.raw(mark);
    writer.padded_name(strings_[name]);
    writer.raw(mark);
  };
  const auto write = [&](std::span<const Item> items) {
    for (const Item item : items)
      if (item < 0)
        named(minus_one, file_of(item));
      else
        writer.word(item);
  };
  write(items().first(functions_.empty() ? items_.size() : functions_.front().first_item));
  for (const Function &function : functions_) {
    named(minus_two, function.name);
    write(items_of(function));
  }
  return writer.finish(oddities_);
}

Result<void> Gcov3Lines::add(const CounterFile &) { return no_counters(*this); }
Result<void> Gcov3Lines::zero() { return no_counters(*this); }

} // namespace tally
