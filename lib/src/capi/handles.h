// Declares what the files of the C interface share: the handles, the conversion of a Result to a
// tally_error*, and the structures that grow.
#pragma once

#include <tally.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/report.h"
#include "session/session.h"
#include "support/diagnostics.h"
#include "support/result.h"

struct tally_error {
  tally::Error error;
  std::string text;
};

struct tally_table {
  struct Texts {
    std::vector<std::string> owned;
    std::vector<const char *> pointers;
  };
  struct TableColumn {
    std::string name;
    int kind = TALLY_COLUMN_TEXT;
    Texts texts;
    std::vector<uint64_t> counts;
  };
  std::vector<TableColumn> columns;
  size_t rows = 0;

  void add(std::string name, std::vector<std::string> texts);
  void add(std::string name, std::vector<uint64_t> counts);
};

namespace tally::capi {

using TablePtr = std::unique_ptr<tally_table>;
using TableResult = Result<TablePtr>;

// Reports that memory is exhausted. This error is static, and tally_error_free() ignores it.
extern tally_error out_of_memory;
tally_error *to_c(Error error) noexcept;
tally_error *defect(const char *what) noexcept;

// Runs `body`, which returns a Result, and passes its value to `store`. Returns null or the error.
template <class Body, class Store> tally_error *guarded(Body body, Store store) noexcept {
  try {
    auto result = body();
    if (!result)
      return to_c(std::move(result.error()));
    store(std::move(*result));
    return nullptr;
  } catch (const std::bad_alloc &) {
    return &out_of_memory;
  } catch (const std::exception &e) {
    return defect(e.what());
  } catch (...) {
    return defect("an unknown exception");
  }
}

// Returns the result of `body`, or `otherwise` if it throws.
template <class Body> auto unless_thrown(std::invoke_result_t<Body> otherwise, Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

inline auto into(tally_table **out) {
  return [out](TablePtr table) { *out = table.release(); };
}

inline std::string_view view_of(const char *text) { return text ? text : ""; }
inline std::string text_of(const char *text) { return std::string(view_of(text)); }

// Returns the rows of `report`, of the first event.
TablePtr table_of(const FlatTable &flat);
TablePtr table_of(const Diagnostics &diagnostics);

// Returns a caller's structure of `size` bytes as this library knows it: fields that an older
// caller does not have are 0, and those that only a newer caller knows are left out. Returns
// nothing if `size` is less than `least`, the size of the structure in the first release.
template <class T> std::optional<T> received(const void *from, size_t size, size_t least) {
  if (!from || size < least)
    return std::nullopt;
  T out{};
  std::memcpy(&out, from, std::min(size, sizeof out));
  return out;
}

// Does the same for a structure that begins with its size.
template <class T> std::optional<T> received_by_size(const T *from, size_t least) {
  return from ? received<T>(from, from->size, least) : std::nullopt;
}

// Does the same for an array of structures of `size` bytes each.
template <class T>
Result<std::vector<T>> received_array(const void *from, size_t count, size_t size, size_t least) {
  std::vector<T> out;
  if (count == 0)
    return out;
  if (!from || size < least)
    return fail(ErrorCode::invalid_argument, "not an array of this interface's structures");
  for (size_t i = 0; i < count; ++i)
    out.push_back(*received<T>(static_cast<const char *>(from) + i * size, size, least));
  return out;
}

// Returns options; all defaults if `from` is null. An option or a flag that this library does not
// know is refused, because ignoring it would give another result than the caller expects.
template <class T> Result<T> received_options(const T *from, uint32_t known_flags) {
  if (!from)
    return T{};
  const auto *bytes = reinterpret_cast<const unsigned char *>(from);
  constexpr size_t most = 4096; // more than any version's; the size may be uninitialized
  if (from->size < sizeof from->size || from->size > most)
    return fail(ErrorCode::invalid_argument, "the options do not state their size");
  if (std::any_of(bytes + std::min<size_t>(from->size, sizeof(T)), bytes + from->size,
                  [](unsigned char byte) { return byte != 0; }))
    return fail(ErrorCode::invalid_argument,
                "an option is set that Tally " TALLY_VERSION " does not know");
  const T out = *received<T>(from, from->size, sizeof from->size);
  if ((out.flags & ~known_flags) != 0)
    return fail(ErrorCode::invalid_argument,
                "a flag is set that Tally " TALLY_VERSION " does not know");
  return out;
}

// Returns the group of commands with a name. Fails with invalid_argument if there is none.
Result<GroupId> group_of(const char *name);

} // namespace tally::capi
