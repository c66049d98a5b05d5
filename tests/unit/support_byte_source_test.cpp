#include <random>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "packed.h"
#include "support/file_io.h"
#include "support/gzip.h"
#include "temporary.h"

namespace tally::support_byte_source_test {
namespace {

std::string zstd(const std::string &bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string random_bytes(size_t size) {
  std::mt19937_64 random(size);
  std::string out(size, '\0');
  for (char &c : out)
    c = static_cast<char>(random() % 7);
  return out;
}

Result<std::string> joined(ByteSource &source) {
  std::string out;
  for (;;) {
    TALLY_TRY(piece, source.next());
    if (piece.empty())
      return out;
    out += piece;
  }
}

class ByteSourceTest : public testing::Test {
protected:
  Result<std::string> read(const std::string &bytes, ReadOptions options = {}) {
    TALLY_TRY(source, ByteSource::open(folder.put("f", bytes), options));
    return source->rest();
  }
  Error error(const std::string &bytes, ReadOptions options = {}) {
    const auto all = read(bytes, options);
    EXPECT_FALSE(all);
    return all ? Error() : all.error();
  }
  TemporaryFolder folder;
};

// The sizes include those around the size of the pieces that are read.
TEST_F(ByteSourceTest, DecompressesWhatWasCompressed) {
  for (const size_t size :
       {0u, 1u, 2u, 1000u, 262143u, 262144u, 262145u, 524288u, 1u << 20, (1u << 20) + 1}) {
    const std::string bytes = random_bytes(size);
    for (const std::string &packed : {bytes, gzip(bytes), zstd(bytes)}) {
      const auto all = read(packed);
      ASSERT_TRUE(all) << size << ": " << all.error().text();
      ASSERT_EQ(*all, bytes) << size;
    }
  }
}

TEST_F(ByteSourceTest, ReadsPiecesOfAnySizeAlike) {
  const std::string bytes = random_bytes(3001);
  for (const std::string &packed :
       {bytes, gzip(bytes), zstd(bytes), gzip(bytes) + gzip(""), zstd("") + zstd(bytes)})
    for (const size_t piece : {1u, 2u, 3u, 7u, 3000u, 3001u, 3002u}) {
      const auto source = ByteSource::of(packed, "f", {.piece_bytes = piece});
      const auto all = joined(*source);
      ASSERT_TRUE(all) << all.error().text();
      ASSERT_EQ(*all, bytes);
      EXPECT_EQ(source->position(), packed.size());
      EXPECT_EQ(source->size_hint(), packed.size());
      EXPECT_EQ(*read(packed, {.piece_bytes = piece}), bytes);
    }
}

TEST_F(ByteSourceTest, PeekingDoesNotConsume) {
  std::mt19937_64 random(1);
  const std::string bytes = random_bytes(2000);
  for (const std::string &packed : {bytes, gzip(bytes), zstd(bytes)})
    for (int round = 0; round < 200; ++round) {
      const auto source = ByteSource::of(packed, "f", {.piece_bytes = 1 + random() % 600});
      std::string out;
      while (true) {
        for (uint64_t peeks = random() % 3; peeks > 0; --peeks) {
          const size_t size = random() % 2500;
          const auto ahead = source->peek(size);
          ASSERT_TRUE(ahead);
          ASSERT_GE(ahead->size(), std::min(size, bytes.size() - out.size()));
          ASSERT_EQ(*ahead, bytes.substr(out.size(), ahead->size()));
        }
        const auto piece = source->next();
        ASSERT_TRUE(piece);
        if (piece->empty())
          break;
        out += *piece;
      }
      ASSERT_EQ(out, bytes);
    }
}

// This holds at the beginning of a piece, too.
TEST_F(ByteSourceTest, DetectsCompressionByTheFirstBytesOnly) {
  for (const std::string magic : {"\x1f\x8b\x08", "\x28\xb5\x2f\xfd"}) {
    const std::string bytes = "text" + magic + "more";
    EXPECT_EQ(*joined(*ByteSource::of(bytes, "f", {.piece_bytes = 4})), bytes);
  }
}

TEST_F(ByteSourceTest, JoinsSeveralMembers) {
  const std::string a = random_bytes(262144), b = random_bytes(10);
  EXPECT_EQ(*read(gzip(a) + gzip("") + gzip(b)), a + b);
  EXPECT_EQ(*read(zstd(a) + zstd("") + zstd(b)), a + b);
}

TEST_F(ByteSourceTest, ReportsEveryTruncation) {
  const std::string bytes = random_bytes(1500);
  for (const std::string &packed : {gzip(bytes), zstd(bytes)})
    for (size_t size = 4; size < packed.size(); ++size)
      for (const size_t piece : {1u, 4096u}) {
        const std::string cut_bytes = packed.substr(0, size);
        const auto cut = joined(*ByteSource::of(cut_bytes, "f", {.piece_bytes = piece}));
        ASSERT_FALSE(cut);
        ASSERT_EQ(cut.error().code, ErrorCode::invalid_input) << size;
        ASSERT_NE(cut.error().message.find("ends in the middle"), std::string::npos)
            << cut.error().text();
        ASSERT_EQ(cut.error().where, Position::at_offset(size));
      }
}

TEST_F(ByteSourceTest, RefusesUncompressedDataAfterCompressed) {
  const std::string bytes = random_bytes(3000);
  for (const std::string &packed : {gzip(bytes), zstd(bytes), gzip("") + gzip(bytes)})
    for (const size_t piece : {1u, 3u, 4096u}) {
      const std::string more = packed + "and text";
      const auto all = joined(*ByteSource::of(more, "f", {.piece_bytes = piece}));
      ASSERT_FALSE(all);
      EXPECT_NE(all.error().message.find("follows the packed data"), std::string::npos)
          << all.error().text();
      EXPECT_EQ(all.error().where, Position::at_offset(packed.size())) << piece;
    }
}

TEST_F(ByteSourceTest, ReportsDamage) {
  std::mt19937_64 random(5);
  const std::string bytes = random_bytes(5000);
  std::string packed = gzip(bytes); // its checksum detects what deflate does not
  for (size_t at = 10; at < packed.size() - 4; ++at) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(static_cast<uint8_t>(damaged[at]) ^ (1 + random() % 255));
    const auto all = ByteSource::of(damaged, "f")->rest();
    ASSERT_TRUE(!all || *all == bytes) << at;
  }
  packed = zstd(bytes);
  packed[4] = '\xFF';
  EXPECT_NE(error(packed).message.find("zstd"), std::string::npos);
}

TEST_F(ByteSourceTest, RefusesADecompressionBomb) {
  const std::string zeros(1 << 22, '\0');
  for (const std::string &packed : {gzip(zeros), zstd(zeros), zstd(zeros) + zstd(zeros)}) {
    const Error bomb = error(packed, {.max_unpacked_bytes = (1 << 22) - 1});
    EXPECT_EQ(bomb.code, ErrorCode::limit);
    EXPECT_EQ(bomb.message, "unpacks to more than 4194303 bytes");
    const auto source = ByteSource::of(packed, "f", {.max_unpacked_bytes = 1000});
    EXPECT_EQ(joined(*source).error().code, ErrorCode::limit); // read piece by piece, too
  }
  EXPECT_TRUE(read(gzip(zeros), {.max_unpacked_bytes = 1 << 22}));
  EXPECT_TRUE(read(zstd(zeros), {.max_unpacked_bytes = 1 << 22}));
  EXPECT_EQ(error(zeros, {.max_unpacked_bytes = 1000}).code, ErrorCode::limit); // read all at once
  const auto endless = ByteSource::open("/dev/zero", {.max_unpacked_bytes = 1 << 20});
  EXPECT_EQ(joined(**endless).error().code, ErrorCode::limit);
}

TEST_F(ByteSourceTest, ReportsWhatCannotBeRead) {
  EXPECT_EQ(ByteSource::open(folder / "none").error().code, ErrorCode::not_found);
  EXPECT_EQ(ByteSource::open(folder / "").error().message, "is a directory");
  EXPECT_NE((*ByteSource::open("/proc/self/status"))->rest()->find("Name:"), std::string::npos);
}

TEST_F(ByteSourceTest, ReportsAFileTruncatedWhileItIsRead) {
  const std::string path = folder.put("f", random_bytes(1000));
  const auto source = ByteSource::open(path, {.piece_bytes = 100});
  ASSERT_TRUE((*source)->next());
  std::filesystem::resize_file(path, 150);
  const auto rest = (*source)->rest();
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().text(),
            path + ": was truncated while it was read: 150 of 1000 bytes are left");
}

TEST_F(ByteSourceTest, ReadsAGrowingFileToItsEnd) {
  const std::string path = folder.put("f", "1234");
  const auto source = ByteSource::open(path, {.piece_bytes = 4});
  ASSERT_TRUE((*source)->next());
  std::ofstream(path, std::ios::app) << "5678";
  EXPECT_EQ(*(*source)->rest(), "5678");
}

TEST_F(ByteSourceTest, ReadsAPipeToItsEnd) {
  const std::string path = folder / "pipe", bytes = random_bytes(200'000);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << gzip(bytes); });
  const auto source = ByteSource::open(path);
  const auto all = (*source)->rest();
  writer.join();
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(*all, bytes);
  EXPECT_EQ((*source)->size_hint(), 0u);
}

TEST_F(ByteSourceTest, WaitsForAPipeUntilTheUserInterrupts) {
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  int asked = 0;
  const auto source = ByteSource::open(path, {.cancelled = [&] { return ++asked == 3; }});
  ASSERT_TRUE(source) << source.error().text(); // nobody writes to it
  const auto piece = (*source)->next();
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code, ErrorCode::cancelled);
  EXPECT_EQ(piece.error().text(), path + ": interrupted while it was read");
  EXPECT_EQ(asked, 3);
}

TEST_F(ByteSourceTest, OpensOnlyRegularFilesOfADiskThatItFinds) {
  const std::string pipe = folder / "pipe", file = folder.put("f", "12");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &path : {pipe, std::string("/dev/null"), std::string("/dev/tty"),
                                  std::string("/proc/kmsg"), std::string("/proc/self/status"),
                                  std::string("/sys/kernel/notes"), std::string(folder / ".")}) {
    const auto source = ByteSource::open_found(path);
    ASSERT_FALSE(source) << path;
    if (source.error().code != ErrorCode::permission && // not everybody may read /proc/kmsg
        source.error().code != ErrorCode::not_found) {
      EXPECT_EQ(source.error().code, ErrorCode::invalid_input) << source.error().text();
    }
  }
  for (const std::string &path : {std::string(folder / "none"), file + std::string(1, '\0')})
    EXPECT_EQ(ByteSource::open_found(path).error().code, ErrorCode::not_found);
  // A path through /proc leads to the file of a disk.
  for (const std::string &path : {file, "/proc/self/root" + file}) {
    const auto source = ByteSource::open_found(path);
    ASSERT_TRUE(source) << source.error().text();
    EXPECT_EQ(*(*source)->rest(), "12");
  }
}

TEST_F(ByteSourceTest, ContinuesAfterASignal) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {}; // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const pthread_t reader = ::pthread_self();
  std::thread writer([&] {
    std::ofstream out(path);
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ::pthread_kill(reader, SIGUSR1);
      out << 'x' << std::flush;
    }
  });
  const int keep = ::open(path.c_str(), O_RDWR | O_CLOEXEC); // so that open() below does not wait
  const auto source = ByteSource::open(path);
  ASSERT_TRUE(source);
  std::string all;
  while (all.size() < 20) {
    const auto piece = (*source)->next();
    ASSERT_TRUE(piece) << piece.error().text();
    all += *piece;
  }
  writer.join();
  ::close(keep);
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(all, std::string(20, 'x'));
}

TEST(Gzip, DecompressesWhatItCompressed) {
  for (const size_t size : {0u, 1u, 1000u, 65535u, 65536u, 1'000'003u}) {
    const std::string bytes = random_bytes(size);
    const auto packed = gzip_packed(bytes);
    ASSERT_TRUE(packed);
    const auto again = ByteSource::of(*packed, "packed")->rest();
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, bytes);
    EXPECT_EQ(*packed, *gzip_packed(bytes));
  }
}

TEST_F(ByteSourceTest, ReadsAtAnyOffsetOfUncompressedDataOnly) {
  const std::string path = folder.put("plain", "0123456789");
  const auto source = ByteSource::open(path, {.piece_bytes = 3});
  ASSERT_TRUE(source);
  ASSERT_EQ(*(*source)->next(), "012345"); // two pieces, which are read to detect compression
  EXPECT_EQ(*(*source)->at(7, 2), "78");
  EXPECT_EQ(*(*source)->at(8, 5), "89");
  EXPECT_EQ(*(*source)->at(11, 5), "");
  EXPECT_EQ(*(*source)->next(), "678");
  EXPECT_EQ(*ByteSource::of("abc", "memory")->at(1, 9), "bc");
  EXPECT_FALSE(
      ByteSource::of(std::string_view("\x1f\x8b\0\0", 4), "packed")->at(0, 1)->has_value());
}

} // namespace
} // namespace tally::support_byte_source_test
