// Builds files of perf.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perf_record_bytes.h"

namespace tally {

inline void append_bytes(std::string &to, const std::vector<std::byte> &bytes) {
  to.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

// Builds a file with its header, or the stream that perf writes into a pipe.
class PerfFileBytes {
public:
  PerfFileBytes() = default;

  PerfFileBytes &event(const perf_event_attr &attr, std::vector<uint64_t> ids = {}) {
    events_.emplace_back(attr, std::move(ids));
    return *this;
  }
  PerfFileBytes &record(const std::vector<std::byte> &bytes) {
    append_bytes(records, bytes);
    return *this;
  }
  PerfFileBytes &feature(unsigned number, std::string content) { // numbers must ascend
    features_.emplace_back(number, std::move(content));
    return *this;
  }

  std::string file(bool finished = true) const {
    std::string ids, attrs;
    const size_t ids_at = 104;
    for (const auto &[attr, numbers] : events_) {
      put(attrs, attr);
      put<uint64_t>(attrs, ids_at + ids.size());
      put<uint64_t>(attrs, numbers.size() * sizeof(uint64_t));
      for (const uint64_t id : numbers)
        put(ids, id);
    }
    const size_t attrs_at = ids_at + ids.size(), data_at = attrs_at + attrs.size();
    std::string out = "PERFILE2";
    for (const uint64_t word : {uint64_t{104}, uint64_t{sizeof(perf_event_attr) + 16},
                                uint64_t{attrs_at}, uint64_t{attrs.size()}, uint64_t{data_at},
                                uint64_t{finished ? records.size() : 0}, uint64_t{0}, uint64_t{0}})
      put(out, word);
    uint64_t bits = 0;
    for (const auto &[number, content] : features_)
      bits |= uint64_t{1} << number;
    for (const uint64_t word : {bits, uint64_t{0}, uint64_t{0}, uint64_t{0}})
      put(out, word);
    out += ids + attrs + records;
    if (!finished)
      return out;
    size_t at = out.size() + features_.size() * 16;
    for (const auto &[number, content] : features_) {
      put<uint64_t>(out, at);
      put<uint64_t>(out, content.size());
      at += content.size();
    }
    for (const auto &[number, content] : features_)
      out += content;
    return out;
  }

  std::string piped() const {
    std::string out = "PERFILE2";
    put(out, uint64_t{16});
    for (const auto &[attr, numbers] : events_) {
      RecordBytes body;
      body.add(attr);
      for (const uint64_t id : numbers)
        body.add(id);
      append_bytes(out, body.record(64));
    }
    out += records;
    for (const auto &[number, content] : features_) {
      std::string body;
      put<uint64_t>(body, number);
      body += content;
      RecordBytes bytes;
      for (const char c : body)
        bytes.add(c);
      append_bytes(out, bytes.record(80));
    }
    return out;
  }

  template <class T> static void put(std::string &to, const T &value) {
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
  }

  std::string records;

private:
  std::vector<std::pair<perf_event_attr, std::vector<uint64_t>>> events_;
  std::vector<std::pair<unsigned, std::string>> features_;
};

// The content of features: a list of strings, and the build ID of a file.
inline std::string string_section(std::initializer_list<std::string_view> texts) {
  std::string out;
  PerfFileBytes::put(out, static_cast<uint32_t>(texts.size()));
  for (const std::string_view text : texts) {
    PerfFileBytes::put(out, static_cast<uint32_t>(text.size() + 1));
    out += text;
    out += '\0';
  }
  return out;
}

inline std::string build_id_section(std::string_view path) {
  RecordBytes bytes;
  bytes.add(-1);
  for (int i = 0; i < 20; ++i)
    bytes.add(static_cast<uint8_t>(0xa0 + i));
  bytes.add(uint32_t{8}); // the number of bytes that are valid
  bytes.text(path);
  std::string out;
  append_bytes(out, bytes.record(67, 1 << 15));
  return out;
}

} // namespace tally
