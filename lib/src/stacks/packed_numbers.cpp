#include "stacks/packed_numbers.h"

#include <new>

#include <zstd.h>

namespace tally {

namespace {

constexpr size_t raw_block = 64 << 10;
constexpr int level = 1, window_log = 17;

} // namespace

void NumberPacker::Free::operator()(ZSTD_CCtx_s *context) const { ZSTD_freeCCtx(context); }
void NumberUnpacker::Free::operator()(ZSTD_DCtx_s *context) const { ZSTD_freeDCtx(context); }

NumberPacker::NumberPacker() : context_(ZSTD_createCCtx()), raw_(raw_block) {
  if (!context_)
    throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, window_log);
}
NumberPacker::NumberPacker(NumberPacker &&) noexcept = default;
NumberPacker::~NumberPacker() = default;

std::vector<std::byte> NumberPacker::finish() {
  pack(true);
  packed_.shrink_to_fit();
  return std::move(packed_);
}

void NumberPacker::pack(bool all) {
  ZSTD_inBuffer in{raw_.data(), used_, 0};
  for (;;) {
    const size_t at = packed_.size();
    packed_.resize(at + (raw_block / 2));
    ZSTD_outBuffer out{packed_.data() + at, packed_.size() - at, 0};
    const size_t left =
        ZSTD_compressStream2(context_.get(), &out, &in, all ? ZSTD_e_end : ZSTD_e_continue);
    packed_.resize(at + out.pos);
    if (ZSTD_isError(left))
      throw std::bad_alloc(); // the data is in memory, so that only memory can be short
    if (all ? left == 0 : in.pos == in.size)
      break;
  }
  used_ = 0;
}

NumberUnpacker::NumberUnpacker(std::span<const std::byte> packed)
    : context_(ZSTD_createDCtx()), raw_(raw_block), packed_(packed) {
  if (!context_)
    throw std::bad_alloc();
}
NumberUnpacker::NumberUnpacker(NumberUnpacker &&) noexcept = default;
NumberUnpacker::~NumberUnpacker() = default;

void NumberUnpacker::fill() {
  ZSTD_inBuffer in{packed_.data(), packed_.size(), taken_};
  ZSTD_outBuffer out{raw_.data(), raw_.size(), 0};
  const size_t status = ZSTD_decompressStream(context_.get(), &out, &in);
  if (ZSTD_isError(status) || out.pos == 0)
    throw std::bad_alloc(); // the data was packed here, so that it is valid
  taken_ = in.pos;
  filled_ = out.pos;
  at_ = 0;
}

} // namespace tally
