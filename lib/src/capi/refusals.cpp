#include "capi/refusals.h"

#include <fmt/format.h>

#include <tally.h>

namespace tally::capi {

std::string region_refusal(int32_t reason, std::string_view text) {
  switch (reason) {
  case TALLY_REGION_UNKNOWN:
    return fmt::format("there is no function or location '{}'", text);
  case TALLY_REGION_INLINED:
    return fmt::format("all copies of {} are inlined and do not return: name two locations", text);
  case TALLY_REGION_WITHIN:
    return fmt::format("{} is not the entry of a function: name a function or two locations", text);
  default:
    return std::string(text);
  }
}

std::string load_refusal(int32_t reason, int64_t number, std::string_view text,
                         std::string_view library) {
  switch (reason) {
  case TALLY_LOAD_RUNNING:
    return "the process is running: stop it first";
  case TALLY_LOAD_NO_DLOPEN:
    return "the program has no dlopen: it is static, or its libraries are not loaded yet";
  case TALLY_LOAD_UNSAFE:
    return fmt::format("thread {} is stopped inside {}: a call from there could hang; let it run "
                       "to another location first",
                       number, text);
  case 0:
  case TALLY_LOAD_FAILED:
    return fmt::format("cannot be loaded: {}", text);
  case TALLY_LOAD_NO_START:
    return fmt::format("cannot be loaded: {} has no tally_agent_start", library);
  case TALLY_LOAD_REFUSED:
    return fmt::format("the agent refused to start ({})", number);
  default:
    return std::string(text);
  }
}

} // namespace tally::capi
