// A program of which only a debugger can read the memory.
#include <algorithm>
#include <charconv>
#include <map>

#include "live/file_backed.h"
#include "live/program_source.h"
#include "symbolize/elf_file.h"

namespace tally::live {

namespace {

// What a debugger has answered so far. Within the areas, more than what is missed is requested,
// because each request takes a round trip to the target.
class GivenMemory final : public Memory {
public:
  bool read(uint64_t address, std::span<std::byte> to) override {
    const uint64_t end = address + to.size();
    if (end < address || std::ranges::any_of(unreadable_, [&](const AddressRange &each) {
          return each.low >= address && each.high <= end;
        }))
      return false;
    for (uint64_t at = address; at < end;) {
      auto piece = pieces_.upper_bound(at);
      if (piece != pieces_.begin())
        --piece;
      if (piece == pieces_.end() || at < piece->first ||
          at - piece->first >= piece->second.size()) {
        want(at, end);
        return false;
      }
      const uint64_t within = at - piece->first;
      const size_t size = std::min(end - at, piece->second.size() - within);
      std::ranges::copy(std::as_bytes(std::span(piece->second)).subspan(within, size),
                        to.subspan(at - address).begin());
      at += size;
    }
    return true;
  }

  void set_areas(const std::vector<AddressRange> &areas) {
    if (std::ranges::equal(areas, areas_, {}, {}, &Area::range))
      return; // what is known about them stays
    areas_.clear();
    for (const AddressRange &area : areas)
      areas_.push_back({area, first_piece});
  }
  void forget() {
    pieces_.clear();
    unreadable_.clear();
  }
  std::vector<AddressRange> take_wanted() { return std::exchange(wanted_, {}); }
  bool wants_more() const { return !wanted_.empty(); }
  void give(const AddressRange &range, std::optional<std::string> bytes) {
    if (bytes && bytes->size() == range.high - range.low) {
      pieces_[range.low] = std::move(*bytes);
      return;
    }
    // A large piece may be unreadable because of one page: the next requests are exact.
    Area *const area = area_of(range);
    if (area && area->next_piece != 0)
      area->next_piece = 0;
    else
      unreadable_.push_back(range);
  }

private:
  struct Area {
    AddressRange range;
    uint64_t next_piece; // bytes to request at once; doubles with each request; 0 for no more than
                         // what is missed
  };
  static constexpr uint64_t first_piece = 1 << 14, most_piece = 1 << 20;

  Area *area_of(const AddressRange &range) {
    const auto area = std::ranges::find_if(areas_, [&](const Area &each) {
      return each.range.contains(range.low, range.high - range.low);
    });
    return area == areas_.end() ? nullptr : &*area;
  }

  void want(uint64_t low, uint64_t high) {
    AddressRange range{low, high};
    if (Area *const area = area_of(range); area && area->next_piece != 0) {
      // GCC describes the functions of an object in either order, so that both sides are likely to
      // be needed next.
      const uint64_t piece = area->next_piece;
      range.low = std::max(area->range.low, low - low % piece);
      range.high = std::min(area->range.high, std::max(high, range.low + piece));
      area->next_piece = std::min(piece * 2, most_piece);
    }
    const auto next = pieces_.upper_bound(low);
    if (next != pieces_.end())
      range.high = std::min(range.high, next->first);
    if (next != pieces_.begin()) {
      const auto &[start, bytes] = *std::prev(next);
      range.low = std::max(range.low, start + bytes.size());
    }
    if (std::ranges::none_of(wanted_, [&](const AddressRange &other) {
          return range.low < other.high && other.low < range.high;
        }))
      wanted_.push_back(range);
  }

  std::map<uint64_t, std::string> pieces_; // disjoint
  std::vector<AddressRange> unreadable_;
  std::vector<Area> areas_;
  std::vector<AddressRange> wanted_;
};

struct Entry {
  uint64_t address = 0;
  std::string_view section, path;
};

constexpr std::string_view line_start = "module ";

std::vector<Entry> entries_of(std::string_view listing) {
  std::vector<Entry> out;
  while (!listing.empty()) {
    const size_t end = std::min(listing.find('\n'), listing.size());
    std::string_view line = listing.substr(0, end);
    listing.remove_prefix(std::min(end + 1, listing.size()));
    Entry entry;
    if (!line.starts_with(line_start))
      continue;
    line.remove_prefix(line_start.size());
    const auto parsed = std::from_chars(line.data(), line.data() + line.size(), entry.address, 16);
    line.remove_prefix(static_cast<size_t>(parsed.ptr - line.data()));
    const size_t blank = line.find(' ', 1);
    if (parsed.ec != std::errc{} || !line.starts_with(' ') || blank == line.npos)
      continue;
    entry.section = line.substr(1, blank - 1);
    entry.path = line.substr(blank + 1);
    out.push_back(entry);
  }
  return out;
}

class Debugger final : public DebuggerSource {
public:
  Memory &memory() override { return memory_; }
  Result<std::string> state_of_modules() override { return listing_; }
  void set_modules(std::string_view listing) override { listing_ = listing; }
  void give(const AddressRange &range, std::optional<std::string> bytes) override {
    given_.give(range, std::move(bytes));
  }
  void forget() override { given_.forget(); }
  std::vector<AddressRange> take_wanted() override { return given_.take_wanted(); }
  bool wants_more() const override { return given_.wants_more(); }

  std::vector<LoadedModule> modules(Diagnostics &diagnostics) override {
    memory_.clear();
    std::vector<LoadedModule> modules;
    std::vector<AddressRange> areas;
    for (const Entry &entry : entries_of(listing_)) {
      const std::string path(entry.path);
      if (path.starts_with('[')) // memory of the kernel, such as "[vdso]"
        continue;
      const auto file = symbolize::ElfFile::open(path);
      if (!file) {
        diagnostics.add(Severity::warning,
                        "cannot be read on this machine, so its counters are not known", path);
        continue;
      }
      const std::vector<symbolize::Section> sections = file->loaded_sections();
      const auto section = std::ranges::find(sections, entry.section, &symbolize::Section::name);
      if (section == sections.end())
        continue;
      auto module = memory_.add(path, entry.address - section->address, diagnostics);
      if (!module)
        continue;
      for (const AddressRange &segment : module->places.segments)
        areas.push_back({segment.low + module->bias, segment.high + module->bias});
      modules.push_back(std::move(*module));
    }
    given_.set_areas(areas);
    return modules;
  }

private:
  std::string listing_;
  GivenMemory given_;
  FileBackedMemory memory_{given_};
};

} // namespace

std::unique_ptr<DebuggerSource> debugger_source() { return std::make_unique<Debugger>(); }

} // namespace tally::live
