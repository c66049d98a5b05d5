#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tally.h>

#include "capi_results.h"

namespace tally::capi_session_test {
namespace {

class CSession : public testing::Test {
protected:
  CSession() { EXPECT_EQ(tally_session_new(&session), nullptr); }
  ~CSession() override { tally_session_free(session); }

  // Returns the error's text, and checks that the command leaves its output unchanged.
  std::string refusal(const char *line) {
    tally_reply *reply = untouched<tally_reply>();
    tally_error *error = tally_session_command(session, line, &reply);
    EXPECT_EQ(reply, untouched<tally_reply>());
    return take(error);
  }
  template <class T> T *untouched() { return reinterpret_cast<T *>(&marker); }

  tally_session *session = nullptr;
  int marker = 0;
};

TEST(CTables, ListCommandsAndSettings) {
  tally_table *table = nullptr;
  ASSERT_EQ(tally_commands(&table), nullptr);
  ASSERT_EQ(tally_table_columns(table), 4u);
  EXPECT_STREQ(tally_table_column_name(table, 0), "name");
  EXPECT_STREQ(tally_table_column_name(table, 4), "");
  EXPECT_EQ(tally_table_column_kind(table, 3), TALLY_COLUMN_TEXT);
  EXPECT_EQ(tally_table_counts(table, 0), nullptr);
  EXPECT_EQ(tally_table_texts(table, 9), nullptr);
  EXPECT_EQ(texts(table, 0).front(), "start");
  tally_table_free(table);
  ASSERT_EQ(tally_settings(&table), nullptr);
  EXPECT_EQ(texts(table, 0), (std::vector<std::string>{"backend", "frequency", "clock", "stacks",
                                                       "stop-times", "debuginfod"}));
  EXPECT_EQ(texts(table, 1)[1], "HZ");
  EXPECT_EQ(texts(table, 2)[1], "1000");
  tally_table_free(table);
  EXPECT_NE(std::strstr(tally_profile_help(), "profile start"), nullptr);
  EXPECT_STREQ(tally_version(), TALLY_VERSION);
  EXPECT_EQ(tally_abi(), static_cast<uint32_t>(TALLY_ABI));
}

TEST(CTables, ListTheExitsOfARegion) {
  tally_table *table = nullptr;
  ASSERT_EQ(tally_region_exits(&table), nullptr);
  EXPECT_STREQ(tally_table_column_name(table, 0), "function");
  EXPECT_STREQ(tally_table_column_name(table, 1), "kind");
  std::map<std::string, uint64_t> kinds;
  for (size_t i = 0; i < tally_table_rows(table); ++i)
    kinds[tally_table_texts(table, 0)[i]] = tally_table_counts(table, 1)[i];
  tally_table_free(table);
  EXPECT_EQ(kinds.size(), 5u);
  EXPECT_EQ(kinds["__cxa_begin_catch"], TALLY_HIT_CAUGHT);
  for (const char *name : {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"})
    EXPECT_EQ(kinds[name], TALLY_HIT_JUMPED) << name;
}

TEST(CTables, FreeFunctionsAcceptNull) {
  tally_table_free(nullptr);
  tally_error_free(nullptr);
  tally_reply_free(nullptr);
  tally_session_free(nullptr);
}

TEST_F(CSession, ErrorsExposeTheirParts) {
  tally_reply *reply = nullptr;
  tally_error *error = tally_session_command(session, "report --limit x", &reply);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(tally_error_get_code(error), TALLY_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(tally_error_source(error), "--limit");
  EXPECT_STREQ(tally_error_message(error),
               "expected a whole number from 0 to 4294967295, found 'x'");
  EXPECT_EQ(tally_error_line(error), 0u);
  EXPECT_EQ(tally_error_column(error), 0u);
  EXPECT_EQ(tally_error_offset(error), UINT64_MAX);
  EXPECT_EQ(take(error), "--limit: expected a whole number from 0 to 4294967295, found 'x'");
  EXPECT_NE(refusal(nullptr).find("expected a command"), std::string::npos);
}

TEST_F(CSession, ChecksEvents) {
  tally_event event{};
  const auto push = [&] {
    tally_reply *reply = nullptr;
    tally_error *error = tally_session_event(session, &event, &reply);
    tally_reply_free(reply);
    return error;
  };
  EXPECT_NE(take(push()).find("not an event"), std::string::npos); // size 0
  event.size = sizeof event;
  EXPECT_EQ(push(), nullptr);
  event.kind = TALLY_EVENT_DETACHED + 1;
  EXPECT_NE(take(push()), "");
  event.kind = -1;
  EXPECT_NE(take(push()), "");
  event.kind = TALLY_EVENT_BREAKPOINT;
  event.target = TALLY_TARGET_CORE + 1;
  EXPECT_NE(take(push()), "");
  tally_reply *reply = nullptr;
  EXPECT_NE(take(tally_session_event(session, nullptr, &reply)), "");
  event.target = TALLY_TARGET_NATIVE;
  event.size = sizeof event + 8; // as with a newer header
  EXPECT_EQ(push(), nullptr);
}

TEST_F(CSession, ChecksTheDisplay) {
  const auto status = [&] {
    tally_reply *reply = nullptr;
    EXPECT_EQ(tally_session_command(session, "status", &reply), nullptr);
    const std::string text = tally_reply_text(reply);
    tally_reply_free(reply);
    return text.substr(0, text.find('\n'));
  };
  tally_display display{};
  display.variable = "\033[1m";
  const std::string wrong = "not a display of this interface";
  EXPECT_EQ(take(tally_session_set_display(session, &display)), wrong); // size 0
  EXPECT_EQ(take(tally_session_set_display(session, nullptr)), wrong);
  EXPECT_EQ(status(), "state idle");
  display.size = sizeof display + 8; // as with a newer header
  EXPECT_EQ(tally_session_set_display(session, &display), nullptr);
  EXPECT_EQ(status(), "\033[1mstate\033[m idle");
  for (const char *tally_display::*style :
       {&tally_display::function, &tally_display::filename, &tally_display::address,
        &tally_display::title, &tally_display::highlight, &tally_display::metadata}) {
    tally_display bad = display;
    bad.variable = nullptr;
    bad.*style = "\033[2J";
    EXPECT_NE(take(tally_session_set_display(session, &bad)).find("expects ESC [ numbers m"),
              std::string::npos);
    EXPECT_EQ(status(), "\033[1mstate\033[m idle"); // as before
    bad.*style = "\033[2m";
    EXPECT_EQ(tally_session_set_display(session, &bad), nullptr);
    EXPECT_EQ(status(), "state idle");
    EXPECT_EQ(tally_session_set_display(session, &display), nullptr);
  }
}

TEST_F(CSession, KeepsASettingsTextUntilItIsSetAgain) {
  const char *frequency = tally_session_setting(session, "frequency");
  const char *clock = tally_session_setting(session, "clock");
  EXPECT_STREQ(frequency, "1000");
  EXPECT_STREQ(clock, "cpu");
  EXPECT_EQ(tally_session_setting(session, "frequency"), frequency);
  EXPECT_STREQ(tally_session_setting(session, "nonsense"), "");
  EXPECT_STREQ(tally_session_setting(session, nullptr), "");
  EXPECT_EQ(tally_session_set(session, "frequency", "50"), nullptr);
  EXPECT_STREQ(tally_session_setting(session, "frequency"), "50");
  EXPECT_NE(take(tally_session_set(session, "frequency", nullptr)), "");
  EXPECT_NE(take(tally_session_set(session, nullptr, "1")), "");
}

TEST_F(CSession, Completes) {
  tally_table *table = nullptr;
  ASSERT_EQ(tally_session_complete(session, "report --s", &table), nullptr);
  EXPECT_EQ(texts(table, 0), std::vector<std::string>{"--sort"});
  tally_table_free(table);
  ASSERT_EQ(tally_session_complete(session, "nonsense x", &table), nullptr);
  EXPECT_EQ(tally_table_rows(table), 0u);
  tally_table_free(table);
}

TEST_F(CSession, CompletesSymbolsOfTheDebugger) {
  EXPECT_STREQ(tally_session_symbol_to_complete(session, "annotate ns::P"), "ns::P");
  EXPECT_STREQ(tally_session_symbol_to_complete(session, "annotate --as"), "");
  EXPECT_STREQ(tally_session_symbol_to_complete(session, "report ns::P"), "");
  EXPECT_STREQ(tally_session_symbol_to_complete(session, nullptr), "");
  const char *const functions[] = {"ns::Parser::parse(int)", "ns::print()", nullptr};
  const char *const files[] = {"src/parse.cpp"};
  tally_table *table = nullptr;
  ASSERT_EQ(tally_session_complete_symbol(session, "annotate pa", functions, 3, files, 1, &table),
            nullptr);
  EXPECT_EQ(texts(table, 0), (std::vector<std::string>{"parse", "parse.cpp"}));
  tally_table_free(table);
  ASSERT_EQ(tally_session_complete_symbol(session, "tree pa", functions, 3, nullptr, 0, &table),
            nullptr);
  EXPECT_EQ(texts(table, 0), std::vector<std::string>{"parse"});
  tally_table_free(table);
}

TEST_F(CSession, ReportChecksItsArguments) {
  tally_table *table = untouched<tally_table>();
  EXPECT_EQ(take(tally_session_report(session, "shape", "self", &table)),
            "by: expected one of function, line, object, thread, part, namespace, "
            "directory, process, found 'shape'");
  EXPECT_EQ(take(tally_session_report(session, "line", "size", &table)),
            "sort: expected one of self, inclusive, found 'size'");
  tally_error *error = tally_session_report(session, "line", "self", &table);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(tally_error_get_code(error), TALLY_ERROR_NO_DATA);
  tally_error_free(error);
  EXPECT_EQ(table, untouched<tally_table>());
}

TEST_F(CSession, RefusesAnAnswerWithoutARequest) {
  tally_reply *reply = nullptr;
  EXPECT_EQ(take(tally_session_answer(session, nullptr, 0, &reply)), "nothing was requested");
  EXPECT_EQ(take(tally_session_answer_memory(session, nullptr, nullptr, 0, &reply)),
            "nothing was requested");
  EXPECT_NE(take(tally_session_cancel(session)), "");
}

} // namespace
} // namespace tally::capi_session_test
