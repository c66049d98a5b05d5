// Tests the kernel's functions, read from text in the form of /proc/kallsyms.
#include <gtest/gtest.h>

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

} // namespace
} // namespace tally::symbolize
