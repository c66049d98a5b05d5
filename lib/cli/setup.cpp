// `tally setup`: lets a debugger load the plug-in whenever it starts, and undoes that.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "commands.h"
#include "init_file.h"
#include "support/file_io.h"

namespace tally::cli {

namespace {

namespace fs = std::filesystem;

struct DebuggerFacts {
  DebuggerKind kind;
  std::string_view title;
  const char *variable;     // names the plug-in of a build directory
  std::string_view plugin;  // the installed one, from the directory of `tally`
  std::string_view package; // that contains it, in Debian
};
constexpr DebuggerFacts gdb_facts{DebuggerKind::gdb, "GDB", "TALLY_GDB",
                                  TALLY_DATADIR_FROM_BINDIR "/tally/gdb/tally.py", "gdb-tally"};
constexpr DebuggerFacts lldb_facts{DebuggerKind::lldb, "LLDB", "TALLY_LLDB",
                                   TALLY_LIBDIR_FROM_BINDIR "/tally/liblldb_tally.so",
                                   "lldb-tally"};

// The files that the debugger looks for, the first of which wins. The second is the one to create.
using InitFiles = std::array<std::string, 2>;

Result<std::string> absolute_variable(const char *name, const std::string &fallback) {
  const char *const value = std::getenv(name);
  if (!value || !*value) {
    if (fallback.empty())
      return fail(ErrorCode::invalid_argument, "is not set: it names the init file's directory",
                  name);
    return fallback;
  }
  if (*value != '/')
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected an absolute path, found '{}'", value), name);
  return std::string(value);
}

Result<InitFiles> init_files(DebuggerKind debugger) {
  TALLY_TRY(home, absolute_variable("HOME", ""));
  if (debugger == DebuggerKind::lldb)
    // ~/.lldbinit-PROGRAM wins. An editor's program has another name than `lldb`.
    return InitFiles{home + "/.lldbinit-lldb", home + "/.lldbinit"};
  TALLY_TRY(config, absolute_variable("XDG_CONFIG_HOME", home + "/.config"));
  return InitFiles{config + "/gdb/gdbinit", home + "/.gdbinit"};
}

Result<std::string> find_plugin(const DebuggerFacts &debugger) {
  std::error_code fault;
  std::string path;
  if (const char *named = std::getenv(debugger.variable); named && *named) {
    path = fs::absolute(named, fault).string(); // "link/.." keeps its meaning
  } else {
    const fs::path self = fs::read_symlink("/proc/self/exe", fault);
    path = (self.parent_path() / debugger.plugin).lexically_normal().string();
  }
  if (::access(path.c_str(), R_OK) == 0)
    return path;
  return fail(
      ErrorCode::not_found,
      fmt::format("{}'s plug-in cannot be read there: install it (package {}), or set {} to "
                  "its path",
                  debugger.title, debugger.package, debugger.variable),
      path);
}

// Returns the bytes of the file, or nothing if it does not exist.
Result<std::optional<std::string>> init_text(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return std::nullopt;
    return fail_errno(errno, "cannot open", path);
  }
  if (!S_ISREG(info.st_mode))
    return fail(ErrorCode::unsupported, "is not a regular file, and is left as it is", path);
  // Renaming would separate the file from its other names.
  if (info.st_nlink > 1)
    return fail(ErrorCode::unsupported, "has several hard links, and is left as it is", path);
  // Renaming would make the file ours.
  if (info.st_uid != ::geteuid() && ::geteuid() != 0)
    return fail(ErrorCode::permission, "belongs to another user, and is left as it is", path);
  TALLY_TRY(source, ByteSource::open(path));
  TALLY_TRY(bytes, source->at(0, static_cast<size_t>(info.st_size)));
  if (!bytes)
    return fail(ErrorCode::unsupported, "is compressed, and is left as it is", path);
  return bytes;
}

// Returns the file that the debugger reads, which may have to be created.
const std::string &file_to_use(const InitFiles &files) {
  struct stat info {};
  // A symbolic link that leads nowhere does not count, for the debuggers, either.
  return ::stat(files[0].c_str(), &info) == 0 ? files[0] : files[1];
}

// `before` is what the file held when `text` was made of it. An editor may have written it since.
Result<void> write_init_file(const std::string &path, const std::optional<std::string> &before,
                             const std::string &text) {
  TALLY_TRY(now, init_text(path));
  if (now != before)
    return fail(ErrorCode::bad_state, "was changed by another program just now; try again", path);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 && ::lstat(path.c_str(), &info) == 0)
    return fail(ErrorCode::not_found, "is a symbolic link to a file that does not exist", path);
  return write_file(path, text);
}

// Returns the file by which the debugger loads the plug-in for all users, if there is one. Packages
// put it into the directory that their GDB reads. It may outlive the plug-in, and its last line may
// have been commented out (gdb/autoload.py.in).
std::optional<std::string> system_file(const DebuggerFacts &debugger) {
  constexpr std::string_view begin = "\n_load(\"";
  // Who names a plug-in wants that one.
  if (debugger.kind != DebuggerKind::gdb || std::getenv(debugger.variable))
    return std::nullopt;
  for (const char *path : {"/etc/gdb/gdbinit.d/tally.py", "/etc/gdbinit.d/tally.py"}) {
    const auto source = ByteSource::open_if_there(path);
    const auto text = source && *source ? (*source)->rest() : Result<std::string>("");
    const size_t at = text ? text->find(begin) : std::string::npos;
    if (at == std::string::npos)
      continue;
    const std::string plugin = text->substr(at + begin.size());
    if (::access(plugin.substr(0, plugin.find('"')).c_str(), R_OK) == 0)
      return path;
  }
  return std::nullopt;
}

void print_lines(const std::string &text) { std::fputs((text + '\n').c_str(), stdout); }

// Says what else GDB needs to load the plug-in from the sources.
void mention_library(const DebuggerFacts &debugger, const std::string &plugin) {
  const fs::path paths = fs::path(plugin).parent_path() / "tally_gdb/_paths.py";
  if (debugger.kind == DebuggerKind::gdb && ::access(paths.c_str(), F_OK) != 0)
    print_lines("This plug-in is not an installed one: GDB also needs the variable TALLY_LIBRARY, "
                "the path of libtally.so.");
}

// Says which plug-in the user's own line loads. Returns whether it can be loaded.
bool is_loaded_by_user(const std::string &file, const OwnLine &line, const std::string &plugin) {
  if (::access(line.plugin.c_str(), R_OK) != 0) {
    say(fmt::format("tally: {}:{}: warning: {} does not exist; remove this line", file, line.number,
                    line.plugin));
    return false;
  }
  std::error_code fault;
  print_lines(fmt::format("{}:{} already loads {}.", file, line.number, line.plugin));
  if (!fs::equivalent(line.plugin, plugin, fault))
    print_lines(fmt::format("To load {} instead, remove that line first.", plugin));
  print_lines("Nothing was changed.");
  return true;
}

Result<void> set_up(const DebuggerFacts &debugger, const InitFiles &files) {
  if (const auto file = system_file(debugger)) {
    print_lines(fmt::format("{} already loads the plug-in, for all users, by {}.\n"
                            "Nothing was changed.",
                            debugger.title, *file));
    return {};
  }
  TALLY_TRY(plugin, find_plugin(debugger));
  TALLY_TRY(command, load_command(debugger.kind, plugin));
  const std::string &file = file_to_use(files);
  TALLY_TRY(text, init_text(file));
  const std::string before = text.value_or("");
  for (const AddedLines &lines : added_lines(debugger.kind, before)) {
    if (lines.plugin.empty())
      continue;
    const std::string old =
        before.substr(lines.command_begin, lines.command_end - lines.command_begin);
    if (old == command) {
      print_lines(
          fmt::format("{} already has the line:\n  {}\nNothing was changed.", file, command));
      return {};
    }
    std::string changed = before;
    changed.replace(lines.command_begin, old.size(), command);
    TALLY_CHECK(write_init_file(file, text, changed));
    print_lines(fmt::format("Replaced in {}:\n  {}\nby:\n  {}", file, old, command));
    return {};
  }
  for (const OwnLine &line : own_lines(debugger.kind, before))
    if (is_loaded_by_user(file, line, plugin))
      return {};
  TALLY_CHECK(write_init_file(file, text, with_command(text, command)));
  print_lines(fmt::format(
      "{} {}:\n  {}\nThe next {} that starts has the commands `profile` and "
      "`coverage`; `help profile` explains the first.\nTo undo this: tally setup {} --undo",
      text ? "Added to" : "Created", file, command, debugger.title,
      debugger.kind == DebuggerKind::gdb ? "gdb" : "lldb"));
  mention_library(debugger, plugin);
  return {};
}

// Removes what set_up() added to the file. Returns whether there was anything.
Result<bool> undo_in(const DebuggerFacts &debugger, const std::string &file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return false;
  TALLY_TRY(text, init_text(file));
  if (!text)
    return false;
  std::string rest = *text;
  std::string removed;
  bool with_file = false;
  while (true) {
    const std::vector<AddedLines> found = added_lines(debugger.kind, rest);
    if (found.empty())
      break;
    const AddedLines &lines = found.back();
    with_file = with_file || lines.with_file;
    removed +=
        "\n  " + (lines.plugin.empty()
                      ? "a comment that marked a line, which is not there any more"
                      : rest.substr(lines.command_begin, lines.command_end - lines.command_begin));
    rest = without_lines(rest, lines);
  }
  if (removed.empty())
    return false;
  const bool empty = with_file && rest.empty();
  // Somebody may have moved the file, and have put a link there.
  if (empty && ::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    if (::unlink(file.c_str()) != 0)
      return fail_errno(errno, "cannot remove", file);
    print_lines(fmt::format("Removed {}, which held only:{}", file, removed));
    return true;
  }
  TALLY_CHECK(write_init_file(file, text, rest));
  print_lines(fmt::format("Removed from {}:{}", file, removed));
  return true;
}

Result<void> undo(const DebuggerFacts &debugger, const InitFiles &files) {
  bool any = false;
  // The lines may be in a file that the debugger no longer reads, since there is another one.
  for (const std::string &file : files) {
    TALLY_TRY(found, undo_in(debugger, file));
    any = any || found;
  }
  if (!any)
    print_lines(fmt::format("Neither {} nor {} has a line that `tally setup` added.\n"
                            "Nothing was changed.",
                            files[0], files[1]));
  return {};
}

} // namespace

Result<void> setup_command(const ParsedCommand &given, Outcome &) {
  const DebuggerFacts &debugger = given.argument(0) == "gdb" ? gdb_facts : lldb_facts;
  TALLY_TRY(files, init_files(debugger.kind));
  return given.has("undo") ? undo(debugger, files) : set_up(debugger, files);
}

} // namespace tally::cli
