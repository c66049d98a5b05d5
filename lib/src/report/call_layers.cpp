#include "report/call_layers.h"

#include <algorithm>
#include <array>
#include <string>

namespace tally {

namespace {

constexpr std::string_view call_operator = "operator()";

// Returns the qualified name without return type, template arguments, parameters and libc++'s
// inline namespace: "std::__invoke" for "void std::__1::__invoke[abi:v15006]<f&>(f&)".
std::string bare_name(std::string_view function) {
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const char c = function[i];
    if (depth == 0 && function.substr(i).starts_with(call_operator))
      return out.append(call_operator);
    const bool arrow = c == '>' && i > 0 && function[i - 1] == '-';
    const std::string_view before = function.substr(0, i);
    const bool in_type = before.ends_with("decltype") || before.ends_with("decltype ");
    if (depth == 0 && c == '(' && !in_type)
      return out;
    if (c == '<' || c == '(' || c == '[' || c == '{')
      ++depth;
    else if ((c == '>' && !arrow) || c == ')' || c == ']' || c == '}')
      --depth;
    else if (depth == 0 && c == ' ')
      out.clear(); // the text before the blank is the return type
    else if (depth == 0)
      out += c;
    if (depth == 0 && out == "std::__1::")
      out = "std::";
  }
  return out;
}

constexpr auto layers = [] {
  std::array<std::string_view, 25> names{
      // libstdc++ and libc++
      "std::__invoke", "std::invoke", "std::invoke_r", "std::apply", "std::function::operator()",
      // libstdc++
      "std::__invoke_impl", "std::__invoke_r", "std::__apply_impl", "std::_Bind::operator()",
      "std::_Bind::__call", "std::_Function_handler::_M_invoke",
      "std::thread::_Invoker::operator()", "std::thread::_Invoker::_M_invoke",
      "std::thread::_State_impl::_M_run",
      // libc++
      "std::__apply_tuple_impl", "std::__bind::operator()", "std::__apply_functor",
      "std::__invoke_void_return_wrapper::__call", "std::__function::__func::operator()",
      "std::__function::__alloc_func::operator()", "std::__function::__value_func::operator()",
      "std::__function::__policy_func::operator()",
      "std::__function::__policy_invoker::__call_impl", "std::__thread_execute",
      "std::__thread_proxy"};
  std::ranges::sort(names);
  return names;
}();

} // namespace

bool is_call_layer(std::string_view function) {
  // This cheap test rejects nearly all functions.
  if (function.find("std::") == function.npos)
    return false;
  return std::ranges::binary_search(layers, std::string_view(bare_name(function)));
}

} // namespace tally
