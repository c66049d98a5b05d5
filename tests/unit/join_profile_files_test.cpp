// Tests what `tally convert`, `tally report` and the C interface do with whole files.
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "join/difference_file.h"
#include "join/profile_files.h"
#include "random_profile.h"
#include "temporary.h"
#include "transform/difference.h"

namespace tally::join_profile_files_test {
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

Side folded_side(std::string_view text, const std::string &name) {
  Diagnostics diagnostics;
  const Format &format = **format_by_name("folded");
  return side_of(*format.read(*ByteSource::of(text, name), diagnostics), name);
}

TEST(Compare, ShowsWhatOnlyOneSideHas) {
  const auto compared = [](const SampleFilter &wanted) -> Result<DiffTable> {
    TALLY_TRY(before, select_side(folded_side("main;f 5\nmain;g 5\n", "a"), wanted));
    TALLY_TRY(after, select_side(folded_side("main;f 5\nmain;h 4\n", "b"), wanted));
    return changes_of({std::move(before), std::move(after)}, By::function, SortBy::self);
  };
  for (const auto &[pattern, before, after] :
       {std::tuple("^g$", 5u, 0u), std::tuple("^h$", 0u, 4u), std::tuple("^f$", 5u, 5u)}) {
    const auto changes = compared({.focus = pattern});
    ASSERT_TRUE(changes) << changes.error().text();
    EXPECT_EQ(changes->before_total, before);
    EXPECT_EQ(changes->after_total, after);
    ASSERT_EQ(changes->rows.size(), 1u);
  }
  const auto neither = compared({.focus = "^x$"});
  ASSERT_FALSE(neither);
  EXPECT_EQ(neither.error().code, ErrorCode::no_data);
  EXPECT_TRUE(neither.error().text().ends_with("'^x$', neither in a nor in b"))
      << neither.error().text();
  EXPECT_EQ(compared({.focus = "("}).error().code, ErrorCode::invalid_argument);
}

TEST(Compare, NamesTheSideWithoutStacks) {
  CostProfileBuilder costs;
  costs.add_event("ticks");
  const auto side = select_side(side_of(*costs.finish(), "b.callgrind"), {.focus = "f"});
  ASSERT_FALSE(side);
  EXPECT_TRUE(side.error().text().starts_with("b.callgrind: --focus needs stacks"))
      << side.error().text();
}

// Every format that `diff -o` accepts keeps both values.
TEST(Compare, WritesFormatsThatHoldBothSides) {
  const Comparison both{folded_side("main;f 5\nmain;g 4\n", "a"), folded_side("main;f 3\n", "b")};
  const TemporaryFolder folder;
  size_t accepted = 0;
  for (const Format &format : formats()) {
    if (!format.writes_profiles())
      continue;
    const std::string path = folder / default_file_name(format, "d");
    const auto known = difference_format(path);
    if (!known) {
      EXPECT_EQ(known.error().code, ErrorCode::invalid_argument) << format.name;
      continue;
    }
    ++accepted;
    ASSERT_EQ(*known, &format);
    const auto written = write_difference(both, format, path);
    ASSERT_TRUE(written) << written.error().text();
    if (!format.read)
      continue;
    Diagnostics diagnostics;
    const auto again = read_file(path, diagnostics);
    ASSERT_TRUE(again) << again.error().text();
    const auto &stacks = std::get<StackProfile>(std::get<Profile>(again->content));
    const std::vector<int64_t> totals = stacks.totals();
    ASSERT_EQ(totals.size(), 2u) << format.name;
    EXPECT_EQ(totals, (std::vector<int64_t>{9, 3})) << format.name;
    EXPECT_EQ(differing_event(stacks), "ticks") << format.name;
  }
  EXPECT_GE(accepted, 4u);
  for (const std::string name : {"d.png", "d.dot", "d.cpuprofile", "d.callgrind", "d", "-"})
    EXPECT_FALSE(difference_format(name)) << name;
}

} // namespace
} // namespace tally::join_profile_files_test
