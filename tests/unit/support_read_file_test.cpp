#include <random>
#include <thread>

#include <sys/stat.h>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <tally/file_io.h>

#include "temporary.h"

namespace tally {
namespace {

std::string gzip(const std::string &bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

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

class ReadFileTest : public testing::Test {
protected:
  Result<FileBytes> read(const std::string &bytes, uint64_t limit = uint64_t{1} << 30) {
    return read_file(folder.put("f", bytes), {limit});
  }
  Error error(const std::string &bytes, uint64_t limit = uint64_t{1} << 30) {
    const auto file = read(bytes, limit);
    EXPECT_FALSE(file);
    return file ? Error() : file.error();
  }
  TemporaryFolder folder;
};

// Around the size of the blocks that it is unpacked in, too.
TEST_F(ReadFileTest, WhatWasPackedComesBack) {
  for (const size_t size :
       {0u, 1u, 2u, 1000u, 65535u, 65536u, 65537u, 131072u, 1u << 20, (1u << 20) + 1}) {
    const std::string bytes = random_bytes(size);
    for (const std::string &packed : {bytes, gzip(bytes), zstd(bytes)}) {
      const auto file = read(packed);
      ASSERT_TRUE(file) << size << ": " << file.error().text();
      ASSERT_EQ(file->bytes(), bytes) << size;
    }
  }
}

TEST_F(ReadFileTest, SeveralMembersAreOneFile) {
  const std::string a = random_bytes(65536), b = random_bytes(10);
  EXPECT_EQ(read(gzip(a) + gzip("") + gzip(b))->bytes(), a + b);
  EXPECT_EQ(read(zstd(a) + zstd("") + zstd(b))->bytes(), a + b);
}

TEST_F(ReadFileTest, EveryCutIsFound) {
  const std::string bytes = random_bytes(3000);
  for (const std::string &packed : {gzip(bytes), zstd(bytes)})
    for (size_t size = 4; size < packed.size(); size += 7) {
      const Error cut = error(packed.substr(0, size));
      ASSERT_EQ(cut.code, ErrorCode::invalid_input) << size;
      ASSERT_NE(cut.message.find("cut short"), std::string::npos) << cut.text();
      ASSERT_EQ(cut.where, Position::at_offset(size));
    }
}

TEST_F(ReadFileTest, DamageIsFound) {
  std::mt19937_64 random(5);
  const std::string bytes = random_bytes(5000);
  std::string packed = gzip(bytes); // its checksum finds what deflate does not
  for (size_t at = 10; at < packed.size() - 4; ++at) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(static_cast<uint8_t>(damaged[at]) ^ (1 + random() % 255));
    const auto file = read(damaged);
    ASSERT_TRUE(!file || file->bytes() == bytes) << at;
  }
  packed = zstd(bytes);
  packed[4] = '\xFF';
  EXPECT_NE(error(packed).message.find("zstd"), std::string::npos);
}

TEST_F(ReadFileTest, ABombIsAnError) {
  const std::string zeros(1 << 22, '\0');
  for (const std::string &packed : {gzip(zeros), zstd(zeros), zstd(zeros) + zstd(zeros)}) {
    const Error bomb = error(packed, (1 << 22) - 1);
    EXPECT_EQ(bomb.code, ErrorCode::limit);
    EXPECT_EQ(bomb.message, "unpacks to more than 4194303 bytes");
  }
  EXPECT_TRUE(read(gzip(zeros), 1 << 22));
  EXPECT_TRUE(read(zstd(zeros), 1 << 22));
}

TEST_F(ReadFileTest, SaysWhatCannotBeRead) {
  EXPECT_EQ(read_file(folder / "none").error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file(folder / "").error().message, "is a folder");
  EXPECT_NE(read_file("/proc/self/status")->bytes().find("Name:"), std::string_view::npos);
}

TEST_F(ReadFileTest, APipeIsReadToItsEnd) {
  const std::string path = folder / "pipe", bytes = random_bytes(200'000);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << gzip(bytes); });
  const auto file = read_file(path);
  writer.join();
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->bytes(), bytes);
}

TEST_F(ReadFileTest, BytesMoveWithTheirOwner) {
  auto mapped = read("plain text"), unpacked = read_file(folder.put("g", gzip("packed text")));
  FileBytes a = std::move(*mapped), b = std::move(*unpacked);
  std::swap(a, b);
  EXPECT_EQ(a.bytes(), "packed text");
  EXPECT_EQ(b.bytes(), "plain text");
}

} // namespace
} // namespace tally
