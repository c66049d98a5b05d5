// Words the reasons for which a front end does not perform a request.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// These take the front end's answer: the digit of a RegionRefusal or LoadRefusal, a blank, and what
// it concerns, or a message of the debugger, which they return unchanged.
std::string region_refusal(std::string_view answer);
std::string load_refusal(std::string_view answer, std::string_view library);

} // namespace tally
