#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/event_values.h"
#include "formats/finished.h"
#include "formats/protobuf_fields.h"
#include "formats/simpleperf/simpleperf.h"
#include "formats/unnamed_function.h"
#include "support/memory_limit.h"
#include "support/text.h"

namespace tally::simpleperf {

namespace {

using namespace protobuf;

constexpr std::string_view magic = "SIMPLEPERF";
constexpr uint64_t known_version = 1;
constexpr size_t header_bytes = magic.size() + 2;

// The messages of cmd_report_sample.proto.
namespace record_field {
constexpr uint64_t sample = 1, lost = 2, file = 3, thread = 4, meta_info = 5, context_switch = 6;
} // namespace record_field
constexpr MessageType record_message{
    "a record", {field::none, field::b, field::b, field::b, field::b, field::b, field::b}};
constexpr MessageType sample_message{
    "a sample", {field::none, field::i, field::i, field::b, field::i, field::i, field::b}};
constexpr MessageType entry_message{"an entry of a call chain",
                                    {field::none, field::i, field::i, field::i, field::i}};
constexpr MessageType lost_message{"a record of losses", {field::none, field::i, field::i}};
constexpr MessageType file_message{"a file", {field::none, field::i, field::b, field::b, field::b}};
constexpr MessageType thread_message{"a thread", {field::none, field::i, field::i, field::b}};
constexpr MessageType meta_message{"the meta information", {field::none, field::b, field::b}};

// A file with code, and its functions.
struct CodeFile {
  std::string_view path;
  std::vector<std::string_view> symbols, mangled; // the latter is empty, or has as many
  std::vector<SourceFunctionId> functions;        // by symbol; none if not used yet
};

struct KnownThread {
  int32_t pid = 0;
  std::string_view name;
};

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

bool is_clock(std::string_view event) { return event == "cpu-clock" || event == "task-clock"; }

class Reader {
public:
  Reader(std::string_view bytes, const std::string &source, Diagnostics &diagnostics)
      : bytes_(bytes), source_(source), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    TALLY_CHECK(check_header());
    // The records that samples refer to may come after the samples.
    TALLY_CHECK(each_record([&](Fields &record) { read_table(record); }));
    TALLY_CHECK(each_record([&](Fields &record) {
      if (record.number() == record_field::sample)
        read_sample(record);
    }));
    if (rows_.empty())
      return fail(ErrorCode::no_data, "holds no samples", source_);
    set_clock_period();
    TALLY_CHECK(add_event_rows(builder_, events_, rows_, diagnostics_, source_));
    builder_.place_stackless({function_of(unnamed_function({}), {}, {}), {}, 0});
    report_losses();
    return finished(builder_.finish(), source_);
  }

private:
  tl::unexpected<Error> wrong(size_t offset, std::string message,
                              ErrorCode code = ErrorCode::invalid_input) const {
    return fail(code, std::move(message), source_, Position::at_offset(offset));
  }

  Result<void> check_header() const {
    if (!bytes_.starts_with(magic))
      return wrong(0, "is not a report of simpleperf, which begins with SIMPLEPERF");
    if (bytes_.size() < header_bytes)
      return wrong(bytes_.size(), "ends within the header");
    const uint64_t version = little_endian(bytes_.substr(magic.size(), 2));
    if (version != known_version)
      return wrong(magic.size(),
                   fmt::format("has version {} of the format, but only version {} can be read",
                               version, known_version),
                   ErrorCode::unsupported);
    return {};
  }

  // Calls `visit` for the content of each record: each is a size and a message. A size of 0 ends
  // them.
  template <class Visit> Result<void> each_record(Visit visit) {
    for (size_t at = header_bytes;;) {
      constexpr size_t size_bytes = 4;
      if (bytes_.size() - at < size_bytes)
        return wrong(at, "ends without a record of size 0");
      const uint64_t size = little_endian(bytes_.substr(at, size_bytes));
      at += size_bytes;
      if (size == 0)
        return {};
      if (size > bytes_.size() - at)
        return wrong(at - size_bytes, fmt::format("a record has {} bytes, but only {} are left",
                                                  size, bytes_.size() - at));
      for (Fields record(bytes_.substr(at, size), record_message, fault_); record.next();)
        visit(record);
      if (fault_)
        return wrong(static_cast<size_t>(fault_.at - bytes_.data()), fault_.text, fault_code_);
      at += size;
    }
  }

  void read_table(Fields &record) {
    switch (record.number()) {
    case record_field::lost:
      for (Fields of(record.bytes(), lost_message, fault_); of.next();)
        if (of.number() == 2)
          lost_ = of.value();
      break;
    case record_field::file:
      read_file(record);
      break;
    case record_field::thread:
      read_thread(record);
      break;
    case record_field::meta_info:
      for (Fields of(record.bytes(), meta_message, fault_); of.next();)
        if (of.number() == 1) {
          const std::string_view name = without_precision(of.bytes());
          events_.push_back({std::string(name), is_clock(name), true, 0});
        } else if (of.number() == 2) {
          builder_.set_command(of.bytes());
        }
      break;
    case record_field::context_switch:
      ++switches_;
      break;
    default:
      break;
    }
  }

  void read_file(Fields &record) {
    CodeFile read;
    uint64_t id = 0;
    for (Fields of(record.bytes(), file_message, fault_); of.next();)
      if (of.number() == 1)
        id = of.value();
      else if (of.number() == 2)
        read.path = of.bytes();
      else if (of.number() == 3)
        read.symbols.push_back(of.bytes());
      else if (of.number() == 4)
        read.mangled.push_back(of.bytes());
    if (read.mangled.size() != read.symbols.size())
      read.mangled.clear();
    read.functions.assign(read.symbols.size(), none<SourceFunctionId>);
    if (!files_.try_emplace(id, std::move(read)).second)
      fault_.set(record.begin(), fmt::format("two files have the id {}", id));
  }

  void read_thread(Fields &record) {
    KnownThread read;
    int32_t tid = 0;
    for (Fields of(record.bytes(), thread_message, fault_); of.next();)
      if (of.number() == 1)
        tid = static_cast<int32_t>(of.value());
      else if (of.number() == 2)
        read.pid = static_cast<int32_t>(of.value());
      else if (of.number() == 3)
        read.name = of.bytes();
    threads_[tid] = read; // the last name, as for perf.data
  }

  void read_sample(Fields &record) {
    EventRow row{none<StackId>, none<ThreadId>, 0, 1, no_time};
    const char *event_at = record.begin();
    uint64_t event = 0;
    chain_.clear();
    for (Fields of(record.bytes(), sample_message, fault_); of.next();)
      switch (of.number()) {
      case 1:
        row.at_ns = of.value();
        break;
      case 2:
        row.thread = thread_of(static_cast<int32_t>(of.value()));
        break;
      case 3:
        read_entry(of);
        break;
      case 4:
        row.period = of.signed_value();
        if (row.period < 0)
          refuse(of.begin(), "the count of a sample does not fit in 63 bits", ErrorCode::overflow);
        break;
      case 5:
        event = of.value();
        event_at = of.begin();
        break;
      default:
        break;
      }
    if (event >= events_.size()) {
      refuse(event_at,
             fmt::format("a sample is of event {}, but there are {}", event, events_.size()));
      return;
    }
    row.event = static_cast<uint32_t>(event);
    for (size_t i = chain_.size(); i-- > 0;)
      row.stack = builder_.push(row.stack, chain_[i]);
    MemoryLimit::tick();
    rows_.push_back(row);
  }

  void read_entry(Fields &of) {
    uint64_t id = 0;
    int64_t symbol = 0;
    for (Fields entry(of.bytes(), entry_message, fault_); entry.next();)
      if (entry.number() == 2)
        id = entry.value();
      else if (entry.number() == 3)
        symbol = static_cast<int32_t>(entry.value()); // -1 has 32 or 64 bits
    if (fault_)
      return;
    const auto found = files_.find(id);
    if (found == files_.end())
      return refuse(of.begin(), fmt::format("file {} does not exist", id));
    CodeFile &code = found->second;
    if (symbol >= 0 && static_cast<size_t>(symbol) >= code.symbols.size())
      return refuse(of.begin(), fmt::format("symbol {} does not exist: the file has {}", symbol,
                                            code.symbols.size()));
    SourceLine line;
    if (symbol < 0) {
      line.function = function_of(unnamed_function(code.path), {}, code.path);
    } else {
      const auto index = static_cast<size_t>(symbol);
      if (code.functions[index] == none<SourceFunctionId>)
        code.functions[index] =
            function_of(code.symbols[index],
                        code.mangled.empty() ? std::string_view() : code.mangled[index], code.path);
      line.function = code.functions[index];
    }
    chain_.push_back(builder_.add_location(none<MappingId>, 0, std::span(&line, 1)));
  }

  SourceFunctionId function_of(std::string_view name, std::string_view mangled,
                               std::string_view path) {
    return builder_.add_function({builder_.intern(name),
                                  builder_.intern(mangled == name ? std::string_view() : mangled),
                                  {},
                                  builder_.intern(path),
                                  0});
  }

  // The process of a thread has the name of its first thread.
  ThreadId thread_of(int32_t tid) {
    const auto known = threads_.find(tid);
    if (known == threads_.end())
      return builder_.add_thread(0, tid, "");
    const ThreadId thread = builder_.add_thread(known->second.pid, tid, known->second.name);
    if (const auto first = threads_.find(known->second.pid); first != threads_.end())
      builder_.set_process(thread, first->second.name);
    return thread;
  }

  void refuse(const char *at, std::string message, ErrorCode code = ErrorCode::invalid_input) {
    if (!fault_)
      fault_code_ = code;
    fault_.set(at, std::move(message));
  }

  // A clock has a period if all its samples have it.
  void set_clock_period() {
    std::vector<std::optional<int64_t>> only(events_.size());
    for (const EventRow &row : rows_)
      only[row.event] = only[row.event].value_or(row.period) == row.period ? row.period : 0;
    for (size_t i = 0; i < events_.size(); ++i)
      if (events_[i].is_clock)
        events_[i].period_ns = static_cast<uint64_t>(only[i].value_or(0));
  }

  void report_losses() {
    if (lost_ > 0)
      diagnostics_.add(Severity::warning,
                       fmt::format("{} {} lost while the program ran", counted(lost_, "samples"),
                                   lost_ == 1 ? "was" : "were"),
                       source_);
    if (switches_ > 0)
      diagnostics_.add(Severity::note,
                       fmt::format("{} of context switches {} not read",
                                   counted(switches_, "records"), switches_ == 1 ? "is" : "are"),
                       source_);
  }

  std::string_view bytes_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  Fault fault_;
  ErrorCode fault_code_ = ErrorCode::invalid_input;
  StackProfileBuilder builder_;
  std::vector<EventKind> events_;
  std::map<uint64_t, CodeFile> files_; // by id
  std::map<int32_t, KnownThread> threads_;
  std::vector<EventRow> rows_;
  std::vector<LocationId> chain_; // of the current sample, innermost first
  uint64_t lost_ = 0, switches_ = 0;
};

} // namespace

bool probe(std::string_view head) { return head.starts_with(magic); }

Result<Profile> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, source.rest());
  return Reader(bytes, source.name(), diagnostics).run();
}

} // namespace tally::simpleperf
