// Completes the last word of a command line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/command_table.h"

namespace tally {

// Returns the words that a profile holds of a kind: names of functions, paths of sources, names and
// TIDs of threads, numbers of parts. Called only when needed.
using WordsOf = std::function<std::vector<std::string>(ValueKind kind)>;
// Returns the words that the last word of the line may become, sorted and without duplicates.
std::vector<std::string> complete_words(const CommandTable &table, std::string_view line,
                                        const WordsOf &words_of = {});

// Returns the last word of the line if it is the beginning of a function's or source file's name.
std::optional<std::string> symbol_to_complete(const CommandTable &table, std::string_view line);

// Returns the words that denote a function and begin with `typed`. The words "parse",
// "Parser::parse" and "ns::Parser::parse" denote "ns::Parser::parse<int>(char const*)"; template
// arguments and parameters are added if the user has begun to type them or has opened a quote,
// because they may contain blanks.
std::vector<std::string> function_words(std::string_view function, std::string_view typed,
                                        bool quoted);

} // namespace tally
