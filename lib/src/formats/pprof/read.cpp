#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "formats/pprof/fields.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/rows.h"
#include "formats/pprof/value_types.h"
#include "support/hash.h"

namespace tally::pprof {

namespace {

struct FunctionRow {
  StringId name{}, system_name{}, file{};
  uint32_t line = 0;
};

struct LineRow {
  FunctionRow function;
  uint32_t line = 0;
};

// What the file has and the model does not.
class Unkept {
public:
  void add_label(std::string_view key) { labels_.insert(key); }
  // Adds a key that the file chooses. Only `most_keys` are named, because a file may have any
  // number of keys.
  void add_other_label(std::string_view key) {
    if (labels_.size() < most_keys || labels_.contains(key))
      labels_.insert(key);
    else
      more_keys_ = true;
  }
  void report(Diagnostics &diagnostics, const std::string &name) const {
    if (!labels_.empty()) {
      std::string keys;
      for (const std::string_view key : labels_)
        keys += (keys.empty() ? "" : ", ") + std::string(key);
      if (more_keys_)
        keys += ", …";
      diagnostics.add(Severity::note, "labels of samples are not kept: " + keys, name);
    }
    if (hidden_frames)
      diagnostics.add(Severity::note, "frames that pprof hides (drop_frames) are kept", name);
    if (comments)
      diagnostics.add(Severity::note, "comments are not kept", name);
  }

  bool hidden_frames = false, comments = false;

private:
  static constexpr size_t most_keys = 10;
  std::set<std::string_view> labels_;
  bool more_keys_ = false;
};

class Reader {
public:
  Reader(std::string bytes, const std::string &name, Diagnostics &diagnostics)
      : bytes_(std::move(bytes)), name_(name), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    // Strings and locations may come after the samples that name them, so there are several passes.
    read_strings();
    read_header();
    each(5, [&](Fields &field) { read_function(field); });
    each(3, [&](Fields &field) { read_mapping(field); });
    each(4, [&](Fields &field) { read_location(field); });
    bool all_are_ticks = types_.may_be_ticks();
    size_t samples = 0;
    each(2, [&](Fields &field) {
      ++samples;
      read_values(field);
      find_part(field);
      all_are_ticks = all_are_ticks && types_.are_ticks(now_.values);
    });
    if (fault_)
      return failed();
    if (samples == 0)
      return fail(ErrorCode::no_data, "holds no samples", name_);
    if (types_.size() == 0)
      return fail(ErrorCode::invalid_input, "has samples, but no value types", name_);
    add_value_types(all_are_ticks);
    add_parts();
    each(2, [&](Fields &field) { read_sample(field); });
    if (fault_)
      return failed();
    unkept_.report(diagnostics_, name_);
    auto profile = builder_.finish();
    if (!profile) {
      profile.error().source = name_;
      return fail(std::move(profile.error()));
    }
    return Profile(std::move(*profile));
  }

private:
  tl::unexpected<Error> failed() const {
    return fail(ErrorCode::invalid_input, fault_.text, name_,
                Position::at_offset(static_cast<uint64_t>(fault_.at - bytes_.data())));
  }

  // Calls `each_field` for each field of the profile message that has this number.
  template <class Each> void each(uint64_t number, Each each_field) {
    for (Fields field(bytes_, profile_message, fault_); field.next();)
      if (field.number() == number)
        each_field(field);
  }

  std::string_view text(uint64_t index, const char *at) {
    if (index < strings_.size())
      return strings_[index];
    fault_.set(at, fmt::format("names string {}, but there are {}", index, strings_.size()));
    return {};
  }
  StringId intern(const Fields &field) {
    const uint64_t index = field.value();
    const std::string_view string = text(index, field.begin());
    if (index >= ids_.size())
      return {};
    if (!ids_[index]) // many functions may have one long name
      ids_[index] = builder_.intern(string);
    return *ids_[index];
  }

  void read_strings() {
    each(6, [&](const Fields &field) {
      if (strings_.empty() && !field.bytes().empty())
        fault_.set(field.begin(), "the first string is not empty");
      strings_.push_back(field.bytes());
    });
    if (strings_.empty()) // index 0 is the empty string, even without a table
      strings_.emplace_back();
    ids_.resize(strings_.size());
  }

  void read_comment(uint64_t index, const char *at) {
    const std::string_view comment = text(index, at);
    uint32_t number = 0;
    PartRow part;
    if (comment.starts_with(command_comment)) {
      builder_.set_command(comment.substr(command_comment.size()));
    } else if (parse_part(comment, number, part)) {
      const auto [row, added] = parts_.try_emplace(number, part);
      if (!added && (row->second.begin_ns != part.begin_ns || row->second.end_ns != part.end_ns))
        row->second.begin_ns = row->second.end_ns = 0; // unknown, because two runs were joined
    } else {
      unkept_.comments = true;
    }
  }

  TypeText read_type(std::string_view message, TypeText type = {}) {
    for (Fields field(message, value_type_message, fault_); field.next();) {
      if (field.number() == 1)
        type.type = text(field.value(), field.begin());
      else if (field.number() == 2)
        type.unit = text(field.value(), field.begin());
    }
    return type;
  }

  void read_header() {
    for (Fields field(bytes_, profile_message, fault_); field.next();) {
      switch (field.number()) {
      case 1:
        types_.add(read_type(field.bytes()));
        break;
      case 7:
      case 8:
        unkept_.hidden_frames |= !text(field.value(), field.begin()).empty();
        break;
      case 11:
        types_.period_type = read_type(field.bytes(), types_.period_type);
        break;
      case 12:
        types_.period = field.signed_value();
        break;
      case 13:
        field.integers([&](uint64_t index, const char *at) { read_comment(index, at); });
        break;
      case 14:
        types_.shown = text(field.value(), field.begin());
        break;
      case 15:
        static_cast<void>(text(field.value(), field.begin()));
        break;
      default:
        break;
      }
    }
  }

  // Returns a line number, or 0, with a warning, if it is negative or exceeds 32 bits.
  uint32_t line_number(const Fields &field) {
    if (field.value() <= std::numeric_limits<uint32_t>::max())
      return static_cast<uint32_t>(field.value());
    diagnostics_.add(
        Severity::warning,
        fmt::format("line {} does not exist: treated as unknown", field.signed_value()), name_,
        position(field.begin()), "line");
    return 0;
  }

  Position position(const char *at) const {
    return Position::at_offset(static_cast<uint64_t>(at - bytes_.data()));
  }

  // Adds a row under its id. Sets the fault if the id is 0 or used already.
  template <class Row>
  void add_row(RowsById<Row> &rows, uint64_t id, const Row &row, const char *at,
               std::string_view what) {
    if (id == 0)
      fault_.set(at, fmt::format("{} has no id", what));
    else if (!fault_ && !rows.add(id, row))
      fault_.set(at, fmt::format("{} has the id {} of an earlier one", what, id));
  }

  template <class Row>
  const Row *find_row(const RowsById<Row> &rows, uint64_t id, const char *at,
                      std::string_view what) {
    const Row *row = rows.find(id);
    if (!row)
      fault_.set(at, fmt::format("names {} {}, which does not exist", what, id));
    return row;
  }

  void read_function(const Fields &of) {
    uint64_t id = 0;
    FunctionRow row;
    for (Fields field(of.bytes(), function_message, fault_); field.next();) {
      switch (field.number()) {
      case 1:
        id = field.value();
        break;
      case 2:
        row.name = intern(field);
        break;
      case 3:
        row.system_name = intern(field);
        break;
      case 4:
        row.file = intern(field);
        break;
      case 5:
        row.line = line_number(field);
        break;
      default:
        break;
      }
    }
    add_row(functions_, id, row, of.begin(), function_message.name);
  }

  void read_mapping(const Fields &of) {
    uint64_t id = 0;
    Mapping mapping;
    for (Fields field(of.bytes(), mapping_message, fault_); field.next();) {
      switch (field.number()) {
      case 1:
        id = field.value();
        break;
      case 2:
        mapping.start = field.value();
        break;
      case 3:
        mapping.limit = field.value();
        break;
      case 4:
        mapping.file_offset = field.value();
        break;
      case 5:
        mapping.path = intern(field);
        break;
      case 6:
        mapping.build_id = intern(field);
        break;
      default: // has_functions and similar fields follow from the locations
        break;
      }
    }
    if (mapping.limit < mapping.start)
      fault_.set(of.begin(), fmt::format("a mapping begins at {:#x} and ends at {:#x}",
                                         mapping.start, mapping.limit));
    if (!fault_)
      add_row(mappings_, id, builder_.add_mapping(mapping), of.begin(), mapping_message.name);
  }

  void read_line(std::string_view message) {
    const FunctionRow *function = nullptr;
    LineRow row;
    for (Fields field(message, line_message, fault_); field.next();) {
      if (field.number() == 1)
        function = find_row(functions_, field.value(), field.begin(), "function");
      else if (field.number() == 2)
        row.line = line_number(field);
    }
    if (!function)
      fault_.set(message.data(), "a line has no function");
    else
      row.function = *function;
    now_.lines.push_back(row);
  }

  void read_location(const Fields &of) {
    uint64_t id = 0, address = 0;
    MappingId mapping = none<MappingId>;
    now_.lines.clear();
    for (Fields field(of.bytes(), location_message, fault_); field.next();) {
      switch (field.number()) {
      case 1:
        id = field.value();
        break;
      case 2:
        mapping = none<MappingId>;
        if (field.value() != 0)
          if (const auto *row = find_row(mappings_, field.value(), field.begin(), "mapping"))
            mapping = *row;
        break;
      case 3:
        address = field.value();
        break;
      case 4:
        read_line(field.bytes());
        break;
      default:
        break;
      }
    }
    if (!fault_)
      add_row(locations_, id, add_location(mapping, address), of.begin(), location_message.name);
  }

  // Adds a location. The model identifies a location by its mapping and address. If the file has no
  // address, or the same one for several locations, the location is added without a mapping, and
  // only its functions keep the object.
  LocationId add_location(MappingId mapping, uint64_t address) {
    const StringId object =
        mapping == none<MappingId> ? StringId{} : builder_.so_far().mappings()[mapping].path;
    now_.source_lines.clear();
    for (const LineRow &row : now_.lines)
      now_.source_lines.push_back(
          {builder_.add_function({row.function.name, row.function.system_name, row.function.file,
                                  object, row.function.line}),
           row.function.file, row.line});
    if (now_.lines.empty()) {
      const StringId name = builder_.intern(unnamed_function(builder_.string(object)));
      now_.source_lines.push_back({builder_.add_function({name, {}, {}, object, 0}), {}, 0});
    }
    if (address == 0)
      mapping = none<MappingId>;
    const LocationId id = builder_.add_location(mapping, address, now_.source_lines);
    if (std::ranges::equal(builder_.so_far().location(id).lines, now_.source_lines))
      return id;
    return builder_.add_location(none<MappingId>, address, now_.source_lines);
  }

  void read_values(const Fields &of) {
    now_.values.clear();
    for (Fields field(of.bytes(), sample_message, fault_); field.next();)
      if (field.number() == 2)
        field.integers([&](uint64_t value, const char *) {
          now_.values.push_back(static_cast<int64_t>(value));
        });
    if (!fault_ && now_.values.size() != types_.size())
      fault_.set(of.begin(), fmt::format("a sample has {} values, but there are {} value types",
                                         now_.values.size(), types_.size()));
  }

  void add_value_types(bool are_ticks) {
    const bool kept = types_.add_to(builder_, are_ticks);
    // Only a period of time is worth a note. The period of a heap profile, in bytes, is not needed,
    // because its values are scaled already.
    if (!kept && nanoseconds_of(types_.period_type.unit) != 0)
      diagnostics_.add(Severity::note,
                       fmt::format("the clock's period is not kept: {} {} of {}", types_.period,
                                   types_.period_type.unit, types_.period_type.type),
                       name_);
  }

  // Adds the part that a sample names. Other parts come from comments.
  void find_part(const Fields &sample) {
    const Labels labels = read_labels(sample);
    if (labels.part == 0)
      return;
    PartRow &part = parts_.try_emplace(labels.part).first->second;
    if (part.trigger.empty())
      part.trigger = labels.trigger;
  }

  void add_parts() {
    for (const auto &[number, part] : parts_)
      part_ids_[number] =
          builder_.add_part({number, builder_.intern(part.trigger), part.begin_ns, part.end_ns});
  }

  struct Labels {
    bool has_tid = false;
    int32_t pid = 0, tid = 0;
    std::string_view thread, process, trigger;
    uint32_t part = 0; // 0 if there is none
  };

  Labels read_labels(const Fields &of) {
    Labels labels;
    for (Fields field(of.bytes(), sample_message, fault_); field.next();)
      if (field.number() == 3)
        read_label(field.bytes(), labels);
    if (!labels.has_tid && !labels.thread.empty())
      unkept_.add_label(thread_label);
    if (labels.part == 0 && !labels.trigger.empty())
      unkept_.add_label(trigger_label);
    return labels;
  }

  void read_label(std::string_view message, Labels &labels) {
    std::string_view key, string;
    int64_t number = 0;
    for (Fields field(message, label_message, fault_); field.next();) {
      switch (field.number()) {
      case 1:
        key = text(field.value(), field.begin());
        break;
      case 2:
        string = text(field.value(), field.begin());
        break;
      case 3:
        number = field.signed_value();
        break;
      case 4:
        static_cast<void>(text(field.value(), field.begin()));
        break;
      default:
        break;
      }
    }
    const auto fits = [&](auto &into) {
      into = static_cast<std::remove_reference_t<decltype(into)>>(number);
      return string.empty() && static_cast<int64_t>(into) == number;
    };
    int32_t id = 0;
    if (key == thread_label && !string.empty()) {
      labels.thread = string;
    } else if (key == process_label && !string.empty()) {
      labels.process = string;
    } else if (key == trigger_label && !string.empty()) {
      labels.trigger = string;
    } else if (key == tid_label && fits(id)) {
      labels.tid = id;
      labels.has_tid = true;
    } else if (key == pid_label && fits(id)) {
      labels.pid = id;
    } else if (uint32_t part = 0; key == part_label && fits(part) && part != 0) {
      labels.part = part;
    } else {
      unkept_.add_other_label(key);
    }
  }

  void read_sample(const Fields &of) {
    read_values(of);
    now_.stack.clear();
    for (Fields field(of.bytes(), sample_message, fault_); field.next();)
      if (field.number() == 1)
        field.integers([&](uint64_t id, const char *at) {
          if (const LocationId *location = find_row(locations_, id, at, "location"))
            now_.stack.push_back(*location);
        });
    const Labels labels = read_labels(of);
    if (fault_)
      return;
    StackId stack = none<StackId>;
    for (size_t i = now_.stack.size(); i-- > 0;)
      stack = builder_.push(stack, now_.stack[i]);
    const ThreadId thread = labels.has_tid
                                ? builder_.add_thread(labels.pid, labels.tid, labels.thread)
                                : none<ThreadId>;
    if (thread != none<ThreadId> && !labels.process.empty())
      builder_.set_process(thread, labels.process);
    const PartId part = labels.part == 0 ? none<PartId> : part_ids_.at(labels.part);
    now_.ordered.clear();
    for (const size_t i : types_.order())
      now_.ordered.push_back(now_.values[i]);
    builder_.add_sample(stack, thread, part, now_.ordered);
  }

  const std::string bytes_;
  const std::string &name_;
  Diagnostics &diagnostics_;
  Fault fault_;
  StackProfileBuilder builder_;

  std::vector<std::string_view> strings_;
  std::vector<std::optional<StringId>> ids_; // of strings_
  ValueTypes types_;
  Unkept unkept_;
  std::map<uint32_t, PartRow> parts_;
  SeededMap<uint32_t, PartId> part_ids_;

  RowsById<FunctionRow> functions_;
  RowsById<MappingId> mappings_;
  RowsById<LocationId> locations_;

  // Scratch space for the current message.
  struct Scratch {
    std::vector<LineRow> lines;
    std::vector<SourceLine> source_lines;
    std::vector<int64_t> values, ordered;
    std::vector<LocationId> stack;
  };
  Scratch now_;
};

// Returns whether a message has only fields of its type, and an id if one is required.
bool may_be(std::string_view message, const MessageType &type, bool wants_id) {
  Fault fault;
  bool has_id = false, known = true;
  for (Fields field(message, type, fault); field.next();) {
    has_id |= field.number() == 1;
    known = known && field.is_known();
  }
  return !fault && known && (has_id || !wants_id);
}

} // namespace

// The beginning of a text may look like fields. But it does not contain valid messages, nor an
// empty first string. The head may end anywhere.
bool probe(std::string_view head) {
  Fault fault;
  size_t messages = 0, strings = 0;
  for (Fields field(head, profile_message, fault); field.next();) {
    const uint64_t number = field.number();
    const bool wants_id = number >= 3 && number <= 5;
    if (const MessageType *type = message_in(number)) {
      if (!may_be(field.bytes(), *type, wants_id))
        return false;
      ++messages;
    } else if (!field.is_known() || (number == 6 && strings++ == 0 && !field.bytes().empty())) {
      return false;
    }
  }
  return messages + strings > 0 && (!fault || fault.cut);
}

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, source.rest());
  return Reader(std::move(bytes), source.name(), diagnostics).run();
}

} // namespace tally::pprof
