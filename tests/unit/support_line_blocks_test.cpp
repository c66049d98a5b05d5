#include "support/line_blocks.h"

#include <random>

#include <gtest/gtest.h>

namespace tally::support_line_blocks_test {
namespace {

struct Cut {
  std::string text;
  size_t blocks = 0;
  bool open = false;
};

Cut cut(const std::string &text, size_t piece) {
  const auto source = ByteSource::of(text, "f", {.piece_bytes = piece});
  LineBlocks blocks(*source);
  Cut out;
  for (;;) {
    const auto block = blocks.next();
    EXPECT_TRUE(block);
    if (!block || block->empty())
      break;
    EXPECT_EQ(block->back(), '\n');
    out.text += *block;
    ++out.blocks;
  }
  out.open = blocks.last_line_open();
  return out;
}

TEST(LineBlocks, HoldEachWholeLineOnce) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t size = random() % 60; size > 0; --size)
      text += random() % 4 ? 'a' : '\n';
    const bool open = !text.empty() && text.back() != '\n';
    for (const size_t piece : {1u, 2u, 3u, 7u, 1000u}) {
      const Cut got = cut(text, piece);
      ASSERT_EQ(got.text, open ? text + '\n' : text);
      ASSERT_EQ(got.open, open);
    }
  }
}

TEST(LineBlocks, HaveTheSizeOfThePieces) {
  std::string text;
  for (int i = 0; i < 10'000; ++i)
    text += "line\n";
  EXPECT_EQ(cut(text, text.size()).blocks, 1u);
  EXPECT_LE(cut(text, 1001).blocks, 2 * (text.size() / 1001 + 1));
}

// If each piece restarted the search for the end of the line, this would take minutes.
TEST(LineBlocks, HoldALineOf100Megabytes) {
  const std::string text = "a\n" + std::string(100'000'000, 'x') + "\nb";
  const Cut got = cut(text, 4096);
  EXPECT_EQ(got.text.size(), text.size() + 1);
  EXPECT_EQ(got.blocks, 3u);
  EXPECT_TRUE(got.open);
}

TEST(LineBlocks, RefuseALineThatIsTooLong) {
  const std::string text = "short\n" + std::string(101, 'x') + "\n";
  for (const size_t piece : {3u, 7u}) {
    const auto source = ByteSource::of(text, "f", {.piece_bytes = piece});
    LineBlocks blocks(*source, 100);
    Result<std::string_view> block;
    do
      block = blocks.next();
    while (block && !block->empty());
    ASSERT_FALSE(block);
    EXPECT_EQ(block.error().text(), "f: a line is longer than 100 bytes");
  }
}

} // namespace
} // namespace tally::support_line_blocks_test
