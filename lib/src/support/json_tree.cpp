#include "support/json_tree.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/json_progress.h"
#include "support/memory_limit.h"

namespace tally {

namespace {

constexpr size_t most_depth = 256; // known formats need less than 20

} // namespace

// Handles the parser's events, whose interface requires 14 methods.
class JsonTreeBuilder {
public:
  JsonTreeBuilder(JsonTree &tree, std::span<const std::string_view> ignored)
      : tree_(tree), ignored_(ignored), progress_(tree.json_) {}

  Result<void> run() {
    static_cast<void>(nlohmann::json::sax_parse(progress_.begin(), progress_.end(), this));
    if (error_)
      return fail(std::move(*error_));
    return {};
  }

  // nlohmann::json calls these functions, and stops if one of them returns false.
  using Text = nlohmann::json::string_t;
  bool null() { return add(Kind::null, 0); }
  bool boolean(bool value) { return add(Kind::truth, value ? 1 : 0); }
  bool number_integer(int64_t value) { return add(Kind::integer, std::bit_cast<uint64_t>(value)); }
  bool number_unsigned(uint64_t value) {
    return value <= INT64_MAX ? add(Kind::integer, value)
                              : number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const Text &) {
    return add(Kind::real, std::bit_cast<uint64_t>(value));
  }
  bool string(Text &text) {
    if (is_ignored())
      return add(Kind::null, 0);
    tree_.texts_ += text;
    tree_.text_ends_.push_back(tree_.texts_.size());
    return add(Kind::text, tree_.text_ends_.size() - 1);
  }
  bool binary(nlohmann::json::binary_t &) { return false; } // does not occur in JSON
  bool start_object(size_t) { return open(Kind::object); }
  bool key(Text &name) {
    if (is_ignored())
      return true;
    string(name);
    if (std::ranges::find(ignored_, name) != ignored_.end())
      ignored_below_ = open_.size() + 1;
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(size_t) { return open(Kind::list); }
  bool end_array() { return close(); }
  bool parse_error(size_t, const std::string &, const nlohmann::json::exception &reported) {
    JsonProgress::Fault fault = progress_.fault(reported.id, reported.what());
    return stop(fault.offset, std::move(fault.message));
  }

private:
  using Kind = JsonTree::Kind;

  // Returns whether the next value, or one that contains it, belongs to an ignored key.
  bool is_ignored() const { return ignored_below_ != 0; }

  bool stop(size_t offset, std::string message) {
    if (!error_)
      error_ = tree_.error_at(std::min(offset, tree_.json_.size()), std::move(message)).value();
    return false;
  }

  bool put(Kind kind, size_t place, uint64_t content) {
    MemoryLimit::tick();
    tree_.nodes_.push_back({static_cast<uint64_t>(kind) & 0xF,
                            static_cast<uint64_t>(place) & ((uint64_t{1} << 60) - 1), content});
    return true;
  }
  bool add(Kind kind, uint64_t content) {
    if (!is_ignored())
      return put(kind, progress_.offset(), content);
    return open_.size() >= ignored_below_ || end_ignored(progress_.offset());
  }
  // Adds the null that stands for the value of an ignored key.
  bool end_ignored(size_t place) {
    ignored_below_ = 0;
    return put(Kind::null, place, 0);
  }
  bool open(Kind kind) {
    if (open_.size() >= most_depth)
      return stop(progress_.offset() - 1, fmt::format("is more than {} levels deep", most_depth));
    open_.push_back(tree_.nodes_.size());
    return is_ignored() || put(kind, progress_.offset() - 1, 0);
  }
  bool close() {
    const size_t node = open_.back();
    open_.pop_back();
    if (!is_ignored())
      tree_.nodes_[node].content = tree_.nodes_.size();
    else if (open_.size() + 1 == ignored_below_)
      return end_ignored(progress_.offset());
    return true;
  }

  JsonTree &tree_;
  std::span<const std::string_view> ignored_;
  JsonProgress progress_;
  std::optional<Error> error_;
  std::vector<size_t> open_; // the nodes of the lists and objects that have not ended
  size_t ignored_below_ = 0; // the depth of an ignored value; 0 if the value is read
};

Result<JsonTree> JsonTree::parse(std::string_view text, std::string source,
                                 std::span<const std::string_view> ignored) {
  JsonTree tree;
  tree.json_ = text;
  tree.source_ = std::move(source);
  TALLY_CHECK(JsonTreeBuilder(tree, ignored).run());
  return tree;
}

tl::unexpected<Error> JsonTree::error_at(size_t offset, std::string message, ErrorCode code) const {
  return fail(code, std::move(message), source_, Position::at_offset(offset));
}

bool JsonValue::is_null() const {
  return is_absent() || tree_->kind_of(node_) == JsonTree::Kind::null;
}
bool JsonValue::is_list() const {
  return !is_absent() && tree_->kind_of(node_) == JsonTree::Kind::list;
}
bool JsonValue::is_object() const {
  return !is_absent() && tree_->kind_of(node_) == JsonTree::Kind::object;
}

bool JsonValue::is_true() const {
  return !is_absent() && tree_->kind_of(node_) == JsonTree::Kind::truth &&
         tree_->nodes_[node_].content != 0;
}

std::optional<int64_t> JsonValue::integer() const {
  if (is_absent())
    return {};
  const uint64_t content = tree_->nodes_[node_].content;
  if (tree_->kind_of(node_) == JsonTree::Kind::integer)
    return std::bit_cast<int64_t>(content);
  if (tree_->kind_of(node_) != JsonTree::Kind::real)
    return {};
  const auto real = std::bit_cast<double>(content);
  constexpr double exact = 9007199254740992; // 2^53
  if (std::abs(real) > exact || real != std::trunc(real))
    return {};
  return static_cast<int64_t>(real);
}

std::optional<double> JsonValue::number() const {
  if (is_absent())
    return {};
  const uint64_t content = tree_->nodes_[node_].content;
  if (tree_->kind_of(node_) == JsonTree::Kind::integer)
    return static_cast<double>(std::bit_cast<int64_t>(content));
  if (tree_->kind_of(node_) == JsonTree::Kind::real)
    return std::bit_cast<double>(content);
  return {};
}

std::optional<std::string_view> JsonValue::text() const {
  if (is_absent() || tree_->kind_of(node_) != JsonTree::Kind::text)
    return {};
  const uint64_t index = tree_->nodes_[node_].content;
  const uint64_t begin = index == 0 ? 0 : tree_->text_ends_[index - 1];
  return std::string_view(tree_->texts_).substr(begin, tree_->text_ends_[index] - begin);
}

JsonValue JsonValue::operator[](std::string_view key) const {
  if (!is_object())
    return {};
  for (JsonValue name = first(); !name.is_absent();) {
    const JsonValue value = name.next();
    if (name.text() == key)
      return {tree_, value.node_};
    name = value.next();
  }
  return {};
}

JsonValue JsonValue::first() const {
  if (is_absent() || !tree_->holds_others(node_))
    return {};
  JsonValue out(tree_, node_ + 1);
  out.end_ = tree_->after(node_);
  return out.node_ < out.end_ ? out : JsonValue();
}

JsonValue JsonValue::next() const {
  if (is_absent())
    return {};
  JsonValue out(tree_, tree_->after(node_));
  out.end_ = end_;
  return out.node_ < end_ ? out : JsonValue();
}

std::optional<JsonValue::Column> JsonValue::column() const {
  if (!is_list())
    return {};
  const size_t end = tree_->after(node_);
  for (size_t node = node_ + 1; node < end; ++node)
    if (tree_->holds_others(node))
      return {};
  return Column(tree_, node_ + 1, end - node_ - 1);
}

size_t JsonValue::offset() const {
  if (is_absent())
    return 0;
  const size_t place = tree_->nodes_[node_].place;
  return tree_->holds_others(node_) ? place : json_value_offset(tree_->json_, place);
}

tl::unexpected<Error> JsonValue::error(std::string message, ErrorCode code) const {
  return tree_->error_at(offset(), std::move(message), code);
}

} // namespace tally
