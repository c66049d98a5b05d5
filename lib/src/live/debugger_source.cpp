// A program of which only a debugger can read the memory.
#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "live/file_backed.h"
#include "live/program_source.h"
#include "symbolize/elf_file.h"

namespace tally::live {

namespace {

// What a debugger has answered so far. Within the areas, more than what is missed is requested,
// because each request takes a round trip to the target.
class GivenMemory final : public Memory {
public:
  explicit GivenMemory(DebuggerSource::ReadRange read) : read_(std::move(read)) {}

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
        if (!request(at, end))
          return false;
        continue;
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
    failure_ = {};
  }
  const Result<void> &failure() const { return failure_; }

private:
  struct Area {
    AddressRange range;
    uint64_t next_piece; // bytes to request at once; doubles with each request; 0 for no more than
                         // what is missed
  };
  static constexpr uint64_t first_piece = 1 << 14, most_piece = 1 << 20;
  static constexpr std::chrono::milliseconds longest_request{50};
  // More ranges that cannot be read mean that a program's pointers are wrong.
  static constexpr size_t most_unreadable = 4096;

  Area *area_of(const AddressRange &range) {
    const auto area = std::ranges::find_if(areas_, [&](const Area &each) {
      return each.range.contains(range.low, range.high - range.low);
    });
    return area == areas_.end() ? nullptr : &*area;
  }

  // Returns what to request if [low, high) is missed, of which the first byte is in no piece.
  AddressRange piece_of(uint64_t low, uint64_t high) {
    AddressRange range{low, std::min(high, low + largest_piece_)};
    if (Area *const area = area_of(range); area && area->next_piece != 0) {
      // GCC describes the functions of an object in either order, so that both sides are likely to
      // be needed next.
      const uint64_t piece = std::min(area->next_piece, largest_piece_);
      range.low = std::max(area->range.low, low - low % piece);
      range.high = std::min(area->range.high, range.low + piece);
      area->next_piece = std::min(piece * 2, most_piece);
    }
    const auto next = pieces_.upper_bound(low);
    if (next != pieces_.end())
      range.high = std::min(range.high, next->first);
    if (next != pieces_.begin()) {
      const auto &[start, bytes] = *std::prev(next);
      range.low = std::max(range.low, start + bytes.size());
    }
    return range;
  }

  // Adds the piece that begins at `low`, or contains it.
  bool request(uint64_t low, uint64_t high) {
    for (;;) {
      if (!failure_ || unreadable_.size() >= most_unreadable)
        return false;
      const AddressRange range = piece_of(low, high);
      const auto began = std::chrono::steady_clock::now();
      auto bytes = read_(range);
      adapt(std::chrono::steady_clock::now() - began);
      if (!bytes) {
        failure_ = fail(std::move(bytes.error()));
        return false;
      }
      if (*bytes && (*bytes)->size() == range.size()) {
        pieces_[range.low] = std::move(**bytes);
        return true;
      }
      // A large piece may be unreadable because of one page: the next requests are exact.
      Area *const area = area_of(range);
      if (!area || area->next_piece == 0) {
        unreadable_.push_back(range);
        return false;
      }
      area->next_piece = 0;
    }
  }

  // Bounds the time of a request, during which a debugger may not notice Ctrl-C.
  void adapt(std::chrono::nanoseconds took) {
    if (took > longest_request)
      largest_piece_ = std::max(first_piece, largest_piece_ / 2); // no less than most packets
    else if (took < longest_request / 4)
      largest_piece_ = std::min(most_piece, largest_piece_ * 2);
  }

  DebuggerSource::ReadRange read_;
  uint64_t largest_piece_ = most_piece;
  Result<void> failure_;                   // after it, nothing is requested
  std::map<uint64_t, std::string> pieces_; // disjoint
  std::vector<AddressRange> unreadable_;
  std::vector<Area> areas_;
};

class OfDebugger final : public DebuggerSource {
public:
  explicit OfDebugger(ReadRange read) : given_(std::move(read)) {}

  Memory &memory() override { return memory_; }
  Result<std::string> state_of_modules() override {
    std::string out;
    for (const LoadedSection &each : loaded_)
      out += fmt::format("{:x} {} {}\n", each.address, each.section, each.path);
    return out;
  }
  void set_modules(std::vector<LoadedSection> modules) override { loaded_ = std::move(modules); }
  void forget() override { given_.forget(); }
  Result<void> failure() const override { return given_.failure(); }

  std::vector<LoadedModule> modules(Diagnostics &diagnostics) override {
    memory_.clear();
    std::vector<LoadedModule> modules;
    std::vector<AddressRange> areas;
    for (const auto &[address, name, path] : loaded_) {
      if (path.starts_with('[')) // memory of the kernel, such as "[vdso]"
        continue;
      const auto file = symbolize::ElfFile::open(path);
      if (!file) {
        diagnostics.add(Severity::warning,
                        "cannot be read on this machine, so its counters are not known", path);
        continue;
      }
      const std::vector<symbolize::Section> sections = file->loaded_sections();
      const auto section = std::ranges::find(sections, name, &symbolize::Section::name);
      if (section == sections.end())
        continue;
      auto module = memory_.add(path, address - section->address, diagnostics);
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
  std::vector<LoadedSection> loaded_;
  GivenMemory given_;
  FileBackedMemory memory_{given_};
};

} // namespace

std::unique_ptr<DebuggerSource> debugger_source(DebuggerSource::ReadRange read) {
  return std::make_unique<OfDebugger>(std::move(read));
}

} // namespace tally::live
