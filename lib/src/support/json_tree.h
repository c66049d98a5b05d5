// Reads JSON into a flat tree that knows where each value is in the text, for formats whose tables
// refer to each other in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tally {

class JsonTree;

// A value of a tree, or the absence of one. The tree must outlive it.
class JsonValue {
public:
  JsonValue() = default;
  JsonValue(const JsonTree *tree, size_t node) : tree_(tree), node_(node) {}

  bool is_absent() const { return !tree_; }
  bool is_null() const; // also true if it is absent
  bool is_list() const;
  bool is_object() const;
  bool is_true() const;
  std::optional<int64_t> integer() const; // also of a real number without a fraction
  std::optional<double> number() const;
  std::optional<std::string_view> text() const;

  // Returns the value of a key; absent if there is no such key, or this is not an object.
  JsonValue operator[](std::string_view key) const;
  // Returns the elements of a list of numbers, strings, words and nulls as consecutive values. Any
  // other value gives nothing.
  class Column;
  std::optional<Column> column() const;
  // Iterate over the elements of a list, or over the keys and values of an object by turns.
  JsonValue first() const; // absent if there is none
  JsonValue next() const;  // absent after the last element of the list or object `of`

  size_t offset() const; // 0 if it is absent
  // Returns an error about this value.
  tl::unexpected<Error> error(std::string message, ErrorCode code = ErrorCode::invalid_input) const;

private:
  const JsonTree *tree_ = nullptr;
  size_t node_ = 0;
  size_t end_ = 0; // of the list or object that first() was called for
};

class JsonValue::Column {
public:
  Column() = default;
  Column(const JsonTree *tree, size_t first, size_t size)
      : tree_(tree), first_(first), size_(size) {}
  size_t size() const { return size_; }
  JsonValue operator[](size_t index) const { return {tree_, first_ + index}; }

private:
  const JsonTree *tree_ = nullptr;
  size_t first_ = 0;
  size_t size_ = 0;
};

class JsonTree {
public:
  // Parses a document. Errors name `source`, and the offset. The values of the keys in `ignored`
  // are checked, but read as null. The tree holds a view of the text, which must outlive it.
  static Result<JsonTree> parse(std::string_view text, std::string source,
                                std::span<const std::string_view> ignored = {});

  JsonValue root() const { return {this, 0}; }
  tl::unexpected<Error> error_at(size_t offset, std::string message,
                                 ErrorCode code = ErrorCode::invalid_input) const;

private:
  friend class JsonValue;
  friend class JsonTreeBuilder;
  enum class Kind : uint8_t { null, truth, integer, real, text, list, object };

  // A list or an object is followed by its elements, or by its keys and values by turns.
  struct Node {
    uint64_t kind : 4;
    uint64_t place : 60; // of a list or object its offset, otherwise the offset of the value's end
    // The number; of a text its index in text_ends_; of a list or object the node after its last.
    uint64_t content;
  };

  Kind kind_of(size_t node) const { return static_cast<Kind>(nodes_[node].kind); }
  bool holds_others(size_t node) const { return kind_of(node) >= Kind::list; }
  size_t after(size_t node) const { return holds_others(node) ? nodes_[node].content : node + 1; }

  std::string_view json_;
  std::string source_;
  std::vector<Node> nodes_;
  std::string texts_;               // of all strings, without escapes
  std::vector<uint64_t> text_ends_; // in texts_
};

} // namespace tally
