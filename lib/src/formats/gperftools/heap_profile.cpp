#include "formats/gperftools/heap_profile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/finished.h"
#include "formats/gperftools/code_map.h"
#include "support/path.h"

namespace tally::gperftools {

namespace {

constexpr std::string_view gperftools_begin = "heap profile:", jemalloc_begin = "heap_v2/";
constexpr std::array<std::string_view, 2> map_titles{"MAPPED_LIBRARIES:", "--- Memory map: ---"};

struct Amount {
  int64_t objects = 0, bytes = 0;
  friend bool operator==(const Amount &, const Amount &) = default;
};

// The counts of one line.
struct Counts {
  Amount used, allocated;
};

struct HeapRow {
  StackId stack = none<StackId>;
  Counts counts;
};

// Parses words of a line. A word that is missing makes all others missing.
class Words {
public:
  explicit Words(std::string_view text) : text_(text) {}

  bool failed() const { return failed_; }
  size_t at() const { return at_; } // the index of the next character
  std::string_view rest() const { return text_.substr(at_); }
  void expect(std::string_view token) {
    skip_blanks();
    if (rest().starts_with(token))
      at_ += token.size();
    else
      failed_ = true;
  }
  template <class Number> Number number(int base = 10) {
    skip_blanks();
    Number value = 0;
    const std::string_view from = rest();
    const auto [end, fault] = std::from_chars(from.data(), from.data() + from.size(), value, base);
    failed_ = failed_ || fault != std::errc();
    if (!failed_)
      at_ += static_cast<size_t>(end - from.data());
    return value;
  }
  int64_t count() {
    skip_blanks();
    const size_t begin = at_;
    const auto value = number<int64_t>();
    if (value < 0 && !negative_)
      negative_ = begin;
    return value;
  }
  std::optional<size_t> negative() const { return negative_; } // where the first such count is
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }

private:
  void skip_blanks() { at_ += std::min(rest().find_first_not_of(" \t\r"), rest().size()); }

  std::string_view text_;
  size_t at_ = 0;
  bool failed_ = false;
  std::optional<size_t> negative_;
};

// Reads "1: 2 [ 3: 4]".
Counts counts_of(Words &words) {
  Counts out;
  out.used.objects = words.count();
  words.expect(":");
  out.used.bytes = words.count();
  words.expect("[");
  out.allocated.objects = words.count();
  words.expect(":");
  out.allocated.bytes = words.count();
  words.expect("]");
  return out;
}

class HeapReader {
public:
  HeapReader(std::string_view text, const std::string &source, Diagnostics &diagnostics)
      : source_(source), text_(text.substr(0, map_begin(text))),
        code_(text.substr(text_.size()), diagnostics, source) {}

  Result<Profile> run() {
    TALLY_CHECK(text_.starts_with(jemalloc_begin) ? read_jemalloc() : read_gperftools());
    // The same numbers twice say nothing, as if only what is in use was counted.
    const bool has_allocated =
        std::ranges::any_of(
            rows_, [](const HeapRow &row) { return row.counts.allocated != row.counts.used; }) &&
        std::ranges::any_of(rows_,
                            [](const HeapRow &row) { return row.counts.allocated != Amount(); });
    builder_.add_value_type("inuse_space", "bytes");
    builder_.add_value_type("inuse_objects", "count");
    if (has_allocated) {
      builder_.add_value_type("alloc_space", "bytes");
      builder_.add_value_type("alloc_objects", "count");
    }
    for (const HeapRow &row : rows_) {
      const Counts &counts = row.counts;
      const std::array<int64_t, 4> values{counts.used.bytes, counts.used.objects,
                                          counts.allocated.bytes, counts.allocated.objects};
      builder_.add_sample(row.stack, none<ThreadId>, none<PartId>,
                          std::span(values).first(has_allocated ? 4 : 2));
    }
    return finished(builder_.finish(), source_);
  }

private:
  // Returns where the line begins that precedes the mapped files, or the size of the text.
  static size_t map_begin(std::string_view text) {
    size_t begin = text.size();
    for (const std::string_view title : map_titles)
      for (size_t at = text.find(title); at < begin; at = text.find(title, at + 1))
        if (at == 0 || text[at - 1] == '\n')
          begin = at;
    return begin;
  }

  bool next_line() {
    if (rest_ >= text_.size())
      return false;
    const size_t end = std::min(text_.find('\n', rest_), text_.size());
    line_ = text_.substr(rest_, end - rest_);
    rest_ = end + 1;
    ++number_;
    return true;
  }

  tl::unexpected<Error> wrong(std::string message, size_t index = 0) const {
    return fail(ErrorCode::invalid_input, std::move(message), source_,
                Position::at_line(number_, index + 1));
  }

  static bool is_comment(std::string_view line) {
    const size_t begin = line.find_first_not_of(" \t\r");
    return begin == line.npos || line[begin] == '#';
  }

  Result<void> set_rate(Words &words, uint64_t divisor) {
    words.expect("/");
    rate_ = words.number<uint64_t>() / divisor;
    if (words.failed() || !words.at_end())
      return wrong("expected the sampling rate", words.at());
    return {};
  }

  Result<void> read_gperftools() {
    next_line();
    Words head(line_);
    head.expect(gperftools_begin);
    counts_of(head);
    head.expect("@");
    if (head.failed() || head.at_end())
      return wrong("expected counts and a kind of heap profile", head.at());
    const size_t at = head.at();
    const std::string_view kind = head.rest().substr(0, head.rest().find_first_of("/ \t\r"));
    head.expect(kind);
    if (kind == "heap_v2" || kind == "heapz_v2")
      TALLY_CHECK(set_rate(head, 1));
    else if (kind == "heap") // of Go, whose rate is doubled
      TALLY_CHECK(set_rate(head, 2));
    else if (kind != "heapprofile" && kind != "growth" && kind != "growthz")
      return wrong(
          fmt::format("unknown kind of heap profile '{}' (there are: heapprofile, heap_v2, "
                      "heapz_v2, heap, growth, growthz)",
                      kind.substr(0, 40)),
          at);
    while (next_line()) {
      if (is_comment(line_))
        continue;
      Words words(line_);
      const Counts counts = counts_of(words);
      if (words.failed())
        return wrong("expected the counts of a stack: OBJECTS: BYTES [OBJECTS: BYTES] @ ADDRESS…",
                     words.at());
      if (words.negative())
        return wrong("a count is negative", *words.negative());
      TALLY_TRY(stack, stack_of(words));
      TALLY_CHECK(add(stack, counts));
    }
    return {};
  }

  Result<void> read_jemalloc() {
    next_line();
    Words head(line_);
    head.expect("heap_v2");
    TALLY_CHECK(set_rate(head, 1));
    std::optional<StackId> stack; // of the last line that begins with @; none before the first
    while (next_line()) {
      if (is_comment(line_))
        continue;
      Words words(line_);
      words.expect("@");
      if (!words.failed()) {
        words = Words(line_);
        TALLY_TRY(next, stack_of(words));
        stack = next;
        continue;
      }
      words = Words(line_);
      words.expect("t");
      words.expect("*:"); // of all threads
      if (words.failed()) {
        words = Words(line_);
        words.expect("t");
        words.number<uint64_t>();
        words.expect(":");
        if (words.failed())
          return wrong("expected the counts of a thread: tN: OBJECTS: BYTES [OBJECTS: BYTES]",
                       words.at());
        continue;
      }
      const Counts counts = counts_of(words);
      if (words.failed() || !words.at_end())
        return wrong("expected counts: OBJECTS: BYTES [OBJECTS: BYTES]", words.at());
      if (words.negative())
        return wrong("a count is negative", *words.negative());
      if (stack)
        TALLY_CHECK(add(*std::exchange(stack, std::nullopt), counts));
      else if (!rows_.empty())
        return wrong("counts without a stack");
    }
    return {};
  }

  // Reads "@ 0x1 0x2". All addresses are those that calls return to.
  Result<StackId> stack_of(Words &words) {
    words.expect("@");
    if (words.failed())
      return wrong("expected @ and the addresses of a stack", words.at());
    chain_.clear();
    while (!words.at_end()) {
      if (words.rest().starts_with("0x"))
        words.expect("0x");
      const auto address = words.number<uint64_t>(16);
      if (words.failed())
        return wrong("expected an address", words.at());
      chain_.push_back(address == 0 ? 0 : address - 1);
    }
    // The allocator's own functions are not of interest. pprof drops them by their names.
    const auto caller = std::ranges::find_if(chain_, [&](uint64_t address) {
      const std::string_view file = base_name(code_.file_at(address));
      return !file.starts_with("libjemalloc.so") && !file.starts_with("libtcmalloc");
    });
    if (caller != chain_.end())
      chain_.erase(chain_.begin(), caller);
    return chain_.empty() ? none<StackId> : code_.stack_of(builder_, chain_);
  }

  // Multiplies what was sampled such that it stands for all objects of its mean size: one of s
  // bytes is sampled with a probability of 1 - e^(-s / rate).
  Result<Amount> scaled(const Amount &amount) const {
    if (rate_ <= 1)
      return amount;
    if (amount.objects == 0 || amount.bytes == 0)
      return Amount();
    const auto objects = static_cast<double>(amount.objects),
               bytes = static_cast<double>(amount.bytes);
    const double factor = 1 / (1 - std::exp(-(bytes / objects) / static_cast<double>(rate_)));
    constexpr double limit = 9.2e18;
    if (!(std::abs(objects * factor) < limit && std::abs(bytes * factor) < limit))
      return wrong("the sampled numbers stand for more than fits in 63 bits");
    return Amount{static_cast<int64_t>(objects * factor), static_cast<int64_t>(bytes * factor)};
  }

  Result<void> add(StackId stack, const Counts &counts) {
    TALLY_TRY(used, scaled(counts.used));
    TALLY_TRY(allocated, scaled(counts.allocated));
    rows_.push_back({stack, {used, allocated}});
    return {};
  }

  const std::string &source_;
  std::string_view text_; // up to the mapped files
  CodeMap code_;
  StackProfileBuilder builder_;
  std::string_view line_;
  size_t rest_ = 0; // where the next line begins
  uint64_t number_ = 0;
  uint64_t rate_ = 1; // the mean number of bytes between two samples; 1 if all objects are counted
  std::vector<uint64_t> chain_;
  std::vector<HeapRow> rows_;
};

} // namespace

bool is_heap_profile(std::string_view head) {
  return head.starts_with(gperftools_begin) || head.starts_with(jemalloc_begin);
}

Result<Profile> read_heap_profile(std::string_view text, const std::string &source,
                                  Diagnostics &diagnostics) {
  return HeapReader(text, source, diagnostics).run();
}

} // namespace tally::gperftools
