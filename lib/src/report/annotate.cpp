
#include "report/annotate.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/names.h"
#include "report/render.h"
#include "report/value_text.h"
#include "support/checked.h"
#include "support/file_io.h"
#include "support/line_blocks.h"
#include "support/overflow.h"
#include "support/sort.h"
#include "support/source_text.h"
#include "support/text.h"
#include "transform/call_graph.h"
#include "transform/event_units.h"

namespace tally {

namespace {

// The functions, or the file and line, that the user requested.
struct Wanted {
  std::vector<bool> functions; // by id; empty means all
  FileId file = none<FileId>;  // none means all
  uint32_t line = 0;           // 0 means all
};

bool ends_in_path(std::string_view path, std::string_view end) {
  return path == end || (path.size() > end.size() && path.ends_with(end) &&
                         (end.starts_with('/') || path[path.size() - end.size() - 1] == '/'));
}

Result<Wanted> find_wanted(const CostProfile &profile, std::string_view what) {
  Wanted wanted;
  std::vector<std::string_view> names;
  bool found = false;
  wanted.functions.assign(profile.functions().size(), false);
  for (uint32_t i = 0; i < profile.functions().size(); ++i) {
    const std::string_view name =
        profile.strings[profile.functions()[static_cast<CostFunctionId>(i)].name];
    names.push_back(name);
  }
  const FunctionMatcher matcher(what, names);
  for (uint32_t i = 0; i < names.size(); ++i) {
    wanted.functions[i] = matcher.matches(names[i]);
    found |= wanted.functions[i];
  }
  if (found)
    return wanted;

  wanted.functions.clear();
  std::string_view path = what;
  if (const size_t colon = what.rfind(':'); colon != what.npos) {
    const std::string_view digits = what.substr(colon + 1);
    uint32_t line = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
    if (fault == std::errc() && end == digits.data() + digits.size() && line > 0) {
      path = what.substr(0, colon);
      wanted.line = line;
    }
  }
  std::vector<std::string_view> files;
  for (uint32_t i = 0; i < profile.files().size(); ++i) {
    const std::string_view file = profile.strings[profile.files()[static_cast<FileId>(i)]];
    if (file == path && !path.empty()) {
      files = {file};
      wanted.file = static_cast<FileId>(i);
      break;
    }
    if (!path.empty() && ends_in_path(file, path)) {
      files.push_back(file);
      wanted.file = static_cast<FileId>(i);
    }
  }
  if (files.size() == 1)
    return wanted;
  if (files.size() > 1)
    return fail(ErrorCode::not_found,
                fmt::format("is the name of {} files: {}", files.size(), joined_text(files, ", ")),
                std::string(path));
  return no_function(what, std::move(names), "function or file");
}

using Lines = std::map<uint32_t, AnnotatedLine>;

// The number of lines shown before and after a requested line.
constexpr uint32_t around = 10;

// Adds the text of the lines near each line with cost. If no line has cost, adds the lines near
// `wanted_line`, otherwise only `wanted_line` itself. A `wanted_line` of 0 means that none is
// requested.
Result<void> read_lines(const std::string &path, AnnotatedFile &file, Lines &lines,
                        const AnnotateOptions &options, uint32_t wanted_line) {
  std::vector<std::pair<uint64_t, uint64_t>> shown;
  uint32_t also = 0; // the requested line, if it has no cost but other lines have
  const auto add = [&](uint64_t line, uint64_t context) {
    const uint64_t first = line > context ? line - context : 1;
    if (shown.empty() || first > shown.back().second + 1)
      shown.emplace_back(first, line + context);
    else
      shown.back().second = std::max(shown.back().second, line + context);
  };
  for (const auto &[line, row] : lines)
    if (line > 0)
      add(line, options.context);
  if (lines.empty() && wanted_line > 0)
    add(wanted_line, around);
  else if (wanted_line > 0 && !lines.contains(wanted_line))
    also = wanted_line;
  TALLY_TRY(source, ByteSource::open_found(path));
  uint32_t number = 0;
  size_t range = 0;
  for (LineBlocks blocks(*source);;) {
    TALLY_TRY(block, blocks.next());
    if (block.empty())
      break;
    while (!block.empty()) {
      const size_t end = block.find('\n');
      ++number;
      while (range < shown.size() && shown[range].second < number)
        ++range;
      if (number == also || (range < shown.size() && shown[range].first <= number)) {
        AnnotatedLine &line = lines[number];
        line.line = number;
        line.text = block.substr(0, end);
        if (line.text.ends_with('\r'))
          line.text.pop_back();
      }
      block.remove_prefix(end + 1);
    }
  }
  file.source_lines = number;
  return {};
}

// Sums costs by file and line.
class LineCosts {
public:
  struct File {
    Lines lines;
    // By line and callee: the index in AnnotatedLine::calls.
    std::map<std::pair<uint32_t, CostFunctionId>, size_t> calls;
    std::set<ObjectId> objects; // that have code of the file
  };

  LineCosts(const CostProfile &profile, const CallGraph &graph, const Wanted &wanted)
      : profile_(profile), graph_(graph), wanted_(wanted), width_(profile.events().size()) {}

  // Returns false if a sum exceeds 64 bits.
  bool add(const CostBlock &block) {
    if ((!wanted_.functions.empty() && !wanted_.functions[index_of(block.function)]) ||
        (wanted_.file != none<FileId> && wanted_.file != block.file))
      return true;
    File &file = files_[block.file];
    if (const ObjectId object = profile_.functions()[block.function].object;
        object != none<ObjectId>)
      file.objects.insert(object);
    bool fits = true;
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i)
      if (AnnotatedLine *line = line_of(file, profile_.cost_position(i).line))
        fits &=
            profile_.costs().add_to(i, line->self) && profile_.costs().add_to(i, line->inclusive);
    for (uint32_t i = block.first_call; i < block.last_call; ++i) {
      const CostCall call = profile_.call(i);
      AnnotatedLine *line = line_of(file, call.from.line);
      if (!line)
        continue;
      const bool recursive = recurs(block.function, call.callee);
      if (!recursive)
        fits &= profile_.call_costs().add_to(i, line->inclusive);
      AnnotatedCall &row = call_of(file, *line, call.callee);
      row.recursive |= recursive;
      fits &= checked_add(row.calls, call.count) && profile_.call_costs().add_to(i, row.inclusive);
    }
    return fits;
  }
  std::map<FileId, File> take() { return std::move(files_); }

private:
  AnnotatedLine *line_of(File &file, uint32_t number) const {
    if (wanted_.line > 0 &&
        (uint64_t{number} + around < wanted_.line || number > uint64_t{wanted_.line} + around))
      return nullptr;
    AnnotatedLine &line = file.lines[number];
    line.line = number;
    line.self.resize(width_, 0);
    line.inclusive.resize(width_, 0);
    return &line;
  }
  // Returns whether the calls of `to` by `from` may contain each other's costs. They may within a
  // cycle. So may those of "f" and its next level of recursion, "f'2", because both have the same
  // lines.
  bool recurs(CostFunctionId from, CostFunctionId to) const {
    if (graph_.same_component(index_of(from), index_of(to)))
      return true;
    const CostFunction &a = profile_.functions()[from], &b = profile_.functions()[to];
    return a.file == b.file && a.object == b.object &&
           without_level(profile_.strings[a.name]) == without_level(profile_.strings[b.name]);
  }
  AnnotatedCall &call_of(File &file, AnnotatedLine &line, CostFunctionId callee) const {
    const auto [at, added] = file.calls.try_emplace({line.line, callee}, line.calls.size());
    if (added) {
      const CostFunction &function = profile_.functions()[callee];
      line.calls.push_back({std::string(profile_.strings[function.name]),
                            std::string(profile_.strings[profile_.files()[function.file]]),
                            std::string(profile_.strings[profile_.objects()[function.object]]), 0,
                            std::vector<uint64_t>(width_, 0), false});
    }
    return line.calls[at->second];
  }

  const CostProfile &profile_;
  const CallGraph &graph_;
  const Wanted &wanted_;
  size_t width_;
  std::map<FileId, File> files_;
};

Result<AnnotatedFile> annotated_file(const CostProfile &profile, FileId id, Lines lines,
                                     const std::set<ObjectId> &objects, std::string_view what,
                                     uint32_t wanted_line, const AnnotateOptions &options) {
  AnnotatedFile file;
  file.file = profile.strings[profile.files()[id]];
  file.self.assign(profile.events().size(), 0);
  for (auto &[number, line] : lines) {
    for (size_t e = 0; e < file.self.size(); ++e)
      file.self[e] += line.self[e]; // cannot overflow: at most the total
    sort_stably(line.calls, [](const AnnotatedCall &a, const AnnotatedCall &b) {
      return a.inclusive[0] > b.inclusive[0];
    });
  }
  if (const auto path = options.sources.find(file.file)) {
    if (auto read = read_lines(*path, file, lines, options, wanted_line); read)
      file.source = *path;
    else
      file.problem = read.error().text();
    for (const ObjectId object : objects)
      if (const std::string name(profile.strings[profile.objects()[object]]); is_newer(*path, name))
        file.older = name;
  }
  if (lines.empty() && wanted_line > 0)
    return fail(ErrorCode::not_found,
                file.source.empty()
                    ? "there is no cost near that line, and its source file was not found"
                    : fmt::format("{} ends with line {}", file.source, file.source_lines),
                std::string(what));
  for (auto &[number, line] : lines)
    file.lines.push_back(std::move(line));
  return file;
}

} // namespace

Result<Annotation> annotate(const CostProfile &profile, std::string_view what,
                            const AnnotateOptions &options) {
  TALLY_TRY(wanted, find_wanted(profile, what));
  TALLY_TRY(graph, CallGraph::of(profile));
  LineCosts costs(profile, graph, wanted);
  for (const CostBlock &block : profile.blocks())
    if (!costs.add(block))
      return lines_overflow();
  auto files = costs.take();
  if (files.empty())
    return fail(ErrorCode::no_data, "has no costs of its own: it is only called",
                std::string(what));
  std::set<std::string_view> own_files, functions;
  for (uint32_t i = 0; i < wanted.functions.size(); ++i)
    if (wanted.functions[i]) {
      const CostFunction &function = profile.functions()[static_cast<CostFunctionId>(i)];
      own_files.insert(profile.strings[profile.files()[function.file]]);
      functions.insert(without_level(profile.strings[function.name]));
    }

  Annotation out;
  if (functions.size() > 1)
    out.functions.assign(functions.begin(), functions.end());
  for (const CostEvent &event : profile.events())
    out.events.emplace_back(profile.strings[event.name]);
  for (const CostEvent &event : profile.events())
    out.units.emplace_back(unit_in(profile.strings[event.long_name]));
  out.totals.assign(profile.totals().begin(), profile.totals().end());
  for (auto &[id, file] : files) {
    TALLY_TRY(annotated, annotated_file(profile, id, std::move(file.lines), file.objects, what,
                                        wanted.line, options));
    out.files.push_back(std::move(annotated));
  }
  // The files that define the functions precede those of inlined code.
  sort_stably(out.files, [&](const AnnotatedFile &a, const AnnotatedFile &b) {
    const bool a_own = own_files.contains(a.file), b_own = own_files.contains(b.file);
    return a_own != b_own ? a_own : a.self[0] > b.self[0];
  });
  return out;
}

Result<Annotation> annotate(const StackProfile &profile, std::string_view what,
                            const AnnotateOptions &options) {
  TALLY_TRY(costs, aggregate(profile));
  return annotate(costs, what, options);
}

// Returns "(3x, recursive)" behind the name of a callee. A time says nothing of how often it was
// called.
static std::string call_text(const AnnotatedCall &call, std::string_view unit) {
  if (unit != unit_of_times)
    return fmt::format(" ({}x{})", call.calls, call.recursive ? ", recursive" : "");
  return call.recursive ? " (recursive)" : "";
}

std::string to_text(const Annotation &annotation, const TextOptions &options,
                    std::string_view how_to_locate) {
  const std::string_view unit =
      annotation.units.empty() ? std::string_view("count") : annotation.units[0];
  std::string out;
  const uint64_t total = annotation.totals[0];
  for (const AnnotatedFile &file : annotation.files) {
    const std::string_view name =
        file.file.empty() ? "[unknown file]" : std::string_view(file.file);
    out +=
        fmt::format("{}{}: {:.2f}% of {}\n", out.empty() ? "" : "\n",
                    options.style.paint(Role::filename,
                                        printable(file.source.empty() || file.source == name
                                                      ? std::string(name)
                                                      : fmt::format("{} ({})", name, file.source))),
                    percent(file.self[0], total), total_text(total, annotation.events[0], unit));
    if (!file.problem.empty())
      out += fmt::format("the source cannot be read: {}\n", file.problem);
    else if (file.source.empty() && !file.file.empty())
      out += fmt::format("the source file was not found{}\n", how_to_locate);
    else if (file.file.empty() &&
             std::ranges::all_of(file.lines, [](const auto &line) { return line.line == 0; }))
      out += "no line is known (was it compiled with -g?); --asm shows the instructions\n";
    TextTable text;
    text.cut_text();
    text.add_column("self%", true, Role::highlight);
    text.add_column("self", true);
    text.add_column("incl%", true, Role::highlight);
    text.add_column("incl", true);
    text.add_column("line", true);
    text.add_column("", false);
    uint32_t last = 0;
    for (const AnnotatedLine &line : file.lines) {
      if (last > 0 && line.line > last + 1)
        text.add_row({"", "", "", "", "…", ""});
      last = line.line;
      const bool costs = !line.inclusive.empty();
      const auto cell = [&](const std::vector<uint64_t> &values, bool as_percent) {
        if (!costs || values[0] == 0)
          return std::string();
        return as_percent ? fmt::format("{:.2f}%", percent(values[0], total))
                          : value_text(values[0], unit);
      };
      text.add_row({cell(line.self, true), cell(line.self, false), cell(line.inclusive, true),
                    cell(line.inclusive, false),
                    line.line == 0 ? "?" : fmt::format("{}", line.line), expand_tabs(line.text)});
      for (const AnnotatedCall &call : line.calls)
        // Recursive calls contain each other's costs, so their sum is not a share of the total.
        text.add_row({"", "",
                      call.recursive ? std::string()
                                     : fmt::format("{:.2f}%", percent(call.inclusive[0], total)),
                      value_text(call.inclusive[0], unit), "",
                      fmt::format("  -> {}{}", call.name, call_text(call, unit))});
    }
    out += text.render(options);
    if (file.source_lines > 0 && last > file.source_lines)
      out += fmt::format("{} ends with line {}: it is not the text that was compiled\n",
                         printable(file.source), file.source_lines);
    else if (!file.older.empty())
      out += newer_source_text(file.source, file.older, "costs");
  }
  if (!annotation.functions.empty())
    out += options.style.paint(
               Role::metadata,
               fmt::format("(the lines of {} functions: {})", annotation.functions.size(),
                           printable(some_of(std::vector<std::string_view>(
                               annotation.functions.begin(), annotation.functions.end()))))) +
           '\n';
  return out;
}

} // namespace tally
