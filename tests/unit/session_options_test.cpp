#include <algorithm>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "session/command_help.h"
#include "session/command_line.h"
#include "session/complete.h"
#include "session/profile_table.h"
#include "session/start_options.h"
#include "temporary.h"

namespace tally::session_options_test {
namespace {

using Texts = std::vector<std::string>;

Result<ParsedCommand> parse_command(std::string_view line) {
  return parse_line(profile_table(), line);
}

Texts complete_words(std::string_view line, const WordsOf &words_of = {}) {
  return tally::complete_words(profile_table(), line, words_of);
}

std::optional<std::string> symbol_to_complete(std::string_view line) {
  return tally::symbol_to_complete(profile_table(), line);
}

std::string refusal(std::string_view line) {
  const auto parsed = parse_command(line);
  EXPECT_FALSE(parsed) << line;
  if (!parsed) {
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument) << line;
    EXPECT_EQ(parsed.error().text().find('\n'), std::string::npos) << line;
  }
  return parsed ? std::string() : parsed.error().text();
}

TEST(SampledEvents, OnlyTheClockHasAFrequency) {
  const auto events_of = [](std::string_view line, bool waits = false) {
    return sampled_events(*parse_command(line), waits);
  };
  EXPECT_EQ(events_of("start --event page-faults")->front().name, "page-faults");
  for (const char *line : {"start --event clock --frequency 10", "start --frequency 10", "start"})
    EXPECT_TRUE(events_of(line)->empty()) << line;
  EXPECT_EQ(events_of("start --event page-faults,clock --frequency 10")->size(), 2u);
  EXPECT_EQ(events_of("start --event page-faults --frequency 10").error().text(),
            "--frequency: cannot be used with --event: only the clock has a frequency");
  // With waits, the clock is always sampled.
  const auto with_waits = events_of("start --event page-faults --frequency 10", true);
  ASSERT_EQ(with_waits->size(), 2u);
  EXPECT_TRUE(with_waits->front().is_clock());
  EXPECT_TRUE(events_of("start", true)->empty());
  EXPECT_EQ(events_of("start --event page-faults,cs", true).error().text(),
            "--event: context-switches cannot be sampled with --clock wall, which measures each of "
            "them");
}

TEST(LimitOfStart, IsATimeOfMoreThanZero) {
  const auto limit_of = [](std::string_view line) { return limit_ns_of(*parse_command(line)); };
  EXPECT_EQ(limit_of("start"), 0u);
  EXPECT_EQ(limit_of("start --for 1.5s"), 1'500'000'000u);
  EXPECT_EQ(limit_of("start --for 10ms --continue"), 10'000'000u);
  EXPECT_EQ(limit_of("start --for 0").error().text(), "--for: expected more than 0");
  EXPECT_EQ(limit_of("start --continue").error().text(),
            "--continue: needs --for, after which the program runs on");
  EXPECT_EQ(refusal("start --for 10"), "--for: expected a time such as 1.2s, 300ms or 15us, found "
                                       "'10', which has no unit");
}

TEST(SplitWords, SplitsAtBlanksOutsideQuotes) {
  EXPECT_EQ(split_words("  a \tb\n").words, (Texts{"a", "b"}));
  EXPECT_EQ(split_words("a 'b c' d").words, (Texts{"a", "b c", "d"}));
  EXPECT_EQ(split_words("a \"b 'c\" d").words, (Texts{"a", "b 'c", "d"}));
  EXPECT_EQ(split_words("a\\ b \"c\\\"d\" 'e\\f'").words, (Texts{"a b", "c\"d", "e\\f"}));
  EXPECT_EQ(split_words("x''y \"\"").words, (Texts{"xy", ""}));
  EXPECT_EQ(split_words("a\\").words, Texts{"a\\"});
  EXPECT_TRUE(split_words("").words.empty());
  EXPECT_TRUE(split_words("a b").open);
  EXPECT_FALSE(split_words("a b ").open);
  EXPECT_TRUE(split_words("a 'b ").open);
  EXPECT_TRUE(split_words("a 'b ").quoted);
  EXPECT_FALSE(split_words("a 'b'").quoted);
  // Function names as reports show them.
  EXPECT_EQ(split_words("x (anonymous namespace)::f(int, char) y").words,
            (Texts{"x", "(anonymous namespace)::f(int, char)", "y"}));
  EXPECT_EQ(split_words("std::map<int, long>::find ->b c> d").words,
            (Texts{"std::map<int, long>::find", "->b", "c>", "d"}));
  EXPECT_EQ(split_words("operator< --asm").words, (Texts{"operator<", "--asm"}));
  EXPECT_EQ(split_words("f( a '(' b)").words, (Texts{"f(", "a", "(", "b)"}));
}

TEST(ParseCommand, AcceptsOptionsAndArgumentsInAnyOrder) {
  const auto parsed = parse_command("dump --format=folded 'a b' --parts");
  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(parsed->spec->name, "dump");
  EXPECT_EQ(parsed->arguments, Texts{"a b"});
  EXPECT_EQ(parsed->value("format"), "folded");
  EXPECT_TRUE(parsed->has("parts"));
  EXPECT_FALSE(parsed->has("json"));
  EXPECT_EQ(parsed->value("parts"), "");
  EXPECT_EQ(parse_command("report")->value("limit"), "20"); // the default that the help states
  EXPECT_EQ(parse_command("dump -- --parts")->arguments, Texts{"--parts"});
  EXPECT_EQ(parse_command("dump -")->arguments, Texts{"-"});
  EXPECT_EQ(parse_command("report --limit 3 --limit 4")->value("limit"), "4");
}

TEST(ParseCommand, AcceptsTheBeginningOfAnOption) {
  EXPECT_EQ(parse_command("start --freq 99")->value("frequency"), "99");
  EXPECT_EQ(parse_command("report --lim=3")->value("limit"), "3");
  EXPECT_TRUE(parse_command("report --js")->has("json"));
  EXPECT_EQ(refusal("report --fo x"), "--fo: several options begin so: --focus, --fold");
  EXPECT_EQ(parse_command("report --from 1s")->value("from"), "1s");
  EXPECT_TRUE(refusal("report --f x").starts_with("--f: unknown option"));
  EXPECT_TRUE(refusal("report -- --lim 3").starts_with("profile report: unexpected"));
}

TEST(ParseCommand, ErrorsNameTheCause) {
  EXPECT_EQ(refusal(""), "profile: expected a command: see `help profile`");
  EXPECT_TRUE(
      refusal("begin").starts_with("profile: there is no command 'begin' (there are: start"));
  EXPECT_EQ(refusal("dump 'a b"), "profile: a quote is not closed: a b");
  EXPECT_TRUE(
      refusal("start --rate 5").starts_with("--rate: unknown option; usage: profile start"));
  EXPECT_TRUE(refusal("report -x").starts_with("-x: unknown option; usage: profile report"));
  EXPECT_TRUE(refusal("stop --json").starts_with("--json: unknown option; usage: profile stop"));
  EXPECT_EQ(refusal("start --frequency"), "--frequency: expected a value: HZ");
  EXPECT_EQ(refusal("report --json=yes"), "--json: takes no value");
  EXPECT_EQ(refusal("report --by shape"),
            "--by: expected one of function, line, module, object, "
            "namespace, directory, thread, part, process, found 'shape'");
  EXPECT_EQ(refusal("report --by ''"), "--by: expected one of function, line, module, object, "
                                       "namespace, directory, thread, part, process, found ''");
  EXPECT_TRUE(refusal("dump x --format y").starts_with("--format: unknown format 'y'"));
  EXPECT_EQ(refusal("stop now"), "profile stop: unexpected 'now'; usage: profile stop");
  EXPECT_TRUE(refusal("dump a b").starts_with("profile dump: unexpected 'b'; usage: profile dump"));
  EXPECT_TRUE(refusal("dump").starts_with("profile dump: expected FILE; usage: profile dump FILE"));
  EXPECT_TRUE(refusal("config a b c").starts_with("profile config: unexpected 'c'"));
  EXPECT_TRUE(parse_command("config"));
  EXPECT_EQ(parse_command("annotate ns::A::get(int, char) const --json")->arguments,
            Texts{"ns::A::get(int, char) const"});
  EXPECT_EQ(refusal("annotate a const"),
            "profile annotate: unexpected 'const'; usage: " +
                command_usage(profile_table(), *profile_table().find("annotate")));
}

TEST(ParseCommand, AcceptsWholeNumbersInRange) {
  for (const char *bad : {"0", "abc", "-1", "1000000000", "1e3", "+5", "0x10", "1.5", "''",
                          "18446744073709551617", "' 5'", "5x"})
    EXPECT_TRUE(refusal(std::string("start --frequency ") + bad)
                    .starts_with("--frequency: expected a whole number from 1 to 1000000, found '"))
        << bad;
  EXPECT_TRUE(parse_command("start --frequency 1000000"));
  EXPECT_TRUE(parse_command("report --limit 0"));
  EXPECT_EQ(refusal("report --limit 4294967296"),
            "--limit: expected a whole number from 0 to 4294967295, found '4294967296'");
}

TEST(Commands, HaveUsageAndExample) {
  for (const CommandSpec &command : profile_table().commands) {
    const std::string help = command_help(profile_table(), command);
    EXPECT_TRUE(command_usage(profile_table(), command)
                    .starts_with("profile " + std::string(command.name)));
    EXPECT_NE(help.find("Usage: " + command_usage(profile_table(), command)), std::string::npos);
    EXPECT_NE(help.find("Example: profile " + std::string(command.name)), std::string::npos);
    EXPECT_NE(profile_help().find(command.summary), std::string::npos);
    for (const OptionSpec &option : command.options) {
      EXPECT_NE(help.find(shown_name(option)), std::string::npos);
      std::istringstream lines{std::string(option.summary)};
      for (std::string line; std::getline(lines, line);)
        EXPECT_NE(help.find(line), std::string::npos) << line;
      if (!option.fallback.empty()) {
        EXPECT_TRUE(check_value(option, option.fallback, option.name));
      }
    }
    // The example is a valid command.
    const std::string_view example = command.example;
    EXPECT_TRUE(parse_command(example.substr(std::string_view("profile ").size()))) << example;
  }
}

TEST(Complete, OffersWordsThatMayFollow) {
  EXPECT_EQ(complete_words("st"), (Texts{"start", "status", "stop"}));
  EXPECT_EQ(complete_words("start --f"), (Texts{"--for", "--frequency"}));
  EXPECT_EQ(complete_words("start --backend "), (Texts{"agent", "auto", "interrupt", "perf"}));
  EXPECT_EQ(complete_words("report --by t"), Texts{"thread"});
  EXPECT_EQ(complete_words("report --limit "), Texts{});
  EXPECT_EQ(complete_words("report "),
            (Texts{"--by", "--event", "--focus", "--fold", "--from", "--full-names", "--hide",
                   "--ignore", "--json", "--kernel", "--limit", "--no-inlines", "--part",
                   "--process", "--sort", "--thread", "--to"}));
  EXPECT_EQ(complete_words("report --val"), Texts{"--value"});
  EXPECT_EQ(complete_words("diff previous -"),
            (Texts{"--by", "--focus", "--fold", "--full-names", "--hide", "--ignore", "--json",
                   "--limit", "--no-inlines", "--sort", "-o"}));
  EXPECT_EQ(complete_words("start --event page-faults,cy"), Texts{"page-faults,cycles"});
  EXPECT_EQ(complete_words("dump x --format f"), (Texts{"firefox", "flamegraph", "folded"}));
  EXPECT_EQ(complete_words("config "),
            (Texts{"backend", "clock", "debuginfod", "frequency", "stacks", "stop-times"}));
  EXPECT_EQ(complete_words("config stacks f"), Texts{"fp"});
  EXPECT_EQ(complete_words("config frequency "), Texts{});
  EXPECT_EQ(complete_words("config stacks fp "), Texts{});
  EXPECT_EQ(complete_words("nonsense "), Texts{});
  EXPECT_EQ(complete_words("diff prev"), Texts{"previous"});
  const auto names = [](ValueKind kind) {
    return kind == ValueKind::function ? Texts{"main", "parse", "print"}
           : kind == ValueKind::thread ? Texts{"4711", "main", "worker"}
                                       : Texts{"1", "12"};
  };
  EXPECT_EQ(complete_words("tree p", names), (Texts{"parse", "print"}));
  EXPECT_EQ(complete_words("annotate main", names), Texts{"main"});
  EXPECT_EQ(complete_words("report p", names), Texts{});
  EXPECT_EQ(complete_words("report --thread w", names), Texts{"worker"});
  EXPECT_EQ(complete_words("dump x --thread 4", names), Texts{"4711"});
  EXPECT_EQ(complete_words("tree --part ", names), (Texts{"1", "12"}));
  EXPECT_EQ(complete_words("tree --by ", names), (Texts{"part", "process", "thread"}));
  Texts all = complete_words("");
  EXPECT_EQ(all.size(), profile_table().commands.size());
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

TEST(Complete, OffersTheFormatsThatDumpWrites) {
  const Texts offered = complete_words("dump x --format ");
  std::string all;
  for (const Format &format : formats()) {
    EXPECT_EQ(std::ranges::count(offered, format.name), format.writes_profiles()) << format.name;
    const auto parsed = parse_command("dump x --format " + std::string(format.name));
    EXPECT_EQ(parsed.has_value(), format.writes_profiles()) << format.name;
    const std::string help = command_help(profile_table(), *profile_table().find("dump"));
    EXPECT_EQ(help.find(fmt::format("\n  {:<14}", format.name)) != help.npos,
              format.writes_profiles())
        << format.name;
    if (format.writes_profiles())
      all += (all.empty() ? "" : ", ") + std::string(format.name);
  }
  EXPECT_EQ(std::ranges::count(offered, "gmon"), 1);
  EXPECT_EQ(refusal("dump x --format y"), "--format: unknown format 'y' (there are: " + all + ")");
  EXPECT_EQ(refusal("dump x --format lcov"),
            "--format: the format lcov does not hold profiles, or cannot be written (there are: " +
                all + ")");
}

TEST(Complete, OffersFunctionsByEachOfTheirNames) {
  const auto words = [](std::string_view typed, bool quoted = false) {
    Texts out;
    for (const char *name :
         {"main", "ns::Parser::parse(int, char const*)", "int ns::Parser::run<int>(int)",
          "(anonymous namespace)::scan(std::vector<int, a b>&)", "ns::operator<<(int)",
          "ns::A::operator()(int) const", "std::map<int, long>::find(int)", "it's", "libc.so+0x1f"})
      for (std::string &word : function_words(name, typed, quoted))
        out.push_back(std::move(word));
    return out;
  };
  EXPECT_EQ(words("m"), (Texts{"main"})); // the map's name has a blank
  EXPECT_EQ(words("pa"), Texts{"parse"});
  EXPECT_EQ(words("Pa"), (Texts{"Parser::parse", "Parser::run"}));
  EXPECT_EQ(words("ns::Parser::p"), Texts{"ns::Parser::parse"});
  EXPECT_EQ(words("run"), Texts{"run"});
  EXPECT_EQ(words("run<"), (Texts{"run<int>", "run<int>(int)"}));
  EXPECT_EQ(words("parse("), Texts{}); // one of them has a blank, which needs a quote
  EXPECT_EQ(words("parse(", true), Texts{"parse(int, char const*)"});
  EXPECT_EQ(words("pars", true), (Texts{"parse", "parse", "parse(int, char const*)"}));
  EXPECT_EQ(words("sc"), Texts{"scan"});
  EXPECT_EQ(words("operator<"), Texts{"operator<<"});
  EXPECT_EQ(words("A::op"), Texts{"A::operator()"});
  EXPECT_EQ(words("map<int, long>::f", true),
            (Texts{"map<int, long>::find", "map<int, long>::find", "map<int, long>::find(int)"}));
  EXPECT_EQ(words("fi"), Texts{"find"});
  EXPECT_EQ(words("libc"), Texts{"libc.so+0x1f"});
  EXPECT_EQ(words("it"), Texts{});
}

TEST(Complete, OffersFunctionsAndSources) {
  const auto names = [](ValueKind kind) {
    return kind == ValueKind::function ? Texts{"ns::Parser::parse(int)", "main", "process"}
           : kind == ValueKind::source ? Texts{"/src/app/parse.cpp", "lib/parse.h", "/src/main.cpp"}
                                       : Texts{};
  };
  EXPECT_EQ(complete_words("annotate pars", names), (Texts{"parse", "parse.cpp", "parse.h"}));
  EXPECT_EQ(complete_words("annotate 'parse(", names), Texts{"parse(int)"});
  EXPECT_EQ(complete_words("annotate lib/", names), Texts{"lib/parse.h"});
  EXPECT_EQ(complete_words("annotate app/p", names), Texts{"app/parse.cpp"});
  EXPECT_EQ(complete_words("annotate /src/m", names), Texts{"/src/main.cpp"});
  EXPECT_EQ(complete_words("annotate --asm p", names),
            (Texts{"parse", "parse.cpp", "parse.h", "process"}));
  EXPECT_EQ(complete_words("tree --callers p", names), (Texts{"parse", "process"}));
  EXPECT_EQ(complete_words("tree --limit 5 pa", names), Texts{"parse"});
  EXPECT_EQ(complete_words("tree main p", names), Texts{});
  EXPECT_EQ(complete_words("report --by=f"), Texts{"--by=function"});
  EXPECT_EQ(symbol_to_complete("annotate --asm pa"), "pa");
  EXPECT_EQ(symbol_to_complete("tree 'ns::P"), "ns::P");
  EXPECT_FALSE(symbol_to_complete("tree --by p"));
  EXPECT_FALSE(symbol_to_complete("tree --b"));
  EXPECT_FALSE(symbol_to_complete("report p"));
  EXPECT_FALSE(symbol_to_complete("dump p"));
}

TEST(Complete, OffersFileNames) {
  const TemporaryFolder folder;
  folder.put("out.folded", "");
  folder.put("other", "");
  folder.put(".hidden", "");
  std::filesystem::create_directory(folder / "older");
  EXPECT_EQ(complete_words("dump " + folder / "o"),
            (Texts{folder / "older/", folder / "other", folder / "out.folded"}));
  EXPECT_EQ(complete_words("dump " + folder / "").size(), 3u);
  EXPECT_EQ(complete_words("dump " + folder / ".h"), Texts{folder / ".hidden"});
  EXPECT_EQ(complete_words("dump " + folder / "none/x"), Texts{});
  EXPECT_EQ(complete_words("diff previous -o " + folder / "ou"), Texts{folder / "out.folded"});
}

} // namespace
} // namespace tally::session_options_test
