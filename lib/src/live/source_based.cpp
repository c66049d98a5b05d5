#include "live/source_based.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "formats/llvm/profile_version.h"
#include "live/counter_code.h"
#include "live/module_reader.h"
#include "symbolize/module_file.h"
#include "symbolize/producer.h"

namespace tally::live {

namespace {

constexpr uint64_t most_section = uint64_t{1} << 32;
constexpr uint64_t most_code = uint64_t{1} << 20; // of a function, in bytes

uint64_t size_of(const AddressRange &range) { return range.high - range.low; }

AddressRange moved(const AddressRange &range, uint64_t bias) {
  return {range.low + bias, range.high + bias};
}

// Returns the layout of a module's records, which its version determines; nothing if it is not
// known.
std::optional<llvm::RecordLayout> layout_of(uint64_t version, const WordLayout &words) {
  llvm::RecordLayout out;
  out.version = version & llvm::version_bits;
  out.pointer_size = words.pointer_size;
  out.big_endian = words.big_endian;
  out.has_byte_counters = (version & llvm::byte_counters) != 0;
  out.value_kinds = out.version >= llvm::first_raw_with_tables ? 3 : 2;
  const bool is_known = out.version >= llvm::oldest_raw && out.version <= llvm::newest_raw;
  return is_known && (version & llvm::of_optimizer) == 0 ? std::optional(out) : std::nullopt;
}

// Subtracts what was counted before. Threads that add without atomic instructions may leave a
// smaller number than before.
void subtract(llvm::CounterRecord &record, const llvm::CounterRecord &before) {
  for (size_t i = 0; i < std::min(record.counts.size(), before.counts.size()); ++i)
    record.counts[i] -= std::min(record.counts[i], before.counts[i]);
  for (size_t i = 0; i < std::min(record.bitmap.size(), before.bitmap.size()); ++i)
    record.bitmap[i] = static_cast<char>(record.bitmap[i] & ~before.bitmap[i]);
}

std::vector<llvm::CounterRecord> records_of(const SourceBasedModule &module,
                                            const CounterSnapshot &snapshot) {
  llvm::CounterSections sections;
  sections.counters = snapshot.bytes_of(module.counters);
  sections.bitmaps = snapshot.bytes_of(module.bitmaps);
  sections.counters_delta = module.counters_delta;
  sections.bitmaps_delta = module.bitmaps_delta;
  sections.is_relative = module.is_relative;
  // add_source_based() has read them once.
  return llvm::read_records(module.data, module.records, sections, "", 0)
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
  if (!places.source_version)
    return refused("the version of its counters is not known, because it is stripped");
  ModuleReader reader(module, memory);
  auto word = reader.bytes_at(*places.source_version + module.bias, sizeof(uint64_t));
  if (!word)
    return refused("its counters cannot be read");
  const uint64_t version = word->u64_whole();
  const auto records = layout_of(version, places.words);
  if (!records)
    return refused(fmt::format("its counters have version {}, which is not known",
                               version & llvm::version_bits));
  const uint64_t data_size = size_of(places.source_data);
  if (data_size % records->size() != 0 || data_size > most_section ||
      size_of(places.source_counters) > most_section ||
      size_of(places.source_bitmaps) > most_section)
    return refused("its sections of counters have unknown sizes");
  SourceBasedModule out;
  out.module = number;
  out.records = *records;
  out.counters = moved(places.source_counters, module.bias);
  out.bitmaps = moved(places.source_bitmaps, module.bias);
  out.is_relative = records->version >= llvm::first_relative_raw;
  const uint64_t data = places.source_data.low + module.bias;
  out.counters_delta = out.counters.low - (out.is_relative ? data : 0);
  out.bitmaps_delta = out.bitmaps.low - (out.is_relative ? data : 0);
  auto bytes = reader.bytes_at(data, data_size);
  if (!bytes)
    return refused("its counters cannot be read");
  out.data = bytes->take(data_size);
  // The counters may be anything here; whether the records fit to them is known once.
  const std::string counters(size_of(out.counters), '\0'), bitmaps(size_of(out.bitmaps), '\0');
  if (const auto read = llvm::read_records(
          out.data, out.records,
          {counters, bitmaps, out.counters_delta, out.bitmaps_delta, out.is_relative},
          module.key.path, 0);
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
  for (const SourceBasedModule &counted : layout_.source_based) {
    const LoadedModule &module = modules_[counted.module];
    auto read = llvm::CoverageObject::read(std::string(module.loaded_path()), diagnostics);
    if (read.empty())
      diagnostics.add(Severity::warning,
                      "has no mapping of coverage: was it compiled with -fcoverage-mapping?",
                      module.key.path);
    std::ranges::move(read, std::back_inserter(*objects));
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
    const SourceBasedModule &counted = layout_.source_based[i];
    llvm::ReadProfile &profile = out.profiles.emplace_back();
    profile.path = modules_[counted.module].key.path;
    profile.profile.version = counted.records.version;
    llvm::ProfileImage &image = profile.profile.images.emplace_back();
    image.has_byte_counters = counted.records.has_byte_counters;
    for (const llvm::CoverageObject &object : *objects_)
      if (object.name() == modules_[counted.module].loaded_path() && !object.build_id().empty())
        image.build_ids = {object.build_id()};
    image.records = records_of(counted, now.snapshot);
    for (size_t k = 0; k < image.records.size(); ++k)
      image.records[k].open = open[i][k];
    if (!before)
      continue;
    const std::vector<llvm::CounterRecord> old = records_of(counted, before->snapshot);
    for (size_t k = 0; k < std::min(old.size(), image.records.size()); ++k) {
      subtract(image.records[k], old[k]);
      image.records[k].open.frames_before = open_before[i][k].frames;
      image.records[k].open.at_least |= open_before[i][k].at_least;
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
        std::vector<SourceFrame> frames;
        symbolizer_->frames(module_ids_[counted.module], pc - module.bias, frames);
        const bool is_optimized = symbolize::may_be_optimized(
            symbolize::find_files(module.key, {"/usr/lib/debug"}, findings_), pc - module.bias);
        // Code that the compiler made up has no line, but what it is inlined into has.
        const auto frame =
            std::ranges::find_if(frames, [](const SourceFrame &each) { return each.line > 0; });
        if (frame != frames.end())
          frames_.push_back(
              {std::string(frame->function), std::string(frame->file), frame->line, is_optimized});
        add_open(counted, pc, &pc == thread.pcs.data(), is_optimized, memory, out[i]);
      }
  }
  return out;
}

// Adds the functions whose counters the code of the function at a pc updates: its own, and those of
// what is inlined into it. If that code is not known, all functions may be meant.
void SourceBasedProgram::add_open(const SourceBasedModule &counted, uint64_t pc, bool is_innermost,
                                  bool is_optimized, Memory &memory, Open &open) {
  const LoadedModule &module = modules_[counted.module];
  const ModuleId id = module_ids_[counted.module];
  std::vector<SourceFrame> frames;
  symbolizer_->frames(id, pc - module.bias, frames);
  std::vector<InstructionRange> code;
  if (module.places.x86_64 && !frames.empty())
    code = symbolizer_->code_of(id, pc - module.bias, frames.size() - 1);
  std::vector<uint64_t> operands, next_operands;
  bool is_known = !code.empty();
  for (const InstructionRange &range : code) {
    std::vector<std::byte> bytes(std::min(range.end - range.start, most_code));
    is_known &= memory.read(range.start + module.bias, bytes);
    if (!is_known)
      break;
    const uint64_t begin = range.start + module.bias;
    add_operands(begin, bytes, operands);
    // Unoptimized code loads a counter, adds 1 and stores it, in 18 bytes.
    constexpr uint64_t update = 18;
    if (is_innermost && pc >= begin && pc - begin < bytes.size())
      add_operands(pc,
                   std::span(bytes)
                       .subspan(pc - begin)
                       .first(std::min<uint64_t>(update, bytes.size() - (pc - begin))),
                   next_operands);
  }
  if (!is_known) {
    for (llvm::CounterRecord::Open &each : open)
      each.at_least = true;
    return;
  }
  std::ranges::sort(operands);
  std::ranges::sort(next_operands);
  const std::vector<uint64_t> begins = llvm::counter_offsets(
      counted.data, counted.records,
      {{}, {}, counted.counters_delta, counted.bitmaps_delta, counted.is_relative});
  // The counters of a record end where those of another begin.
  std::vector<std::pair<uint64_t, size_t>> in_order;
  for (size_t k = 0; k < begins.size(); ++k)
    in_order.emplace_back(begins[k], k);
  std::ranges::sort(in_order);
  const uint64_t width = counted.records.has_byte_counters ? 1 : sizeof(uint64_t);
  for (size_t k = 0; k < in_order.size(); ++k) {
    const uint64_t low = counted.counters.low + in_order[k].first;
    const uint64_t high = k + 1 < in_order.size() ? counted.counters.low + in_order[k + 1].first
                                                  : counted.counters.high;
    const auto first = std::ranges::lower_bound(operands, low);
    if (first == operands.end() || *first >= high)
      continue;
    llvm::CounterRecord::Open &found = open[in_order[k].second];
    ++found.frames;
    found.at_least |= is_optimized;
    const auto next = std::ranges::lower_bound(next_operands, low);
    if (next != next_operands.end() && *next < high && (*next - low) % width == 0)
      found.next = static_cast<int32_t>((*next - low) / width);
  }
}

} // namespace tally::live
