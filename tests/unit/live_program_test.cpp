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

TEST(WhyUncertain, NamesTheFunctionsThatThreadsAreIn) {
  auto notes = std::make_shared<GcovNotes>();
  for (const char *name : {"_ZN1BC1Ei", "near"}) {
    GraphFunction function;
    function.name = notes->graph.strings.intern(name);
    notes->graph.functions.push(function);
  }
  LiveCounters live{notes, {}, {}};
  live.frames.push_back({.file = "b.cpp", .line = 7});
  live.frames.push_back(
      {.function = GraphFunctionId{1}, .file = "b.cpp", .line = 7, .perhaps = true});
  ObjectFiles object = files_of_object("/b.gcda");
  object.live = std::make_shared<LiveCounters>(std::move(live));
  Coverage coverage;
  FileCoverage &file = coverage.files.emplace_back();
  file.path = "/b.cpp";
  file.lines = {{7, 1}};
  file.lines[0].uncertain = 1;
  EXPECT_EQ(why_uncertain(coverage, std::vector{object}, {}),
            "1 line is uncertain, because a thread is in B::B(int) (b.cpp:7)");
  EXPECT_EQ(why_uncertain(coverage, {}, std::vector<SourceBasedFrame>{{"_Z1fv", "/f.cpp", 3}}),
            "1 line is uncertain, because a thread is in f() (f.cpp:3)");
}

// A program whose modules and memory are imaginary.
class ImageSource final : public ProgramSource {
public:
  explicit ImageSource(Image &image, LoadedModule module)
      : loaded{std::move(module)}, image_(image) {}
  Memory &memory() override { return image_; }
  Result<std::string> state_of_modules() override { return state; }
  std::vector<LoadedModule> modules(Diagnostics &) override { return loaded; }

  std::string state = "loaded";
  std::vector<LoadedModule> loaded;

private:
  Image &image_;
};

std::vector<ImageObject> one_object(const char *version) {
  return {{"/a.gcda", word_of(version), 1, 2, {{false, 1, 2, 3, {{0, {7, 8}}}}}}};
}

TEST(LiveProgram, KeepsItsFindings) {
  Image image({false, 8});
  LiveProgram program(
      std::make_unique<ImageSource>(image, write_objects(image, one_object("C04*"), 8, true)));
  NotesCache notes;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(program.refresh(notes));
    ASSERT_EQ(program.findings().findings().size(), 1u);
    for (const bool is_core : {false, true})
      EXPECT_NE(no_objects(program, "it", is_core)
                    .message.find("was compiled by a GCC (C04*) whose counters are not known"),
                std::string::npos);
  }
  image.bytes().clear(); // a core file without data
  EXPECT_NE(no_objects(program, "it", true).message.find("the core file holds no data of program"),
            std::string::npos);
}

// A linker replaces the file of a module that stays loaded.
TEST(LiveProgram, KnowsAModuleWhoseFileWasReplaced) {
  Image image({false, 8});
  LoadedModule module = write_objects(image, one_object("B22*"), 8, true);
  auto made = std::make_unique<ImageSource>(image, module);
  ImageSource &source = *made;
  LiveProgram program(std::move(made));
  NotesCache notes;
  ASSERT_TRUE(program.refresh(notes));
  const std::vector<ModuleIdentity> loaded = program.loaded();
  const auto snapshot = program.snapshot();
  ASSERT_TRUE(snapshot);
  source.state = "replaced";
  source.loaded[0].key.path += " (deleted)";
  ASSERT_TRUE(program.refresh(notes));
  EXPECT_TRUE(program.unloaded().empty());
  const CounterSnapshot carried = program.carried(*snapshot, loaded);
  EXPECT_EQ(carried.bytes_of(program.layout().arrays[0]),
            snapshot->bytes_of(program.layout().arrays[0]));
  source.state = "unloaded";
  source.loaded.clear();
  ASSERT_TRUE(program.refresh(notes));
  EXPECT_EQ(program.unloaded().size(), 1u);
}

// The same object file is part of two modules.
TEST(LiveProgram, SaysWhichModuleContainsAnObject) {
  Image image({false, 8});
  const LoadedModule first = write_objects(image, one_object("B22*"), 8, true);
  LoadedModule second = write_objects(image, one_object("B22*"), 8, true);
  second.key.path = "/lib/libs.so";
  auto made = std::make_unique<ImageSource>(image, first);
  made->loaded.push_back(second);
  LiveProgram program(std::move(made));
  NotesCache notes;
  ASSERT_TRUE(program.refresh(notes));
  const auto snapshot = program.snapshot();
  ASSERT_TRUE(snapshot);
  const auto objects = program.objects({*snapshot, {}}, notes);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].live->module, "/bin/program");
  EXPECT_EQ(objects[1].live->module, "/lib/libs.so");
}

} // namespace
} // namespace tally::live
