// The memory of an imaginary program, with the structures that GCC's --coverage leaves in it.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "live/counter_layout.h"
#include "live/memory.h"

namespace tally::live {

// Memory from `base` on. Words are written in the program's order.
class Image final : public Memory {
public:
  static constexpr uint64_t base = 0x10000;

  explicit Image(WordLayout words) : words_(words) {}

  bool read(uint64_t address, std::span<std::byte> to) override {
    if (address < base || address - base > bytes_.size() ||
        to.size() > bytes_.size() - (address - base))
      return false;
    std::memcpy(to.data(), bytes_.data() + (address - base), to.size());
    return true;
  }

  uint64_t end() const { return base + bytes_.size(); }
  std::string &bytes() { return bytes_; }
  const WordLayout &words() const { return words_; }

  // Reserves zeroed bytes, and returns their address.
  uint64_t reserve(size_t size, size_t alignment = 8) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    const uint64_t address = end();
    bytes_.resize(bytes_.size() + size);
    return address;
  }
  void put(uint64_t address, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i)
      bytes_[address - base + i] =
          static_cast<char>(value >> 8 * (words_.big_endian ? size - 1 - i : i));
  }
  void put_pointer(uint64_t address, uint64_t value) { put(address, value, words_.pointer_size); }

private:
  WordLayout words_;
  std::string bytes_;
};

struct ImageFunction {
  bool elsewhere = false;
  uint32_t ident = 0, lineno_checksum = 0, cfg_checksum = 0;
  std::map<uint32_t, std::vector<uint64_t>> counters; // by kind
};

struct ImageObject {
  std::string path;
  uint32_t version = 0, stamp = 0, checksum = 0;
  std::vector<ImageFunction> functions;
};

// Writes the objects as GCC lays them out (gcc/coverage.cc, build_info() and build_fn_info()), with
// `kinds` pointers to merge functions, and a checksum from GCC 12 on. Returns the module that holds
// them. A list leads from __gcov_root to them, and each function has a symbol.
inline LoadedModule write_objects(Image &image, const std::vector<ImageObject> &objects,
                                  uint32_t kinds, bool checksum) {
  const uint64_t pointer = image.words().pointer_size;
  const auto aligned = [&](uint64_t offset) { return (offset + pointer - 1) / pointer * pointer; };
  LoadedModule module;
  module.key.path = "/bin/program";
  const uint64_t root = image.reserve(4 * pointer);
  uint64_t previous = root; // where the pointer to the next object belongs
  const uint64_t data = image.end();
  for (const ImageObject &object : objects) {
    const uint64_t path = image.reserve(object.path.size() + 1, 1);
    std::memcpy(image.bytes().data() + (path - Image::base), object.path.data(),
                object.path.size());
    const uint64_t path_at = aligned(2 * pointer + (checksum ? 8 : 4));
    const uint64_t count_at = path_at + pointer * (1 + kinds);
    const uint64_t info = image.reserve(aligned(count_at + 4) + pointer, pointer);
    image.put_pointer(previous, info);
    previous = info + pointer;
    image.put(info, object.version, 4);
    image.put(info + 2 * pointer, object.stamp, 4);
    if (checksum)
      image.put(info + 2 * pointer + 4, object.checksum, 4);
    image.put_pointer(info + path_at, path);
    std::map<uint32_t, bool> counted;
    for (const ImageFunction &function : object.functions)
      for (const auto &[kind, values] : function.counters)
        counted[kind] = true;
    for (const auto &[kind, is] : counted)
      image.put_pointer(info + path_at + pointer * (1 + kind), 0x1234);
    image.put(info + count_at, object.functions.size(), 4);
    const uint64_t table = image.reserve(object.functions.size() * pointer, pointer);
    image.put_pointer(info + aligned(count_at + 4), table);
    for (size_t i = 0; i < object.functions.size(); ++i) {
      const ImageFunction &function = object.functions[i];
      const uint64_t at =
          image.reserve(aligned(pointer + 12) + counted.size() * 2 * pointer, pointer);
      image.put_pointer(table + i * pointer, at);
      if (!function.elsewhere)
        module.places.functions.push_back(at);
      image.put_pointer(at, function.elsewhere ? 0x4444 : info);
      image.put(at + pointer, function.ident, 4);
      image.put(at + pointer + 4, function.lineno_checksum, 4);
      image.put(at + pointer + 8, function.cfg_checksum, 4);
      uint64_t array = at + aligned(pointer + 12);
      for (const auto &[kind, is] : counted) {
        const auto found = function.counters.find(kind);
        const size_t count = found == function.counters.end() ? 0 : found->second.size();
        const uint64_t values = image.reserve(count * 8);
        for (size_t k = 0; k < count; ++k)
          image.put(values + 8 * k, found->second[k], 8);
        image.put(array, count, 4);
        image.put_pointer(array + pointer, values);
        array += 2 * pointer;
      }
    }
  }
  module.places.words = image.words();
  module.places.roots = {root};
  module.places.data = {{data, image.end()}};
  module.places.segments = {{Image::base, image.end()}};
  return module;
}

} // namespace tally::live
