#include "region_locations.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "interpreter.h"

namespace tally_lldb {

namespace {

// Splits a word such as "parse.c:10", with or without a path. Returns false for other words. The
// "::" of a C++ name does not separate a line.
bool split_location(const std::string &word, std::string &file, uint32_t &line) {
  const size_t colon = word.rfind(':');
  if (colon == word.npos || colon == 0 || word[colon - 1] == ':')
    return false;
  const char *const begin = word.data() + colon + 1, *const end = word.data() + word.size();
  const auto [rest, failed] = std::from_chars(begin, end, line);
  if (failed != std::errc() || rest != end)
    return false;
  file = word.substr(0, colon);
  return true;
}

// Looks "parse" or "parse+4" up in the symbols. The result is invalid if the expression has another
// form, or if the name belongs to several functions. LLDB 14 cannot evaluate "parse+4" for C++
// functions, and LLDB 19 cannot evaluate a name after the process has exited.
lldb::SBAddress address_by_name(lldb::SBTarget target, const std::string &expression) {
  const size_t plus = std::min(expression.find('+'), expression.size());
  uint64_t offset = 0;
  if (plus < expression.size()) {
    const bool is_hex = expression.compare(plus + 1, 2, "0x") == 0;
    const char *const end = expression.data() + expression.size();
    const auto [rest, failed] =
        std::from_chars(expression.data() + plus + (is_hex ? 3 : 1), end, offset, is_hex ? 16 : 10);
    if (failed != std::errc() || rest != end)
      return {};
  }
  lldb::SBSymbolContextList named = target.FindFunctions(expression.substr(0, plus).c_str());
  if (named.GetSize() != 1)
    return {};
  lldb::SBSymbolContext context = named.GetContextAtIndex(0);
  lldb::SBAddress at = context.GetSymbol().GetStartAddress();
  if (!at.IsValid())
    at = context.GetFunction().GetStartAddress();
  return at.IsValid() && at.OffsetAddress(offset) ? at : lldb::SBAddress();
}

// Evaluates an address expression of LLDB ("0x1234", "parse", "parse+4"). The result is relative to
// a section if possible, because a breakpoint at a mere number would not follow the program to its
// load address.
lldb::SBAddress address_of(lldb::SBDebugger &debugger, lldb::SBTarget target,
                           const std::string &expression) {
  if (lldb::SBAddress named = address_by_name(target, expression); named.IsValid())
    return named;
  const uint32_t before = target.GetNumBreakpoints();
  interpret(debugger, target, "breakpoint set -a " + as_word(expression));
  if (target.GetNumBreakpoints() == before)
    return {};
  lldb::SBBreakpoint made = target.GetBreakpointAtIndex(before);
  lldb::SBAddress at = made.GetLocationAtIndex(0).GetAddress();
  target.BreakpointDelete(made.GetID());
  if (at.IsValid() && !at.GetSection().IsValid())
    at = target.ResolveFileAddress(at.GetOffset());
  return at;
}

} // namespace

bool is_address(const std::string &word) { return word[0] == '*' || word.starts_with("0x"); }

lldb::SBBreakpoint breakpoint_at(lldb::SBDebugger &debugger, lldb::SBTarget target,
                                 const std::string &word) {
  if (is_address(word)) {
    lldb::SBAddress at = address_of(debugger, target, word.substr(word[0] == '*' ? 1 : 0));
    return at.IsValid() ? target.BreakpointCreateBySBAddress(at) : lldb::SBBreakpoint();
  }
  std::string file;
  uint32_t line = 0;
  return split_location(word, file, line) ? target.BreakpointCreateByLocation(file.c_str(), line)
                                          : target.BreakpointCreateByName(word.c_str());
}

std::string base_name_of(const std::string &word) {
  if (is_address(word))
    return {};
  const std::string name = word.substr(0, word.find('('));
  return name.substr(name.rfind(':') + 1); // npos + 1 is 0
}

lldb::SBAddress start_of(lldb::SBAddress address) {
  lldb::SBAddress start = address.GetSymbol().GetStartAddress();
  return start.IsValid() ? start : address.GetFunction().GetStartAddress();
}

bool is_start(lldb::SBAddress address) {
  lldb::SBAddress start = start_of(address);
  return !start.IsValid() || start.GetFileAddress() == address.GetFileAddress();
}

bool is_moved_part(lldb::SBAddress address) {
  const char *const name = address.GetSymbol().GetName();
  return name && std::string_view(name).ends_with(".cold");
}

bool is_inlined(lldb::SBAddress address, const std::string &function) {
  if (!address.GetBlock().GetContainingInlinedBlock().IsValid())
    return false;
  lldb::SBFunction whole = address.GetFunction();
  const char *const name = whole.GetName();
  return !name || start_of(address).GetFileAddress() != address.GetFileAddress() ||
         std::string(name).find(function) == std::string::npos;
}

AtEntries::AtEntries(lldb::SBDebugger &debugger, lldb::SBTarget target)
    : debugger_(debugger), target_(target) {
  const std::string output =
      interpret(debugger_, target_, "settings show target.skip-prologue").text;
  was_ = output.find("= false") == output.npos;
  set(false);
}

AtEntries::~AtEntries() { set(was_); }

void AtEntries::set(bool skip) {
  interpret(debugger_, target_,
            std::string("settings set target.skip-prologue ") + (skip ? "true" : "false"));
}

} // namespace tally_lldb
