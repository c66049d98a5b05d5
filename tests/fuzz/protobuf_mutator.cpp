// Mutates messages of protocol buffers by their fields, so that lengths stay right: fields come,
// go, change places and move into other messages, and numbers change. A quarter of the mutations
// are libFuzzer's own.
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

namespace {

using Random = std::minstd_rand;

size_t below(Random &random, size_t limit) { return limit == 0 ? 0 : random() % limit; }

struct Field {
  uint64_t key = 0;          // number * 8 + type
  uint64_t value = 0;        // of a varint
  std::string bytes;         // of any other type, if it is not a message
  std::vector<Field> fields; // of a message
  bool is_message = false;
};
using Fields = std::vector<Field>;

std::optional<uint64_t> take_varint(std::string_view &bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80)
      return value;
  }
  return std::nullopt;
}

std::optional<Fields> parsed(std::string_view bytes, int depth) {
  Fields out;
  while (!bytes.empty()) {
    Field field;
    const auto key = take_varint(bytes);
    if (!key || *key >> 3 == 0)
      return std::nullopt;
    field.key = *key;
    size_t size = 0;
    switch (*key & 7) {
    case 0: {
      const auto value = take_varint(bytes);
      if (!value)
        return std::nullopt;
      field.value = *value;
      break;
    }
    case 1:
      size = 8;
      break;
    case 5:
      size = 4;
      break;
    case 2: {
      const auto length = take_varint(bytes);
      if (!length || *length > bytes.size())
        return std::nullopt;
      size = static_cast<size_t>(*length);
      break;
    }
    default:
      return std::nullopt;
    }
    if (size > bytes.size())
      return std::nullopt;
    field.bytes = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if ((*key & 7) == 2 && depth > 0 && !field.bytes.empty())
      if (auto inner = parsed(field.bytes, depth - 1)) {
        field.is_message = true;
        field.fields = std::move(*inner);
      }
    out.push_back(std::move(field));
  }
  return out;
}

void put_varint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::string bytes_of(const Fields &fields) {
  std::string out;
  for (const Field &field : fields) {
    put_varint(out, field.key);
    if ((field.key & 7) == 0) {
      put_varint(out, field.value);
      continue;
    }
    const std::string bytes = field.is_message ? bytes_of(field.fields) : field.bytes;
    if ((field.key & 7) == 2)
      put_varint(out, bytes.size());
    out += bytes;
  }
  return out;
}

uint64_t some_number(uint64_t before, Random &random) {
  constexpr std::array<uint64_t, 8> numbers{0,          1,         UINT64_MAX, INT64_MAX,
                                            UINT32_MAX, INT32_MAX, 1ULL << 63, 127};
  switch (below(random, 4)) {
  case 0:
    return numbers[below(random, numbers.size())];
  case 1:
    return before + 1;
  case 2:
    return before - 1;
  default:
    return below(random, 12);
  }
}

// Chooses a message, the outer one or one inside.
Fields &some_message(Fields &fields, Random &random) {
  if (fields.empty() || below(random, 3) == 0)
    return fields;
  Field &field = fields[below(random, fields.size())];
  return field.is_message ? some_message(field.fields, random) : fields;
}

void mutate(Fields &all, Random &random) {
  Fields &fields = some_message(all, random);
  if (fields.empty()) {
    fields.push_back({below(random, 16) * 8 + 8, below(random, 4), {}, {}, false});
    return;
  }
  const size_t at = below(random, fields.size()), other = below(random, fields.size());
  Field &field = fields[at];
  switch (below(random, 6)) {
  case 0:
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
    break;
  case 1:
    std::swap(field, fields[other]);
    break;
  case 2: {
    const Field copy = field;
    Fields &to = some_message(all, random);
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(below(random, to.size() + 1)), copy);
    break;
  }
  case 3: // another number, of the same type
    field.key = (below(random, 16) + 1) * 8 + (field.key & 7);
    break;
  default:
    if ((field.key & 7) == 0) {
      field.value = some_number(field.value, random);
    } else if (!field.is_message) {
      field.bytes.resize(field.bytes.size() + 8);
      field.bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(field.bytes.data()),
                                          field.bytes.size() - 8, field.bytes.size()));
      if ((field.key & 7) != 2)
        field.bytes.resize((field.key & 7) == 1 ? 8 : 4);
    }
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                          unsigned seed) {
  Random random(seed);
  constexpr int deepest = 4;
  auto fields = parsed({reinterpret_cast<const char *>(data), size}, deepest);
  if (!fields || below(random, 4) == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  for (size_t i = 0; i <= below(random, 3); ++i)
    mutate(*fields, random);
  const std::string bytes = bytes_of(*fields);
  if (bytes.empty() || bytes.size() > max_size)
    return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
