// Tests MD5 digests with those of RFC 1321, appendix A.5, and around the size of a block.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/md5.h"

namespace tally::support_md5_test {
namespace {

// The digest's first eight bytes, as the RFC prints them.
uint64_t printed(uint64_t bytes) { return __builtin_bswap64(bytes); }

TEST(Md5, HasTheDigestsOfTheRfc) {
  EXPECT_EQ(md5_low(""), printed(0xd41d8cd98f00b204));
  EXPECT_EQ(md5_low("a"), printed(0x0cc175b9c0f1b6a8));
  EXPECT_EQ(md5_low("abc"), printed(0x900150983cd24fb0));
  EXPECT_EQ(md5_low("message digest"), printed(0xf96b697d7cb7938d));
  EXPECT_EQ(md5_low("abcdefghijklmnopqrstuvwxyz"), printed(0xc3fcd3d76192e400));
  EXPECT_EQ(md5_low("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            printed(0xd174ab98d277d9f5));
  EXPECT_EQ(md5_low("1234567890123456789012345678901234567890123456789012345678901234567890"
                    "1234567890"),
            printed(0x57edf4a22be3c955));
}

TEST(Md5, PadsAroundABlock) { // by md5sum
  EXPECT_EQ(md5_low(std::string(55, 'x')), printed(0x04364420e25c512f));
  EXPECT_EQ(md5_low(std::string(56, 'x')), printed(0x668a72d5ba17f08e));
  EXPECT_EQ(md5_low(std::string(64, 'x')), printed(0xc1bb4f81d892b2d5));
}

TEST(Md5, OfManyTextsIsThatOfEach) {
  std::vector<std::string> texts;
  for (size_t size = 0; size < 300; ++size)
    texts.emplace_back(size % 7 == 0 ? 40 : size, static_cast<char>('a' + size % 26));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::vector<uint64_t> all = md5_low(views);
  ASSERT_EQ(all.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(all[i], md5_low(texts[i])) << i;
  EXPECT_TRUE(md5_low(std::span<const std::string_view>()).empty());
}

} // namespace
} // namespace tally::support_md5_test
