#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fake_debugger.h"
#include "session/command_help.h"
#include "session/profile_table.h"
#include "session/session.h"
#include "session/status.h"

namespace tally::session_commands_test {
namespace {

TEST(Commands, HaveAHandlerHelpAndCompletion) {
  for (const CommandSpec &spec : profile_table().commands) {
    SCOPED_TRACE(spec.name);
    ASSERT_FALSE(spec.name.empty()); // the array is longer than its rows
    FakeDebugger debugger;
    Session session{debugger};
    const std::string name(spec.name);
    const auto reply = session.command(spec.arguments.text.empty() ? name : name + " previous");
    if (!reply) {
      EXPECT_NE(reply.error().code, ErrorCode::internal) << reply.error().text();
    }
    EXPECT_NE(command_help(profile_table(), spec).find(command_usage(profile_table(), spec)),
              std::string::npos);
    const auto words = session.complete(name.substr(0, name.size() - 1));
    EXPECT_NE(std::find(words.begin(), words.end(), name), words.end());
  }
}

TEST(Status, WritesJsonWithNumbersAndUnits) {
  FakeDebugger debugger;
  Session session{debugger};
  const auto text = session.command("status"), json = session.command("status --json");
  ASSERT_TRUE(text && json);
  const auto status = nlohmann::json::parse(json.value());
  EXPECT_EQ(status.at("state"), "idle");
  EXPECT_EQ(status.at("backend"), "auto");
  EXPECT_EQ(status.at("requested_hz"), 1000);
  EXPECT_EQ(status.at("samples"), 0);
  EXPECT_EQ(status.at("running_s"), 0.0);
  EXPECT_TRUE(status.at("memory_bytes").is_number_unsigned());
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(text.value(), '\n')), status.size());
}

TEST(Status, SeparatesNotesFromValues) {
  const StatusRow row = StatusRow::noted("backend", "perf (auto; agent: refused (EPERM))");
  EXPECT_EQ(row.text, "perf (auto; agent: refused (EPERM))");
  const std::vector<StatusRow> rows{row, StatusRow::noted("clock", "cpu"),
                                    StatusRow("loaded", "a (1).cg"),
                                    StatusRow("unfinished", 2).with_note("not seen"),
                                    StatusRow::seconds("pass_min", 1'500'000, "1.5 ms")};
  EXPECT_EQ(to_json(rows),
            R"x({"backend":"perf","backend_note":"auto; agent: refused (EPERM)","clock":"cpu",)x"
            R"("loaded":"a (1).cg","unfinished":2,"unfinished_note":"not seen",)"
            R"("pass_min_s":0.0015})"
            "\n");
}

TEST(Config, ShowsAllSettingsWithoutArguments) {
  FakeDebugger debugger;
  Session session{debugger};
  ASSERT_TRUE(session.command("config frequency 250"));
  const auto all = session.command("config");
  ASSERT_TRUE(all);
  for (const OptionSpec &setting : profile_table().settings) {
    const std::string line =
        fmt::format("{} {}", setting.name,
                    setting.name == "frequency" ? std::string_view("250") : setting.fallback);
    EXPECT_NE(("\n" + all.value()).find("\n" + line + " "), std::string::npos) << all.value();
    EXPECT_NE(all->find(one_line(setting.summary)), std::string::npos) << all.value();
  }
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(all.value(), '\n')),
            profile_table().settings.size());
}

} // namespace
} // namespace tally::session_commands_test
