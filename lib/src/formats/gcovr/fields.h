// The keys of a tracefile that are read, and the objects in which they are read.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tally::gcovr {

// The kind of object or list in the document that contains a value.
enum class Place : uint8_t {
  outside,
  document,
  files,
  file,
  lines,
  line,
  branches,
  branch,
  conditions,
  condition,
  not_true,
  not_false,
  functions,
  function,
  position, // a function's position: ["line:column", "line:column"]
  other,    // everything below it is ignored
};

enum class Type : uint8_t { number, text, truth, version, array };

// The keys, in the order of `fields`.
enum Key : uint8_t {
  format_version,
  file_list,
  file_path,
  file_summary,
  line_list,
  function_list,
  line_number,
  line_count,
  branch_list,
  condition_list,
  line_noncode,
  line_excluded,
  line_decision,
  line_calls,
  line_old_calls,
  branch_count,
  branch_fall_through,
  branch_throw,
  branch_excluded,
  condition_count,
  condition_covered,
  not_true_list,
  not_false_list,
  condition_excluded,
  function_name,
  function_demangled,
  function_line,
  function_count,
  function_position,
  function_excluded,
  key_count,
};

// Returns whether the key's value says how often something ran.
constexpr bool is_count(Key key) {
  return key == line_count || key == branch_count || key == function_count;
}

struct Field {
  Key key;
  Place in;
  std::string_view name;
  Type type;
  Place opens = Place::other; // for an array, the place of its elements
};

inline constexpr std::array<Field, key_count> fields = {{
    {format_version, Place::document, "gcovr/format_version", Type::version},
    {file_list, Place::document, "files", Type::array, Place::files},
    {file_path, Place::file, "file", Type::text},
    {file_summary, Place::file, "filename", Type::text},
    {line_list, Place::file, "lines", Type::array, Place::lines},
    {function_list, Place::file, "functions", Type::array, Place::functions},
    {line_number, Place::line, "line_number", Type::number},
    {line_count, Place::line, "count", Type::number},
    {branch_list, Place::line, "branches", Type::array, Place::branches},
    {condition_list, Place::line, "conditions", Type::array, Place::conditions},
    {line_noncode, Place::line, "gcovr/noncode", Type::truth},
    {line_excluded, Place::line, "gcovr/excluded", Type::truth},
    {line_decision, Place::line, "gcovr/decision", Type::array},
    {line_calls, Place::line, "calls", Type::array},
    {line_old_calls, Place::line, "gcovr/calls", Type::array},
    {branch_count, Place::branch, "count", Type::number},
    {branch_fall_through, Place::branch, "fallthrough", Type::truth},
    {branch_throw, Place::branch, "throw", Type::truth},
    {branch_excluded, Place::branch, "gcovr/excluded", Type::truth},
    {condition_count, Place::condition, "count", Type::number},
    {condition_covered, Place::condition, "covered", Type::number},
    {not_true_list, Place::condition, "not_covered_true", Type::array, Place::not_true},
    {not_false_list, Place::condition, "not_covered_false", Type::array, Place::not_false},
    {condition_excluded, Place::condition, "gcovr/excluded", Type::truth},
    {function_name, Place::function, "name", Type::text},
    {function_demangled, Place::function, "demangled_name", Type::text},
    {function_line, Place::function, "lineno", Type::number},
    {function_count, Place::function, "execution_count", Type::number},
    {function_position, Place::function, "pos", Type::array, Place::position},
    {function_excluded, Place::function, "gcovr/excluded", Type::truth},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].key != i)
      return false;
  return true;
}
static_assert(in_order());

} // namespace tally::gcovr
