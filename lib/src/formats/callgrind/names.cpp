// Reads the lines that name objects, files and functions.
#include <fmt/format.h>

#include "formats/callgrind/reader.h"

namespace tally::callgrind {

namespace {
constexpr std::array<std::string_view, 3> table_words{"object", "file", "function"};

// The most bytes that all different nested names of a file may have together. A nested name may be
// far longer than its line, so a small malicious file could otherwise exhaust memory.
constexpr size_t most_expanded_bytes = size_t{64} << 20;

// Skips blanks and CRs. A CR before other characters does not end the line, and does not begin a
// name either.
const char *skip_to_name(const char *p) {
  while (is_blank(*p) || *p == '\r')
    ++p;
  return p;
}
} // namespace

StringId Reader::name_of(uint64_t id, Table table, const char *at) {
  const NameEntry *entry = ids_.tables[table].find(id);
  const std::string_view word = table_words[table];
  if (!entry) {
    find(Severity::error, at, fmt::format("{} id ({}) is not defined", word, id));
    return builder_.intern(fmt::format("({})", id));
  }
  if (entry->part != part_.index)
    find(Severity::warning, at,
         fmt::format("{} ids are used that only an earlier part defines", word),
         fmt::format("earlier part {}", word));
  return entry->name;
}

// Expands a nested name: ids and words that are joined by ', such as "(4080)'(4053)'2".
bool Reader::take_nested(std::string_view text, Table table, std::string &name, const char *at) {
  while (true) {
    const size_t end = std::min(text.find('\''), text.size());
    const std::string_view piece = text.substr(0, end);
    const auto id = whole_id(piece);
    name += id ? builder_.so_far().strings[name_of(*id, table, piece.data())] : piece;
    if (name.size() > most_expanded_bytes - ids_.expanded_bytes)
      return refuse(at, "names made of ids add up to more than 64 MiB", ErrorCode::limit);
    if (end == text.size())
      return true;
    name += '\'';
    text.remove_prefix(end + 1);
  }
}

StringId Reader::intern_expanded(std::string_view name) {
  const uint32_t before = builder_.so_far().strings.size();
  const StringId id = builder_.intern(name);
  if (builder_.so_far().strings.size() > before)
    ids_.expanded_bytes += name.size();
  return id;
}

bool Reader::take_name(const char *p, Table table, StringId &name) {
  const auto known = [&](StringId id) {
    return table != functions && id == unknown_ ? StringId{} : id;
  };
  p = skip_to_name(p);
  const std::string_view text = line_from(p);
  if (!begins_id(text)) {
    name = known(text.empty() && table == functions ? unknown_ : builder_.intern(text));
    return true;
  }
  const char *const at = p;
  ++p;
  uint64_t id = 0;
  if (const NumberFault fault = take_number(p, id); fault != NumberFault::none)
    return refuse_number(p, fault, "an id");
  if (*p != ')')
    return refuse(p,
                  fmt::format("expected ')' after an id, found '{}'", line_from(p).substr(0, 1)));
  ++p;
  std::string_view rest = line_from(p);
  std::string joined;
  if (rest.starts_with('\'')) { // a nested name, which defines no id
    if (!take_nested(text, table, joined, at))
      return false;
    name = known(intern_expanded(joined));
    return true;
  }
  rest = line_from(skip_to_name(p));
  if (rest.empty()) {
    name = name_of(id, table, at);
    return true;
  }
  if (begins_id(rest)) {
    if (!take_nested(rest, table, joined, at))
      return false;
    name = known(intern_expanded(joined));
  } else {
    name = known(builder_.intern(rest));
  }
  const NameEntry *before = ids_.tables[table].find(id);
  if (before && before->name != name && before->part == part_.index)
    find(Severity::warning, at,
         fmt::format("{} id ({}) is defined again with another name; before in line {}",
                     table_words[table], id, before->line));
  ids_.tables[table].define(id, {name, part_.index, line_});
  return true;
}

// Reads a line with one of the keys "ob", "fl", "fi", "fe", "fn", "cob", "cfi", "cfl", "cfn",
// "jfi", "jfn" and "frfn".
const char *Reader::position_line(const char *key, const char *p, size_t length) {
  const std::string_view word(key, length);
  const char kind = key[length - 1]; // ob: b; files: l, i, e; functions: n
  const Table table = kind == 'b' ? objects : kind == 'n' ? functions : files;
  StringId name{};
  if (!take_name(p, table, name))
    return nullptr;
  if (word == "fn") {
    names_.function = name;
    names_.function_file = names_.line_file = names_.file;
    names_.function_object = names_.object;
    names_.call = {};
    names_.jump = {};
    part_.block_open = false;
    if (positions_.valgrind_base)
      positions_.base = {};
  } else if (word == "fl") {
    names_.file = names_.line_file = name;
    names_.has_fl_line = true;
    part_.block_open = false;
  } else if (word == "fi" || word == "fe") {
    names_.line_file = name;
    part_.block_open = false;
    // lsprof never writes fl=, so its functions can only belong to the file of fi= or fe=.
    if (!names_.has_fl_line) {
      find(Severity::warning, begin_, fmt::format("{}= before any fl= is read as fl=", word),
           "fi before fl");
      names_.file = name;
    }
  } else if (word == "ob") {
    names_.object = name;
  } else if (word == "cob") {
    names_.call.object = name;
  } else if (word == "cfi" || word == "cfl") {
    names_.call.file = name;
  } else if (word == "cfn") {
    names_.call.callee = name;
    names_.call.callee_file =
        names_.call.file == none<StringId> ? names_.line_file : names_.call.file;
    names_.call.callee_object =
        names_.call.object == none<StringId> ? names_.object : names_.call.object;
    names_.call.file = names_.call.object = none<StringId>;
  } else if (word == "jfi") {
    names_.jump.file = name;
  } else if (word == "jfn") {
    names_.jump.function = name;
  }
  return line_end(p) + 1;
}

} // namespace tally::callgrind
