#include "init_file.h"

#include <algorithm>
#include <array>

#include "session/command_line.h"
#include "support/path.h"

namespace tally::cli {

namespace {

// These texts never change: later versions find by them what this one added. They contain no
// backtick, which LLDB would evaluate.
constexpr std::string_view mark = "# The next line loads Tally, and was added by 'tally setup'; "
                                  "'tally setup --undo' removes both.";
constexpr std::string_view mark_of_file =
    "# The next line loads Tally, and was added with this file "
    "by 'tally setup'; 'tally setup --undo' removes both.";

// A line of a file, without its end.
struct FileLine {
  std::string_view text;
  size_t begin = 0, next = 0; // `next` is where the next line begins
};

std::vector<FileLine> file_lines(std::string_view text) {
  std::vector<FileLine> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t feed = text.find('\n', begin);
    const size_t next = feed == text.npos ? text.size() : feed + 1;
    std::string_view line = text.substr(begin, std::min(feed, text.size()) - begin);
    if (feed != text.npos && line.ends_with('\r'))
      line.remove_suffix(1);
    out.push_back({line, begin, next});
    begin = next;
  }
  return out;
}

constexpr std::string_view blanks = " \t";

// Removes a word from the beginning of a line. Returns whether the line began with it.
bool took_word(std::string_view &line, std::string_view word) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  if (!line.starts_with(word) || line.size() == word.size() ||
      blanks.find(line[word.size()]) == blanks.npos)
    return false;
  line.remove_prefix(std::min(line.find_first_not_of(blanks, word.size()), line.size()));
  return true;
}

// Returns the argument of an LLDB command, without its quotes; nothing if there are several.
std::optional<std::string> lldb_argument(std::string_view text) {
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? '\0' : c;
    else if (!quote && blanks.find(c) != blanks.npos)
      return std::nullopt;
    else if (c == '\\' && quote != '\'' && i + 1 < text.size())
      out += text[++i];
    else
      out += c;
  }
  return out;
}

// Returns the plug-in that a line loads; nothing if it loads none.
std::optional<std::string> loaded_plugin(DebuggerKind debugger, std::string_view line) {
  const size_t last = line.find_last_not_of(blanks);
  line = line.substr(0, last == line.npos ? 0 : last + 1);
  std::optional<std::string> path;
  if (debugger == DebuggerKind::gdb) {
    if (!took_word(line, "source"))
      return std::nullopt;
    while (took_word(line, "-v") || took_word(line, "-s")) {
    }
    path = std::string(line);
  } else {
    if (!took_word(line, "plugin") || !took_word(line, "load"))
      return std::nullopt;
    path = lldb_argument(line);
  }
  const std::string_view name = debugger == DebuggerKind::gdb ? "tally.py" : "liblldb_tally.so";
  return path && base_name(*path) == name ? std::optional(in_home(*path)) : std::nullopt;
}

} // namespace

Result<std::string> load_command(DebuggerKind debugger, const std::string &plugin) {
  const auto refuse = [&](const char *why) { return fail(ErrorCode::unsupported, why, plugin); };
  if (std::ranges::any_of(plugin, [](unsigned char c) { return c < ' ' || c == 0x7F; }))
    return refuse("the path contains a control character, which an init file cannot express");
  if (debugger == DebuggerKind::gdb) {
    // GDB takes the rest of the line as it is, except that it replaces ~ and ~USER.
    if (plugin.find(" ~") != plugin.npos)
      return refuse("the path contains ' ~', which GDB's `source` replaces by a home directory");
    return "source " + plugin;
  }
  if (plugin.find('`') != plugin.npos)
    return refuse("the path contains a backtick, which LLDB evaluates");
  if (plugin.find_first_of(" \"'\\") == plugin.npos)
    return "plugin load " + plugin;
  std::string quoted;
  for (const char c : plugin)
    quoted.append(c == '"' || c == '\\' ? 1 : 0, '\\') += c;
  return "plugin load \"" + quoted + '"';
}

std::vector<AddedLines> added_lines(DebuggerKind debugger, std::string_view text) {
  std::vector<AddedLines> out;
  const std::vector<FileLine> lines = file_lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].text != mark && lines[i].text != mark_of_file)
      continue;
    AddedLines found;
    found.with_file = lines[i].text == mark_of_file;
    found.begin = lines[i].begin;
    found.end = found.command_begin = found.command_end = lines[i].next;
    if (const auto plugin =
            i + 1 < lines.size() ? loaded_plugin(debugger, lines[i + 1].text) : std::nullopt) {
      found.plugin = *plugin;
      found.command_end = lines[i + 1].begin + lines[i + 1].text.size();
      found.end = lines[++i].next;
    }
    out.push_back(std::move(found));
  }
  return out;
}

std::vector<OwnLine> own_lines(DebuggerKind debugger, std::string_view text) {
  std::vector<OwnLine> out;
  const std::vector<FileLine> lines = file_lines(text);
  for (size_t i = 0; i < lines.size(); ++i)
    if (const auto plugin = loaded_plugin(debugger, lines[i].text);
        plugin && (i == 0 || (lines[i - 1].text != mark && lines[i - 1].text != mark_of_file)))
      out.push_back({i + 1, *plugin});
  return out;
}

std::string with_command(const std::optional<std::string> &text, const std::string &command) {
  std::string out = text.value_or("");
  const size_t feed = out.rfind('\n');
  const std::string end = feed != out.npos && feed > 0 && out[feed - 1] == '\r' ? "\r\n" : "\n";
  // The added line is always ended, so that `echo … >> FILE` does not continue it. A backslash at
  // the end of the last line would continue it with the mark.
  if (!out.empty() && out.back() != '\n')
    out += end;
  if (out.ends_with("\\" + end))
    out += end;
  return out.append(text ? mark : mark_of_file).append(end).append(command).append(end);
}

std::string without_lines(std::string_view text, const AddedLines &lines) {
  return std::string(text.substr(0, lines.begin)).append(text.substr(lines.end));
}

} // namespace tally::cli
