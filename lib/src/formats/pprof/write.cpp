#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "formats/pprof/order.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/rows.h"
#include "formats/stack_depth.h"
#include "support/checked.h"
#include "support/gzip.h"
#include "support/hash.h"
#include "support/utf8.h"
#include "transform/owner_roots.h"

namespace tally::pprof {

namespace {

using protozero::pbf_writer;

// Assigns ids in order of first use, from 1. Rows that are never used are not written.
template <class Id> class IdsInUse {
public:
  explicit IdsInUse(uint32_t rows) : id_(rows, 0) {}
  uint32_t use(Id row) {
    uint32_t &id = id_[index_of(row)];
    if (id == 0) {
      in_order_.push_back(row);
      id = static_cast<uint32_t>(in_order_.size());
    }
    return id;
  }
  const std::vector<Id> &in_order() const { return in_order_; }

private:
  std::vector<uint32_t> id_; // 0 until the row is used
  std::vector<Id> in_order_;
};

// The kinds of symbol information that the locations of a mapping have.
struct Resolution {
  bool functions = false, files = false, lines = false, inlined = false;
};

class Writer {
public:
  explicit Writer(const StackProfile &profile)
      : profile_(profile), locations_(profile.location_count()),
        functions_(profile.functions().size()) {}

  Result<Written> run(const WriteOptions &options) {
    if (profile_.value_types().empty())
      return fail(ErrorCode::no_data, "the profile has no events");
    const ValueType &first = profile_.value_types().front();
    are_ticks_ = profile_.period_ns != 0 && profile_.strings[first.type] == "ticks" &&
                 profile_.strings[first.unit] == "count";
    if (profile_.period_ns > std::numeric_limits<int64_t>::max())
      return fail(ErrorCode::overflow, "the clock's period does not fit in 63 bits");
    has_processes_ = names_processes(profile_);
    write_value_types();
    const Order order = order_of(profile_);
    for (const LocationId location : order.locations)
      locations_.use(location);
    TALLY_CHECK(write_samples(order.samples));
    assign_mappings();
    write_mappings();
    write_locations();
    write_functions();
    TALLY_CHECK(write_rest(options));
    Written out;
    TALLY_TRY(packed, gzip_packed(message_));
    out.bytes = std::move(packed);
    add_lost(out.lost);
    return out;
  }

private:
  // Returns the index of a string. Bytes that are not UTF-8 become '?', because profile.proto
  // requires UTF-8, and some readers refuse other bytes.
  int64_t string(std::string_view text) {
    std::string changed;
    for (size_t at = 0; at < text.size();) {
      const size_t size = utf8_size(text.substr(at));
      if (size == 0 && changed.empty())
        changed = text;
      if (size == 0)
        changed[at] = '?';
      at += std::max<size_t>(size, 1);
    }
    changed_text_ |= !changed.empty();
    return index_of(strings_.intern(changed.empty() ? text : changed));
  }
  int64_t string(StringId id) { return string(profile_.strings[id]); }

  void write_type(uint32_t field, std::string_view type, std::string_view unit) {
    pbf_writer message(pbf_, field);
    message.add_int64(1, string(type));
    message.add_int64(2, string(unit));
  }

  void write_value_types() {
    const auto types = profile_.value_types();
    if (are_ticks_) {
      write_type(1, "samples", "count");
      write_type(1, "cpu", "nanoseconds");
    }
    for (const ValueType &type : types.subspan(are_ticks_ ? 1 : 0))
      write_type(1, profile_.strings[type.type], profile_.strings[type.unit]);
  }

  Result<void> write_samples(std::span<const size_t> rows) {
    std::vector<int64_t> sums(profile_.value_types().size() + 1, 0), values;
    std::vector<uint64_t> stack;
    uint64_t frames = 0; // of all samples
    for (const size_t row : rows) {
      const Sample sample = profile_.sample(row);
      values.assign(sample.values.begin(), sample.values.end());
      int64_t time = 0;
      const bool fits =
          !are_ticks_ || !__builtin_mul_overflow(values.front(), profile_.period_ns, &time);
      if (are_ticks_)
        values.insert(values.begin() + 1, time);
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] < 0 || !fits || !checked_add(sums[i], values[i]))
          return fail_on(sample, fits);
      }
      stack.clear();
      for (StackId at = sample.stack; at != none<StackId>; at = profile_.stack_caller(at))
        stack.push_back(locations_.use(profile_.stack_location(at)));
      pbf_writer message(pbf_, 2);
      TALLY_CHECK(check_written_frames(frames += stack.size()));
      message.add_packed_uint64(1, stack.begin(), stack.end());
      message.add_packed_int64(2, values.begin(), values.end());
      write_labels(message, sample);
    }
    return {};
  }

  static tl::unexpected<Error> fail_on(const Sample &sample, bool fits) {
    if (std::ranges::any_of(sample.values, [](int64_t value) { return value < 0; }))
      return fail(ErrorCode::invalid_input, "a sample has a negative value");
    return fail(ErrorCode::overflow, fits ? "the sum of the values exceeds 63 bits"
                                          : "the time of a sample's ticks does not fit in 64 "
                                            "bits");
  }

  void write_labels(pbf_writer &sample_message, const Sample &sample) {
    const auto number = [&](std::string_view key, int64_t value) {
      pbf_writer label(sample_message, 3);
      label.add_int64(1, string(key));
      label.add_int64(3, value);
    };
    const auto text = [&](std::string_view key, StringId value) {
      if (profile_.strings[value].empty())
        return;
      pbf_writer label(sample_message, 3);
      label.add_int64(1, string(key));
      label.add_int64(2, string(value));
    };
    if (sample.thread != none<ThreadId>) {
      const Thread &thread = profile_.threads()[sample.thread];
      text(thread_label, thread.name);
      number(tid_label, thread.tid);
      number(pid_label, thread.pid);
      if (has_processes_)
        text(process_label, thread.process);
    }
    if (sample.part != none<PartId>) {
      const Part &part = profile_.parts()[sample.part];
      number(part_label, part.number);
      text(trigger_label, part.trigger);
    }
  }

  // Assigns a mapping to each location. A location without a mapping gets a mapping of its
  // function's object, because only mappings represent objects in pprof.
  void assign_mappings() {
    mapping_ids_.reserve(locations_.in_order().size());
    const auto &mappings = profile_.mappings();
    resolutions_.resize(mappings.size());
    SeededMap<uint32_t, uint32_t> by_path; // the id of the first mapping with that path
    for (uint32_t i = 0; i < mappings.size(); ++i)
      by_path.try_emplace(index_of(mappings[static_cast<MappingId>(i)].path), i + 1);
    for (const LocationId id : locations_.in_order()) {
      const Location at = profile_.location(id);
      uint32_t mapping = at.mapping == none<MappingId> ? 0 : index_of(at.mapping) + 1;
      StringId object{};
      if (mapping == 0 && !at.lines.empty())
        object = profile_.functions()[at.lines.front().function].object;
      if (object != StringId{}) {
        const auto [found, added] =
            by_path.try_emplace(index_of(object), static_cast<uint32_t>(resolutions_.size() + 1));
        mapping = found->second;
        if (added) {
          extra_mappings_.push_back(object);
          resolutions_.emplace_back();
        }
      }
      mapping_ids_.push_back(mapping);
      if (mapping != 0)
        note_resolution(resolutions_[mapping - 1], at);
    }
  }

  void note_resolution(Resolution &resolution, const Location &at) const {
    resolution.inlined |= at.lines.size() > 1;
    for (const SourceLine &line : at.lines) {
      const SourceFunction &function = profile_.functions()[line.function];
      if (is_unnamed(profile_, function))
        continue;
      resolution.functions |= function.name != StringId{};
      resolution.files |= function.file != StringId{};
      resolution.lines |= line.line != 0 && line.file == function.file;
    }
  }

  void write_mapping(uint64_t id, const Mapping &mapping) {
    pbf_writer message(pbf_, 3);
    message.add_uint64(1, id);
    message.add_uint64(2, mapping.start);
    message.add_uint64(3, mapping.limit);
    message.add_uint64(4, mapping.file_offset);
    message.add_int64(5, string(mapping.path));
    message.add_int64(6, string(mapping.build_id));
    const Resolution &known = resolutions_[id - 1];
    message.add_bool(7, known.functions);
    message.add_bool(8, known.files);
    message.add_bool(9, known.lines);
    message.add_bool(10, known.inlined);
    biased_ |= mapping.has_bias && mapping.bias != 0;
  }

  void write_mappings() {
    uint64_t id = 0;
    for (const Mapping &mapping : profile_.mappings())
      write_mapping(++id, mapping);
    for (const StringId path : extra_mappings_) {
      Mapping mapping;
      mapping.path = path;
      write_mapping(++id, mapping);
    }
  }

  StringId path_of(uint32_t mapping_id) const {
    if (mapping_id == 0)
      return {};
    const uint32_t real = profile_.mappings().size();
    return mapping_id <= real ? profile_.mappings()[static_cast<MappingId>(mapping_id - 1)].path
                              : extra_mappings_[mapping_id - real - 1];
  }

  void write_locations() {
    for (size_t i = 0; i < locations_.in_order().size(); ++i) {
      const Location at = profile_.location(locations_.in_order()[i]);
      const StringId path = path_of(mapping_ids_[i]);
      pbf_writer message(pbf_, 4);
      message.add_uint64(1, i + 1);
      message.add_uint64(2, mapping_ids_[i]);
      message.add_uint64(3, at.address);
      for (const SourceLine &row : at.lines) {
        const SourceFunction &function = profile_.functions()[row.function];
        if (is_unnamed(profile_, function))
          continue;
        // A Line has no file, so the number of a line in another file would be wrong.
        const bool same_file = row.file == function.file;
        lost_lines_ |= !same_file && row.line != 0;
        lost_objects_ |= function.object != path;
        pbf_writer line(message, 4);
        line.add_uint64(1, functions_.use(row.function));
        line.add_int64(2, same_file ? row.line : 0);
      }
    }
  }

  void write_functions() {
    uint64_t id = 0;
    for (const SourceFunctionId row : functions_.in_order()) {
      const SourceFunction &function = profile_.functions()[row];
      pbf_writer message(pbf_, 5);
      message.add_uint64(1, ++id);
      message.add_int64(2, string(function.name));
      message.add_int64(3, string(function.system_name));
      message.add_int64(4, string(function.file));
      message.add_int64(5, function.line);
    }
  }

  Result<void> write_rest(const WriteOptions &options) {
    std::vector<int64_t> comments;
    if (profile_.command != StringId{})
      comments.push_back(
          string(std::string(command_comment).append(profile_.strings[profile_.command])));
    int64_t duration = 0;
    for (const Part &part : profile_.parts()) {
      const std::string_view trigger = profile_.strings[part.trigger];
      comments.push_back(
          string(fmt::format("{}{}: {} ns to {} ns{}{}", part_comment, part.number, part.begin_ns,
                             part.end_ns, trigger.empty() ? "" : ", ", trigger)));
      const uint64_t lasted = part.end_ns - part.begin_ns;
      if (lasted > std::numeric_limits<int64_t>::max() ||
          !checked_add(duration, static_cast<int64_t>(lasted)))
        return fail(ErrorCode::overflow, "the sum of the times of the parts exceeds 63 bits");
    }
    int64_t type = 0, nanoseconds = 0, shown = 0;
    if (profile_.period_ns != 0) {
      type = string("cpu");
      nanoseconds = string("nanoseconds");
    }
    // pprof shows the last type by default.
    if (profile_.value_types().size() > 1)
      shown = are_ticks_ ? string("cpu") : string(profile_.value_types().front().type);
    for (uint32_t i = 0; i < strings_.size(); ++i) {
      const std::string_view text = strings_[static_cast<StringId>(i)];
      pbf_.add_string(6, text.data(), text.size());
    }
    constexpr int64_t second = 1'000'000'000;
    if (options.time > 0 && options.time <= std::numeric_limits<int64_t>::max() / second)
      pbf_.add_int64(9, options.time * second);
    if (duration != 0)
      pbf_.add_int64(10, duration);
    if (profile_.period_ns != 0) {
      pbf_writer message(pbf_, 11);
      message.add_int64(1, type);
      message.add_int64(2, nanoseconds);
    }
    if (profile_.period_ns != 0)
      pbf_.add_int64(12, static_cast<int64_t>(profile_.period_ns));
    pbf_.add_packed_int64(13, comments.begin(), comments.end());
    if (shown != 0)
      pbf_.add_int64(14, shown);
    return {};
  }

  void add_lost(std::vector<std::string> &lost) const {
    if (biased_)
      lost.emplace_back("link-time addresses (those at run time are written)");
    if (lost_lines_)
      lost.emplace_back("lines in a file other than that of their function (written as unknown)");
    if (lost_objects_)
      lost.emplace_back("objects of functions that differ from the object of the address");
    if (changed_text_)
      lost.emplace_back("bytes in names that are not valid UTF-8 (written as '?')");
  }

  const StackProfile &profile_;
  bool are_ticks_ = false;
  std::string message_;
  pbf_writer pbf_{message_};
  StringPool strings_; // a string has the same index as in the file; "" has index 0
  IdsInUse<LocationId> locations_;
  IdsInUse<SourceFunctionId> functions_;
  std::vector<uint32_t> mapping_ids_;    // parallel to locations_.in_order(); 0 if there is none
  std::vector<StringId> extra_mappings_; // paths of objects without a mapping
  std::vector<Resolution> resolutions_;  // of the mappings, then of the extra mappings
  bool biased_ = false, lost_lines_ = false, lost_objects_ = false, changed_text_ = false;
  bool has_processes_ = false; // that are named
};

} // namespace

Result<Written> write(const StackProfile &profile, const WriteOptions &options) {
  return Writer(profile).run(options);
}

} // namespace tally::pprof
