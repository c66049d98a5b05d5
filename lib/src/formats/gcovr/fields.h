// The keys of a tracefile that are read, and the objects in which they are read.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tally::gcovr {

// The kind of object or list in the document that contains a value.
enum class Context : uint8_t {
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
  position, // a function's first and last position, each as "line:column"
  other,    // an object or list whose whole content is ignored
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
  Context in;
  std::string_view name;
  Type type;
  Context opens = Context::other; // for an array, the context of its elements
};

inline constexpr std::array<Field, key_count> fields = {{
    {format_version, Context::document, "gcovr/format_version", Type::version},
    {file_list, Context::document, "files", Type::array, Context::files},
    {file_path, Context::file, "file", Type::text},
    {file_summary, Context::file, "filename", Type::text},
    {line_list, Context::file, "lines", Type::array, Context::lines},
    {function_list, Context::file, "functions", Type::array, Context::functions},
    {line_number, Context::line, "line_number", Type::number},
    {line_count, Context::line, "count", Type::number},
    {branch_list, Context::line, "branches", Type::array, Context::branches},
    {condition_list, Context::line, "conditions", Type::array, Context::conditions},
    {line_noncode, Context::line, "gcovr/noncode", Type::truth},
    {line_excluded, Context::line, "gcovr/excluded", Type::truth},
    {line_decision, Context::line, "gcovr/decision", Type::array},
    {line_calls, Context::line, "calls", Type::array},
    {line_old_calls, Context::line, "gcovr/calls", Type::array},
    {branch_count, Context::branch, "count", Type::number},
    {branch_fall_through, Context::branch, "fallthrough", Type::truth},
    {branch_throw, Context::branch, "throw", Type::truth},
    {branch_excluded, Context::branch, "gcovr/excluded", Type::truth},
    {condition_count, Context::condition, "count", Type::number},
    {condition_covered, Context::condition, "covered", Type::number},
    {not_true_list, Context::condition, "not_covered_true", Type::array, Context::not_true},
    {not_false_list, Context::condition, "not_covered_false", Type::array, Context::not_false},
    {condition_excluded, Context::condition, "gcovr/excluded", Type::truth},
    {function_name, Context::function, "name", Type::text},
    {function_demangled, Context::function, "demangled_name", Type::text},
    {function_line, Context::function, "lineno", Type::number},
    {function_count, Context::function, "execution_count", Type::number},
    {function_position, Context::function, "pos", Type::array, Context::position},
    {function_excluded, Context::function, "gcovr/excluded", Type::truth},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].key != i)
      return false;
  return true;
}
static_assert(in_order());

} // namespace tally::gcovr
