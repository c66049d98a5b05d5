// Opens arbitrary bytes as a cache of symbols whose checksums are right, as those of a file that
// somebody made on purpose. All rows and texts can be asked for, and are inside of the file.
#include <string>

#include "fuzz_target.h"
#include "require.h"
#include "scratch_file.h"
#include "symbolize/cache.h"

namespace tally::symbol_cache_fuzz {
using namespace tally::symbolize;

namespace {

size_t sum = 0; // so that no look-up is optimized away

template <class Row, class Visit> void each_row(const Rows<Row> &rows, Visit visit) {
  for (size_t i = 0; i < rows.size() && i < 1000; ++i)
    visit(rows[i]);
}

} // namespace

FUZZ_TARGET(symbol_cache) {
  std::string file(reinterpret_cast<const char *>(data), size);
  seal_cache(file);
  const ScratchFile scratch(reinterpret_cast<const uint8_t *>(file.data()), file.size());
  // What the seed file was made of.
  const CacheSource source{"0123", "/bin/program", {1, 2, 4096, 17}};
  const auto cache = Cache::open(scratch.path(), source);
  if (!cache)
    return 0;
  for (const Cache::Unit &unit : cache->units()) {
    each_row(unit.tables.nodes, [&](const NodeRow &row) { sum += row.parent + row.function; });
    each_row(unit.tables.functions, [&](const FunctionRow &row) {
      sum += cache->text(row.linkage).size() + cache->text(row.display).size() +
             cache->text(row.file).size();
    });
    each_row(unit.tables.lines, [&](const LineRow &row) { sum += cache->text(row.file).size(); });
    for (const uint64_t address : {uint64_t{0}, unit.tables.base, unit.tables.base + 1000}) {
      if (const auto row = row_at(unit.tables.ranges, unit.tables.base, address))
        sum += row->node;
      if (const auto row = row_at(unit.tables.lines, unit.tables.base, address))
        sum += row->line;
    }
    require(cache->unit(unit.key) != nullptr, "a unit is reported by its key");
  }
  each_row(cache->symbols(), [&](const SymbolRow &row) {
    sum += cache->text(row.name).size() + cache->text(row.display).size();
    const size_t found = covering(cache->symbols(), row.low);
    require(found == no_index || found < cache->symbols().size(), "a row's number");
  });
  each_row(cache->unit_ranges(), [&](const UnitRange &row) { sum += row.unit; });
  for (const TextRef text : {0U, 1U, 4U, 0x7fffffffU, 0xfffffffcU, 0xffffffffU})
    sum += cache->text(text).size();
  return 0;
}

} // namespace tally::symbol_cache_fuzz
