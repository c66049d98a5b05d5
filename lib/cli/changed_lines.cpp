#include "changed_lines.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "child.h"
#include "coverage/exclusion_markers.h"
#include "support/read_at.h"
#include "support/unique_fd.h"

namespace tally::cli {

namespace {

using ChangedLines = std::map<std::string, std::vector<LineRange>>; // by absolute path

// Returns the line of git's messages that says why it failed: the first error, or the first line.
std::string reason_of_git(int fd) {
  std::string bytes(1 << 20, '\0');
  bytes.resize(read_at(fd, bytes.data(), bytes.size(), 0).size);
  const auto line_of = [](std::string_view text) { return text.substr(0, text.find('\n')); };
  for (std::string_view rest = bytes; !rest.empty();) {
    std::string_view line = line_of(rest);
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    for (const std::string_view prefix : {"fatal: ", "error: "})
      if (line.starts_with(prefix))
        return std::string(line.substr(prefix.size()));
  }
  return std::string(line_of(bytes));
}

// Returns the output of a git command in a directory. An error contains the first line of its error
// message. The repository may be a stranger's: git starts no file system monitor and no hook, and
// fetches nothing by a helper or a shell that the repository's own configuration names.
Result<std::string> output_of_git(const std::string &root, std::vector<std::string> words) {
  std::vector<std::string> command{"git", "--no-optional-locks",  "-C", root,
                                   "-c",  "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"};
  std::ranges::move(words, std::back_inserter(command));
  const UniqueFd said(::memfd_create("git", MFD_CLOEXEC));
  int ends[2];
  if (said.get() < 0 || ::pipe2(ends, O_CLOEXEC) != 0)
    return fail_errno(errno, "cannot start git", "--diff");
  const UniqueFd out_end(ends[0]);
  UniqueFd in_end(ends[1]);
  const Child child = start_child(std::move(command), in_end.get(), said.get(), false,
                                  {"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1"});
  in_end.reset();
  if (child.fault != 0)
    return fail_errno(child.fault, "cannot start git", "--diff");
  std::string out;
  int read_fault = 0;
  char bytes[65536];
  for (ssize_t got = 1; got != 0 && read_fault == 0;) {
    got = ::read(out_end.get(), bytes, sizeof bytes);
    if (got > 0)
      out.append(bytes, static_cast<size_t>(got));
    else if (got < 0 && errno != EINTR)
      read_fault = errno;
  }
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child.pid, &status, 0)) < 0 && errno == EINTR)
    ;
  if (read_fault != 0 || ended < 0)
    return fail_errno(read_fault != 0 ? read_fault : errno, "cannot read the output of git",
                      "--diff");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string why = reason_of_git(said.get());
    return fail(ErrorCode::invalid_input, why.empty() ? "git failed" : "git: " + why, "--diff");
  }
  return out;
}

// Returns the options by which git starts no filter that the repository's configuration names. The
// lines of the sources are compared as they are in the files.
Result<std::vector<std::string>> without_filters(const std::string &root) {
  TALLY_TRY(names, output_of_git(root, {"config", "--list", "--name-only", "--null"}));
  std::vector<std::string> out;
  for (std::string_view rest = names; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (!name.starts_with("filter."))
      continue;
    if (name.find('=') != name.npos) // an option would set another name
      return fail(ErrorCode::invalid_input,
                  fmt::format("the repository's configuration has '{}', which cannot be "
                              "turned off: remove it",
                              name),
                  "--diff");
    out.insert(out.end(),
               {"-c", fmt::format("{}={}", name, name.ends_with(".required") ? "0" : "")});
  }
  return out;
}

// Returns a file name without git's quoting. git quotes names with control characters, quotes or
// backslashes as C does (git-config(1), core.quotePath).
std::string unquoted(std::string_view name) {
  if (!name.starts_with('"') || name.size() < 2)
    return std::string(name);
  static constexpr std::string_view letters = "abtnvfr", meant = "\a\b\t\n\v\f\r";
  std::string out;
  name = name.substr(1, name.size() - 2);
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\' || ++i == name.size()) {
      out += name[std::min(i, name.size() - 1)];
      continue;
    }
    int octal = 0;
    const std::string_view digits = name.substr(i, 3);
    if (digits.size() == 3 &&
        std::from_chars(digits.data(), digits.data() + 3, octal, 8).ptr == digits.data() + 3) {
      out += static_cast<char>(octal);
      i += 2;
    } else if (const size_t at = letters.find(name[i]); at != letters.npos) {
      out += meant[at];
    } else {
      out += name[i];
    }
  }
  return out;
}

// The header of a hunk: "@@ -12,0 +13,2 @@ …".
struct Hunk {
  uint32_t old_lines = 1, new_line = 0, new_lines = 1;
};

bool number(std::string_view &text, uint32_t &value) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return fault == std::errc();
}

std::optional<Hunk> hunk_of(std::string_view line) {
  const auto range = [&](std::string_view before, uint32_t &first, uint32_t &count) {
    if (!line.starts_with(before))
      return false;
    line.remove_prefix(before.size());
    if (!number(line, first))
      return false;
    if (!line.starts_with(','))
      return true;
    line.remove_prefix(1);
    return number(line, count);
  };
  Hunk out;
  uint32_t old_line = 0;
  if (!range("@@ -", old_line, out.old_lines) || !range(" +", out.new_line, out.new_lines))
    return {};
  return out;
}

// Returns the lines marked with '+', whatever number of context lines the user has configured.
ChangedLines changed_lines(std::string_view diff, const std::string &root) {
  ChangedLines out;
  std::vector<LineRange> *lines = nullptr;
  Hunk hunk{0, 0, 0}; // the rest of the current hunk
  while (!diff.empty()) {
    const size_t end = diff.find('\n');
    const std::string_view line = diff.substr(0, end);
    diff = end == diff.npos ? "" : diff.substr(end + 1);
    const char kind = line.empty() ? ' ' : line[0];
    if (hunk.old_lines > 0 || hunk.new_lines > 0) {
      if (kind == '+' && lines)
        lines->push_back({hunk.new_line, hunk.new_line});
      if (kind != '-' && kind != '\\') {
        ++hunk.new_line;
        hunk.new_lines -= hunk.new_lines > 0;
      }
      if (kind == '-' || kind == ' ')
        hunk.old_lines -= hunk.old_lines > 0;
    } else if (line.starts_with("+++ ")) {
      std::string name = unquoted(line.substr(4, line.find('\t') - 4));
      lines = name.starts_with("b/") ? &out[root + '/' + name.substr(2)] : nullptr;
    } else if (const auto next = hunk_of(line)) {
      hunk = *next;
    }
  }
  return out;
}

// Returns all lines except the given ones.
std::vector<LineRange> others(const std::vector<LineRange> &lines) {
  std::vector<LineRange> out;
  uint32_t next = 0;
  for (const LineRange &each : lines) {
    if (each.first > next)
      out.push_back({next, each.first - 1});
    next = each.last + 1;
  }
  out.push_back({next, UINT32_MAX});
  return out;
}

void keep(std::vector<FileCoverage> &files, const ChangedLines &changed) {
  for (FileCoverage &file : files) {
    ExcludedLines excluded;
    const auto at = changed.find(file.path);
    excluded.lines = others(at == changed.end() ? std::vector<LineRange>() : at->second);
    exclude(file, std::move(excluded));
    file.regions = {}; // those of single lines are not known
  }
  std::erase_if(files, [](const FileCoverage &file) { return file.lines.empty(); });
}

} // namespace

Result<void> keep_changed(Coverage &coverage, const std::string &root,
                          const std::string &revision) {
  if (revision.empty() || revision.starts_with('-'))
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected a revision, found '{}'", revision), "--diff");
  // Check this first: outside a repository, `git diff` compares two files, and reports these as
  // missing.
  if (auto top = output_of_git(root, {"rev-parse", "--show-toplevel"}); !top)
    return fail(top.error().code, fmt::format("{}: {}", root, top.error().message), "--diff");
  TALLY_TRY(words, without_filters(root));
  // For a submodule, git would start itself with the configuration of that repository.
  const std::string options[] = {"-c",
                                 "core.quotePath=false",
                                 "-c",
                                 "diff.noprefix=false",
                                 "diff",
                                 "--relative",
                                 "--unified=0",
                                 "--inter-hunk-context=0",
                                 "--text",
                                 "--no-color",
                                 "--no-ext-diff",
                                 "--no-textconv",
                                 "--ignore-submodules=all",
                                 "--src-prefix=a/",
                                 "--dst-prefix=b/",
                                 revision,
                                 "--"};
  words.insert(words.end(), std::begin(options), std::end(options));
  TALLY_TRY(diff, output_of_git(root, std::move(words)));
  const ChangedLines changed = changed_lines(diff, root);
  keep(coverage.files, changed);
  for (TestCoverage &test : coverage.tests)
    keep(test.files, changed);
  return {};
}

} // namespace tally::cli
