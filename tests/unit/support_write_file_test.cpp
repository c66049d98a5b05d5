#include <csignal>
#include <functional>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/file_io.h"
#include "temporary.h"

namespace tally::support_write_file_test {
namespace {

namespace fs = std::filesystem;

// Runs `work` in a separate process, for limits and permissions that cannot be restored.
int status_of(const std::function<int()> &work) {
  const pid_t pid = ::fork();
  if (pid == 0)
    ::_exit(work());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Without capabilities, which every process may give up, permissions apply to root, too.
bool give_up_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capset, &header, none) == 0;
}

class WriteFileTest : public testing::Test {
protected:
  void expect_alone(const std::string &name, const std::string &bytes) {
    EXPECT_EQ(folder.get(name), bytes);
    EXPECT_EQ(folder.list(), std::vector<std::string>{name});
  }
  TemporaryFolder folder;
};

TEST_F(WriteFileTest, WritesAndReplaces) {
  ASSERT_TRUE(write_file(folder / "a", "one"));
  expect_alone("a", "one");
  ASSERT_TRUE(write_file(folder / "a", std::string(1 << 20, 'x')));
  ASSERT_TRUE(write_file(folder / "a", ""));
  expect_alone("a", "");
}

TEST_F(WriteFileTest, KeepsPermissions) {
  folder.put("a", "old");
  ASSERT_EQ(::chmod((folder / "a").c_str(), 0640), 0);
  ASSERT_TRUE(write_file(folder / "a", "new"));
  struct stat info {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  expect_alone("a", "new");
}

TEST_F(WriteFileTest, FollowsLinks) {
  folder.put("real", "old");
  fs::create_directory(folder / "d");
  fs::create_symlink("../real", folder / "d/link");
  fs::create_symlink("d/link", folder / "chain");
  ASSERT_TRUE(write_file(folder / "chain", "new"));
  EXPECT_TRUE(fs::is_symlink(folder / "chain"));
  EXPECT_TRUE(fs::is_symlink(folder / "d/link"));
  EXPECT_EQ(folder.get("real"), "new");
  EXPECT_FALSE(fs::is_symlink(folder / "real"));
}

TEST_F(WriteFileTest, FollowsALinkToAFileThatDoesNotExist) {
  fs::create_directory(folder / "d");
  fs::create_symlink("d/target", folder / "link");
  ASSERT_TRUE(write_file(folder / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(folder.get("d/target"), "new");
  fs::create_symlink("loop", folder / "loop");
  EXPECT_FALSE(write_file(folder / "loop", "new"));
  EXPECT_TRUE(fs::is_symlink(folder / "loop"));
}

TEST_F(WriteFileTest, AllowsTheLongestNames) {
  const std::string name(255, 'n');
  ASSERT_TRUE(write_file(folder / name, "x"));
  expect_alone(name, "x");
  EXPECT_FALSE(write_file(folder / (name + "n"), "x"));
}

TEST_F(WriteFileTest, KeepsTheOldFileOnAFullDisk) {
  folder.put("a", "old");
  const int status = status_of([&] {
    std::signal(SIGXFSZ, SIG_IGN); // so that write() fails instead
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = write_file(folder / "a", std::string(5000, 'x'));
    const auto fresh = write_file(folder / "b", std::string(5000, 'x'));
    return !written && !fresh && written.error().text().find("EFBIG") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  expect_alone("a", "old");
}

// Returns whether the file system of a directory has files without a name.
bool has_unnamed_files(const std::string &directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  ::close(fd);
  return fd >= 0;
}

TEST_F(WriteFileTest, LeavesNothingIfItIsKilled) {
  if (!has_unnamed_files(folder / ""))
    GTEST_SKIP() << "the temporary directory cannot have files without a name";
  folder.put("a", "old");
  for (const char *name : {"a", "b"}) {
    const int status = status_of([&] {
      const rlimit limit{1000, 1000}, no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      ::setrlimit(RLIMIT_FSIZE, &limit); // SIGXFSZ ends the process within write()
      std::signal(SIGXFSZ, SIG_DFL);
      static_cast<void>(write_file(folder / name, std::string(5000, 'x')));
      return 0;
    });
    EXPECT_EQ(status, -1);
  }
  expect_alone("a", "old");
}

TEST_F(WriteFileTest, KeepsTheOldFileIfNothingCanBeCreated) {
  folder.put("a", "old");
  const auto refused = [&] {
    if (!give_up_capabilities())
      return 1;
    const auto written = write_file(folder / "a", "new");
    return !written && written.error().code == ErrorCode::permission ? 0 : 1;
  };
  ASSERT_EQ(::chmod((folder / "a").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((folder / "").c_str(), 0555), 0); // the directory
  EXPECT_EQ(status_of(refused), 0);
  ASSERT_EQ(::chmod((folder / "").c_str(), 0777), 0);
  ASSERT_EQ(::chmod((folder / "a").c_str(), 0444), 0); // the file
  EXPECT_EQ(status_of(refused), 0);
  expect_alone("a", "old");
}

TEST_F(WriteFileTest, ReportsErrors) {
  const auto error = [](const std::string &path) {
    const auto written = write_file(path, "x");
    EXPECT_FALSE(written);
    return written ? Error() : written.error();
  };
  EXPECT_EQ(error(folder / "no/such/folder").code, ErrorCode::not_found);
  EXPECT_EQ(error(folder / "").message, "is a directory");
  EXPECT_EQ(error("").code, ErrorCode::not_found);
  EXPECT_NE(error("/dev/full").text().find("ENOSPC"), std::string::npos);
  EXPECT_EQ(error("/dev/full").source, "/dev/full");
  EXPECT_TRUE(write_file("/dev/null", "x"));
}

} // namespace
} // namespace tally::support_write_file_test
