// Tests how the memory of a process is read, with this process.
#include <array>
#include <cstdint>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/emulated.h"
#include "support/process_memory.h"
#include "support/unique_fd.h"

namespace tally {
namespace {

constexpr size_t page = 4096;

// Two pages.
class ProcessMemory : public testing::Test {
protected:
  void SetUp() override {
    if (tally_is_emulated() != 0)
      GTEST_SKIP() << "an emulator shows its own memory";
    ASSERT_NE(pages_, MAP_FAILED);
  }
  ~ProcessMemory() override { ::munmap(pages_, 2 * page); }

  size_t read(size_t at, size_t size) {
    return read_process_memory(::getpid(), address() + at, bytes_.data(), size);
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(pages_); }

  void *pages_ =
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::array<uint8_t, 2 * page> bytes_{};
};

TEST_F(ProcessMemory, IsReadUpToItsEnd) {
  static_cast<uint8_t *>(pages_)[page - 1] = 7;
  EXPECT_EQ(read(0, 2 * page), 2 * page);
  EXPECT_EQ(bytes_[page - 1], 7);
  ::munmap(static_cast<uint8_t *>(pages_) + page, page);
  EXPECT_EQ(read(page - 8, 16), 8u);
  EXPECT_EQ(bytes_[7], 7);
  EXPECT_EQ(read(page, 8), 0u);
}

// A program that a debugger holds does not answer, so that a reader would wait for good.
TEST_F(ProcessMemory, IsNotReadWhereTheProgramHandlesPageFaults) {
  const UniqueFd faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
  if (faults.get() < 0)
    GTEST_SKIP() << "userfaultfd(2) is not permitted";
  uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
  uffdio_register missing{
      .range = {address(), 2 * page}, .mode = UFFDIO_REGISTER_MODE_MISSING, .ioctls = 0};
  ASSERT_EQ(::ioctl(faults.get(), UFFDIO_API, &api), 0);
  ASSERT_EQ(::ioctl(faults.get(), UFFDIO_REGISTER, &missing), 0);
  EXPECT_EQ(read(0, 8), 0u);
}

} // namespace
} // namespace tally
