// Builds files of pprof.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace tally::pprof_bytes {

// Builds a file from the messages that a test adds.
struct File {
  File() = default;
  File(const File &) = delete; // `top` writes to `bytes`
  std::string bytes{};
  protozero::pbf_writer top{bytes};
  std::vector<std::string> strings{"", "samples", "count", "f", "f.c"};

  uint64_t string(const std::string &text) {
    strings.push_back(text);
    return strings.size() - 1;
  }
  File &type(uint64_t type, uint64_t unit) {
    protozero::pbf_writer message(top, 1);
    message.add_uint64(1, type);
    message.add_uint64(2, unit);
    return *this;
  }
  File &sample(const std::vector<uint64_t> &stack, const std::vector<int64_t> &values,
               const std::string &more = {}) {
    std::string inner;
    protozero::pbf_writer message(inner);
    message.add_packed_uint64(1, stack.begin(), stack.end());
    message.add_packed_int64(2, values.begin(), values.end());
    top.add_message(2, inner + more);
    return *this;
  }
  File &mapping(uint64_t id, uint64_t start, uint64_t limit, uint64_t path) {
    protozero::pbf_writer message(top, 3);
    message.add_uint64(1, id);
    message.add_uint64(2, start);
    message.add_uint64(3, limit);
    message.add_uint64(5, path);
    return *this;
  }
  File &location(uint64_t id, uint64_t mapping, uint64_t address, uint64_t function = 0,
                 int64_t line = 0) {
    protozero::pbf_writer message(top, 4);
    message.add_uint64(1, id);
    message.add_uint64(2, mapping);
    message.add_uint64(3, address);
    if (function != 0) {
      protozero::pbf_writer part(message, 4);
      part.add_uint64(1, function);
      part.add_int64(2, line);
    }
    return *this;
  }
  File &function(uint64_t id, uint64_t name) {
    protozero::pbf_writer message(top, 5);
    message.add_uint64(1, id);
    message.add_uint64(2, name);
    message.add_uint64(4, 4);
    return *this;
  }
  std::string with_strings() {
    std::string out = bytes;
    protozero::pbf_writer end(out);
    for (const std::string &each : strings)
      end.add_string(6, each);
    return out;
  }
};

struct OneSample : File {
  OneSample() { type(1, 2).sample({1}, {5}).location(1, 0, 0x10, 1, 7).function(1, 3); }
};

inline std::string label(uint64_t key, uint64_t string, int64_t number) {
  std::string inner, out;
  protozero::pbf_writer message(inner);
  message.add_uint64(1, key);
  message.add_uint64(2, string);
  message.add_int64(3, number);
  protozero::pbf_writer(out).add_message(3, inner);
  return out;
}

} // namespace tally::pprof_bytes
