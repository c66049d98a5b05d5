#include "changed_lines.h"

#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <tally/exclusion_markers.h>

namespace tally::cli {

namespace {

using ChangedLines = std::map<std::string, std::vector<LineRange>>; // by absolute path

// What git prints; its own words about what is wrong go to standard error.
Result<std::string> output_of_git(std::vector<std::string> command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail_errno(errno, "cannot start git", "--diff");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char *> words;
  for (std::string &word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = 0;
  const int fault = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string out;
  char bytes[65536];
  for (ssize_t got = 1; fault == 0 && got != 0;) {
    got = ::read(ends[0], bytes, sizeof bytes);
    if (got > 0)
      out.append(bytes, static_cast<size_t>(got));
    else if (got < 0 && errno != EINTR)
      break;
  }
  ::close(ends[0]);
  if (fault != 0)
    return fail_errno(fault, "cannot start git", "--diff");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(ErrorCode::invalid_input, "git diff failed", "--diff");
  return out;
}

// git quotes names with control characters, quotes or backslashes, as C does (git-config(1),
// core.quotePath).
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

// "@@ -12,0 +13,2 @@ …" -> 13-14; none where lines were only taken away.
std::optional<LineRange> new_lines(std::string_view hunk) {
  const size_t plus = hunk.find(" +");
  if (plus == hunk.npos)
    return {};
  const char *const end = hunk.data() + hunk.size();
  uint32_t first = 0, count = 1;
  auto [at, fault] = std::from_chars(hunk.data() + plus + 2, end, first);
  if (fault != std::errc())
    return {};
  if (at != end && *at == ',')
    std::from_chars(at + 1, end, count);
  if (count == 0 || first > UINT32_MAX - count)
    return {};
  return LineRange{first, first + count - 1};
}

ChangedLines changed_lines(std::string_view diff, const std::string &root) {
  ChangedLines out;
  std::vector<LineRange> *lines = nullptr;
  uint32_t content = 0; // lines of a hunk that are still to come
  while (!diff.empty()) {
    const size_t end = diff.find('\n');
    const std::string_view line = diff.substr(0, end);
    diff = end == diff.npos ? "" : diff.substr(end + 1);
    if (content > 0 && line.starts_with('+')) {
      --content;
    } else if (line.starts_with("+++ ")) {
      std::string name = unquoted(line.substr(4, line.find('\t') - 4));
      lines = name.starts_with("b/") ? &out[root + '/' + name.substr(2)] : nullptr;
    } else if (const auto range = line.starts_with("@@ ") ? new_lines(line) : std::nullopt;
               range && lines) {
      lines->push_back(*range);
      content = range->last - range->first + 1;
    }
  }
  return out;
}

// All lines but those.
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
  }
  std::erase_if(files, [](const FileCoverage &file) { return file.lines.empty(); });
}

} // namespace

Result<void> keep_changed(Coverage &coverage, const std::string &root,
                          const std::string &revision) {
  if (revision.starts_with('-'))
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected a revision, found '{}'", revision), "--diff");
  TALLY_TRY(diff,
            output_of_git({"git", "-C", root, "-c", "core.quotePath=false", "diff", "--relative",
                           "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv",
                           "--src-prefix=a/", "--dst-prefix=b/", revision, "--"}));
  const ChangedLines changed = changed_lines(diff, root);
  keep(coverage.files, changed);
  for (TestCoverage &test : coverage.tests)
    keep(test.files, changed);
  return {};
}

} // namespace tally::cli
