// Tests how pprof files are recognized: by their content, and by their names.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "../support/read_profile.h"
#include "formats/formats.h"
#include "formats/pprof/pprof.h"
#include "pprof_bytes.h"
#include "temporary.h"

namespace tally::formats_pprof_probe_test {
namespace {

using pprof_bytes::OneSample;

TEST(PprofProbe, RecognizesFilesByContent) {
  const std::string bytes = OneSample().with_strings();
  for (size_t size = 8; size <= bytes.size(); ++size)
    EXPECT_TRUE(pprof::probe(std::string_view(bytes).substr(0, size))) << size;
  for (const std::string_view text :
       {"", "\n", "\n\n\n", "a;b 1\n", "\n a;b 1\n", "*  text\n", "2 3\n", "xxxxxxxx", "hhhhhhhh",
        "# callgrind format\nversion: 1\n", "{\"a\": 1}", "TN:\nSF:a.c\n", "gmon\1\0\0\0",
        "\"\" 1\n"})
    EXPECT_FALSE(pprof::probe(text)) << text;
}

TEST(PprofProbe, SelectsTheReaderByNameAndContent) {
  TemporaryFolder folder;
  Diagnostics diagnostics;
  const std::string unpacked = OneSample().with_strings();
  const auto profile = pprof::read(*ByteSource::of(unpacked, "p"), diagnostics);
  ASSERT_TRUE(profile) << profile.error().text();
  const auto packed = pprof::write(std::get<StackProfile>(*profile), {});
  ASSERT_TRUE(packed) << packed.error().text();
  for (const char *name : {"x.pb.gz", "x.pprof", "plain", "x.folded"}) {
    const auto file = read_profile(folder.put(name, packed->bytes), diagnostics);
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(file->format->name, "pprof");
  }
  EXPECT_EQ(format_by_file_name("a/x.pb.gz")->name, "pprof");
  EXPECT_EQ(default_file_name(**format_by_name("pprof"), "7"), "7.pb.gz");
  // The name selects the reader that reports the error.
  const auto damaged = read_profile(folder.put("d.pb.gz", "\x0a\x05x"), diagnostics);
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().text().find("has 5 bytes"), std::string::npos);
}

} // namespace
} // namespace tally::formats_pprof_probe_test
