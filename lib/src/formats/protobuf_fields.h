// Decodes the fields of a protocol buffer message one after another.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <protozero/varint.hpp>

namespace tally::protobuf {

enum class Kind : uint8_t { unknown, integer, integers, bytes };

// A message's name, and the kinds of its fields by number.
struct MessageType {
  std::string_view name;
  std::array<Kind, 16> fields;
};

namespace field {
inline constexpr Kind none = Kind::unknown, i = Kind::integer, many = Kind::integers,
                      b = Kind::bytes;
} // namespace field

// The first fault of a file. All its messages share this object. Once a fault is set,
// Fields::next() always returns false, so that a reader needs to check for a fault only once.
struct Fault {
  const char *at = nullptr; // points into the file's bytes
  std::string text;
  bool cut = false; // the bytes are valid so far, but end too early

  explicit operator bool() const { return at != nullptr; }
  bool set(const char *where, std::string what, bool is_cut = false) {
    if (!at) {
      at = where;
      text = std::move(what);
      cut = is_cut;
    }
    return false;
  }
};

class Fields {
public:
  Fields(std::string_view message, const MessageType &type, Fault &fault)
      : at_(message.data()), end_(message.data() + message.size()), type_(type), fault_(fault) {}

  // Advances to the next field. Returns false at the end and after a fault.
  bool next() {
    begin_ = at_;
    uint64_t tag = 0;
    if (at_ == end_ || fault_ || !varint(at_, end_, tag))
      return false;
    number_ = tag >> 3;
    wire_ = static_cast<uint8_t>(tag & 7);
    if (number_ == 0)
      return fault_.set(begin_, fmt::format("{} has a field of number 0", type_.name));
    return read_value() && is_of_its_kind();
  }

  bool is_known() const { return kind() != Kind::unknown; }
  uint64_t number() const { return number_; }
  const char *begin() const { return begin_; } // start of the field
  uint64_t value() const { return value_; }
  int64_t signed_value() const { return static_cast<int64_t>(value_); }
  std::string_view bytes() const { return bytes_; }

  // Calls `each(value, where)` for each integer of the field, which has a single integer or a
  // packed list.
  template <class Each> void integers(Each each) {
    if (wire_ == varint_wire)
      return each(value_, begin_);
    const char *const end = bytes_.data() + bytes_.size();
    for (const char *at = bytes_.data(); at != end && !fault_;) {
      const char *const where = at;
      uint64_t value = 0;
      if (varint(at, end, value))
        each(value, where);
    }
  }

private:
  static constexpr uint8_t varint_wire = 0, fixed64_wire = 1, bytes_wire = 2, fixed32_wire = 5;

  bool varint(const char *&at, const char *end, uint64_t &value) {
    try {
      value = protozero::decode_varint(&at, end);
      return true;
    } catch (const protozero::end_of_buffer_exception &) {
      return fault_.set(at, fmt::format("{} ends in the middle of a number", type_.name), true);
    } catch (const protozero::varint_too_long_exception &) {
      return fault_.set(at, fmt::format("{} has a number of more than 64 bits", type_.name));
    }
  }

  bool read_value() {
    value_ = 0;
    bytes_ = {};
    uint64_t size = 0;
    switch (wire_) {
    case varint_wire:
      return varint(at_, end_, value_);
    case fixed64_wire:
      size = 8;
      break;
    case fixed32_wire:
      size = 4;
      break;
    case bytes_wire:
      if (!varint(at_, end_, size))
        return false;
      break;
    default:
      return fault_.set(begin_, fmt::format("field {} of {} has the wire type {}, which is not "
                                            "supported",
                                            number_, type_.name, wire_));
    }
    if (const auto left = static_cast<uint64_t>(end_ - at_); size > left)
      return fault_.set(begin_,
                        fmt::format("field {} of {} has {} bytes, but only {} are left", number_,
                                    type_.name, size, left),
                        true);
    bytes_ = std::string_view(at_, static_cast<size_t>(size));
    at_ += size;
    return true;
  }

  Kind kind() const {
    return number_ < type_.fields.size() ? type_.fields[number_] : Kind::unknown;
  }

  bool is_of_its_kind() {
    const Kind wanted = kind();
    const bool as_integer = wire_ == varint_wire, as_bytes = wire_ == bytes_wire;
    if (wanted == Kind::unknown || (wanted == Kind::integer && as_integer) ||
        (wanted == Kind::bytes && as_bytes) ||
        (wanted == Kind::integers && (as_integer || as_bytes)))
      return true;
    return fault_.set(begin_, fmt::format("field {} of {} has the wire type {} instead of {}",
                                          number_, type_.name, wire_,
                                          wanted == Kind::bytes ? bytes_wire : varint_wire));
  }

  const char *at_, *end_, *begin_ = nullptr;
  const MessageType &type_;
  Fault &fault_;
  uint64_t number_ = 0, value_ = 0;
  uint8_t wire_ = 0;
  std::string_view bytes_;
};

} // namespace tally::protobuf
