// Adds up counters, each kind by its rule, and resets them to 0.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "formats/gcov.h"
#include "support/byte_cursor.h"
#include "support/checked.h"
#include "support/hash.h"

namespace tally {

namespace {

// A function with its counters, or one record that belongs to no function.
struct Unit {
  std::optional<GcovRecord> function; // none if the unit is `other`
  GcovRecord other;
  std::map<uint32_t, GcovRecord> counters; // by tag
};

Result<std::vector<Unit>> units_of(const GcovData &data) {
  std::vector<Unit> units;
  for (const GcovRecord &record : data.records) {
    if (record.tag == gcov_tag_function) {
      units.emplace_back().function = record;
    } else if (!is_counter_tag(record.tag)) {
      units.emplace_back().other = record;
    } else {
      if (units.empty() || !units.back().function)
        return fail(ErrorCode::invalid_input, "there are counters before any function");
      if (!units.back().counters.try_emplace(record.tag, record).second)
        return fail(ErrorCode::invalid_input, "a function has counters of one kind twice");
    }
  }
  return units;
}

bool is_value_kind(GcovCounter kind) {
  return kind == GcovCounter::topn || kind == GcovCounter::indirect;
}

// A list of values with the number of times that each occurred. It is stored as the total, the
// number of values, then pairs of value and count (GCC 11).
struct ValueList {
  int64_t total = 0;
  std::vector<std::pair<int64_t, int64_t>> values;
};

Result<std::vector<ValueList>> lists_of(std::span<const int64_t> counters) {
  std::vector<ValueList> lists;
  while (!counters.empty()) {
    const auto count = counters.size() < 2 ? uint64_t{0} : static_cast<uint64_t>(counters[1]);
    if (counters.size() < 2 || count > (counters.size() - 2) / 2)
      return fail(ErrorCode::invalid_input, "a list of values is longer than its counters");
    ValueList &list = lists.emplace_back();
    list.total = counters[0];
    for (size_t i = 0; i < count; ++i)
      list.values.emplace_back(counters[2 + 2 * i], counters[3 + 2 * i]);
    counters = counters.subspan(2 + 2 * count);
  }
  return lists;
}

uint32_t word_at(const std::string &bytes, size_t at, bool big_endian) {
  return ByteCursor(std::string_view(bytes).substr(at), big_endian).u32();
}

void put_word(std::string &bytes, size_t at, uint32_t word, bool big_endian) {
  word = in_order(word, big_endian);
  std::memcpy(bytes.data() + at, &word, sizeof word);
}

class Adding {
public:
  Adding(const GcovData &a, const GcovData &b) : a_(a), b_(b) {}

  Result<GcovData> run() {
    if (a_.header.version_word != b_.header.version_word || a_.header.stamp != b_.header.stamp ||
        a_.header.checksum != b_.header.checksum || a_.header.big_endian != b_.header.big_endian)
      return fail(ErrorCode::invalid_input,
                  "its version, stamp or checksum differs: it belongs to another object, or to "
                  "another compilation");
    TALLY_TRY(ours, units_of(a_));
    TALLY_TRY(theirs, units_of(b_));
    std::erase_if(theirs, [](const Unit &unit) { return !unit.function && !is_summary(unit); });
    const auto functions = [](const std::vector<Unit> &units) {
      return std::ranges::count_if(units, [](const Unit &unit) { return !!unit.function; });
    };
    if (functions(ours) != functions(theirs))
      return fail(ErrorCode::invalid_input, "it has a different number of functions");
    out_.header = a_.header;
    out_.end_mark = a_.end_mark;
    out_.behind = a_.behind;
    auto next_function = theirs.begin(), next_summary = theirs.begin();
    for (const Unit &unit : ours) {
      if (unit.function) {
        next_function = std::find_if(next_function, theirs.end(),
                                     [](const Unit &each) { return !!each.function; });
        TALLY_CHECK(add_function(unit, *next_function++));
      } else if (is_summary(unit)) {
        next_summary = std::find_if(next_summary, theirs.end(), [&](const Unit &each) {
          return !each.function && each.other.tag == unit.other.tag;
        });
        TALLY_CHECK(add_summary(unit.other,
                                next_summary == theirs.end() ? nullptr : &(next_summary++)->other));
      } else {
        keep(a_, unit.other);
      }
    }
    return std::move(out_);
  }

private:
  static bool is_summary(const Unit &unit) {
    return unit.other.tag == gcov_tag_object_summary || unit.other.tag == gcov_tag_program_summary;
  }

  void keep(const GcovData &from, GcovRecord record) {
    const uint32_t size = record.last - record.first;
    if (is_counter_tag(record.tag)) {
      if (record.zeros)
        return out_.records.push_back(record);
      const auto values = from.values_of(record);
      record.first = static_cast<uint32_t>(out_.values.size());
      out_.values.insert(out_.values.end(), values.begin(), values.end());
    } else {
      const std::string_view payload = std::string_view(from.other).substr(record.first, size);
      record.first = static_cast<uint32_t>(out_.other.size());
      out_.other += payload;
    }
    record.last = record.first + size;
    out_.records.push_back(record);
  }

  // Adds up a summary record. Until GCC 8 it consists of the checksum, the number of counters, the
  // number of runs, the sum of all counters (two words), the largest counter of a run (two words),
  // the sum of the largest counters (two words), and a histogram. From GCC 9 on it consists of the
  // number of runs and the sum of the largest counters.
  Result<void> add_summary(const GcovRecord &record, const GcovRecord *other) {
    keep(a_, record);
    if (!other)
      return {};
    const GcovRecord &mine = out_.records.back();
    const size_t size = std::min(record.last - record.first, other->last - other->first);
    const bool big = a_.header.big_endian;
    const auto add_word = [&](size_t index) -> Result<void> {
      if (4 * (index + 1) > size)
        return {};
      uint32_t sum = word_at(out_.other, mine.first + 4 * index, big);
      if (!checked_add(sum, word_at(b_.other, other->first + 4 * index, big)))
        return fail(ErrorCode::overflow, "the number of runs does not fit in 32 bits");
      put_word(out_.other, mine.first + 4 * index, sum, big);
      return {};
    };
    if (a_.header.version >= GcovVersion::v9) {
      TALLY_CHECK(add_word(0));
      return add_word(1);
    }
    TALLY_CHECK(add_word(2));
    const auto add_long = [&](size_t index, bool largest) -> Result<void> {
      if (4 * (index + 2) > size)
        return {};
      const auto long_at = [&](const std::string &bytes, size_t at) {
        return ByteCursor(std::string_view(bytes).substr(at), big).u64();
      };
      uint64_t sum = long_at(out_.other, mine.first + 4 * index);
      const uint64_t more = long_at(b_.other, other->first + 4 * index);
      if (largest)
        sum = std::max(sum, more);
      else if (!checked_add(sum, more))
        return fail(ErrorCode::overflow, "a sum of counters exceeds 64 bits");
      put_word(out_.other, mine.first + 4 * index, static_cast<uint32_t>(sum), big);
      put_word(out_.other, mine.first + 4 * index + 4, static_cast<uint32_t>(sum >> 32), big);
      return {};
    };
    TALLY_CHECK(add_long(3, false));
    TALLY_CHECK(add_long(5, true));
    return add_long(7, false);
  }

  Result<void> add_function(const Unit &ours, const Unit &theirs) {
    const auto key = a_.function_of(*ours.function), other_key = b_.function_of(*theirs.function);
    if (key && other_key && *key != *other_key)
      return fail(ErrorCode::invalid_input,
                  fmt::format("function {} differs there: it has ident {}, checksums {:#x}, {:#x}",
                              key->ident, other_key->ident, other_key->lineno_checksum,
                              other_key->cfg_checksum));
    if (!key || !other_key) { // the function of one file is a placeholder without counters
      const GcovData &from = key ? a_ : b_;
      const Unit &unit = key ? ours : theirs;
      keep(from, *unit.function);
      for (const auto &[tag, record] : unit.counters)
        keep(from, record);
      return {};
    }
    keep(a_, *ours.function);
    auto theirs_at = theirs.counters.begin();
    for (const auto &[tag, record] : ours.counters) {
      for (; theirs_at != theirs.counters.end() && theirs_at->first < tag; ++theirs_at)
        keep(b_, theirs_at->second);
      if (theirs_at != theirs.counters.end() && theirs_at->first == tag)
        TALLY_CHECK(add_counters(record, (theirs_at++)->second));
      else
        keep(a_, record);
    }
    for (; theirs_at != theirs.counters.end(); ++theirs_at)
      keep(b_, theirs_at->second);
    return {};
  }

  Result<void> add_counters(const GcovRecord &ours, const GcovRecord &theirs) {
    const GcovCounter kind = counter_kind(ours.tag);
    if (theirs.zeros && !is_value_kind(kind))
      return keep_checked(a_, ours, theirs);
    if (ours.zeros && !is_value_kind(kind))
      return keep_checked(b_, theirs, ours);
    if (kind > GcovCounter::pow2 && a_.header.version < GcovVersion::v10)
      return fail(
          ErrorCode::unsupported,
          "value counters of GCC before 10 are numbered differently and cannot be added up");
    if (is_value_kind(kind))
      return add_lists(ours, theirs);
    if (kind > GcovCounter::paths)
      return fail(ErrorCode::unsupported, fmt::format("counters of the kind {} are not supported",
                                                      static_cast<uint32_t>(kind)));
    if (ours.last - ours.first != theirs.last - theirs.first)
      return other_number();
    GcovRecord sum{ours.tag, false, static_cast<uint32_t>(out_.values.size()), 0};
    const auto a = a_.values_of(ours), b = b_.values_of(theirs);
    for (size_t i = 0; i < a.size(); ++i) {
      int64_t value = a[i];
      switch (kind) {
      case GcovCounter::ior:
      case GcovCounter::conditions:
      case GcovCounter::paths:
        value |= b[i];
        break;
      case GcovCounter::time_profiler: // when the function first ran, 0 if it never ran
        value = value == 0 ? b[i] : b[i] == 0 ? value : std::min(value, b[i]);
        break;
      default:
        if (!checked_add(value, b[i]))
          return fail(ErrorCode::overflow, "the sum of the counters exceeds 64 bits");
      }
      out_.values.push_back(value);
    }
    sum.last = static_cast<uint32_t>(out_.values.size());
    out_.records.push_back(sum);
    return {};
  }

  static tl::unexpected<Error> other_number() {
    return fail(ErrorCode::invalid_input, "a function has a different number of counters there");
  }

  // Keeps the counters of one file where those of the other are all 0.
  Result<void> keep_checked(const GcovData &from, const GcovRecord &kept, const GcovRecord &zeros) {
    if (kept.last - kept.first != zeros.last - zeros.first)
      return other_number();
    keep(from, kept);
    return {};
  }

  Result<void> add_lists(const GcovRecord &ours, const GcovRecord &theirs) {
    if (a_.header.version < GcovVersion::v11)
      return fail(ErrorCode::unsupported, "value counters of GCC 10 cannot be added up");
    if (ours.zeros || theirs.zeros) {
      keep(ours.zeros ? b_ : a_, ours.zeros ? theirs : ours);
      return {};
    }
    TALLY_TRY(lists, lists_of(a_.values_of(ours)));
    TALLY_TRY(more, lists_of(b_.values_of(theirs)));
    if (lists.size() != more.size())
      return other_number();
    GcovRecord sum{ours.tag, false, static_cast<uint32_t>(out_.values.size()), 0};
    for (size_t i = 0; i < lists.size(); ++i) {
      ValueList &list = lists[i];
      bool fits = checked_add(list.total, more[i].total);
      SeededMap<int64_t, size_t> places; // of values in the list
      for (size_t k = 0; k < list.values.size() && !more[i].values.empty(); ++k)
        places.try_emplace(list.values[k].first, k);
      for (const auto &[value, count] : more[i].values) {
        const auto [place, added] = places.try_emplace(value, list.values.size());
        if (added)
          list.values.emplace_back(value, count);
        else
          fits &= checked_add(list.values[place->second].second, count);
      }
      if (!fits)
        return fail(ErrorCode::overflow, "the sum of the counters exceeds 64 bits");
      out_.values.push_back(list.total);
      out_.values.push_back(static_cast<int64_t>(list.values.size()));
      for (const auto &[value, count] : list.values) {
        out_.values.push_back(value);
        out_.values.push_back(count);
      }
    }
    sum.last = static_cast<uint32_t>(out_.values.size());
    out_.records.push_back(sum);
    return {};
  }

  const GcovData &a_, &b_;
  GcovData out_;
};

} // namespace

Result<void> GcovData::add(const CounterFile &file) {
  const auto *data = dynamic_cast<const GcovData *>(&file);
  if (!data)
    return fail(ErrorCode::invalid_input, "is not a counters file");
  TALLY_TRY(sum, Adding(*this, *data).run());
  *this = std::move(sum);
  return {};
}

Result<void> GcovData::zero() {
  std::vector<int64_t> kept; // the new `values`; empty lists keep two zeros each
  std::vector<GcovRecord> zeroed = records;
  for (GcovRecord &record : zeroed) {
    if (record.tag == gcov_tag_object_summary || record.tag == gcov_tag_program_summary)
      continue;
    if (!is_counter_tag(record.tag) || record.zeros)
      continue;
    const auto counters = values_of(record);
    const bool lists =
        header.version >= GcovVersion::v11 && is_value_kind(counter_kind(record.tag));
    record.first = static_cast<uint32_t>(kept.size());
    if (lists) {
      TALLY_TRY(all, lists_of(counters));
      kept.resize(kept.size() + 2 * all.size(), 0);
    } else if (header.version >= GcovVersion::v11) { // the runtime stores zeros in this form, too
      record.zeros = true;
      record.first = 0;
      record.last = static_cast<uint32_t>(counters.size());
      continue;
    } else {
      kept.resize(kept.size() + counters.size(), 0);
    }
    record.last = static_cast<uint32_t>(kept.size());
  }
  for (const GcovRecord &record : zeroed)
    if (record.tag == gcov_tag_object_summary || record.tag == gcov_tag_program_summary) {
      // Keep the checksum and the number of counters, which summaries have until GCC 8.
      const uint32_t fixed = header.version >= GcovVersion::v9 ? 0 : 8;
      const uint32_t first = std::min(record.first + fixed, record.last);
      std::fill(other.begin() + first, other.begin() + record.last, '\0');
    }
  records = std::move(zeroed);
  values = std::move(kept);
  return {};
}

} // namespace tally
