// Text as JSON has it.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// With its quotes. What is no UTF-8 becomes U+FFFD.
std::string json_text(std::string_view text);

} // namespace tally
