// Translates the agent's codes into messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tally {

std::string words_of_refusal(uint32_t refusal, int errno_value);    // tally_wire_refusal
std::string words_of_end(uint32_t end, int signal);                 // tally_wire_end
std::string words_of_notes(uint32_t notes, std::string_view clock); // tally_wire_note; may be empty

} // namespace tally
