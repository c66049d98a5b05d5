#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include <tally/session.h>

namespace tally::session_commands_test {
namespace {

TEST(Commands, EachHasAHandlerHelpAndCompletion) {
  for (const CommandSpec &spec : profile_commands()) {
    SCOPED_TRACE(spec.name);
    ASSERT_FALSE(spec.name.empty()); // an array longer than its rows
    Session session;
    const std::string name(spec.name);
    const auto reply = session.command(spec.arguments.empty() ? name : name + " previous");
    if (!reply) {
      EXPECT_NE(reply.error().code, ErrorCode::internal) << reply.error().text();
    }
    EXPECT_NE(command_help(spec).find(command_usage(spec)), std::string::npos);
    const auto words = session.complete(name.substr(0, name.size() - 1));
    EXPECT_NE(std::find(words.begin(), words.end(), name), words.end());
  }
}

} // namespace
} // namespace tally::session_commands_test
