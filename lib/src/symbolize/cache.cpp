#include "symbolize/cache.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace tally::symbolize {

namespace {

constexpr char magic[8] = {'t', 'a', 'l', 'l', 'y', 's', 'y', 'm'};
// A changed rule for what the tables hold requires a new version, too: the object files stay the
// same.
constexpr uint32_t format_version = 4;
constexpr uint32_t byte_order_mark = 0x01020304;
constexpr uint64_t page_size = 4096;

// The data members are the fields of the file's header. Offsets are from the start of the body,
// which follows the page sums.
struct Header {
  char magic[8];
  uint32_t byte_order;
  uint32_t version;
  uint64_t head_sum; // of this header (with this field 0) and the page sums
  uint64_t body_size;
  uint64_t source_size;
  int64_t source_mtime_ns;
  uint64_t source_device, source_inode;
  uint64_t texts, texts_size;
  uint64_t directory, unit_count;
  uint64_t unit_ranges, unit_range_count;
  uint64_t symbols, symbol_count;
  uint32_t build_id; // a TextRef
  uint32_t source_path;
  uint32_t all_units;
  uint32_t has_symbols;
};
static_assert(sizeof(Header) == 144);

// A checksum with four lanes of multiply and xor-shift. It detects accidental damage, and its cost
// is negligible. Files contain it, so a change requires a new format_version.
uint64_t checksum(const char *bytes, size_t size, uint64_t seed = 0) {
  constexpr uint64_t prime = 0x9e3779b97f4a7c15U;
  uint64_t lanes[4] = {seed ^ size, prime, ~prime, prime << 1};
  auto take = [&](uint64_t &lane, uint64_t word) {
    lane = (lane ^ word) * prime;
    lane ^= lane >> 29;
  };
  while (size >= 32) {
    uint64_t words[4];
    std::memcpy(words, bytes, 32);
    for (int i = 0; i < 4; ++i)
      take(lanes[i], words[i]);
    bytes += 32;
    size -= 32;
  }
  for (int i = 0; size; ++i) {
    uint64_t word = 0;
    const size_t part = size < 8 ? size : 8;
    std::memcpy(&word, bytes, part);
    take(lanes[i], word);
    bytes += part;
    size -= part;
  }
  uint64_t sum = 0;
  for (uint64_t lane : lanes)
    take(sum, lane);
  return sum;
}

uint64_t page_count(uint64_t body_size) {
  return body_size / page_size + (body_size % page_size != 0);
}

} // namespace

// Returns whether a directory, or the one in which it would be made, belongs to this user or to the
// system.
static bool is_own(const std::string &path) {
  for (std::filesystem::path at = path;; at = at.parent_path()) {
    struct stat found;
    if (::stat(at.c_str(), &found) == 0)
      return found.st_uid == 0 || found.st_uid == ::geteuid();
    if (at == at.parent_path())
      return false;
  }
}

std::string cache_directory() {
  if (const char *own = std::getenv("TALLY_CACHE_DIR"))
    return own;
  std::string path;
  // The XDG Base Directory Specification requires that a relative path is ignored.
  if (const char *base = std::getenv("XDG_CACHE_HOME"); base && base[0] == '/')
    path = std::string(base) + "/tally";
  else if (const char *home = std::getenv("HOME"); home && home[0] == '/')
    path = std::string(home) + "/.cache/tally";
  return is_own(path) ? path : std::string();
}

std::string cache_path(const std::string &directory, std::string_view build_id) {
  return fmt::format("{}/{}.sym", directory, build_id);
}

std::unique_ptr<Cache> Cache::open(const std::string &path, const CacheSource &source) {
  std::unique_ptr<Cache> cache(new Cache);
  cache->file_ = MappedFile::open(path);
  return cache->read(source) ? std::move(cache) : nullptr;
}

bool Cache::read(const CacheSource &source) {
  bytes_ = file_.bytes();
  Header header;
  if (bytes_.size() < sizeof header)
    return false;
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (std::memcmp(header.magic, magic, sizeof magic) != 0 || header.byte_order != byte_order_mark ||
      header.version != format_version || header.body_size > bytes_.size())
    return false;
  const uint64_t pages = page_count(header.body_size);
  body_ = sizeof header + pages * sizeof(uint64_t);
  if (body_ + header.body_size != bytes_.size())
    return false;
  page_sums_ = reinterpret_cast<const uint64_t *>(bytes_.data() + sizeof header);
  checked_.assign(pages, false);
  const uint64_t stored = std::exchange(header.head_sum, 0);
  uint64_t sum = checksum(reinterpret_cast<const char *>(&header), sizeof header);
  sum = checksum(bytes_.data() + sizeof header, pages * sizeof(uint64_t), sum);
  if (sum != stored)
    return false;

  if (header.texts > header.body_size || header.texts_size > header.body_size - header.texts)
    return false;
  texts_ = body_ + header.texts;
  texts_size_ = header.texts_size;
  const FileIdentity file{header.source_device, header.source_inode, header.source_size,
                          header.source_mtime_ns};
  if (text(header.build_id) != source.build_id || text(header.source_path) != source.path ||
      file != source.file)
    return false;

  all_units_ = header.all_units != 0;
  has_symbols_ = header.has_symbols != 0;
  Rows<CacheWriter::DirectoryEntry> directory;
  if (!rows(header.unit_ranges, header.unit_range_count, unit_ranges_) ||
      !rows(header.symbols, header.symbol_count, symbols_) ||
      !rows(header.directory, header.unit_count, directory))
    return false;
  for (size_t i = 0; i < directory.size(); ++i) {
    const CacheWriter::DirectoryEntry entry = directory[i];
    Unit unit;
    unit.key = entry.key;
    unit.tables.base = entry.base;
    if (!rows(entry.ranges, entry.range_count, unit.tables.ranges) ||
        !rows(entry.lines, entry.line_count, unit.tables.lines) ||
        !rows(entry.nodes, entry.node_count, unit.tables.nodes) ||
        !rows(entry.functions, entry.function_count, unit.tables.functions))
      return false;
    by_key_.emplace(unit.key, units_.size());
    units_.push_back(unit);
  }
  return !damaged_;
}

template <class Row> bool Cache::rows(uint64_t offset, uint64_t count, Rows<Row> &out) const {
  const uint64_t size = bytes_.size() - body_;
  if (offset > size || offset % 8 != 0 || count > (size - offset) / sizeof(Row) ||
      count >= no_index)
    return false;
  out = Rows<Row>(reinterpret_cast<const Row *>(bytes_.data() + body_ + offset), count, this);
  return true;
}

bool Cache::check(const void *bytes, size_t size) const {
  const auto offset =
      static_cast<uint64_t>(static_cast<const char *>(bytes) - bytes_.data()) - body_;
  const uint64_t last = (offset + size - 1) / page_size;
  for (uint64_t page = offset / page_size; page <= last; ++page) {
    if (checked_[page])
      continue;
    const uint64_t begin = body_ + page * page_size;
    const uint64_t length = std::min<uint64_t>(page_size, bytes_.size() - begin);
    if (checksum(bytes_.data() + begin, length, page) != page_sums_[page]) {
      damaged_ = true;
      return false;
    }
    checked_[page] = true;
  }
  return true;
}

const Cache::Unit *Cache::unit(uint64_t key) const {
  auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &units_[found->second];
}

// A text consists of its length (4 bytes) and its bytes.
std::string_view Cache::text(TextRef ref) const {
  if (ref == 0)
    return {};
  uint32_t length = 0;
  const char *at = bytes_.data() + texts_ + ref;
  if (texts_size_ < sizeof length || ref > texts_size_ - sizeof length || !check(at, sizeof length))
    return {};
  std::memcpy(&length, at, sizeof length);
  if (length == 0)
    return {};
  if (length > texts_size_ - ref - sizeof length || !check(at + sizeof length, length))
    return {};
  return {at + sizeof length, length};
}

CacheWriter::CacheWriter() { texts_.assign(sizeof(uint32_t), '\0'); }

TextRef CacheWriter::text(std::string_view text) {
  if (text.empty() || texts_.size() > UINT32_MAX - text.size())
    return 0; // finish() detects that there are too many texts
  auto [found, is_new] =
      text_refs_.try_emplace(std::string(text), static_cast<TextRef>(texts_.size()));
  if (is_new) {
    const auto length = static_cast<uint32_t>(text.size());
    texts_.append(reinterpret_cast<const char *>(&length), sizeof length);
    texts_ += text;
  }
  return found->second;
}

template <class Row> uint64_t CacheWriter::append(const std::vector<Row> &rows) {
  body_.resize((body_.size() + 7) & ~size_t{7});
  const uint64_t offset = body_.size();
  body_.append(reinterpret_cast<const char *>(rows.data()), rows.size() * sizeof(Row));
  return offset;
}

void CacheWriter::add(const Unit &unit) {
  directory_.push_back({unit.key, unit.base, append(unit.ranges), append(unit.lines),
                        append(unit.nodes), append(unit.functions), unit.ranges.size(),
                        unit.lines.size(), unit.nodes.size(), unit.functions.size()});
}

void CacheWriter::set_unit_ranges(std::vector<UnitRange> ranges, bool all) {
  unit_ranges_ = std::move(ranges);
  all_units_ = all;
}

void CacheWriter::set_symbols(std::vector<SymbolRow> symbols) {
  symbols_ = std::move(symbols);
  has_symbols_ = true;
}

void seal_cache(std::string &file) {
  Header header;
  if (file.size() < sizeof header)
    return;
  std::memcpy(&header, file.data(), sizeof header);
  const uint64_t pages = page_count(header.body_size);
  const uint64_t body = sizeof header + pages * sizeof(uint64_t);
  if (header.body_size > file.size() || body + header.body_size != file.size())
    return;
  for (uint64_t page = 0; page < pages; ++page) {
    const uint64_t begin = body + page * page_size;
    const uint64_t sum =
        checksum(file.data() + begin, std::min<uint64_t>(page_size, file.size() - begin), page);
    std::memcpy(file.data() + sizeof header + page * sizeof sum, &sum, sizeof sum);
  }
  header.head_sum = 0;
  const uint64_t sum = checksum(reinterpret_cast<const char *>(&header), sizeof header);
  header.head_sum = checksum(file.data() + sizeof header, pages * sizeof(uint64_t), sum);
  std::memcpy(file.data(), &header, sizeof header);
}

std::string CacheWriter::finish(const CacheSource &source) {
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.byte_order = byte_order_mark;
  header.version = format_version;
  header.source_size = source.file.size;
  header.source_mtime_ns = source.file.mtime_ns;
  header.source_device = source.file.device;
  header.source_inode = source.file.inode;
  header.build_id = text(source.build_id);
  header.source_path = text(source.path);
  header.all_units = all_units_;
  header.has_symbols = has_symbols_;
  header.directory = append(directory_);
  header.unit_count = directory_.size();
  header.unit_ranges = append(unit_ranges_);
  header.unit_range_count = unit_ranges_.size();
  header.symbols = append(symbols_);
  header.symbol_count = symbols_.size();
  header.texts = body_.size();
  header.texts_size = texts_.size();
  if (texts_.size() > (uint64_t{1} << 31))
    return {};
  body_ += texts_;
  header.body_size = body_.size();

  const uint64_t sums_size = page_count(body_.size()) * sizeof(uint64_t);
  std::string file(reinterpret_cast<const char *>(&header), sizeof header);
  file.reserve(sizeof header + sums_size + body_.size());
  file.append(sums_size, '\0');
  file += body_;
  seal_cache(file);
  return file;
}

} // namespace tally::symbolize
