#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "formats/gcov3/words.h"
#include "support/checked.h"

namespace tally {

using namespace gcov3;

namespace {

// The smallest size of a function. It has marks, a length, a name, a checksum and the number of its
// counters.
constexpr size_t function_bytes = 24, counter_bytes = 8;

Gcov3Data::Totals read_totals(WordReader &reader) {
  Gcov3Data::Totals out;
  out.arcs = reader.word();
  out.sum = reader.long_word();
  out.maximum = reader.long_word();
  return out;
}

void write_totals(WordWriter &writer, const Gcov3Data::Totals &totals) {
  writer.word(totals.arcs);
  writer.long_word(totals.sum);
  writer.long_word(totals.maximum);
}

// Adds `value` to `sum`, and returns whether the sum can be written. The most negative 64-bit
// number cannot be written, because its magnitude does not fit in 63 bits.
bool add_in_range(int64_t &sum, int64_t value) {
  return checked_add(sum, value) && sum != std::numeric_limits<int64_t>::min();
}

tl::unexpected<Error> too_large(const std::string &source, std::string_view what) {
  return fail(ErrorCode::overflow, fmt::format("{} exceeds 63 bits", what), source);
}

// Returns the totals of the counters, or none if their sum does not fit.
std::optional<Gcov3Data::Totals> totals_of(std::span<const int64_t> counters, int32_t arcs) {
  Gcov3Data::Totals out{arcs, 0, 0};
  for (const int64_t counter : counters) {
    if (!add_in_range(out.sum, counter))
      return std::nullopt;
    out.maximum = std::max(out.maximum, counter);
  }
  return out;
}

} // namespace

Result<Gcov3Data> Gcov3Data::read(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, whole(source));
  return read(bytes, source.name(), diagnostics);
}

Result<Gcov3Data> Gcov3Data::read(std::string_view bytes, std::string source,
                                  Diagnostics &diagnostics) {
  Gcov3Data out(std::move(source));
  if (bytes.empty())
    return fail(ErrorCode::no_data, "is empty", out.source_);
  WordReader reader(bytes, out.source_, diagnostics);
  const uint32_t first = ByteCursor(bytes).u32();
  if (bytes.size() >= 4 && first == data_magic) {
    while (reader.left() > 0)
      TALLY_CHECK(out.read_block(reader));
  } else {
    const int64_t count = reader.long_word();
    if (reader.failed() || count < 0 || reader.left() % counter_bytes != 0 ||
        static_cast<uint64_t>(count) != reader.left() / counter_bytes)
      return reader.error(0, fmt::format("begins neither with -123 nor with the number of counters "
                                         "that its {} bytes hold",
                                         bytes.size()));
    out.has_names_ = false;
    out.counters_.reserve(static_cast<size_t>(count));
    while (reader.left() > 0)
      out.counters_.push_back(reader.long_word());
  }
  out.oddities_ = reader.take_oddities();
  return out;
}

Result<void> Gcov3Data::read_block(WordReader &reader) {
  const size_t begin = reader.offset();
  if (const uint32_t magic = reader.raw(); reader.failed() || magic != data_magic)
    return reader.failed() ? reader.ends_within("the -123 of a block")
                           : reader.error(begin, fmt::format("expected the -123 of a block, "
                                                             "found {}",
                                                             word_of(magic)));
  TALLY_TRY(function_count, reader.count("functions", function_bytes));
  TALLY_TRY(extension, reader.count("bytes of the header", 1));
  if (extension < header_bytes)
    return reader.error(reader.before(), fmt::format("the header has {} bytes, and needs {}",
                                                     extension, header_bytes));
  const size_t totals_at = reader.offset();
  Block block;
  block.program = read_totals(reader);
  block.object = read_totals(reader);
  block.more = reader.take(extension - header_bytes);
  block.first_function = static_cast<uint32_t>(functions_.size());
  const size_t first_counter = counters_.size();
  for (uint32_t i = 0; i < function_count; ++i) {
    Function function;
    function.offset = reader.offset();
    TALLY_TRY(name, reader.name());
    function.name = strings_.intern(name);
    function.checksum = reader.word();
    TALLY_TRY(counter_count, reader.count("counters", counter_bytes));
    function.first_counter = static_cast<uint32_t>(counters_.size());
    for (uint32_t k = 0; k < counter_count; ++k)
      counters_.push_back(reader.long_word());
    function.last_counter = static_cast<uint32_t>(counters_.size());
    functions_.push_back(function);
  }
  block.last_function = static_cast<uint32_t>(functions_.size());

  const std::span counters = std::span<const int64_t>(counters_).subspan(first_counter);
  const auto as_tuple = [](const Totals &t) { return std::tuple(t.arcs, t.sum, t.maximum); };
  const auto real = totals_of(counters, static_cast<int32_t>(counters.size()));
  if (!real || as_tuple(*real) != as_tuple(block.object))
    reader.add_finding(
        Severity::error, totals_at + header_bytes / 2,
        fmt::format("the header states {} counters, sum {}, maximum {}; {}", block.object.arcs,
                    block.object.sum, block.object.maximum,
                    real ? fmt::format("they are {}, {}, {}", real->arcs, real->sum, real->maximum)
                         : "their sum exceeds 63 bits"),
        "totals");
  blocks_.push_back(std::move(block));
  return {};
}

Result<std::string> Gcov3Data::bytes() const {
  WordWriter writer;
  if (!has_names_) {
    writer.long_word(static_cast<int64_t>(counters_.size()));
    for (const int64_t counter : counters_)
      writer.long_word(counter);
  }
  for (const Block &block : blocks_) {
    writer.raw(data_magic);
    writer.word(block.last_function - block.first_function);
    writer.word(static_cast<int64_t>(header_bytes + block.more.size()));
    write_totals(writer, block.program);
    write_totals(writer, block.object);
    writer.bytes(block.more);
    for (const Function &function : functions_of(block)) {
      writer.name(strings_[function.name]);
      writer.word(function.checksum);
      const auto counters = counters_of(function);
      writer.word(static_cast<int64_t>(counters.size()));
      for (const int64_t counter : counters)
        writer.long_word(counter);
    }
  }
  return writer.finish(oddities_);
}

// Checks that every block of `other` has the same functions as this file's first block, and
// therefore belongs to the same object.
Result<void> Gcov3Data::check_alike(const Gcov3Data &other) const {
  const auto unlike = [&](std::string message, uint64_t offset) {
    return fail(ErrorCode::invalid_input, std::move(message), other.source_,
                Position::at_offset(offset));
  };
  if (has_names_ != other.has_names_)
    return unlike(
        fmt::format("has {}names of functions, unlike {}", has_names_ ? "no " : "", source_), 0);
  if (!has_names_ && counters_.size() != other.counters_.size())
    return unlike(fmt::format("has {} counters, and {} has {}: not the same object",
                              other.counters_.size(), source_, counters_.size()),
                  0);
  if (!has_names_)
    return {};
  const auto expected = functions_of(blocks_.front());
  for (const Block &block : other.blocks_) {
    const auto functions = other.functions_of(block);
    if (functions.size() != expected.size())
      return unlike(fmt::format("a block of {} functions, and {} begins with one of {}: not the "
                                "same object",
                                functions.size(), source_, expected.size()),
                    functions.empty() ? 0 : functions.front().offset);
    for (size_t i = 0; i < functions.size(); ++i) {
      const std::string_view name = other.strings_[functions[i].name];
      if (name != strings_[expected[i].name])
        return unlike(fmt::format("function {} where {} has {}: not the same object", name, source_,
                                  strings_[expected[i].name]),
                      functions[i].offset);
      if (functions[i].checksum != expected[i].checksum ||
          other.counters_of(functions[i]).size() != counters_of(expected[i]).size())
        return unlike(
            fmt::format("function {} differs from that in {} (checksum {} and {}, {} and {} "
                        "counters): recompiled in between",
                        name, source_, functions[i].checksum, expected[i].checksum,
                        other.counters_of(functions[i]).size(), counters_of(expected[i]).size()),
            functions[i].offset);
    }
  }
  return {};
}

Result<void> Gcov3Data::add(const CounterFile &counter_file) {
  const auto *other = dynamic_cast<const Gcov3Data *>(&counter_file);
  if (!other)
    return fail(ErrorCode::invalid_input, "only counters of the same kind (.da) can be added",
                source_);
  TALLY_CHECK(check_alike(*this));
  TALLY_CHECK(check_alike(*other));

  if (!has_names_) {
    std::vector<int64_t> sums = counters_;
    for (size_t i = 0; i < sums.size(); ++i)
      if (!add_in_range(sums[i], other->counters_[i]))
        return too_large(other->source_, "a counter");
    counters_ = std::move(sums);
    oddities_.clear();
    return {};
  }
  return add_blocks(std::array{static_cast<const Gcov3Data *>(this), other});
}

Result<void> Gcov3Data::unite() {
  if (blocks_.size() < 2)
    return {};
  TALLY_CHECK(check_alike(*this));
  return add_blocks(std::array{static_cast<const Gcov3Data *>(this)});
}

// Adds up the blocks of all `files`; check_alike() must have accepted each file. The sum becomes
// the only block of this file.
Result<void> Gcov3Data::add_blocks(std::span<const Gcov3Data *const> files) {
  Block sum = blocks_.front();
  const uint32_t count = sum.last_function;
  const size_t width = count ? functions_[count - 1].last_counter : 0;
  sum.program.sum = 0;
  std::vector<int64_t> sums(width);
  for (const Gcov3Data *file : files)
    for (const Block &block : file->blocks_) {
      if (!add_in_range(sum.program.sum, block.program.sum))
        return too_large(file->source_, "the header's sum of the program");
      sum.program.maximum = std::max(sum.program.maximum, block.program.maximum);
      // The blocks have the same functions, so their counters have the same order.
      const auto functions = file->functions_of(block);
      const size_t first = functions.empty() ? 0 : functions.front().first_counter;
      for (size_t i = 0; i < width; ++i)
        if (!add_in_range(sums[i], file->counters_[first + i]))
          return too_large(file->source_, "a counter");
    }
  const auto object = totals_of(sums, sum.object.arcs);
  if (!object)
    return too_large(files.back()->source_, "the counters' sum");
  sum.object = *object;
  sum.program.maximum = std::max(sum.program.maximum, object->maximum);

  counters_ = std::move(sums);
  functions_.resize(count);
  blocks_.clear();
  blocks_.push_back(std::move(sum));
  oddities_.clear();
  find_offsets();
  return {};
}

// Computes the offsets of the functions in a file with one block.
void Gcov3Data::find_offsets() {
  uint64_t offset = 3 * sizeof(uint32_t) + header_bytes + blocks_.front().more.size();
  for (Function &function : functions_) {
    function.offset = offset;
    offset += function_bytes - 4 + padded(strings_[function.name].size()) +
              counter_bytes * counters_of(function).size();
  }
}

Result<void> Gcov3Data::zero() {
  std::ranges::fill(counters_, 0);
  for (Block &block : blocks_)
    for (Totals *totals : {&block.program, &block.object})
      totals->sum = totals->maximum = 0;
  // Drop the oddities that would restore the sign of a zero.
  std::erase_if(oddities_, [](const Gcov3Oddity &oddity) { return oddity.word == minus_zero; });
  return {};
}

} // namespace tally
