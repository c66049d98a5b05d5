#include "session/refusals.h"

#include <algorithm>

#include <fmt/format.h>

#include "session/session.h"

namespace tally {

namespace {

struct Refusal {
  int reason; // 0 for a message of the debugger
  std::string_view what;
};

Refusal split(std::string_view answer) {
  const bool has_reason = !answer.empty() && answer[0] >= '0' && answer[0] <= '9' &&
                          (answer.size() == 1 || answer[1] == ' ');
  return has_reason ? Refusal{answer[0] - '0', answer.substr(std::min<size_t>(answer.size(), 2))}
                    : Refusal{0, answer};
}

} // namespace

std::string region_refusal(std::string_view answer) {
  const auto [reason, location] = split(answer);
  switch (static_cast<RegionRefusal>(reason)) {
  case RegionRefusal::unknown:
    return fmt::format("there is no function or location '{}'", location);
  case RegionRefusal::inlined:
    return fmt::format("all copies of {} are inlined and do not return: name two locations",
                       location);
  case RegionRefusal::within:
    return fmt::format("{} is not the entry of a function: name a function or two locations",
                       location);
  case RegionRefusal::failed:
    return std::string(location);
  }
  return std::string(answer);
}

std::string load_refusal(std::string_view answer, std::string_view library) {
  const auto [reason, what] = split(answer);
  const size_t blank = std::min(what.find(' '), what.size());
  switch (static_cast<LoadRefusal>(reason)) {
  case LoadRefusal::running:
    return "the process is running: stop it first";
  case LoadRefusal::no_dlopen:
    return "the program has no dlopen: it is static, or its libraries are not loaded yet";
  case LoadRefusal::unsafe:
    return fmt::format("thread {} is stopped inside {}: a call from there could hang; let it run "
                       "to another location first",
                       what.substr(0, blank), what.substr(std::min(blank + 1, what.size())));
  case LoadRefusal::failed:
    return fmt::format("cannot be loaded: {}", what);
  case LoadRefusal::no_start:
    return fmt::format("cannot be loaded: {} has no tally_agent_start", library);
  case LoadRefusal::refused:
    return fmt::format("the agent refused to start ({})", what);
  }
  return std::string(answer);
}

} // namespace tally
