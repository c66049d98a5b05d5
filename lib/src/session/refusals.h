// Words the reasons for which a front does not do what a session asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "session/session.h"

namespace tally {

// tally.h describes the enumerators, the number and the text. An unknown reason is shown as its
// text.
std::string region_refusal(RegionRefusal reason, std::string_view text);
std::string load_refusal(LoadRefusal reason, int64_t number, std::string_view text,
                         std::string_view library);

} // namespace tally
