// Values on the command line, and refusals of it: in the words of the debugger's commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace tally::cli {

CLI::Validator whole_number_from(uint64_t least, uint64_t most);
CLI::Validator one_of(std::vector<std::string> words); // an option's "a|b|c", too
CLI::Validator known_format();
CLI::Validator file_name(); // that is one
CLI::Validator folder();    // that is there

// The sub-command that was given, or `app` itself.
const CLI::App &command_given(const CLI::App &app);
// One line: which word is wrong, and why.
std::string explain(const CLI::App &app, const CLI::ParseError &error);

} // namespace tally::cli
