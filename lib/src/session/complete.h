// What the last word of a command line may become.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

// What a profile has for a word to become; asked for when it is to be completed. "FUNCTION": names,
// "FILE": paths of sources, "THREAD": names and TIDs, "part": numbers.
using WordsOf = std::function<std::vector<std::string>(std::string_view kind)>;
// Sorted, each once.
std::vector<std::string> complete_words(std::string_view line, const WordsOf &words_of = {});

// The beginning of a function's or source file's name, where the last word of the line is one.
std::optional<std::string> symbol_to_complete(std::string_view line);

// The words that mean a function and begin as typed. "ns::Parser::parse<int>(char const*)" is meant
// by "parse", "Parser::parse" and "ns::Parser::parse"; template arguments and parameters are
// offered to those who have begun to type them, or, for they hold blanks, have opened a quote.
std::vector<std::string> function_words(std::string_view function, std::string_view typed,
                                        bool quoted);

} // namespace tally
