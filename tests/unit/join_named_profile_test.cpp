// Tests the names of the kernel's functions in a profile.
#include <gtest/gtest.h>

#include "join/named_profile.h"
#include "model/kernel_code.h"
#include "symbolize/kernel_symbols.h"

namespace tally::join_named_profile_test {
namespace {

StackProfile in_kernel(bool of_this_boot) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  Mapping mapping{
      kernel_start, kernel_limit, kernel_start, builder.intern(kernel_object), {}, 0, 0, 0,
      of_this_boot};
  const SourceLine line{
      builder.add_function({builder.intern(kernel_function), {}, {}, mapping.path, 0}), {}, 0};
  const uint64_t address = kernel_limit - 4096; // after every symbol
  const LocationId at = builder.add_location(builder.add_mapping(mapping), address, {&line, 1});
  builder.add_sample(builder.push(none<StackId>, at), none<ThreadId>, none<PartId>, 1);
  return std::move(*builder.finish());
}

TEST(UnfoldKernel, NamesFunctionsOfTheRunningKernelOnly) {
  if (!symbolize::KernelSymbols::read())
    GTEST_SKIP() << "the kernel's symbols are hidden here";
  const auto unfolded = unfold_kernel(in_kernel(true));
  ASSERT_TRUE(unfolded) << unfolded.error().text();
  const auto lines = unfolded->location(LocationId{0}).lines;
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(unfolded->strings[unfolded->functions()[lines[0].function].name], "");
  EXPECT_EQ(unfolded->strings[unfolded->functions()[lines[1].function].name], "[kernel]");

  const auto refused = unfold_kernel(in_kernel(false));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "--kernel: the kernel's functions cannot be named: the profile is not known to be from "
            "the running kernel");
}

} // namespace
} // namespace tally::join_named_profile_test
