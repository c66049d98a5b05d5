#include "formats/gmon/gmon.h"
#include "support/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace tally::gmon {

namespace {

constexpr uint64_t most_in_bin = UINT16_MAX;
// Limits the size of the file, because a large count is written as many records.
constexpr uint64_t most_bytes = uint64_t{1} << 30;

// Returns the number of records that a count needs if each record holds at most `most`. A count of
// 0 needs one record.
uint64_t parts_of(uint64_t count, uint64_t most) {
  return count == 0 ? 1 : count / most + (count % most != 0);
}

uint64_t hottest(const PcRange &range) {
  return range.counters.empty() ? 0 : *std::ranges::max_element(range.counters);
}

class Writer {
public:
  Writer(const PcProfile &profile, PcLayout layout) : profile_(profile), layout_(layout) {}

  // Returns the size of the GNU form, which may have many more records than the profile has rows,
  // or most_bytes + 1 if it exceeds the limit.
  uint64_t gnu_size() const {
    const uint64_t pointer = layout_.pointer_bytes;
    uint64_t sum = header_bytes;
    const auto add = [&](uint64_t records, uint64_t bytes) {
      sum = records > most_bytes / bytes ? most_bytes + 1
                                         : std::min(sum + records * bytes, most_bytes + 1);
    };
    for (const PcRange &range : profile_.histogram().ranges())
      add(parts_of(hottest(range), most_in_bin), 1 + 2 * pointer + 24 + 2 * range.counters.size());
    for (const PcArc &arc : profile_.arcs())
      add(parts_of(arc.count, UINT32_MAX), 1 + 2 * pointer + 4);
    for (const PcBlockCount &block : profile_.blocks())
      add(parts_of(block.count, most_pointer()), 2 * pointer);
    return sum;
  }

  std::string gnu() {
    out_ = magic;
    put(version, 4);
    out_.resize(header_bytes, '\0');
    for (const PcRange &range : profile_.histogram().ranges())
      for (uint64_t part = 0; part < parts_of(hottest(range), most_in_bin); ++part)
        put_histogram(range, part);
    for (const PcArc &arc : profile_.arcs())
      for (uint64_t part = 0; part < parts_of(arc.count, UINT32_MAX); ++part) {
        put(Tag::arc, 1);
        put_pointer(arc.from_pc);
        put_pointer(arc.self_pc);
        put(part_of(arc.count, part, UINT32_MAX), 4);
      }
    put_blocks();
    return std::move(out_);
  }

  std::string bsd() {
    const PcHistogram &histogram = profile_.histogram();
    const PcRange none{};
    const PcRange &range = histogram.ranges().empty() ? none : histogram.ranges()[0];
    put_pointer(range.low_pc);
    put_pointer(range.high_pc);
    const size_t header = size_t{2} * layout_.pointer_bytes + bsd_words * 4;
    put(header + 2 * range.counters.size(), 4);
    put(bsd_version, 4);
    put(histogram.rate_hz(), 4);
    out_.resize(header, '\0');
    put_counters(range, 0);
    for (const PcArc &arc : profile_.arcs()) {
      put_pointer(arc.from_pc);
      put_pointer(arc.self_pc);
      put_pointer(arc.count);
    }
    return std::move(out_);
  }

  std::string mon() {
    const PcRange &range = profile_.histogram().ranges()[0];
    put_pointer(range.low_pc);
    put_pointer(range.high_pc);
    put(profile_.arcs().size(), 4);
    out_.resize(mon_header_bytes(layout_.pointer_bytes), '\0');
    for (const PcArc &arc : profile_.arcs()) {
      put_pointer(arc.self_pc);
      put_pointer(arc.count);
    }
    put_counters(range, 0);
    return std::move(out_);
  }

private:
  uint64_t most_pointer() const { return layout_.pointer_bytes == 4 ? UINT32_MAX : UINT64_MAX; }

  static uint64_t part_of(uint64_t count, uint64_t part, uint64_t most) {
    return count / most >= part ? std::min(count - part * most, most) : 0;
  }

  void put(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i)
      out_ += static_cast<char>(value >> 8 * (layout_.big_endian ? size - 1 - i : i));
  }
  void put_pointer(uint64_t value) { put(value, layout_.pointer_bytes); }

  void put_counters(const PcRange &range, uint64_t part) {
    for (const uint64_t counter : range.counters)
      put(part_of(counter, part, most_in_bin), 2);
  }

  void put_histogram(const PcRange &range, uint64_t part) {
    const PcHistogram &histogram = profile_.histogram();
    put(Tag::histogram, 1);
    put_pointer(range.low_pc);
    put_pointer(range.high_pc);
    put(range.counters.size(), 4);
    put(histogram.rate_hz(), 4);
    std::string dimension(histogram.dimension().substr(0, dimension_bytes));
    dimension.resize(dimension_bytes, '\0');
    out_ += dimension;
    out_ += histogram.abbreviation();
    put_counters(range, part);
  }

  void put_blocks() {
    const auto blocks = profile_.blocks();
    uint64_t pairs = 0;
    for (const PcBlockCount &block : blocks)
      pairs += parts_of(block.count, most_pointer()); // cannot overflow: gnu_size() was checked
    if (pairs == 0)
      return;
    put(Tag::block_counts, 1);
    put(pairs, 4);
    for (const PcBlockCount &block : blocks)
      for (uint64_t part = 0; part < parts_of(block.count, most_pointer()); ++part) {
        put_pointer(block.pc);
        put_pointer(part_of(block.count, part, most_pointer()));
      }
  }

  const PcProfile &profile_;
  PcLayout layout_;
  std::string out_;
};

bool fits_4_bytes(const PcProfile &profile) {
  const auto fits = [](uint64_t pc) { return pc <= UINT32_MAX; };
  return std::ranges::all_of(profile.histogram().ranges(), fits, &PcRange::high_pc) &&
         std::ranges::all_of(profile.arcs(), fits, &PcArc::from_pc) &&
         std::ranges::all_of(profile.arcs(), fits, &PcArc::self_pc) &&
         std::ranges::all_of(profile.blocks(), fits, &PcBlockCount::pc);
}

// Returns whether an older form can hold the profile. These forms support neither units nor a
// second histogram.
bool fits_old_form(const PcProfile &profile, const PcLayout &layout) {
  const PcHistogram &histogram = profile.histogram();
  if (!profile.blocks().empty() || histogram.ranges().size() > 1 ||
      histogram.dimension() != "seconds" || histogram.abbreviation() != 's')
    return false;
  for (const PcRange &range : histogram.ranges())
    if (hottest(range) > most_in_bin || range.counters.size() > (INT32_MAX - 40) / 2)
      return false;
  const uint64_t most_calls = layout.pointer_bytes == 4 ? UINT32_MAX : UINT64_MAX;
  for (const PcArc &arc : profile.arcs())
    if (arc.count > most_calls)
      return false;
  if (layout.flavour == PcFlavour::bsd)
    return true;
  return histogram.ranges().size() == 1 && histogram.rate_hz() == 0 &&
         profile.arcs().size() <= INT32_MAX &&
         std::ranges::all_of(profile.arcs(), [](const PcArc &arc) {
           return arc.from_pc == 0 && (arc.self_pc != 0 || arc.count != 0);
         });
}

} // namespace

Result<Written> write(const PcProfile &profile, const WriteOptions &) {
  Written out;
  PcLayout layout = profile.layout();
  if (layout.pointer_bytes == 4 && !fits_4_bytes(profile)) {
    layout.pointer_bytes = 8;
    out.lost.emplace_back("4-byte pointers (8-byte pointers are written, because an address needs "
                          "more than 4 bytes)");
  }
  if (layout.flavour != PcFlavour::gnu && !fits_old_form(profile, layout)) {
    layout.flavour = PcFlavour::gnu;
    out.lost.emplace_back("the old form, which cannot hold the sum (the GNU form is written)");
  }
  if (const uint64_t outside = profile.histogram().outside(); outside > 0)
    out.lost.push_back(counted(outside, "ticks") + " outside of all bins");
  Writer writer(profile, layout);
  switch (layout.flavour) {
  case PcFlavour::bsd:
    out.bytes = writer.bsd();
    return out;
  case PcFlavour::mon:
    out.bytes = writer.mon();
    return out;
  case PcFlavour::gnu:
    break;
  }
  if (writer.gnu_size() > most_bytes)
    return fail(ErrorCode::limit,
                fmt::format("the counts would need more than {} bytes: a bin holds at most {}, and "
                            "larger counts are written as several histograms",
                            most_bytes, most_in_bin));
  out.bytes = writer.gnu();
  return out;
}

} // namespace tally::gmon
