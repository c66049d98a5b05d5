// Words the reasons for which a front does not do what a session asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tally::capi {

// `reason` is a tally_region_refusal or a tally_load_refusal, which tally.h describes with the
// number and the text. An unknown reason is shown as its text.
std::string region_refusal(int32_t reason, std::string_view text);
std::string load_refusal(int32_t reason, int64_t number, std::string_view text,
                         std::string_view library);

} // namespace tally::capi
