// Checks values on the command line. Error messages are worded as those of the debugger's commands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace tally::cli {

CLI::Validator whole_number_from(uint64_t least, uint64_t most);
CLI::Validator one_of(std::vector<std::string> words);
CLI::Validator known_format();
CLI::Validator file_name(); // not empty
CLI::Validator folder();    // an existing directory

// Returns the subcommand that was given, or `app` itself.
const CLI::App &command_given(const CLI::App &app);
// Returns a line that says which word is wrong, and why.
std::string explain(const CLI::App &app, const CLI::ParseError &error);

} // namespace tally::cli
