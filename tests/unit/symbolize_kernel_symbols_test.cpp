// Tests the kernel's functions, read from text in the form of /proc/kallsyms.
#include <gtest/gtest.h>

#include "model/kernel_code.h"
#include "session/named_profile.h"
#include "symbolize/kernel_symbols.h"

namespace tally::symbolize {
namespace {

constexpr const char *text = "ffffffff81000000 T _text\n"
                             "ffffffff81000000 T _stext\n"
                             "ffffffff81000100 t __do_read\n"
                             "ffffffff81000100 W do_read_weak\n"
                             "ffffffff81000100 T do_read\n"
                             "ffffffff81000180 D some_data\n"
                             "ffffffff81000200 t vfs_read\n"
                             "not a line\n"
                             "ffffffffc0000000 t hook_in\t[nf_tables]\n";

std::string name_at(const KernelSymbols &symbols, uint64_t address) {
  const KernelSymbol *symbol = symbols.at(address);
  return symbol ? std::string(symbol->name) + std::string(symbol->module) : "";
}

TEST(KernelSymbols, AttributesAnAddressToTheFunctionBeforeIt) {
  const KernelSymbols symbols{text};
  EXPECT_EQ(symbols.size(), 7u);
  EXPECT_EQ(name_at(symbols, 0xffffffff80ffffff), "");
  EXPECT_EQ(name_at(symbols, 0xffffffff81000100), "do_read"); // the last of its names
  EXPECT_EQ(name_at(symbols, 0xffffffff810001ff), "do_read"); // data symbols are ignored
  EXPECT_EQ(name_at(symbols, 0xffffffff81000200), "vfs_read");
  EXPECT_EQ(name_at(symbols, 0xffffffffc0000010), "hook_in[nf_tables]");
}

TEST(KernelSymbols, IgnoresHiddenAddresses) {
  EXPECT_EQ(KernelSymbols("0000000000000000 T _text\n0000000000000000 T do_read\n").size(), 0u);
}

TEST(KernelSymbols, RecognizesAnotherKernelByAddressOrBuildId) {
  const KernelSymbols symbols{text};
  EXPECT_TRUE(symbols.are_of("", 0xffffffff81000000));
  EXPECT_FALSE(symbols.are_of("", 0xffffffff82000000));
  EXPECT_FALSE(symbols.are_of("", 0));
  EXPECT_FALSE(symbols.are_of("00112233", 0xffffffff81000000));
}

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
  if (!KernelSymbols::read())
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
} // namespace tally::symbolize
