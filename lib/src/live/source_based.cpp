#include "live/source_based.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "formats/llvm/profile_version.h"
#include "live/counter_code.h"
#include "live/module_reader.h"
#include "support/sort.h"
#include "symbolize/producer.h"

namespace tally::live {

namespace {

constexpr uint64_t most_section_bytes = uint64_t{1} << 28;
constexpr uint32_t any_number = UINT32_MAX / 2;   // of calls that have not returned
constexpr uint64_t most_code = uint64_t{1} << 20; // of a function, in bytes

AddressRange moved(const AddressRange &range, uint64_t bias) {
  return {range.low + bias, range.high + bias};
}

// Returns whether the counters were moved from their section, as in continuous mode. The variable
// is -1 in programs that cannot do so, and 0 before they do.
bool is_relocated(ModuleReader &reader, const LoadedModule &module) {
  if (!module.places.source.bias)
    return false;
  const auto bias = reader.pointer_at(*module.places.source.bias + module.bias);
  const uint64_t none = reader.pointer_size() == 4 ? UINT32_MAX : UINT64_MAX;
  return bias && *bias != 0 && *bias != none;
}

// Subtracts what was counted before. Threads that add without atomic instructions may leave a
// smaller number than before. A counter of one byte only tells whether code ran, so that it is not
// known whether it ran again.
void subtract(llvm::CounterRecord &record, const llvm::CounterRecord &before, bool has_bytes) {
  for (size_t i = 0; i < std::min(record.counts.size(), before.counts.size()); ++i) {
    record.open.at_least |= has_bytes && before.counts[i] > 0;
    record.counts[i] -= std::min(record.counts[i], before.counts[i]);
  }
}

llvm::CounterSections sections_of(const SourceBasedModule &module, std::string_view counters,
                                  std::string_view bitmaps) {
  return {counters, bitmaps, module.counters_delta, module.bitmaps_delta, module.is_relative};
}

std::vector<llvm::CounterRecord> records_of(const SourceBasedModule &module,
                                            const CounterSnapshot &snapshot) {
  // add_source_based() has read them once.
  return llvm::read_records(module.data, module.records,
                            sections_of(module, snapshot.bytes_of(module.counters),
                                        snapshot.bytes_of(module.bitmaps)),
                            "", 0)
      .value_or(std::vector<llvm::CounterRecord>());
}

} // namespace

void add_source_based(CounterLayout &layout, const LoadedModule &module, uint32_t number,
                      Memory &memory, Diagnostics &diagnostics) {
  const CounterPlaces &places = module.places;
  if (!places.is_source_based())
    return;
  const auto refused = [&](std::string why) {
    diagnostics.add(Severity::warning, std::move(why) + ": its source-based coverage is left out",
                    module.key.path);
  };
  if (!places.source.version)
    return refused("the version of its counters is not known, because it is stripped");
  ModuleReader reader(module, memory);
  auto word = reader.bytes_at(*places.source.version + module.bias, sizeof(uint64_t));
  if (!word)
    return refused("its counters cannot be read");
  const uint64_t version = word->u64_whole();
  const auto records =
      llvm::record_layout(version, places.words.pointer_size, places.words.big_endian);
  if (!records)
    return refused(fmt::format("its counters have version {}, which is not known",
                               version & llvm::version_bits));
  const uint64_t data_size = places.source.data.size();
  // The last record of a 32-bit program may end without padding.
  const uint64_t padding = (records->size() - data_size % records->size()) % records->size();
  if (padding > sizeof(uint32_t) || data_size > most_section_bytes ||
      places.source.counters.size() > most_section_bytes ||
      places.source.bitmaps.size() > most_section_bytes)
    return refused("its sections of counters have unknown sizes");
  if (is_relocated(reader, module))
    return refused("its counters are in a mapped file (-runtime-counter-relocation)");
  SourceBasedModule out;
  out.module = number;
  out.records = *records;
  out.counters = moved(places.source.counters, module.bias);
  out.bitmaps = moved(places.source.bitmaps, module.bias);
  out.is_relative = records->version >= llvm::first_relative_raw;
  const uint64_t data = places.source.data.low + module.bias;
  out.counters_delta = out.counters.low - (out.is_relative ? data : 0);
  out.bitmaps_delta = out.bitmaps.low - (out.is_relative ? data : 0);
  auto bytes = reader.bytes_at(data, data_size);
  if (!bytes)
    return refused("its counters cannot be read");
  out.data = std::string(bytes->take(data_size)) + std::string(padding, '\0');
  std::string counters, bitmaps;
  if (!read_as_it_grows(memory, out.counters.low, out.counters.size(), counters) ||
      !read_as_it_grows(memory, out.bitmaps.low, out.bitmaps.size(), bitmaps))
    return refused("its counters cannot be read");
  // The counters may be anything here; whether the records fit to them is known once.
  if (const auto read = llvm::read_records(out.data, out.records,
                                           sections_of(out, counters, bitmaps), module.key.path, 0);
      !read)
    return refused(read.error().message);
  layout.source_based.push_back(std::move(out));
}

bool source_based_reset(const CounterLayout &layout, const CounterSnapshot &now,
                        const CounterSnapshot &before) {
  for (const SourceBasedModule &module : layout.source_based) {
    const size_t width = module.records.has_byte_counters ? 1 : sizeof(uint64_t);
    const std::string_view bytes = now.bytes_of(module.counters),
                           old = before.bytes_of(module.counters);
    const std::string zero(width, module.records.has_byte_counters ? '\xff' : '\0');
    for (size_t at = 0; at + width <= std::min(bytes.size(), old.size()); at += width)
      if (bytes.substr(at, width) == zero && old.substr(at, width) != zero)
        return true;
  }
  return false;
}

SourceBasedProgram::SourceBasedProgram(const CounterLayout &layout,
                                       std::span<const LoadedModule> modules,
                                       Diagnostics &diagnostics)
    : layout_(layout), modules_(modules), symbolizer_(make_symbolizer()) {
  auto objects = std::make_shared<std::vector<llvm::CoverageObject>>();
  symbolize::MappedFiles mapped;
  for (const SourceBasedModule &counted : layout_.source_based) {
    const LoadedModule &module = modules_[counted.module];
    // A file that was replaced after the program loaded it is not used.
    const symbolize::ModuleFiles files = symbolize::find_files(module.key, {}, diagnostics, mapped);
    auto read = files.main.empty() ? std::vector<llvm::CoverageObject>()
                                   : llvm::CoverageObject::read(files.main, diagnostics);
    object_of_.emplace_back();
    finders_.emplace_back(counted);
    files_.push_back(symbolize::find_files(module.key, {"/usr/lib/debug"}, findings_, mapped));
    if (read.size() != 1) {
      if (!files.main.empty())
        diagnostics.add(Severity::warning,
                        "has no mapping of coverage: was it compiled with -fcoverage-mapping?",
                        module.key.path);
      continue;
    }
    object_of_.back() = objects->size();
    objects->push_back(std::move(read[0]));
  }
  objects_ = std::move(objects);
  for (const LoadedModule &module : modules_)
    module_ids_.push_back(symbolizer_->module(module.key, findings_));
}

GivenSourceBased SourceBasedProgram::counters(const Moment &now, const Moment *before,
                                              Memory &memory) {
  GivenSourceBased out;
  out.objects = objects_;
  out.only_executed = before != nullptr;
  std::vector<Open> open_before;
  if (before)
    open_before = open_functions(before->threads, memory);
  const std::vector<Open> open = open_functions(now.threads, memory); // the last, for frames_
  for (size_t i = 0; i < layout_.source_based.size(); ++i) {
    if (!object_of_[i])
      continue;
    const SourceBasedModule &counted = layout_.source_based[i];
    llvm::ReadProfile &profile = out.profiles.emplace_back();
    profile.path = modules_[counted.module].key.path;
    profile.object = &(*objects_)[*object_of_[i]];
    profile.profile.version = counted.records.version;
    llvm::ProfileImage &image = profile.profile.images.emplace_back();
    image.has_byte_counters = counted.records.has_byte_counters;
    image.records = records_of(counted, now.snapshot);
    for (size_t k = 0; k < image.records.size(); ++k)
      image.records[k].open = open[i][k];
    if (!before)
      continue;
    const std::vector<llvm::CounterRecord> old = records_of(counted, before->snapshot);
    for (size_t k = 0; k < std::min(old.size(), image.records.size()); ++k) {
      llvm::CounterRecord &record = image.records[k];
      subtract(record, old[k], counted.records.has_byte_counters);
      record.open.frames_before = open_before[i][k].frames;
      record.open.entered_before = open_before[i][k].entered;
      if (open_before[i][k].at_least) { // what was in registers at the mark was counted later
        std::ranges::fill(record.counts, 0);
        record.open.at_least = true;
      }
    }
  }
  return out;
}

std::vector<SourceBasedProgram::Open>
SourceBasedProgram::open_functions(std::span<const StoppedThread> threads, Memory &memory) {
  std::vector<Open> out;
  for (const SourceBasedModule &counted : layout_.source_based)
    out.emplace_back(counted.data.size() / counted.records.size());
  frames_.clear();
  for (const StoppedThread &thread : threads) {
    for (const uint64_t &pc : thread.pcs)
      for (size_t i = 0; i < layout_.source_based.size(); ++i) {
        const SourceBasedModule &counted = layout_.source_based[i];
        const LoadedModule &module = modules_[counted.module];
        if (std::ranges::none_of(module.places.segments, [&](const AddressRange &segment) {
              return segment.contains(pc - module.bias, 1);
            }))
          continue;
        auto at = codes_.find(pc);
        Code unknown; // memory that an interrupt has hidden is read again later
        if (at == codes_.end()) {
          Code code = code_at(i, pc, memory);
          if (code.is_known)
            at = codes_.emplace(pc, std::move(code)).first;
          else
            unknown = std::move(code);
        }
        const Code &code = at == codes_.end() ? unknown : at->second;
        add_open(code, &pc == thread.pcs.data(), out[i]);
        if (code.frame && (!code.is_known || !code.records.empty()))
          frames_.push_back(*code.frame);
      }
    // The callers of a deep recursion are not known, and any function may be among them.
    if (thread.pcs.size() >= most_frames)
      for (Open &open : out)
        for (llvm::CounterRecord::Open &each : open)
          each.frames = any_number;
  }
  return out;
}

void SourceBasedProgram::add_open(const Code &code, bool is_innermost, Open &open) {
  if (!code.is_known) {
    for (llvm::CounterRecord::Open &each : open) {
      each.at_least = true;
      each.frames = any_number;
    }
    return;
  }
  for (const size_t record : code.records) {
    open[record].frames += open[record].frames < any_number ? 1 : 0;
    open[record].at_least |= code.is_optimized;
  }
  if (!is_innermost || !code.next)
    return;
  llvm::CounterRecord::Open &of_next = open[code.next->record];
  of_next.next.push_back(code.next->index);
  of_next.entered += code.is_entry ? 1 : 0;
}

CounterFinder::CounterFinder(const SourceBasedModule &counted)
    : width_(counted.records.has_byte_counters ? 1 : sizeof(uint64_t)),
      end_(counted.counters.high) {
  const std::vector<uint64_t> begins =
      llvm::counter_offsets(counted.data, counted.records, sections_of(counted, {}, {}));
  for (size_t k = 0; k < begins.size(); ++k)
    in_order_.emplace_back(counted.counters.low + begins[k], k);
  sort_stably(in_order_);
}

std::optional<CounterOfRecord> CounterFinder::at(uint64_t address) const {
  auto next = std::ranges::upper_bound(in_order_, std::pair(address, SIZE_MAX));
  if (next == in_order_.begin() || address >= end_)
    return std::nullopt;
  --next;
  const uint64_t offset = address - next->first;
  if (offset % width_ != 0)
    return std::nullopt;
  return CounterOfRecord{next->second, static_cast<uint32_t>(offset / width_)};
}

std::vector<CounterOfRecord> CounterFinder::in(uint64_t begin,
                                               std::span<const std::byte> code) const {
  std::vector<uint64_t> operands;
  add_operands(begin, code, operands);
  std::vector<CounterOfRecord> out;
  for (const uint64_t operand : operands)
    if (const auto counter = at(operand))
      out.push_back(*counter);
  return out;
}

SourceBasedProgram::Code SourceBasedProgram::code_at(size_t index, uint64_t pc, Memory &memory) {
  const SourceBasedModule &counted = layout_.source_based[index];
  const LoadedModule &module = modules_[counted.module];
  const ModuleId id = module_ids_[counted.module];
  const uint64_t address = pc - module.bias;
  Code out;
  std::vector<SourceFrame> frames;
  symbolizer_->frames(id, address, frames);
  // Code that the compiler made up has no line, but what it is inlined into has.
  const auto frame =
      std::ranges::find_if(frames, [](const SourceFrame &each) { return each.line > 0; });
  if (frame != frames.end())
    out.frame =
        SourceBasedFrame{std::string(frame->function), std::string(frame->file), frame->line};
  out.is_optimized = symbolize::may_be_optimized(files_[index], address);
  if (!module.places.x86_64 || frames.empty())
    return out;
  const CounterFinder &finder = finders_[index];
  const std::vector<InstructionRange> code = symbolizer_->code_of(id, address, frames.size() - 1);
  for (const InstructionRange &range : code) {
    std::vector<std::byte> bytes(std::min(range.end - range.start, most_code));
    const uint64_t begin = range.start + module.bias;
    if (!memory.read(begin, bytes))
      return out;
    for (const CounterOfRecord &counter : finder.in(begin, bytes))
      out.records.push_back(counter.record);
    if (!range.holds(address))
      continue;
    // Unoptimized code loads a counter, adds 1 and stores it, in 18 bytes.
    constexpr size_t update = 18;
    const auto code_before = std::span(bytes).first(std::min<size_t>(pc - begin, bytes.size()));
    const auto code_after = std::span(bytes).subspan(code_before.size());
    const auto next = finder.in(pc, code_after.first(std::min(update, code_after.size())));
    if (next.empty())
      continue;
    out.next = next[0];
    out.is_entry = next[0].index == 0 && !out.is_optimized && frames.size() == 1 &&
                   !counted.records.has_byte_counters && finder.in(begin, code_before).empty();
  }
  sort_stably(out.records);
  out.records.erase(std::unique(out.records.begin(), out.records.end()), out.records.end());
  out.is_known = !code.empty();
  return out;
}

} // namespace tally::live
