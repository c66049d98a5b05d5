#include <gtest/gtest.h>

#include "gcov_bytes.h"
#include "live/live_program.h"
#include "live_image.h"
#include "temporary.h"

namespace tally::live {
namespace {

ObjectFiles object_of(const std::string &path, int64_t counter, uint32_t stamp = 1) {
  GcovData data;
  data.header = {false, word_of("B22*"), GcovVersion::v12, stamp, 2};
  data.end_mark = true;
  data.other = std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12);
  data.values = {counter};
  data.records = {{gcov_tag_function, false, 0, 12}, {gcov_tag_counters, false, 0, 1}};
  ObjectFiles object = files_of_object(path);
  object.live = std::make_shared<LiveCounters>(LiveCounters{nullptr, std::move(data), {}});
  return object;
}

TEST(CounterFilesOnDisk, StayBelowTheDirectory) {
  const TemporaryFolder folder;
  for (const char *path : {"/../../a.gcda", "../b.gcda", "/x/../../c.gcda", "/d/../e.gcda"})
    ASSERT_TRUE(write_counter_files(std::vector{object_of(path, 1)}, folder / "in/out")) << path;
  EXPECT_EQ(folder.list(), std::vector<std::string>{"in"});
  for (const char *name : {"a", "b", "c", "e"})
    EXPECT_FALSE(folder.get(std::string("in/out/") + name + ".gcda").empty()) << name;
}

// A static library may be part of a program and of its shared objects.
TEST(CounterFilesOnDisk, HaveTheSumOfAnObjectInSeveralModules) {
  const TemporaryFolder folder;
  const std::vector objects{object_of("/u.gcda", 3), object_of("/m.gcda", 1),
                            object_of("/u.gcda", 5)};
  ASSERT_TRUE(write_counter_files(objects, folder / "out"));
  Diagnostics diagnostics;
  const auto data = read_gcov_data(folder.get("out/u.gcda"), "u.gcda", diagnostics);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->values, std::vector<int64_t>{8});
  const auto refused = write_counter_files(
      std::vector{object_of("/v.gcda", 3), object_of("/v.gcda", 3, 7)}, folder / "out");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("v.gcda: two modules write this file"), std::string::npos)
      << refused.error().text();
}

} // namespace
} // namespace tally::live
