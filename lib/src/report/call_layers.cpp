#include "report/call_layers.h"

#include <algorithm>
#include <array>
#include <string>

#include "report/groups.h"

namespace tally {

namespace {

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
  return std::ranges::binary_search(layers, std::string_view(qualified_name(function)));
}

} // namespace tally
