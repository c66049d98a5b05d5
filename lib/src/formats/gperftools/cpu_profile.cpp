#include "formats/gperftools/cpu_profile.h"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/finished.h"
#include "formats/gperftools/code_map.h"
#include "support/byte_cursor.h"
#include "support/path.h"

namespace tally::gperftools {

namespace {

constexpr size_t fixed_words = 2;    // 0, and the number of words of the header that follow
constexpr uint64_t header_words = 3; // the version, the period, and 0
constexpr uint64_t longest_period_us = 3'600'000'000;

class CpuReader {
public:
  CpuReader(const CpuHeader &header, std::string_view bytes, const std::string &source,
            Diagnostics &diagnostics)
      : header_(header), bytes_(bytes), source_(source), diagnostics_(diagnostics) {}

  Result<Profile> run() {
    if (header_.is_java)
      return wrong("is a CPU profile of Java in gperftools' format, which is not supported", 0,
                   ErrorCode::unsupported);
    TALLY_TRY(end, end_of_samples());
    CodeMap code(bytes_.substr(end), diagnostics_, source_);
    builder_.add_value_type("ticks", "count");
    builder_.set_period_ns(header_.period_us * 1000);
    ByteCursor cursor = samples();
    while (true) {
      const uint64_t count = word(cursor), depth = word(cursor);
      if (count == 0)
        break;
      chain_.clear();
      for (uint64_t i = 0; i < depth; ++i)
        chain_.push_back(word(cursor));
      drop_handler(code);
      for (size_t i = 1; i < chain_.size(); ++i)
        chain_[i] -= chain_[i] == 0 ? 0 : 1;
      builder_.add_sample(code.stack_of(builder_, chain_), none<ThreadId>, none<PartId>,
                          static_cast<int64_t>(count));
    }
    return finished(builder_.finish(), source_);
  }

private:
  tl::unexpected<Error> wrong(std::string message, size_t offset,
                              ErrorCode code = ErrorCode::invalid_input) const {
    return fail(code, std::move(message), source_, Position::at_offset(offset));
  }

  ByteCursor samples() const {
    ByteCursor cursor(bytes_, header_.big_endian);
    cursor.take(header_.size);
    return cursor;
  }
  uint64_t word(ByteCursor &cursor) const {
    return header_.is_wide ? cursor.u64_whole() : cursor.u32();
  }

  // Checks all samples, and returns where the text of the mapped files begins.
  Result<size_t> end_of_samples() const {
    const size_t word_bytes = header_.is_wide ? 8 : 4;
    ByteCursor cursor = samples();
    while (true) {
      const size_t at = cursor.offset();
      const uint64_t count = word(cursor), depth = word(cursor);
      if (cursor.failed())
        return wrong("the file ends before its samples do", bytes_.size());
      if (depth == 0)
        return wrong("a sample without an address", at);
      if (depth > cursor.left() / word_bytes)
        return wrong(
            fmt::format("a sample of {} addresses is longer than the rest of the file", depth), at);
      if (count > INT64_MAX)
        return wrong(
            fmt::format("a sample was counted {} times, which does not fit in 63 bits", count), at);
      const uint64_t leaf = word(cursor);
      cursor.take((depth - 1) * word_bytes);
      if (count != 0)
        continue;
      if (depth != 1 || leaf != 0)
        return wrong("a sample was counted 0 times", at);
      return cursor.offset();
    }
  }

  // The handler of the profiler's signal takes the leaf from the signal, and its callers from the
  // stack, where the leaf and functions of the profiler may precede them.
  void drop_handler(const CodeMap &code) {
    const auto is_artifact = [&](uint64_t address) {
      return address == chain_[0] || base_name(code.file_at(address)).starts_with("libprofiler.so");
    };
    size_t end = 1;
    while (end < chain_.size() && end <= most_artifacts && is_artifact(chain_[end]))
      ++end;
    chain_.erase(chain_.begin() + 1, chain_.begin() + static_cast<std::ptrdiff_t>(end));
  }
  static constexpr size_t most_artifacts = 3;

  const CpuHeader &header_;
  std::string_view bytes_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  StackProfileBuilder builder_;
  std::vector<uint64_t> chain_; // of the sample that is read, leaf first
};

} // namespace

std::optional<CpuHeader> cpu_header_of(std::string_view head) {
  for (const bool big_endian : {false, true})
    for (const bool is_wide : {true, false}) {
      ByteCursor cursor(head, big_endian);
      std::array<uint64_t, fixed_words + header_words> words{};
      for (uint64_t &word : words)
        word = is_wide ? cursor.u64_whole() : cursor.u32();
      const auto [zero, count, version, period, padding] = words;
      if (!cursor.failed() && zero == 0 && count == header_words && version <= 1 && period > 0 &&
          period <= longest_period_us && padding == 0)
        return CpuHeader{is_wide, big_endian, version == 1, period, cursor.offset()};
    }
  return std::nullopt;
}

Result<Profile> read_cpu_profile(const CpuHeader &header, std::string_view bytes,
                                 const std::string &source, Diagnostics &diagnostics) {
  return CpuReader(header, bytes, source, diagnostics).run();
}

} // namespace tally::gperftools
