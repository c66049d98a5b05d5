// Words the reasons for which a front end does not perform a request.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Both functions return the message for a front end's answer. The answer is the digit of a
// RegionRefusal or LoadRefusal, a blank, and what the refusal concerns; or it is a message of the
// debugger, which is returned unchanged.
std::string region_refusal(std::string_view answer);
std::string load_refusal(std::string_view answer, std::string_view library);

} // namespace tally
