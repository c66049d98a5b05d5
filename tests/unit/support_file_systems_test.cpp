// Tells file systems that a program serves from others, by the text of a list of mounts.
#include <sstream>

#include <sys/sysmacros.h>

#include <gtest/gtest.h>

#include "support/file_systems.h"

namespace tally {
namespace {

TEST(FileSystems, AreToldByTheMountThatAPathLeadsTo) {
  std::istringstream text("22 1 0:30 / / rw shared:1 - overlay overlay rw\n"
                          "23 22 0:31 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"
                          "24 22 8:1 / /home rw - fuseblk /dev/sda1 rw\n"
                          "25 22 0:40 / /mnt/a\\040b rw - fuse.sshfs host: rw\n"
                          "26 25 0:41 / /mnt/a\\040b/tmp rw - tmpfs tmpfs rw\n"
                          "27 22 0:42 / /data rw - ext4 /dev/sdb rw\n"
                          "28 27 0:43 / /data rw - fuse server rw\n"
                          "damaged\n");
  const std::vector<FileSystems::Mount> mounts = FileSystems::parse(text);
  ASSERT_EQ(mounts.size(), 7u);
  const auto may_not = [&](std::string_view path, uint64_t device = 0) {
    return FileSystems::may_not_answer(mounts, device, path);
  };
  EXPECT_FALSE(may_not("/lib/libc.so"));
  EXPECT_FALSE(may_not("/home/program"));
  EXPECT_TRUE(may_not("/mnt/a b/lib.so"));
  EXPECT_TRUE(may_not("/mnt/a b"));
  EXPECT_FALSE(may_not("/mnt/a bc"));
  EXPECT_FALSE(may_not("/mnt/a b/tmp/lib.so")) << "another file system is mounted below";
  EXPECT_TRUE(may_not("/data/lib.so")) << "the later mount hides the earlier one";
  EXPECT_TRUE(may_not("/lib/libc.so", makedev(0, 40))) << "the file was mapped from there";
  EXPECT_FALSE(may_not("/lib/libc.so", makedev(0, 41)));
  EXPECT_FALSE(FileSystems::may_not_answer(mounts, 0, "/mnt/a b/lib.so", makedev(0, 40)))
      << "the program itself is there";
}

} // namespace
} // namespace tally
