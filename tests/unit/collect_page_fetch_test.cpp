#include "collect/page_fetch.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "support/clock.h"

namespace tally::collect_page_fetch_test {
namespace {

class PageFetchTest : public ::testing::Test {
protected:
  static constexpr size_t page = 4096, pages = 64;

  PageFetchTest()
      : memory_(::mmap(nullptr, pages * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~PageFetchTest() override { ::munmap(memory_, pages * page); }

  uint64_t address(size_t number) const {
    return reinterpret_cast<uint64_t>(memory_) + number * page;
  }
  bool is_there(size_t number) const {
    unsigned char here = 0;
    EXPECT_EQ(::mincore(static_cast<std::byte *>(memory_) + number * page, page, &here), 0);
    return (here & 1) != 0;
  }
  void drop_all() const { ::madvise(memory_, pages * page, MADV_DONTNEED); }

  PageFetch fetch_;

private:
  void *memory_;
};

TEST_F(PageFetchTest, ReadsThePagesOfEachThreadOfABatch) {
  for (size_t thread = 0; thread < 8; ++thread) {
    EXPECT_FALSE(is_there(8 * thread));
    fetch_.fetch(::getpid(), address(8 * thread), 3 * page, now_ns());
    EXPECT_TRUE(is_there(8 * thread) && is_there(8 * thread + 2));
    EXPECT_FALSE(is_there(8 * thread + 3));
  }
}

TEST_F(PageFetchTest, ReadsAgainOnlyForALaterSample) {
  const uint64_t before = now_ns();
  fetch_.fetch(::getpid(), address(0), page, before);
  drop_all();
  fetch_.fetch(::getpid(), address(0), page, before);
  EXPECT_FALSE(is_there(0)) << "the sample was taken before the page was read";
  fetch_.fetch(::getpid(), address(0), page, now_ns());
  EXPECT_TRUE(is_there(0));
}

// A range that cannot be read costs a hundred times its time, so that several tries in a row are
// soon refused.
TEST_F(PageFetchTest, PausesAfterTooMuchWork) {
  bool is_refused = false;
  for (int tries = 0; tries < 100'000 && !is_refused; ++tries) {
    fetch_.fetch(::getpid(), page, page, now_ns()); // no memory is there
    drop_all();
    fetch_.fetch(::getpid(), address(0), page, now_ns());
    is_refused = !is_there(0);
  }
  EXPECT_TRUE(is_refused);
}

} // namespace
} // namespace tally::collect_page_fetch_test
