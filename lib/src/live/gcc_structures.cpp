// The layouts of GCC's structures are in FORMAT.md.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "formats/gcov/header.h"
#include "live/counter_layout.h"
#include "live/module_reader.h"
#include "support/byte_cursor.h"
#include "support/file_budget.h"
#include "support/hash.h"

namespace tally::live {

namespace {

// Limits of what a program can contain. Damaged memory may hold any number.
constexpr uint32_t most_functions = 1 << 20; // of an object
constexpr size_t most_objects = 1 << 20;     // of a list
constexpr size_t most_in_all = 1 << 23;      // functions of the program

// What depends on the version of the compiler.
struct VersionLayout {
  uint32_t kinds = 0;    // kinds of counters: the number of pointers to merge functions
  bool checksum = false; // the stamp is followed by a checksum
};

// Returns nothing for a version whose layout is not known.
std::optional<VersionLayout> layout_of(GcovVersion version) {
  const auto number = static_cast<uint32_t>(version);
  const uint32_t major = number / 100;
  if (number < static_cast<uint32_t>(GcovVersion::v4_7) || major > 15)
    return std::nullopt;
  if (number < 409)
    return VersionLayout{8, false};
  switch (major) {
  case 4:
  case 7:
  case 8:
  case 9:
    return VersionLayout{9, false};
  case 5:
  case 6:
    return VersionLayout{10, false};
  case 10:
  case 11:
    return VersionLayout{8, false};
  case 12:
  case 13:
    return VersionLayout{8, true};
  case 14:
    return VersionLayout{9, true};
  default:
    return VersionLayout{10, true};
  }
}

class GccReader {
public:
  GccReader(CounterLayout &layout, const LoadedModule &module, uint32_t number, Memory &memory,
            Diagnostics &diagnostics)
      : layout_(layout), module_(module), number_(number), memory_(memory),
        diagnostics_(diagnostics), words_(module.places.words), reader_(module, memory),
        budget_(module.places.file_bytes) {
    for (const AddressRange &segment : module.places.segments)
      left_ += segment.high - segment.low;
  }

  void run() {
    const size_t before = layout_.objects.size();
    take_all();
    // If there is no object, the variables of the module have no values yet.
    if (unversioned_ && layout_.objects.size() > before)
      find(fmt::format("the description of an object at 0x{:x} is damaged: it begins without the "
                       "version of a compiler",
                       *unversioned_));
  }

private:
  void take_all() {
    const CounterPlaces &places = module_.places;
    for (const uint64_t root : places.roots)
      follow_list(root + module_.bias);
    for (const AddressRange &list : places.info_lists)
      take_pointers(list);
    if (!is_known_)
      for (const uint64_t function : places.functions)
        if (const auto object = reader_.pointer_at(function + module_.bias))
          take_object(*object, true);
    if (!is_known_)
      for (const AddressRange &data : places.data)
        scan(data);
  }
  void find(std::string message) {
    diagnostics_.add(Severity::warning, std::move(message), module_.key.path, {},
                     "gcov structures");
  }

  // Follows the list of a root (struct gcov_root): its first word points to the first object.
  void follow_list(uint64_t root) {
    auto next = reader_.pointer_at(root);
    if (!next) {
      find(fmt::format("the list of objects at 0x{:x} cannot be read", root));
      return;
    }
    for (size_t count = 0; *next != 0; ++count) {
      const uint64_t object = *next;
      if (count == most_objects || !take_object(object, true))
        return;
      next = reader_.pointer_at(object + words_.pointer_size);
      if (!next)
        return;
    }
  }

  void take_pointers(const AddressRange &list) {
    for (uint64_t at = list.low; list.high - at >= words_.pointer_size; at += words_.pointer_size)
      if (const auto object = reader_.pointer_at(at + module_.bias); object && *object != 0)
        take_object(*object, true);
  }

  // Takes every place that holds a plausible object, one of whose functions refers back to it.
  void scan(const AddressRange &data) {
    constexpr uint64_t piece_size = 1 << 16;
    std::string piece;
    for (uint64_t low = data.low; low < data.high; low += piece_size) {
      piece.resize(std::min(piece_size, data.high - low));
      if (!memory_.read(low + module_.bias, std::as_writable_bytes(std::span(piece))))
        continue;
      for (uint64_t at = reader_.aligned(low); at - low + 4 <= piece.size();
           at += words_.pointer_size) {
        ByteCursor word(std::string_view(piece).substr(at - low, 4), words_.big_endian);
        const uint32_t version = word.u32();
        if ((version & 0xff) == '*' && gcov::version_of(version) != 0)
          take_object(at + module_.bias, false);
      }
    }
  }

  // Reads an object's description and adds the object. If `is_listed` is false, there may be
  // something else at the address. Returns false if the description is damaged or known already.
  bool take_object(uint64_t address, bool is_listed) {
    if (!seen_.insert(address).second)
      return false;
    const auto damaged = [&](std::string_view what) {
      if (is_listed)
        find(fmt::format("the description of an object at 0x{:x} is damaged: {}", address, what));
      return false;
    };
    auto cursor = reader_.bytes_at(address, 4);
    if (!cursor)
      return damaged("it cannot be read");
    CountedModuleObject object;
    object.address = address;
    object.module = number_;
    GcovHeader &header = object.header;
    header.big_endian = words_.big_endian;
    header.version_word = cursor->u32();
    header.version = static_cast<GcovVersion>(gcov::version_of(header.version_word));
    if (static_cast<uint32_t>(header.version) == 0) {
      if (is_listed)
        unversioned_ = address;
      return false;
    }
    const auto layout = layout_of(header.version);
    if (!layout) {
      is_known_ |= is_listed;
      if (is_listed)
        find(fmt::format("was compiled by a GCC ({}) whose counters are not known",
                         version_text(header.version_word)));
      return is_listed;
    }
    const uint64_t pointer = words_.pointer_size;
    const uint64_t stamp_at = 2 * pointer;
    const uint64_t path_at = reader_.aligned(stamp_at + (layout->checksum ? 8 : 4));
    const uint64_t merge_at = path_at + pointer;
    const uint64_t count_at = merge_at + layout->kinds * pointer;
    const uint64_t table_at = reader_.aligned(count_at + 4);
    cursor = reader_.bytes_at(address, table_at + pointer);
    if (!cursor)
      return damaged("it cannot be read");
    const auto seek = [&](uint64_t offset) { cursor->take(offset - cursor->offset()); };
    seek(stamp_at);
    header.stamp = cursor->u32();
    if (layout->checksum)
      header.checksum = cursor->u32();
    seek(path_at);
    const uint64_t path = reader_.take_pointer(*cursor);
    kinds_.clear();
    for (uint32_t kind = 0; kind < layout->kinds; ++kind)
      if (reader_.take_pointer(*cursor) != 0)
        kinds_.push_back(kind);
    const uint32_t count = cursor->u32();
    seek(table_at);
    const uint64_t table = reader_.take_pointer(*cursor);
    if (count > most_functions || layout_.functions.size() + count > most_in_all)
      return damaged(fmt::format("it has {} functions", count));
    const uint64_t left_before = left_;
    object.first_function = static_cast<uint32_t>(layout_.functions.size());
    const size_t arrays_before = layout_.arrays.size();
    const auto give_up = [&](std::string_view what) {
      layout_.functions.resize(object.first_function);
      layout_.arrays.resize(arrays_before);
      left_ = left_before;
      return damaged(what);
    };
    const bool may_be = count == 0 || (claim(count * pointer) && budget_.take(count * pointer));
    auto pointers = may_be ? reader_.bytes_at(table, count * pointer) : std::nullopt;
    if (count > 0 && !pointers)
      return give_up("its table of functions cannot be read");
    table_.clear();
    for (uint32_t i = 0; i < count; ++i)
      table_.push_back(reader_.take_pointer(*pointers));
    bool refers_back = false;
    for (const uint64_t function : table_) {
      if (!take_function(function, address))
        return give_up(
            fmt::format("the description of a function at 0x{:x} cannot be read", function));
      refers_back |= !layout_.functions.back().elsewhere;
    }
    if (!is_listed && !refers_back)
      return give_up("");
    auto text = reader_.string_at(path);
    if (!text || text->empty() || !budget_.take(text->size()))
      return give_up("it has no path");
    object.data_path = std::move(*text);
    object.last_function = static_cast<uint32_t>(layout_.functions.size());
    layout_.objects.push_back(std::move(object));
    is_known_ = true;
    return true;
  }

  // Tables and arrays do not overlap. Together they are therefore no larger than the module. In
  // damaged memory, each of many objects or functions may refer to the same large one.
  bool claim(uint64_t size) {
    if (size > left_)
      return false;
    left_ -= size;
    return true;
  }

  bool take_function(uint64_t address, uint64_t object) {
    CountedFunction function;
    function.first_array = static_cast<uint32_t>(layout_.arrays.size());
    function.last_array = function.first_array;
    if (address == 0) {
      function.elsewhere = true;
      layout_.functions.push_back(function);
      return true;
    }
    const uint64_t pointer = words_.pointer_size;
    const uint64_t arrays_at = reader_.aligned(pointer + 12);
    const uint64_t size = arrays_at + kinds_.size() * 2 * pointer;
    auto cursor = reader_.bytes_at(address, size);
    if (!cursor || !budget_.take(size))
      return false;
    function.elsewhere = reader_.take_pointer(*cursor) != object;
    function.key.ident = cursor->u32();
    function.key.lineno_checksum = cursor->u32();
    function.key.cfg_checksum = cursor->u32();
    if (function.elsewhere)
      function.key = {};
    cursor->take(arrays_at - cursor->offset());
    for (const uint32_t kind : kinds_) {
      if (function.elsewhere)
        break;
      const uint32_t count = cursor->u32();
      cursor->take(pointer - 4);
      const uint64_t values = reader_.take_pointer(*cursor);
      if (count > 0 &&
          (!reader_.in_module(values, uint64_t{count} * 8) || !claim(uint64_t{count} * 8)))
        return false;
      layout_.arrays.push_back({values, count, kind});
    }
    function.last_array = static_cast<uint32_t>(layout_.arrays.size());
    layout_.functions.push_back(function);
    return true;
  }

  CounterLayout &layout_;
  const LoadedModule &module_;
  uint32_t number_;
  Memory &memory_;
  Diagnostics &diagnostics_;
  WordLayout words_;
  SeededSet<uint64_t> seen_;            // objects, damaged ones, too
  bool is_known_ = false;               // whether there is an object of a known or unknown compiler
  std::optional<uint64_t> unversioned_; // the last listed object that begins without a version
  ModuleReader reader_;
  std::vector<uint32_t> kinds_; // those that the object counts
  std::vector<uint64_t> table_;
  FileBudget budget_; // of tables and functions, of damaged objects, too
  uint64_t left_ = 0; // bytes of the module that no table or array has claimed
};

} // namespace

void add_module(CounterLayout &layout, const LoadedModule &module, uint32_t number, Memory &memory,
                Diagnostics &diagnostics) {
  GccReader(layout, module, number, memory, diagnostics).run();
}

} // namespace tally::live
