#include "formats/llvm/indexed_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "formats/llvm/profile_version.h"
#include "support/sort.h"

namespace tally::llvm {

namespace {

constexpr size_t word_size = sizeof(uint64_t); // what parts are padded to

// What the counters of all functions show, for the optimizer.
class CountSummary {
public:
  // LLVM takes this bit of a function's hash as the mark of another kind of profile, and leaves
  // such functions out.
  static constexpr uint64_t other_kind = uint64_t{1} << 60;

  void add(const CounterRecord &record) {
    if ((record.function_hash & other_kind) != 0 || record.counts.empty() ||
        record.counts[0] > most_counted)
      return;
    ++functions_;
    largest_of_function_ = std::max(largest_of_function_, record.counts[0]);
    for (size_t i = 0; i < record.counts.size(); ++i) {
      const uint64_t count = record.counts[i];
      if (count == std::numeric_limits<uint64_t>::max())
        continue;
      if (i > 0)
        largest_of_block_ = std::max(largest_of_block_, count);
      total_ += count; // modulo 2^64, as LLVM does
      counts_.push_back(count);
    }
  }

  std::vector<uint64_t> words() {
    sort_stably(counts_, std::greater<>());
    const uint64_t largest = counts_.empty() ? 0 : counts_.front();
    std::vector<uint64_t> out{
        6,       shares.size(),     functions_, counts_.size(), largest_of_function_,
        largest, largest_of_block_, total_};
    // For each share of all counts, the smallest of the largest counts that together have that
    // share, and their number. Equal counts belong together.
    auto next = counts_.begin();
    uint64_t sum = 0, smallest = 0;
    for (const uint64_t share : shares) {
      while (sum < part_of(total_, share) && next != counts_.end())
        for (smallest = *next; next != counts_.end() && *next == smallest; ++next)
          sum += smallest;
      out.insert(out.end(), {share, smallest, static_cast<uint64_t>(next - counts_.begin())});
    }
    return out;
  }

private:
  static constexpr uint64_t whole = 1'000'000;
  static constexpr std::array<uint64_t, 16> shares{
      10'000,  100'000, 200'000, 300'000, 400'000, 500'000, 600'000, 700'000,
      800'000, 900'000, 950'000, 990'000, 999'000, 999'900, 999'990, 999'999};

  static uint64_t part_of(uint64_t total, uint64_t share) {
    return total / whole * share + total % whole * share / whole;
  }

  uint64_t functions_ = 0, total_ = 0, largest_of_function_ = 0, largest_of_block_ = 0;
  std::vector<uint64_t> counts_;
};

// A function's name, and its records, one for each hash of the function.
struct NamedRecords {
  uint64_t hash = 0; // of the name
  std::string_view name;
  std::vector<const CounterRecord *> records;
};

class IndexedWriter {
public:
  explicit IndexedWriter(const SourceProfile &profile)
      : image_(profile.images.front()), version_(profile.version) {}

  Result<std::string> run() {
    const std::vector<NamedRecords> functions = sorted();
    out_ = indexed_magic;
    put(version_ | (image_.has_byte_counters ? byte_counters : 0));
    put(0); // unused
    put(0); // the kind of hash: MD5
    const size_t table_at = later();
    if (version_ >= 8)
      put(0); // memory profiles
    const size_t ids_at = version_ >= 9 ? later() : 0;
    if (version_ >= 10)
      put(0); // traces
    const size_t virtual_tables_at = version_ >= 12 ? later() : 0;
    put_summary(functions);
    TALLY_CHECK(put_table(functions, table_at));
    if (version_ >= 9) {
      set(ids_at, out_.size());
      put_ids();
    }
    if (version_ >= 12) {
      set(virtual_tables_at, out_.size());
      put(0); // bytes of the names of virtual tables
    }
    return std::move(out_);
  }

private:
  std::vector<NamedRecords> sorted() const {
    std::vector<const CounterRecord *> records;
    records.reserve(image_.records.size());
    for (const CounterRecord &record : image_.records)
      records.push_back(&record);
    sort_stably(records, [](const CounterRecord *a, const CounterRecord *b) {
      return std::pair(a->name_hash, a->function_hash) < std::pair(b->name_hash, b->function_hash);
    });
    std::vector<NamedRecords> out;
    for (const CounterRecord *record : records) {
      if (out.empty() || out.back().hash != record->name_hash)
        out.push_back({record->name_hash, image_.names.at(record->name_hash), {}});
      out.back().records.push_back(record);
    }
    return out;
  }

  void put_summary(const std::vector<NamedRecords> &functions) {
    CountSummary summary;
    for (const NamedRecords &function : functions)
      for (const CounterRecord *record : function.records)
        summary.add(*record);
    for (const uint64_t each : summary.words())
      put(each);
  }

  // A chained hash table (LLVM's OnDiskHashTable.h): first the functions of each bucket that has
  // some, then the table of the buckets' offsets. The hash of a name chooses the bucket.
  Result<void> put_table(const std::vector<NamedRecords> &functions, size_t table_at) {
    const uint64_t buckets =
        functions.size() <= 2 ? 1 : std::bit_ceil(functions.size() * 4 / 3 + 1);
    std::vector<const NamedRecords *> order;
    order.reserve(functions.size());
    for (const NamedRecords &function : functions)
      order.push_back(&function);
    const auto bucket_of = [&](const NamedRecords *each) { return each->hash & (buckets - 1); };
    sort_stably(order, {}, bucket_of);
    std::vector<uint64_t> offsets(buckets);
    for (auto first = order.begin(); first != order.end();) {
      const uint64_t bucket = bucket_of(*first);
      const auto last = std::find_if(first, order.end(),
                                     [&](const auto *each) { return bucket_of(each) != bucket; });
      if (last - first > std::numeric_limits<uint16_t>::max())
        return fail(ErrorCode::limit,
                    fmt::format("{} names of functions have similar hashes: at most {} fit into "
                                "the table of functions",
                                last - first, std::numeric_limits<uint16_t>::max()));
      offsets[bucket] = out_.size();
      put_number(static_cast<uint64_t>(last - first), sizeof(uint16_t));
      for (; first != last; ++first)
        put_function(**first);
    }
    pad();
    set(table_at, out_.size());
    put(buckets);
    put(functions.size());
    for (const uint64_t offset : offsets)
      put(offset);
    return {};
  }

  void put_function(const NamedRecords &function) {
    put(function.hash);
    put(function.name.size());
    const size_t size_at = later();
    out_ += function.name;
    const size_t begin = out_.size();
    for (const CounterRecord *record : function.records) {
      put(record->function_hash);
      put(record->counts.size());
      for (const uint64_t count : record->counts)
        put(count);
      if (version_ >= 11) {
        put(record->bitmap.size());
        for (const char bits : record->bitmap)
          put(static_cast<unsigned char>(bits));
      }
      put_number(empty_values, sizeof(uint32_t));
      put_number(0, sizeof(uint32_t)); // kinds of values
    }
    set(size_at, out_.size() - begin);
  }

  void put_ids() {
    const size_t size_at = later();
    const size_t begin = out_.size();
    for (const std::string &id : std::set(image_.build_ids.begin(), image_.build_ids.end())) {
      put(id.size() / 2);
      for (size_t i = 0; i + 1 < id.size(); i += 2)
        out_ += static_cast<char>(digit(id[i]) << 4 | digit(id[i + 1]));
      pad();
    }
    set(size_at, out_.size() - begin);
  }
  static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

  void put(uint64_t number) { put_number(number, word_size); }
  void put_number(uint64_t number, size_t bytes) {
    out_.resize(out_.size() + bytes);
    set(out_.size() - bytes, number, bytes);
  }
  void pad() { out_.resize((out_.size() + word_size - 1) / word_size * word_size); }
  // Leaves room for a number, and returns where it belongs.
  size_t later() {
    put(0);
    return out_.size() - word_size;
  }
  void set(size_t at, uint64_t number, size_t bytes = word_size) {
    char *const to = out_.data() + at;
    for (size_t i = 0; i < bytes; ++i)
      to[i] = static_cast<char>(number >> (8 * i));
  }

  const ProfileImage &image_;
  const uint64_t version_;
  std::string out_;
};

} // namespace

Result<std::string> write_indexed_profile(const SourceProfile &profile) {
  return IndexedWriter(profile).run();
}

} // namespace tally::llvm
