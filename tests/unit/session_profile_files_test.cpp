// Tests what `tally convert`, `tally report` and the C interface do with whole files.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tally/formats.h>

#include "random_profile.h"
#include "session/profile_files.h"

namespace tally::session_profile_files_test {
namespace {

TEST(Names, AreNeededForAddressesInAFormatOfFunctions) {
  const Format &gmon = **format_by_name("gmon"), &callgrind = **format_by_name("callgrind");
  EXPECT_TRUE(needs_names(PcProfile(), callgrind));
  EXPECT_FALSE(needs_names(PcProfile(), gmon));
  EXPECT_FALSE(needs_names(Profile(), callgrind));
  EXPECT_FALSE(needs_names(Profile(), gmon)); // its functions have names already
  EXPECT_FALSE(needs_names(Coverage(), callgrind));
}

TEST(Names, AreMissedIfNoProgramIsKnown) {
  Diagnostics diagnostics;
  const auto none = names_of_pcs("gmon.out", "", "name it", diagnostics);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->get(), nullptr);
  ASSERT_EQ(diagnostics.findings().size(), 1u);
  EXPECT_EQ(diagnostics.findings()[0].source, "gmon.out");
  EXPECT_EQ(diagnostics.findings()[0].severity, Severity::warning);
  EXPECT_TRUE(diagnostics.findings()[0].message.ends_with("name it"));
  Diagnostics none_yet;
  EXPECT_FALSE(names_of_pcs("gmon.out", "/nonexistent/program", "name it", none_yet));
  const auto own = names_of_pcs("gmon.out", "/proc/self/exe", "name it", none_yet);
  ASSERT_TRUE(own) << own.error().text();
  EXPECT_NE(own->get(), nullptr);
  EXPECT_TRUE(none_yet.findings().empty());
}

// Returns the result's rows and events, or the text of its error.
struct Selected {
  std::string error{};
  std::vector<std::string> events{};
  Counted rows{};
  friend bool operator==(const Selected &, const Selected &) = default;
};

Selected seen(const Result<Profile> &result) {
  Selected out;
  if (!result) {
    out.error = result.error().text();
  } else if (const auto *stacks = std::get_if<StackProfile>(&*result)) {
    for (const ValueType &type : stacks->value_types())
      out.events.emplace_back(stacks->strings[type.type]);
    out.rows = count_samples(*stacks);
  } else {
    const auto &costs = std::get<CostProfile>(*result);
    for (const CostEvent &event : costs.events())
      out.events.emplace_back(costs.strings[event.name]);
    out.rows = rows_of(costs);
  }
  return out;
}

TEST(SelectFrom, LeavesAProfileThatItMayNotChange) {
  Random random(7);
  size_t succeeded = 0, failed = 0;
  for (int i = 0; i < 24; ++i) {
    const Profile profile = i % 2 == 0 ? Profile(random_profile(random, random_shape(random)))
                                       : Profile(random_costs(random, random_cost_shape(random)));
    const Selected whole = seen(profile);
    std::vector<std::string> events = whole.events, threads{""};
    events.insert(events.end(), {"", "absent"});
    std::visit(
        [&](const auto &each) {
          for (const std::string &word : thread_words(each))
            threads.push_back(word);
        },
        profile);
    for (const std::string &event : events)
      for (const std::string &thread : threads)
        for (const bool unfolds_kernel : {false, true}) {
          const Selection wanted{{thread, {}, event}, unfolds_kernel};
          const Selected selected = seen(select_from(profile, wanted, "x"));
          EXPECT_EQ(selected, seen(select_from(Profile(profile), wanted, "x")));
          EXPECT_EQ(seen(profile), whole);
          (selected.error.empty() ? succeeded : failed)++;
        }
  }
  EXPECT_GT(succeeded, 100u);
  EXPECT_GT(failed, 100u);
}

} // namespace
} // namespace tally::session_profile_files_test
