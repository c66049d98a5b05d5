#include "session/refusals.h"

#include <fmt/format.h>

namespace tally {

std::string region_refusal(RegionRefusal reason, std::string_view text) {
  switch (reason) {
  case RegionRefusal::unknown:
    return fmt::format("there is no function or location '{}'", text);
  case RegionRefusal::inlined:
    return fmt::format("all copies of {} are inlined and do not return: name two locations", text);
  case RegionRefusal::within:
    return fmt::format("{} is not the entry of a function: name a function or two locations", text);
  case RegionRefusal::failed:
    break;
  }
  return std::string(text);
}

std::string load_refusal(LoadRefusal reason, int64_t number, std::string_view text,
                         std::string_view library) {
  switch (reason) {
  case LoadRefusal::running:
    return "the process is running: stop it first";
  case LoadRefusal::no_dlopen:
    return "the program has no dlopen: it is static, or its libraries are not loaded yet";
  case LoadRefusal::unsafe:
    return fmt::format("thread {} is stopped inside {}: a call from there could hang; let it run "
                       "to another location first",
                       number, text);
  case LoadRefusal::no_start:
    return fmt::format("cannot be loaded: {} has no tally_agent_start", library);
  case LoadRefusal::refused:
    return fmt::format("the agent refused to start ({})", number);
  case LoadRefusal::failed:
    break;
  }
  return fmt::format("cannot be loaded: {}", text);
}

} // namespace tally
