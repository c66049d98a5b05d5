#include "symbolize/jit_table.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "model/jit_code.h"
#include "model/kept_files.h"
#include "support/found_file.h"
#include "support/read_at.h"
#include "support/unique_fd.h"

namespace tally::symbolize {

namespace {

constexpr uint64_t most_map_bytes = uint64_t{512} << 20;
constexpr size_t most_codes = 4 << 20;

// Returns whether a file in /tmp, where everybody may make one, is a regular one of this user, of
// root or of the user of the process.
bool is_trusted(const struct stat &file, int pid) {
  struct stat process {};
  if (!S_ISREG(file.st_mode))
    return false;
  return file.st_uid == ::geteuid() || file.st_uid == 0 ||
         (pid > 0 && ::stat(fmt::format("/proc/{}", pid).c_str(), &process) == 0 &&
          process.st_uid == file.st_uid);
}

bool take_hex(std::string_view &text, uint64_t &value) {
  if (text.starts_with("0x"))
    text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end == text.data() + text.size() || *end != ' ')
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

} // namespace

std::unique_ptr<JitTable> JitTable::find(const ModuleKey &key, StringPool &pool,
                                         FileSystems &file_systems) {
  const std::string_view source =
      is_anonymous_memory(key.path) ? std::string_view("/tmp") : std::string_view(key.path);
  if (file_systems.may_not_answer(key.pid, key.device, source))
    return nullptr;
  if (is_jit_dump(key.path)) {
    for (const std::string &path : {fmt::format("/proc/{}/root{}", key.pid, key.path), key.path}) {
      auto dump = JitDump::open(path, JitDump::Names::read);
      if (!dump || (key.inode != 0 && dump->inode() != key.inode))
        continue;
      std::unique_ptr<JitTable> table(new JitTable(pool));
      table->dump_ = std::move(dump);
      table->refresh();
      return table;
    }
    return nullptr;
  }
  if (is_perf_map(key.path))
    return open_map(key.path, 0, pool);
  if (key.pid <= 0 || !is_anonymous_memory(key.path))
    return nullptr;
  auto table = open_map(fmt::format("/proc/{}/root{}", key.pid, perf_map_path(inner_pid(key.pid))),
                        key.pid, pool);
  return table ? std::move(table) : open_map(perf_map_path(key.pid), key.pid, pool);
}

std::unique_ptr<JitTable> JitTable::open_map(const std::string &path, int pid, StringPool &pool) {
  std::unique_ptr<JitTable> table(new JitTable(pool));
  table->path_ = path;
  table->map_pid_ = pid;
  return table->read_map() ? std::move(table) : nullptr;
}

void JitTable::refresh() {
  if (dump_)
    read_dump();
  else
    read_map();
}

bool JitTable::read_map() {
  const auto file = open_found(path_);
  if (!file || !is_trusted(file->status, map_pid_))
    return false; // what was read before stays
  const struct stat &info = file->status;
  const uint64_t end = std::min(static_cast<uint64_t>(info.st_size), most_map_bytes);
  if (info.st_ino != inode_ || end < read_) { // another file, or written anew
    inode_ = info.st_ino;
    read_ = 0;
    is_damaged_ = false;
    codes_.clear();
    ranges_.clear();
  }
  constexpr size_t piece = 1 << 20, longest_line = 1 << 16;
  std::string text;
  for (uint64_t at = read_; at < end && !is_damaged_;) {
    const size_t before = text.size();
    text.resize(before + std::min<uint64_t>(piece, end - at));
    const size_t got = read_at(file->fd.get(), text.data() + before, text.size() - before, at).size;
    text.resize(before + got);
    if (got == 0)
      break;
    at += got;
    // The program may be writing the last line.
    const size_t whole = text.rfind('\n') + 1; // 0 if there is none
    add_map_lines(std::string_view(text).substr(0, whole));
    read_ += whole;
    text.erase(0, whole);
    is_damaged_ = text.size() > longest_line;
  }
  return true;
}

void JitTable::add_map_lines(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    uint64_t start = 0, size = 0;
    if (!take_hex(line, start) || !take_hex(line, size) || line.empty() || size == 0 ||
        size > UINT64_MAX - start || codes_.size() >= most_codes)
      continue;
    codes_.push_back({start, start + size, pool_.intern(line), 0, 0});
    ranges_.clear();
  }
}

void JitTable::read_dump() {
  dump_->read(
      [&](const JitCode &code) {
        const JitLines of_code = std::exchange(pending_lines_, {});
        if (!codes_.empty() && code.file_offset <= codes_.back().low)
          return; // it was moved
        const auto first = static_cast<uint32_t>(lines_.size());
        for (const JitLines::Line &line : of_code.lines)
          if (line.address >= code.address && line.address - code.address < code.size)
            lines_.push_back({code.file_offset + (line.address - code.address),
                              pool_.intern(of_code.files[line.file]), line.line});
        std::stable_sort(lines_.begin() + first, lines_.end(),
                         [](const Line &a, const Line &b) { return a.address < b.address; });
        codes_.push_back({code.file_offset, code.file_offset + code.size, pool_.intern(code.name),
                          first, static_cast<uint32_t>(lines_.size())});
        ranges_.clear();
      },
      [&](JitLines found) { pending_lines_ = std::move(found); });
}

void JitTable::frames(uint64_t address, std::vector<SourceFrame> &out) {
  if (ranges_.empty() && !codes_.empty()) {
    // Code that was made later replaces what was there.
    std::vector<ScanRange> all;
    for (size_t i = 0; i < codes_.size(); ++i)
      all.push_back({codes_[i].low, codes_[i].high, i});
    ranges_ = flatten(std::move(all));
  }
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &ScanRange::low);
  if (after == ranges_.begin() || address >= std::prev(after)->high)
    return;
  const Code &code = codes_[std::prev(after)->priority];
  SourceFrame frame;
  frame.system_name = pool_[code.name];
  frame.function = pool_[pool_.intern(demangle(frame.system_name))];
  const auto lines = std::span(lines_).subspan(code.first_line, code.last_line - code.first_line);
  const auto next = std::ranges::upper_bound(lines, address, {}, &Line::address);
  if (!lines.empty()) {
    frame.function_file = pool_[lines.front().file];
    frame.function_line = lines.front().line;
  }
  if (next != lines.begin()) {
    frame.file = pool_[std::prev(next)->file];
    frame.line = std::prev(next)->line;
  }
  out.push_back(frame);
}

} // namespace tally::symbolize
