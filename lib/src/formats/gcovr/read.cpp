#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "formats/file_rows.h"
#include "formats/gcovr/fields.h"
#include "formats/gcovr/gcovr.h"
#include "model/coverage_findings.h"
#include "support/json_progress.h"
#include "support/json_text.h"
#include "transform/coverage_sum.h"

namespace tally::gcovr {

namespace {

constexpr size_t most_depth = 64; // a tracefile needs 8

// Handles the parser's events. It has many methods, because the parser's interface requires 14.
// Collects the files in the order of the text; finish() sorts the files and adds up those with the
// same path.
class Handler {
public:
  Handler(std::string_view text, const std::string &source, Diagnostics &diagnostics)
      : text_(text), progress_(text), source_(source), diagnostics_(diagnostics) {}

  JsonProgress &progress() { return progress_; }
  Result<Coverage> finish();

  // nlohmann::json calls these functions, and stops if one of them returns false.
  using Text = nlohmann::json::string_t;
  bool null() { return allowed(); } // a key whose value is null counts as absent
  bool boolean(bool value);
  bool number_integer(int64_t value) { return number(value); }
  bool number_unsigned(uint64_t value);
  bool number_float(double value, const Text &text);
  bool string(Text &text);
  bool binary(nlohmann::json::binary_t &) { return false; } // does not occur in JSON
  bool start_object(size_t);
  bool key(Text &name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool parse_error(size_t position, const std::string &token,
                   const nlohmann::json::exception &reported);

private:
  // The values of the open objects, indexed by Key. Only one object of each kind is open at a time,
  // except below Context::other, where values are ignored.
  struct Values {
    std::array<bool, key_count> seen{};
    std::array<int64_t, key_count> numbers{};
    std::array<bool, key_count> truths{};
    std::array<std::string, key_count> texts{};
    uint64_t not_true = 0, not_false = 0; // bits of not_covered_true and not_covered_false
    uint32_t largest_term = 0;
    std::vector<std::string> positions;
  };

  Context context() const { return stack_.empty() ? Context::outside : stack_.back(); }
  bool allowed();
  bool fault_at(size_t offset, std::string message);
  // Reports an error at the value that was read last.
  bool fault(std::string message) { return fault_at(value_offset(), std::move(message)); }
  size_t here() const { return progress_.offset(); }
  size_t value_offset() const;
  bool finding(Severity severity, std::string message, std::string_view key);
  bool warn(CoverageFinding what) {
    return finding(Severity::warning, std::move(what.text), what.key);
  }
  bool expected(const Field &field);
  bool open(Context context);
  bool number(int64_t value);
  bool term(int64_t value, uint64_t &terms);
  bool mark(Key key) {
    values_.seen[key] = true;
    return true;
  }
  bool need(std::string_view what, std::initializer_list<Key> keys);
  int64_t counted(Key key);
  bool line_of(int64_t value, uint32_t &line);
  bool end_of(Context ended);
  bool end_line();
  bool end_branch();
  bool end_condition();
  bool end_function();
  bool end_file();

  const std::string_view text_;
  JsonProgress progress_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  std::optional<Error> error_;

  std::vector<Context> stack_;
  std::array<size_t, static_cast<size_t>(Context::other) + 1> starts_{};
  std::optional<Context> ended_; // the object that has ended and is being processed
  const Field *field_ = nullptr; // the field of the last key, null if the key is unknown
  Values values_;

  FileRows rows_;
  std::vector<FileCoverage> files_;
};

bool Handler::fault_at(size_t offset, std::string message) {
  if (!error_)
    error_ = fail(ErrorCode::invalid_input, std::move(message), source_,
                  Position::at_offset(std::min(offset, text_.size())))
                 .value();
  return false;
}

// Returns the offset of the value that was read last. If an object has just ended, this is the
// offset of its beginning.
size_t Handler::value_offset() const {
  return ended_ ? starts_[static_cast<size_t>(*ended_)] : json_value_offset(text_, here());
}

bool Handler::finding(Severity severity, std::string message, std::string_view key) {
  diagnostics_.add(severity, std::move(message), source_, Position::at_offset(value_offset()), key);
  return true;
}

bool Handler::expected(const Field &field) {
  const std::string_view type = field.type == Type::number  ? "a whole number"
                                : field.type == Type::truth ? "true or false"
                                : field.type == Type::array ? "a list"
                                : field.type == Type::text  ? "text"
                                                            : "a version";
  return fault(fmt::format("expected {} as {}", type, field.name));
}

// Returns whether a value that belongs to no known key is valid here. Only objects may hold such
// values; elsewhere, reports an error.
bool Handler::allowed() {
  switch (context()) {
  case Context::outside:
  case Context::files:
  case Context::lines:
  case Context::branches:
  case Context::conditions:
  case Context::functions:
  case Context::not_true:
  case Context::not_false:
  case Context::position:
    return fault("this is not a part of a tracefile");
  default:
    return true;
  }
}

bool Handler::boolean(bool value) {
  if (context() == Context::other ||
      (field_ && field_->in == context() && field_->type == Type::truth)) {
    if (context() != Context::other) {
      values_.truths[field_->key] = value;
      mark(field_->key);
    }
    return true;
  }
  return allowed() && (!field_ || expected(*field_));
}

bool Handler::number_unsigned(uint64_t value) {
  const bool is_term = context() == Context::not_true || context() == Context::not_false;
  const bool is_asked_for = field_ && field_->type == Type::number;
  if (value <= INT64_MAX || context() == Context::other || !(is_term || is_asked_for))
    return number(static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)));
  if (is_term || field_->in != context() || !is_count(field_->key))
    return fault(fmt::format("{} does not fit in 63 bits", value));
  warn(large_count());
  return number(1);
}

bool Handler::number_float(double, const Text &text) {
  if (field_ && field_->in == context() && field_->type == Type::version) { // a number in 0.1
    values_.texts[field_->key] = text;
    return mark(field_->key);
  }
  if (context() == Context::not_true || context() == Context::not_false)
    return fault(fmt::format("expected a term, found {}", text.substr(0, 40)));
  if (context() == Context::other)
    return true;
  if (field_ && field_->in == context() && field_->type == Type::number)
    return fault(fmt::format("{} of {} is not a whole number that fits in 63 bits",
                             text.substr(0, 40), field_->name));
  return allowed() && (!field_ || expected(*field_));
}

bool Handler::number(int64_t value) {
  if (context() == Context::not_true)
    return term(value, values_.not_true);
  if (context() == Context::not_false)
    return term(value, values_.not_false);
  if (context() == Context::other)
    return true;
  if (field_ && field_->in == context() && field_->type == Type::number) {
    values_.numbers[field_->key] = value;
    return mark(field_->key);
  }
  if (field_ && field_->in == context() && field_->type == Type::version) {
    values_.texts[field_->key] = fmt::format("{}", value);
    return mark(field_->key);
  }
  return allowed() && (!field_ || expected(*field_));
}

bool Handler::term(int64_t value, uint64_t &terms) {
  if (value < 0 || value > UINT32_MAX)
    return fault(fmt::format("there is no term {}", value));
  if (value < most_terms)
    terms |= uint64_t{1} << value;
  values_.largest_term = std::max(values_.largest_term, static_cast<uint32_t>(value));
  return true;
}

bool Handler::string(Text &text) {
  if (context() == Context::position) {
    values_.positions.push_back(std::move(text));
    return true;
  }
  if (context() == Context::other)
    return true;
  if (field_ && field_->in == context() &&
      (field_->type == Type::text || field_->type == Type::version)) {
    values_.texts[field_->key] = std::move(text);
    return mark(field_->key);
  }
  return allowed() && (!field_ || expected(*field_));
}

bool Handler::key(Text &name) {
  field_ = nullptr;
  for (const Field &field : fields)
    if (field.in == context() && field.name == name) {
      field_ = &field;
      break;
    }
  return true;
}

bool Handler::open(Context context) {
  if (stack_.size() >= most_depth)
    return fault(fmt::format("is more than {} levels deep", most_depth));
  stack_.push_back(context);
  starts_[static_cast<size_t>(context)] = here() - 1;
  for (const Field &field : fields)
    if (field.in == context)
      values_.seen[field.key] = false;
  return true;
}

bool Handler::start_object(size_t) {
  switch (context()) {
  case Context::outside:
    return open(Context::document);
  case Context::files:
    return open(Context::file);
  case Context::lines:
    return open(Context::line);
  case Context::branches:
    return open(Context::branch);
  case Context::conditions:
    values_.not_true = values_.not_false = 0;
    values_.largest_term = 0;
    return open(Context::condition);
  case Context::functions:
    values_.positions.clear();
    return open(Context::function);
  case Context::other:
    return open(Context::other);
  default:
    break;
  }
  // An object in place of another value is an error, except for decisions, which are ignored.
  if (field_ && field_->in == context() && field_->opens == Context::other &&
      field_->type == Type::array) {
    finding(Severity::note, fmt::format("{} is not kept", field_->name), field_->name);
    return open(Context::other);
  }
  if (field_ && field_->in == context())
    return expected(*field_);
  return allowed() && open(Context::other);
}

bool Handler::start_array(size_t) {
  if (context() == Context::other)
    return open(Context::other);
  if (!field_ || field_->in != context())
    return allowed() && open(Context::other);
  if (field_->type != Type::array)
    return expected(*field_);
  if (field_->opens == Context::other)
    finding(Severity::note, fmt::format("{} is not kept", field_->name), field_->name);
  else if (values_.seen[field_->key])
    return fault(fmt::format("{} occurs twice", field_->name));
  mark(field_->key);
  return open(field_->opens);
}

bool Handler::end_array() {
  stack_.pop_back();
  field_ = nullptr;
  return true;
}

bool Handler::end_object() {
  ended_ = context();
  stack_.pop_back();
  field_ = nullptr;
  const bool good = end_of(*ended_);
  ended_.reset();
  return good;
}

bool Handler::end_of(Context ended) {
  switch (ended) {
  case Context::file:
    return end_file();
  case Context::line:
    return end_line();
  case Context::branch:
    return end_branch();
  case Context::condition:
    return end_condition();
  case Context::function:
    return end_function();
  default:
    return true;
  }
}

bool Handler::need(std::string_view what, std::initializer_list<Key> keys) {
  for (const Key key : keys)
    if (!values_.seen[key])
      return fault(fmt::format("{} without {}", what, fields[key].name));
  return true;
}

bool Handler::line_of(int64_t value, uint32_t &line) {
  if (value < 0 || value > UINT32_MAX)
    return fault(fmt::format("there is no line {}", value));
  line = static_cast<uint32_t>(value);
  return true;
}

int64_t Handler::counted(Key key) {
  if (values_.numbers[key] >= 0)
    return values_.numbers[key];
  warn(negative_count());
  return times_run(values_.numbers[key]);
}

bool Handler::end_branch() {
  if (!need("a branch", {branch_count}))
    return false;
  const auto is = [&](Key key) { return values_.seen[key] && values_.truths[key]; };
  if (!is(branch_excluded))
    rows_.add_branch({counted(branch_count), is(branch_fall_through), is(branch_throw)});
  return true;
}

bool Handler::end_condition() {
  if (!need("a condition", {condition_count}))
    return false;
  if (values_.seen[condition_excluded] && values_.truths[condition_excluded])
    return true;
  const int64_t outcomes = values_.numbers[condition_count];
  if (outcomes < 0 || outcomes % 2 != 0)
    return fault(fmt::format("a condition cannot have {} outcomes: each term has two", outcomes));
  if (outcomes > int64_t{2} * most_terms)
    return warn(too_many_terms());
  const auto terms = static_cast<uint32_t>(outcomes / 2);
  if ((values_.not_true | values_.not_false | values_.largest_term) != 0 &&
      values_.largest_term >= terms)
    return fault(fmt::format("there is no term {} of {}", values_.largest_term, terms));
  const uint64_t all = terms == most_terms ? UINT64_MAX : (uint64_t{1} << terms) - 1;
  const ConditionCoverage condition{terms, all & ~values_.not_true, all & ~values_.not_false};
  rows_.add_condition(condition);
  if (values_.seen[condition_covered] && values_.numbers[condition_covered] != condition.covered())
    finding(Severity::warning,
            fmt::format("covered: says {}, but the lists say {}",
                        values_.numbers[condition_covered], condition.covered()),
            "covered");
  return true;
}

bool Handler::end_line() {
  if (!need("a line", {line_number, line_count}))
    return false;
  uint32_t line = 0;
  if (!line_of(values_.numbers[line_number], line))
    return false;
  const auto is = [&](Key key) { return values_.seen[key] && values_.truths[key]; };
  if (line == 0)
    warn(no_line_0());
  if (line == 0 || is(line_noncode) || is(line_excluded))
    rows_.drop_line();
  else
    rows_.end_line(line, counted(line_count));
  return true;
}

// Reads the line number from "line:column".
bool line_of_position(std::string_view text, uint32_t &line) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), line);
  return fault == std::errc() && (end == text.data() + text.size() || *end == ':');
}

bool Handler::end_function() {
  const std::string &name = values_.seen[function_name] ? values_.texts[function_name]
                                                        : values_.texts[function_demangled];
  if (!values_.seen[function_name] && !values_.seen[function_demangled])
    return fault("a function without name and demangled_name");
  if (values_.seen[function_excluded] && values_.truths[function_excluded])
    return true;
  // Since 8.5 gcovr assigns lines outside of functions to a function of this name.
  if (name == "<unknown function>" && !values_.seen[function_count])
    return true;
  if (!need("a function", {function_line, function_count}))
    return false;
  FunctionCoverage function;
  function.name = name;
  if (!line_of(values_.numbers[function_line], function.start_line))
    return false;
  function.count = counted(function_count);
  if (values_.positions.size() == 2) {
    uint32_t start = 0, end = 0;
    if (!line_of_position(values_.positions[0], start) ||
        !line_of_position(values_.positions[1], end))
      return fault(
          fmt::format("expected \"line:column\" twice as {}", fields[function_position].name));
    if (end >= function.start_line)
      function.end_line = end;
    else
      warn(end_before_begin());
  } else if (!values_.positions.empty()) {
    return fault(fmt::format("expected two positions as {}", fields[function_position].name));
  }
  rows_.add_function(std::move(function));
  return true;
}

bool Handler::end_file() {
  if (values_.seen[file_summary] && !values_.seen[line_list]) {
    error_ =
        fail(ErrorCode::unsupported,
             "is gcovr's summary, which has no lines: use the output of `gcovr --json`", source_)
            .value();
    return false;
  }
  if (!need("a file", {file_path, line_list}))
    return false;
  if (values_.texts[file_path].empty())
    return fault("a file without a path");
  auto file = rows_.take(std::move(values_.texts[file_path]));
  if (!file) {
    error_ = std::move(file.error());
    return false;
  }
  files_.push_back(std::move(*file));
  return true;
}

bool Handler::parse_error(size_t, const std::string &, const nlohmann::json::exception &reported) {
  JsonProgress::Fault fault = progress_.fault(reported.id, reported.what());
  return fault_at(fault.offset, std::move(fault.message));
}

Result<Coverage> Handler::finish() {
  if (error_)
    return fail(std::move(*error_));
  if (!values_.seen[format_version] || !values_.seen[file_list])
    return fail(ErrorCode::invalid_input,
                fmt::format("is not a tracefile of gcovr: there is no {}",
                            fields[values_.seen[file_list] ? format_version : file_list].name),
                source_);
  if (!version_of(values_.texts[format_version]))
    diagnostics_.add(Severity::warning,
                     fmt::format("has version {} of gcovr's JSON, which is unknown: only known "
                                 "keys are read",
                                 values_.texts[format_version].substr(0, 40)),
                     source_);
  return coverage_of_files(files_, diagnostics_);
}

} // namespace

bool probe(std::string_view head) {
  const auto skip = [&](std::string_view token) { return skip_json(head, token); };
  if (!skip("{"))
    return false;
  if (head.find("\"gcovr/") != head.npos)
    return true;
  // If the keys are sorted, those that begin with gcovr/ may be far away.
  return skip("\"files\"") && skip(":") && skip("[");
}

Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(text, source.rest());
  Handler handler(text, source.name(), diagnostics);
  static_cast<void>(
      nlohmann::json::sax_parse(handler.progress().begin(), handler.progress().end(), &handler));
  return handler.finish();
}

} // namespace tally::gcovr
