#include <random>

#include <gtest/gtest.h>

#include "gcov_bytes.h"
#include "live/counter_snapshot.h"
#include "live_image.h"

namespace tally::live {
namespace {

// The versions whose structures differ, the number of their kinds of counters, and whether a
// checksum follows the stamp (gcc/gcov-counter.def and gcc/coverage.cc of each version).
struct Version {
  const char *word;
  uint32_t kinds;
  bool checksum;
};
constexpr Version versions[] = {
    {"407*", 8, false}, {"408*", 8, false}, {"409*", 9, false}, {"A54*", 10, false},
    {"A75*", 9, false}, {"A93*", 9, false}, {"B02*", 8, false}, {"B13*", 8, false},
    {"B22*", 8, true},  {"B42*", 9, true},  {"B51*", 10, true},
};
constexpr WordLayout word_layouts[] = {{false, 8}, {false, 4}, {true, 8}, {true, 4}};

std::vector<ImageObject> random_objects(std::mt19937 &random, const Version &version) {
  std::vector<ImageObject> objects(1 + random() % 3);
  for (size_t i = 0; i < objects.size(); ++i) {
    ImageObject &object = objects[i];
    object.path = "/build/" + std::to_string(i) + ".gcda";
    object.version = word_of(version.word);
    object.stamp = static_cast<uint32_t>(random());
    object.checksum = static_cast<uint32_t>(random());
    object.functions.resize(1 + random() % 5);
    for (ImageFunction &function : object.functions) {
      function.elsewhere = random() % 5 == 0;
      function.ident = static_cast<uint32_t>(random());
      function.lineno_checksum = static_cast<uint32_t>(random());
      function.cfg_checksum = static_cast<uint32_t>(random());
      for (const uint32_t kind : {0u, 6u}) {
        auto &values = function.counters[kind];
        values.resize(random() % 6);
        for (uint64_t &value : values)
          value = random() % 3 == 0 ? 0 : uint64_t{random()} << (random() % 32);
      }
    }
    object.functions[0].elsewhere = false;
  }
  return objects;
}

CounterLayout layout_of(Image &image, const LoadedModule &module, Diagnostics &diagnostics) {
  CounterLayout layout;
  layout.words = image.words();
  add_module(layout, module, 0, image, diagnostics);
  return layout;
}

// Reads the file that is made for an object, and compares it with the object.
void expect_same(const GcovData &made, const ImageObject &object) {
  const auto bytes = made.bytes();
  ASSERT_TRUE(bytes);
  Diagnostics diagnostics;
  const auto data = read_gcov_data(*bytes, "made", diagnostics);
  ASSERT_TRUE(data) << data.error().text();
  EXPECT_EQ(data->header.version_word, object.version);
  EXPECT_EQ(data->header.stamp, object.stamp);
  if (data->header.checksum) {
    EXPECT_EQ(*data->header.checksum, object.checksum);
  }
  std::vector<ImageFunction> functions;
  for (const GcovRecord &record : data->records)
    if (record.tag == gcov_tag_function) {
      ImageFunction &function = functions.emplace_back();
      const auto key = data->function_of(record);
      function.elsewhere = !key;
      if (key)
        function = {false, key->ident, key->lineno_checksum, key->cfg_checksum, {}};
    } else if (is_counter_tag(record.tag)) {
      auto &values = functions.back().counters[static_cast<uint32_t>(counter_kind(record.tag))];
      if (record.zeros)
        values.assign(record.last, 0);
      else
        for (const int64_t value : data->values_of(record))
          values.push_back(static_cast<uint64_t>(value));
    }
  ASSERT_EQ(functions.size(), object.functions.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    EXPECT_EQ(functions[i].elsewhere, object.functions[i].elsewhere);
    if (functions[i].elsewhere)
      continue;
    EXPECT_EQ(functions[i].ident, object.functions[i].ident);
    EXPECT_EQ(functions[i].lineno_checksum, object.functions[i].lineno_checksum);
    EXPECT_EQ(functions[i].cfg_checksum, object.functions[i].cfg_checksum);
    EXPECT_EQ(functions[i].counters, object.functions[i].counters);
  }
}

void expect_all(Image &image, const LoadedModule &module, const std::vector<ImageObject> &objects) {
  Diagnostics diagnostics;
  const CounterLayout layout = layout_of(image, module, diagnostics);
  EXPECT_TRUE(diagnostics.findings().empty());
  const auto snapshot = CounterSnapshot::take(layout, image);
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(layout.objects.size(), objects.size());
  CounterFiles files(layout, *snapshot, image);
  for (size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(layout.objects[i].data_path, objects[i].path);
    expect_same(files.data_of(layout.objects[i]), objects[i]);
  }
}

TEST(LiveCounters, AreTheFilesOfEachVersionAndProcessor) {
  std::mt19937 random(1);
  for (const WordLayout words : word_layouts)
    for (const Version &version : versions)
      for (int i = 0; i < 20; ++i) {
        SCOPED_TRACE(std::string(version.word) + (words.big_endian ? " big " : " little ") +
                     std::to_string(words.pointer_size));
        Image image(words);
        const auto objects = random_objects(random, version);
        expect_all(image, write_objects(image, objects, version.kinds, version.checksum), objects);
      }
}

// Without a list, objects are found by their functions' symbols or in the initialised data.
TEST(LiveCounters, AreFoundWithoutAList) {
  std::mt19937 random(2);
  for (const WordLayout words : word_layouts) {
    Image image(words);
    const auto objects = random_objects(random, versions[8]);
    LoadedModule module = write_objects(image, objects, 8, true);
    module.places.roots.clear();
    expect_all(image, module, objects);
    module.places.functions.clear();
    expect_all(image, module, objects);
    image.put_pointer(Image::base, 0); // the constructors have not run
    module.places.roots = {Image::base};
    expect_all(image, module, objects);
    const uint64_t list = image.reserve(objects.size() * words.pointer_size);
    Diagnostics diagnostics;
    const CounterLayout layout = layout_of(image, module, diagnostics);
    for (size_t i = 0; i < layout.objects.size(); ++i)
      image.put_pointer(list + i * words.pointer_size, layout.objects[i].address);
    module.places.segments[0].high = image.end();
    module.places.data.clear();
    module.places.roots.clear();
    module.places.info_lists = {{list, image.end()}};
    expect_all(image, module, objects);
  }
}

TEST(LiveCounters, ReportACompilerThatIsNotKnown) {
  std::mt19937 random(3);
  Image image({false, 8});
  auto objects = random_objects(random, versions[8]);
  for (ImageObject &object : objects)
    object.version = word_of("C04*");
  Diagnostics diagnostics;
  EXPECT_TRUE(
      layout_of(image, write_objects(image, objects, 8, true), diagnostics).objects.empty());
  ASSERT_FALSE(diagnostics.findings().empty());
  EXPECT_NE(diagnostics.findings()[0].text().find(
                "was compiled by a GCC (C04*) whose counters are not known"),
            std::string::npos);
}

TEST(LiveCounters, KeepTheValuesOfLists) {
  for (const WordLayout words : word_layouts) {
    Image image(words);
    ImageObject object{"/a.gcda", word_of("B22*"), 1, 2, {{false, 1, 2, 3, {}}}};
    object.functions[0].counters[3] = {70, 2, 0};
    const LoadedModule built = write_objects(image, {object}, 8, true);
    LoadedModule module = built;
    const uint64_t first = image.reserve(24), second = image.reserve(24);
    for (const auto &[node, value, count, next] :
         {std::tuple(first, 11, 60, second), std::tuple(second, 12, 10, uint64_t{0})}) {
      image.put(node, static_cast<uint64_t>(value), 8);
      image.put(node + 8, static_cast<uint64_t>(count), 8);
      image.put_pointer(node + 16, next);
    }
    module.places.segments[0].high = image.end();
    Diagnostics diagnostics;
    const CounterLayout layout = layout_of(image, module, diagnostics);
    ASSERT_EQ(layout.arrays.size(), 1u);
    // libgcov keeps the address of the first node as a 64-bit counter.
    image.put(layout.arrays[0].address + 16, first, 8);
    const auto snapshot = CounterSnapshot::take(layout, image);
    const GcovData data = CounterFiles(layout, *snapshot, image).data_of(layout.objects[0]);
    EXPECT_EQ(data.values, (std::vector<int64_t>{70, 2, 11, 60, 12, 10}));
  }
}

// The list of a counter comes back to its first node.
TEST(LiveCounters, EndALoopOfValues) {
  Image image({false, 8});
  ImageObject object{"/a.gcda", word_of("B22*"), 1, 2, {{false, 1, 2, 3, {}}}};
  object.functions[0].counters[3] = {70, UINT32_MAX, 0};
  const LoadedModule module = write_objects(image, {object}, 8, true);
  const uint64_t node = image.reserve(24);
  image.put_pointer(node + 16, node);
  Diagnostics diagnostics;
  const CounterLayout layout = layout_of(image, module, diagnostics);
  ASSERT_EQ(layout.arrays.size(), 1u);
  image.put(layout.arrays[0].address + 16, node, 8);
  const auto snapshot = CounterSnapshot::take(layout, image);
  ASSERT_TRUE(snapshot);
  const GcovData data = CounterFiles(layout, *snapshot, image).data_of(layout.objects[0]);
  ASSERT_GT(data.values.size(), 2u);
  EXPECT_EQ(static_cast<size_t>(data.values[1]) * 2 + 2, data.values.size());
}

TEST(LiveCounters, ShowThatTheyWereReset) {
  Image image({false, 8});
  ImageObject object{"/a.gcda", word_of("B22*"), 1, 2, {}};
  for (uint32_t i = 0; i < 2; ++i)
    object.functions.push_back({false, i, 2, 3, {{0, {10, 20}}}});
  const LoadedModule module = write_objects(image, {object}, 8, true);
  Diagnostics diagnostics;
  const CounterLayout layout = layout_of(image, module, diagnostics);
  ASSERT_EQ(layout.arrays.size(), 2u);
  const auto before = CounterSnapshot::take(layout, image);
  const auto with = [&](uint64_t value) { // of a counter of the first function
    image.put(layout.arrays[0].address, value, 8);
    return *CounterSnapshot::take(layout, image);
  };
  const std::vector<bool> unsure{true, false};
  EXPECT_FALSE(was_reset(layout, with(11), *before, {}));
  EXPECT_TRUE(was_reset(layout, with(9), *before, {}));
  EXPECT_FALSE(was_reset(layout, with(9), *before, unsure));
  EXPECT_TRUE(was_reset(layout, with(0), *before, unsure));
}

// Damaged memory must not make the layout much larger than the module.
TEST(LiveCounters, RefuseTablesAndArraysThatManyObjectsShare) {
  Image image({false, 8});
  std::vector<ImageObject> objects;
  for (uint32_t i = 0; i < 100; ++i)
    objects.push_back({"/a.gcda", word_of("B22*"), 1, 2, {{false, i, 2, 3, {{0, {10}}}}}});
  LoadedModule module = write_objects(image, objects, 8, true);
  const uint64_t table = image.reserve(1 << 16); // of functions that are elsewhere
  module.places.segments[0].high = image.end();
  Diagnostics diagnostics;
  const CounterLayout before = layout_of(image, module, diagnostics);
  ASSERT_EQ(before.functions.size(), 100u);
  for (const CountedModuleObject &object : before.objects) {
    image.put(object.address + 96, (1 << 16) / 8, 4);
    image.put_pointer(object.address + 104, table);
  }
  EXPECT_LE(layout_of(image, module, diagnostics).functions.size(),
            (image.end() - Image::base) / 8);
  EXPECT_NE(diagnostics.findings().size(), 0u);
}

// A path that is not in the module is not read: it could be that of a device.
TEST(LiveCounters, ReadNoPathOutsideOfTheModule) {
  Image image({false, 8});
  const LoadedModule module = write_objects(
      image, {{"/a.gcda", word_of("B22*"), 1, 2, {{false, 1, 2, 3, {{0, {10}}}}}}}, 8, true);
  Diagnostics diagnostics;
  const CounterLayout before = layout_of(image, module, diagnostics);
  ASSERT_EQ(before.objects.size(), 1u);
  const uint64_t outside = image.reserve(128);
  image.put(outside, 'x', 1);
  image.put_pointer(before.objects[0].address + 24, outside);
  EXPECT_TRUE(layout_of(image, module, diagnostics).objects.empty());
}

// Whatever the memory holds, reading ends, and all arrays of counters are inside of the module.
TEST(LiveCounters, SurviveDamagedMemory) {
  std::mt19937 random(4);
  for (int i = 0; i < 4000; ++i) {
    const Version &version = versions[random() % std::size(versions)];
    Image image(word_layouts[random() % 4]);
    LoadedModule module =
        write_objects(image, random_objects(random, version), version.kinds, version.checksum);
    for (int flips = 1 + static_cast<int>(random() % 8); flips > 0; --flips)
      image.bytes()[random() % image.bytes().size()] =
          random() % 2 ? static_cast<char>(random()) : '\0';
    if (random() % 4 == 0) // the end of the module cannot be read
      image.bytes().resize(random() % image.bytes().size());
    if (random() % 4 == 0)
      module.places.roots.clear();
    Diagnostics diagnostics;
    const CounterLayout layout = layout_of(image, module, diagnostics);
    for (const CounterArray &array : layout.arrays)
      EXPECT_TRUE(array.count == 0 ||
                  module.places.segments[0].contains(array.address, uint64_t{array.count} * 8));
    const auto snapshot = CounterSnapshot::take(layout, image);
    if (!snapshot)
      continue;
    CounterFiles files(layout, *snapshot, image);
    for (const CountedModuleObject &object : layout.objects)
      files.data_of(object);
  }
}

class Counting final : public Memory {
public:
  explicit Counting(Image &image) : image_(image) {}
  bool read(uint64_t address, std::span<std::byte> to) override {
    ++reads;
    return image_.read(address, to);
  }
  size_t reads = 0;

private:
  Image &image_;
};

// Symbols and data are searched only if the list leads to no object that is whole.
TEST(LiveCounters, AreSoughtElsewhereIfNoneIsListed) {
  Image image({false, 8});
  ImageObject object{"/a.gcda", word_of("B22*"), 1, 2, {}};
  object.functions.resize(100, {false, 1, 2, 3, {{0, {1}}}});
  LoadedModule module = write_objects(image, {object}, 8, true);
  const uint64_t damaged = image.reserve(128);
  image.put(damaged, object.version, 4);
  module.places.segments[0].high = image.end();
  const auto reads = [&](const LoadedModule &each) {
    Counting memory(image);
    CounterLayout layout;
    Diagnostics diagnostics;
    add_module(layout, each, 0, memory, diagnostics);
    EXPECT_EQ(layout.objects.size(), 1u);
    return memory.reads;
  };
  LoadedModule listed = module;
  listed.places.functions.clear();
  listed.places.data.clear();
  EXPECT_EQ(reads(module), reads(listed));
  image.put_pointer(Image::base, damaged);
  EXPECT_GT(reads(module), 100u);
}

// A list may name one object thousands of times. If the object is damaged, it is not added, but its
// functions are read all the same.
TEST(LiveCounters, ReadADamagedObjectOnce) {
  constexpr size_t many = 1000;
  Image image({false, 8});
  ImageObject object{"", 0x4233322a, 7, 8, {}}; // an object without a path
  object.functions.resize(many, {false, 1, 2, 3, {{0, {1}}}});
  LoadedModule module = write_objects(image, {object}, 8, true);
  const uint64_t list = image.reserve(many * 8);
  uint64_t info = 0;
  std::memcpy(&info, image.bytes().data(), sizeof info); // the root's first word
  for (size_t i = 0; i < many; ++i)
    image.put_pointer(list + 8 * i, info);
  module.places.info_lists = {{list, image.end()}};
  module.places.segments = {{Image::base, image.end()}};
  module.places.data.clear();
  Counting memory(image);
  CounterLayout layout;
  Diagnostics diagnostics;
  add_module(layout, module, 0, memory, diagnostics);
  EXPECT_TRUE(layout.objects.empty());
  EXPECT_GT(memory.reads, many);
  EXPECT_LT(memory.reads, 5 * many);
}

// Units of Clang in a hostile file may all have one description.
TEST(LiveCounters, RefuseADescriptionThatManyUnitsShare) {
  constexpr uint32_t functions = 1000;
  Image image({false, 8});
  const uint64_t info = image.reserve(40), path = image.reserve(8);
  const uint64_t keys = image.reserve(functions * 12), arcs = image.reserve(functions * 16);
  std::memcpy(image.bytes().data() + (path - Image::base), "/a.gcda", 7);
  image.put_pointer(info, path);
  image.put(info + 8, word_of("408*"), 4);
  image.put(info + 16, functions, 4);
  image.put_pointer(info + 24, keys);
  image.put_pointer(info + 32, arcs);
  LoadedModule module;
  module.places.words = image.words();
  module.places.file_bytes = image.bytes().size();
  module.places.segments = {{Image::base, image.end()}};
  const auto functions_of = [&](size_t units) {
    module.places.clang_units.assign(units, {"a.c", info, {{0, {info, info + 8}}}});
    CounterLayout layout;
    Diagnostics diagnostics;
    add_clang_objects(layout, module, 0, image, {}, diagnostics);
    return layout.functions.size();
  };
  EXPECT_EQ(functions_of(32), 32 * functions);
  EXPECT_LT(functions_of(1000), 100 * functions);
}

// Where nothing describes Clang's units, the notes of all paths in the file are sought.
TEST(LiveCounters, SeekTheNotesOfEachPathOnceForAllUnits) {
  Image image({false, 8});
  LoadedModule module;
  module.places.words = image.words();
  module.places.file_bytes = 1 << 20;
  module.places.data_paths.assign(100, "text/a/b/c.gcda");
  module.places.clang_units.assign(1000, {"c.c", {}, {{0, {Image::base, Image::base + 8}}}});
  CounterLayout layout;
  Diagnostics diagnostics;
  size_t asked = 0;
  add_clang_objects(
      layout, module, 0, image,
      [&](const std::string &) {
        ++asked;
        return nullptr;
      },
      diagnostics);
  EXPECT_TRUE(layout.objects.empty());
  // The path begins at one of the slashes, or at the beginning of the text.
  EXPECT_EQ(asked, 100u * 4);
}

// A file may claim counters of gigabytes that the program has nowhere.
TEST(LiveCounters, TakeNoMoreMemoryThanCanBeRead) {
  Image image({false, 8});
  image.reserve(3 << 19);
  std::string bytes;
  EXPECT_FALSE(read_as_it_grows(image, Image::base, uint64_t{1} << 40, bytes));
  EXPECT_LE(bytes.size(), size_t{1} << 24);
  EXPECT_TRUE(read_as_it_grows(image, Image::base, 3 << 19, bytes));
  EXPECT_EQ(bytes.size(), 3u << 19);
}

TEST(LiveCounters, EndALoopOfObjects) {
  std::mt19937 random(5);
  Image image({false, 8});
  const auto objects = random_objects(random, versions[8]);
  const LoadedModule module = write_objects(image, objects, 8, true);
  Diagnostics diagnostics;
  const CounterLayout before = layout_of(image, module, diagnostics);
  image.put_pointer(before.objects.back().address + 8, before.objects.front().address);
  EXPECT_EQ(layout_of(image, module, diagnostics).objects.size(), objects.size());
}

} // namespace
} // namespace tally::live
