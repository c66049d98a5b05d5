// Formats instructions with their costs as text.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "report/disassembly.h"
#include "report/render.h"
#include "support/file_io.h"
#include "support/line_blocks.h"
#include "support/path.h"
#include "support/text.h"

namespace tally {

namespace {

// Caches the lines of source files, so that each file is read once.
class SourceTexts {
public:
  explicit SourceTexts(const SourcePaths &paths) : paths_(paths) {}

  // Returns the text of a line, or an empty string if it is not available.
  std::string_view line(const std::string &file, uint32_t number) {
    const auto [at, added] = files_.try_emplace(file);
    if (added)
      if (const auto path = paths_.find(file))
        at->second = read(*path);
    return number > 0 && number <= at->second.size() ? std::string_view(at->second[number - 1])
                                                     : std::string_view();
  }

private:
  static std::vector<std::string> read(const std::string &path) {
    std::vector<std::string> out;
    auto source = ByteSource::open_found(path);
    if (!source)
      return out;
    for (LineBlocks blocks(**source);;) {
      const auto block = blocks.next();
      if (!block || block->empty())
        return out;
      for (std::string_view rest = *block; !rest.empty();) {
        const size_t end = rest.find('\n'); // a block consists of whole lines
        out.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
      }
    }
  }

  const SourcePaths &paths_;
  std::map<std::string, std::vector<std::string>> files_;
};

// Returns "parse.c:12: text", or "parse.c:12, f: text" for a line of an inlined function `f`.
std::string source_line(const InstructionRow &row, SourceTexts &texts, uint32_t width) {
  std::string out = location_of(row.file, row.line, {});
  if (!row.own)
    out += fmt::format(", {}", short_name(row.function, 40));
  std::string_view text = texts.line(row.file, row.line);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.empty())
    out += fmt::format(": {}", text);
  out = printable(expand_tabs(out));
  while (out.ends_with(' '))
    out.pop_back();
  return (width > 0 ? first_columns(out, width) : out) + '\n';
}

std::string object_head(const Disassembly &all, const Disassembly::Object &object) {
  std::string out = fmt::format("{}{}: {} of {} {} ({:.2f}%)", all.function,
                                object.path.empty() ? std::string()
                                                    : fmt::format(" in {}", base_name(object.path)),
                                object.self, all.total, all.event, percent(object.self, all.total));
  if (object.own < object.self)
    out += fmt::format(", {} of them its own", object.own);
  out = printable(out) + '\n';
  if (object.partly)
    out += "(the bounds of the function are not known: shown from its first sample to its last)\n";
  if (!object.problem.empty())
    out += printable(fmt::format("(no instructions: {})", object.problem)) + '\n';
  if (object.unplaced > 0 && !object.rows.empty())
    out += fmt::format("({} {} are at addresses that could not be disassembled)\n", object.unplaced,
                       all.event);
  return out;
}

} // namespace

std::string to_text(const Disassembly &disassembly, const SourcePaths &sources,
                    const TextOptions &options) {
  std::string out;
  SourceTexts texts(sources);
  for (const Disassembly::Object &object : disassembly.objects) {
    out += (out.empty() ? "" : "\n") + object_head(disassembly, object);
    if (object.rows.empty())
      continue;
    TextTable text;
    text.cut_text();
    text.add_column("self%", true, Role::highlight);
    text.add_column("self", true);
    if (disassembly.has_inclusive)
      text.add_column("incl", true);
    text.add_column("address", true, Role::address);
    text.add_column("instruction", false);
    for (const InstructionRow &row : object.rows) {
      std::vector<std::string> cells{
          row.self == 0 ? std::string()
                        : fmt::format("{:.2f}%", percent(row.self, disassembly.total)),
          row.self == 0 ? std::string() : fmt::format("{}", row.self)};
      if (disassembly.has_inclusive)
        cells.push_back(row.inclusive == 0 ? std::string() : fmt::format("{}", row.inclusive));
      cells.push_back(fmt::format("{:#x}", row.address));
      cells.push_back(expand_tabs(row.text));
      text.add_row(std::move(cells));
    }
    const std::string table = text.render(options);
    // The table has a line for its titles, then one for each row.
    const InstructionRow *last = nullptr;
    size_t line = 0;
    for (size_t begin = 0; begin < table.size(); ++line) {
      const size_t end = table.find('\n', begin) + 1;
      const bool is_row =
          line > 0 && line <= object.rows.size() && (options.limit == 0 || line <= options.limit);
      if (is_row) {
        const InstructionRow &row = object.rows[line - 1];
        const bool gap =
            line > 1 && std::ranges::find(object.first_rows, line - 1) != object.first_rows.end();
        if (gap)
          out += "…\n";
        if (row.line > 0 && (gap || !last || last->line != row.line || last->file != row.file ||
                             last->function != row.function))
          out += source_line(row, texts, options.width);
        last = &row;
      }
      out += table.substr(begin, end - begin);
      begin = end;
    }
  }
  return out;
}

} // namespace tally
