// Tests which file a module's names come from, how files that are not modules are handled, and what
// bounds hostile files.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <gnu/libc-version.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../fuzz/made_dwarf.h"
#include "../support/sanitized.h"
#include "elf_tables.h"
#include "model/symbolizer.h"
#include "support/strings.h"
#include "support/unique_fd.h"
#include "symbolize/core_file.h"
#include "symbolize/die_scan.h"
#include "symbolize/dwarf_table.h"
#include "symbolize/elf_file.h"
#include "symbolize/elf_image.h"
#include "symbolize/mapped_files.h"
#include "symbolize/symtab.h"
#include "symbolize/tables.h"
#include "temporary.h"

// Two names of one function.
extern "C" {
int tally_test_function(int n) noexcept;
int tally_test_alias(int n) noexcept __attribute__((alias("tally_test_function")));
__attribute__((noinline)) int tally_test_function(int n) noexcept {
  asm volatile("" : "+r"(n));
  return n + 2;
}
}

namespace tally::symbolize_module_test {
namespace {

namespace fs = std::filesystem;

__attribute__((noinline)) int landmark(int n) {
  asm volatile("" : "+r"(n));
  return n + 1;
}

__attribute__((noinline)) const char *return_address() {
  return static_cast<const char *>(__builtin_return_address(0));
}
template <int Outer> __attribute__((always_inline)) inline const char *inlined() {
  if constexpr (Outer > 0) {
    return inlined<Outer - 1>();
  } else {
    const char *address = return_address();
    asm volatile("" : "+r"(address)); // the call is not the last thing that it does
    return address;
  }
}
__attribute__((noinline)) const char *calls_inlined() { return inlined<400>(); }

// Returns the offset in this executable's file of the code at an address of this process.
uint64_t file_offset_of(const void *code) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long start = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
        reinterpret_cast<uint64_t>(code) >= start && reinterpret_cast<uint64_t>(code) < end)
      return reinterpret_cast<uint64_t>(code) - start + offset;
  }
  return 0;
}

// Reads at once: with sanitizers, an iterator of characters takes seconds for a program of tests.
std::string bytes_of(const fs::path &path) {
  std::stringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

// Hides the search table of the unwind data, which linkers leave out in static programs. The name
// of the section is near the end of the file; this program has the same characters before.
void hide_search_table(std::string &elf) {
  const size_t name = elf.rfind(std::string_view("\0.eh_frame_hdr", 14));
  ASSERT_NE(name, elf.npos);
  elf[name + 2] = '_';
}

TEST(ElfFile, IsNotReadIfItIsAllHoles) {
  const fs::path path = fs::temp_directory_path() / ("tally-hollow-" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << bytes_of("/proc/self/exe").substr(0, 4096);
  fs::resize_file(path, uint64_t{1} << 30);
  const auto file = symbolize::ElfFile::open(path);
  fs::remove(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "is not read: nearly all of it is holes");
}

// Hostile symbols share one long name.
TEST(ElfFile, NamesNoMoreThanItsSizeAllows) {
  const std::string names = '\0' + std::string(100'000, 'n') + '\0';
  const auto named = [&](size_t count) {
    Elf64_Sym symbol{};
    symbol.st_name = 1;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = SHN_ABS;
    std::string symbols(sizeof symbol, '\0');
    for (size_t i = 0; i < count; ++i)
      symbols.append(reinterpret_cast<const char *>(&symbol), sizeof symbol);
    symbolize::ElfImage image(ELFCLASS64, false, EM_X86_64);
    image.add(".strtab", names, SHT_STRTAB);
    image.add(".symtab", symbols, SHT_SYMTAB);
    std::string elf = elf_of(image);
    change_section(elf, 2, [&](Elf64_Shdr &section) {
      section.sh_link = 1;
      section.sh_entsize = sizeof symbol;
    });
    size_t out = 0;
    const auto file = symbolize::ElfFile::of_image({elf.begin(), elf.end()}, "image");
    file->visit_function_symbols([&](std::string_view, uint64_t, uint64_t) { ++out; });
    return out;
  };
  EXPECT_EQ(named(32), 32u);
  EXPECT_LT(named(1000), 100u);
}

// A hostile file lists a long note many times, and each time it takes memory.
TEST(CoreFile, ReadsNoMoreNotesThanItsSizeAllows) {
  const auto note = [](uint32_t type, const std::string &content) {
    Bytes out(false);
    out.fixed(5, 4); // the size of the name
    out.fixed(content.size(), 4);
    out.fixed(type, 4);
    return out.text + std::string("CORE\0\0\0", 8) + content;
  };
  Bytes one_mapping(false);
  for (const unsigned each : {1U, 4096U, 0x10000U, 0x20000U, 0U}) // one, from offset 0
    one_mapping.fixed(each, 8);
  one_mapping.text += std::string("/bin/program\0\0\0", 16);
  const std::string mappings = note(NT_FILE, one_mapping.text),
                    notes = mappings + note(0x1234, std::string(1 << 18, 'x'));
  const TemporaryFolder folder;
  const auto mapped = [&](size_t long_notes, size_t lists) {
    symbolize::ElfImage image(ELFCLASS64, false, EM_X86_64);
    image.add("notes", notes);
    std::string elf = elf_of(image);
    const uint64_t at = elf.find(mappings), size = mappings.size();
    std::vector<Elf64_Phdr> parts(long_notes,
                                  {PT_NOTE, 0, at + size, 0, 0, notes.size() - size, 0, 4});
    parts.insert(parts.end(), lists, {PT_NOTE, 0, at, 0, 0, size, 0, 4});
    change_at<Elf64_Ehdr>(elf, 0, [&](Elf64_Ehdr &header) {
      header.e_type = ET_CORE;
      header.e_phoff = elf.size();
      header.e_phentsize = sizeof parts[0];
      header.e_phnum = static_cast<Elf64_Half>(parts.size());
    });
    elf.append(reinterpret_cast<const char *>(parts.data()), parts.size() * sizeof parts[0]);
    const auto core = symbolize::CoreFile::open(folder.put("core", elf));
    EXPECT_TRUE(core) << core.error().text();
    return core ? core->mappings().size() : 0;
  };
  EXPECT_EQ(mapped(20, 1), 1u);
  EXPECT_EQ(mapped(20, 1000), 1u) << "the kernel writes one list";
  EXPECT_EQ(mapped(200, 1), 0u);
}

// LLVM writes one line table for all units of a file if it writes assembly. Here, each unit is one
// function with a hundred lines.
TEST(DwarfTable, ReadsALineTableOnceForTheUnitsThatShareIt) {
  constexpr unsigned units = 100, rows = 100;
  constexpr uint64_t code = 0x10000, bytes_of_unit = 0x100;
  const std::string abbrev = std::string{1, DW_TAG_compile_unit, 1, DW_AT_comp_dir} +
                             std::string{DW_FORM_string, DW_AT_stmt_list, DW_FORM_sec_offset} +
                             std::string{0, 0, 2, DW_TAG_subprogram, 0, DW_AT_name} +
                             std::string{DW_FORM_string, DW_AT_low_pc, DW_FORM_addr} +
                             std::string{DW_AT_high_pc, DW_FORM_data4, 0, 0, 0};
  Bytes header(false), table(false), line(false), info(false);
  header.text = {1, 1, 1, 0, 1, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 'a', '.', 'c', 0, 0, 0, 0, 0};
  table.fixed(4, 2);
  table.sized(header);
  for (unsigned i = 0; i < units; ++i) {
    Bytes unit(false), address(false);
    address.fixed(code + i * bytes_of_unit, 8);
    unit.text = {4, 0, 0, 0, 0, 0, 8, 1}; // version, place in .debug_abbrev, size of an address
    unit.string(i + 1 < units ? "/src" : "/other"); // the last one has paths of its own
    unit.fixed(0, 4);                               // in .debug_line
    unit.uleb(2);
    unit.string("f" + std::to_string(i));
    unit.text += address.text;
    unit.fixed(bytes_of_unit, 4);
    unit.fixed(0, 1);
    info.sized(unit);
    table.extended(char{DW_LNE_set_address} + address.text);
    table.fixed(DW_LNS_advance_line, 1);
    table.sleb(1000 * i);
    for (unsigned row = 0; row < rows; ++row)
      table.text += {DW_LNS_copy, DW_LNS_advance_line, 1, DW_LNS_advance_pc, 1};
    table.extended({"\1", 1}); // the end of the sequence
  }
  line.sized(table);
  symbolize::ElfImage image(ELFCLASS64, false, EM_X86_64);
  image.add(".text", {}, SHT_NOBITS, code);
  image.add(".debug_info", info.text);
  image.add(".debug_abbrev", abbrev);
  image.add(".debug_line", line.text);
  std::string elf = elf_of(image);
  change_section(elf, 1, [](Elf64_Shdr &text) {
    text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    text.sh_size = units * bytes_of_unit;
  });
  const auto file = symbolize::ElfFile::of_image({elf.begin(), elf.end()}, "image");
  StringPool pool;
  Diagnostics findings;
  const auto dwarf = symbolize::DwarfTable::open(*file, "image", "", {}, {}, pool, findings);
  const auto ranges = dwarf->all_unit_ranges();
  ASSERT_EQ(ranges.size(), units);
  size_t kept = 0;
  for (unsigned i = 0; i < units; ++i) {
    const auto built = dwarf->build(ranges[i].unit);
    ASSERT_EQ(built->functions.size(), 1u);
    dwarf->resolve(*built, 0);
    EXPECT_EQ(pool[StringId{built->functions[0].display}], "f" + std::to_string(i));
    const auto row = row_at(built->tables().lines, built->base, ranges[i].low + rows - 1);
    ASSERT_TRUE(row && row->file != symbolize::no_index);
    EXPECT_EQ(pool[StringId{row->file}], i + 1 < units ? "/src/a.c" : "/other/a.c");
    EXPECT_EQ(row->line, 1000 * i + rows);
    kept += built->lines.size();
  }
  EXPECT_LT(kept, 4 * units * rows);
  EXPECT_TRUE(findings.findings().empty());
}

TEST(MappedFiles, LeadToFilesThatAreGone) {
  symbolize::MappedFiles mapped;
  std::vector<void *> mappings;
  for (int i = 0; i < 50; ++i) {
    char name[] = "/tmp/tally-mapped-XXXXXX";
    const UniqueFd file(::mkstemp(name));
    ::unlink(name);
    ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
    mappings.push_back(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file.get(), 0));
    struct stat made {};
    ASSERT_EQ(::fstat(file.get(), &made), 0);
    EXPECT_EQ(mapped.path_of(::getpid(), made.st_dev, ~made.st_ino), "");
    symbolize::MappedFiles other; // has read nothing yet
    const std::string path = other.path_of(::getpid(), made.st_dev, made.st_ino);
    if (path.empty())
      GTEST_SKIP() << "/proc/PID/map_files may not be used, or has other device numbers";
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0 && errno == EPERM)
      GTEST_SKIP() << "/proc/PID/map_files needs the rights for checkpoints";
    EXPECT_EQ(found.st_ino, made.st_ino);
  }
  for (void *const each : mappings)
    ::munmap(each, 4096);
}

class SymbolizeModule : public ::testing::Test {
protected:
  void SetUp() override {
    ::setenv("TALLY_CACHE_DIR", "", 1);
    folder_ = fs::temp_directory_path() / ("tally-module-test-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    copy_ = folder_ / "program";
    // An emulator answers readlink(), but opens itself.
    fs::copy_file(fs::read_symlink("/proc/self/exe"), copy_, fs::copy_options::overwrite_existing);
  }
  void TearDown() override { fs::remove_all(folder_); }

  ModuleKey key_of(const fs::path &path) {
    struct stat info {};
    ::stat(path.c_str(), &info);
    ModuleKey key;
    key.path = path;
    key.device = info.st_dev;
    key.inode = info.st_ino;
    return key;
  }
  // Returns the innermost name, and stores the number of diagnostics.
  std::string name(const ModuleKey &key, ModuleSources sources = {}) {
    SymbolizerOptions options;
    options.sources = std::move(sources);
    const auto symbolizer = make_symbolizer(std::move(options));
    Diagnostics diagnostics;
    const ModuleId module = symbolizer->module(key, diagnostics);
    EXPECT_EQ(symbolizer->module(key, diagnostics), module);
    findings_ = diagnostics.findings().size();
    text_ = findings_ ? diagnostics.findings()[0].text() : "";
    const auto address =
        symbolizer->link_address(module, file_offset_of(reinterpret_cast<void *>(&landmark)));
    std::vector<SourceFrame> frames;
    symbolizer->frames(module, address.value_or(0x1234), frames);
    symbolizer->save_cache();
    return frames.empty() ? std::string() : std::string(frames[0].function);
  }

  fs::path folder_;
  fs::path copy_;
  size_t findings_ = 0;
  std::string text_;
};

TEST_F(SymbolizeModule, NamesTheFileThatIsMapped) {
  EXPECT_NE(name(key_of(copy_)).find("landmark"), std::string::npos);
  EXPECT_EQ(findings_, 0u);
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId module = symbolizer->module(key_of(copy_), diagnostics);
  const auto address =
      symbolizer->link_address(module, file_offset_of(reinterpret_cast<void *>(&landmark)));
  ASSERT_TRUE(address.has_value());
  std::vector<SourceFrame> frames;
  symbolizer->frames(module, *address, frames);
  ASSERT_FALSE(frames.empty());
  EXPECT_TRUE(frames[0].file.ends_with("symbolize_module_test.cpp"));
  EXPECT_TRUE(frames[0].function_file.ends_with("symbolize_module_test.cpp"));
  EXPECT_GT(frames[0].line, 0u);
  EXPECT_LE(frames[0].function_line, frames[0].line);
  EXPECT_FALSE(symbolizer->link_address(module, uint64_t{1} << 40).has_value());
}

TEST_F(SymbolizeModule, ShowsTheInnermostOfManyInlinedFunctions) {
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId module = symbolizer->module(key_of(copy_), diagnostics);
  const auto address = symbolizer->link_address(module, file_offset_of(calls_inlined() - 1));
  ASSERT_TRUE(address.has_value());
  std::vector<SourceFrame> frames;
  symbolizer->frames(module, *address, frames);
  ASSERT_EQ(frames.size(), 257u);
  EXPECT_NE(frames[0].function.find("inlined<0>"), std::string::npos);
  EXPECT_NE(frames[255].function.find("inlined<255>"), std::string::npos);
  EXPECT_NE(frames[256].function.find("calls_inlined"), std::string::npos);
  EXPECT_EQ(frames[256].line, frames[256].function_line) << "where the outermost one is called";
}

TEST_F(SymbolizeModule, FindsAFunctionByEachOfItsNames) {
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId module = symbolizer->module(key_of(copy_), diagnostics);
  const auto address =
      symbolizer->link_address(module, file_offset_of(reinterpret_cast<void *>(&tally_test_alias)));
  ASSERT_TRUE(address.has_value());
  EXPECT_EQ(symbolizer->addresses_of(module, "tally_test_alias"), std::vector{*address});
  EXPECT_EQ(symbolizer->addresses_of(module, "tally_test_function"), std::vector{*address});
  EXPECT_EQ(symbolizer->addresses_of(module, "tally_test"), std::vector<uint64_t>());
  std::vector<SourceFrame> frames;
  symbolizer->frames(module, *address, frames);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().function, "tally_test_function");
}

TEST_F(SymbolizeModule, DisassemblesInBothFlavors) {
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId module = symbolizer->module(key_of(copy_), diagnostics);
  const auto address = symbolizer->link_address(
      module, file_offset_of(reinterpret_cast<void *>(&tally_test_function)));
  ASSERT_TRUE(address.has_value());
  const auto code = symbolizer->code_of(module, *address, 0);
  ASSERT_EQ(code.size(), 1u);
  const auto att = symbolizer->instructions(module, code[0]),
             intel = symbolizer->instructions(module, code[0], DisassemblyFlavor::intel);
  if (!att && att.error().code == ErrorCode::unsupported)
    GTEST_SKIP() << att.error().text();
  ASSERT_TRUE(att && intel);
  ASSERT_EQ(att->size(), intel->size());
  const auto marks = [](const std::vector<Instruction> &instructions) {
    size_t count = 0;
    for (const Instruction &each : instructions)
      count += each.text.find('%') != std::string::npos; // a register in AT&T syntax
    return count;
  };
#ifdef __x86_64__
  EXPECT_GT(marks(*att), 0u);
#endif
  EXPECT_EQ(marks(*intel), 0u);
}

// LLVM's linker lays out programs like this: the code's segment begins within a page, but the
// mapping begins with that page.
TEST_F(SymbolizeModule, CoversTheWholePageInWhichASegmentBegins) {
  std::fstream file(copy_, std::ios::in | std::ios::out | std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char *>(&header), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    GTEST_SKIP() << "this program is not a 64-bit ELF file";
  Elf64_Phdr code{};
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const auto at = static_cast<std::streamoff>(header.e_phoff + i * sizeof code);
    file.seekg(at);
    file.read(reinterpret_cast<char *>(&code), sizeof code);
    if (code.p_type != PT_LOAD || !(code.p_flags & PF_X))
      continue;
    code.p_offset += 0x6a0;
    code.p_vaddr += 0x6a0;
    code.p_filesz -= 0x6a0;
    file.seekp(at);
    file.write(reinterpret_cast<const char *>(&code), sizeof code);
    break;
  }
  file.close();
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId module = symbolizer->module(key_of(copy_), diagnostics);
  EXPECT_EQ(symbolizer->link_address(module, code.p_offset), code.p_vaddr);
  EXPECT_EQ(symbolizer->link_address(module, code.p_offset - 0x6a0), code.p_vaddr - 0x6a0);
  EXPECT_EQ(symbolizer->link_address(module, code.p_offset - 0x6a1), std::nullopt);
}

TEST_F(SymbolizeModule, NamesFilesOfAnotherMachine) {
  ModuleKey there{.path = "/there/bin/program", .build_id = {}, .device = 1, .inode = 2, .pid = 0};
  EXPECT_EQ(name(there, {.sysroot = {}, .files = {}, .remedy = "name it"}), "");
  EXPECT_EQ(text_, "/there/bin/program: warning: cannot open: No such file or directory (ENOENT), "
                   "so its functions have no names (name it)");
  fs::create_directories(folder_ / "root/there/bin");
  fs::copy_file(copy_, folder_ / "root/there/bin/program");
  const ModuleSources below{.sysroot = folder_ / "root", .files = {}, .remedy = {}};
  ModuleSources named{.sysroot = {}, .files = {"/nowhere", copy_}, .remedy = {}};
  EXPECT_NE(name(there, below).find("landmark"), std::string::npos);
  EXPECT_EQ(findings_, 0u);
  EXPECT_NE(name(there, named).find("landmark"), std::string::npos);
  EXPECT_EQ(text_, "/nowhere: warning: cannot open: No such file or directory (ENOENT)");
  // The build ID decides where it is known, and otherwise the name does.
  there.build_id = "00ff";
  EXPECT_EQ(name(there, below), "");
  EXPECT_NE(text_.find("root/there/bin/program: warning: is not used for /there/bin/program, which "
                       "has the build ID 00ff: this file has "),
            std::string::npos)
      << text_;
  there = {.path = "/there/other", .build_id = {}, .device = 1, .inode = 2, .pid = 0};
  EXPECT_EQ(name(there, {.sysroot = {}, .files = {copy_}, .remedy = {}}), "");
  // With a sysroot, this machine's file of the same path is another one.
  EXPECT_EQ(name(key_of(copy_), below), "");
}

TEST_F(SymbolizeModule, NamesNothingFromAReplacedFile) {
  const ModuleKey key = key_of(copy_);
  const fs::path other = folder_ / "other";
  fs::copy_file(copy_, other);
  fs::rename(other, copy_);
  EXPECT_EQ(name(key), "");
  ASSERT_EQ(findings_, 1u);
  EXPECT_NE(text_.find("replaced"), std::string::npos) << text_;
}

TEST_F(SymbolizeModule, ComparesTheBuildIdIfItIsKnown) {
  auto file = symbolize::ElfFile::open(copy_);
  ASSERT_TRUE(file.has_value());
  ModuleKey key = key_of(copy_);
  key.build_id = file->build_id();
  if (key.build_id.empty())
    GTEST_SKIP() << "this executable has no build id";
  key.inode += 1; // another copy of the same build is accepted
  EXPECT_NE(name(key).find("landmark"), std::string::npos);
  key = key_of(copy_);
  key.build_id = "0123456789";
  EXPECT_EQ(name(key), "");
  EXPECT_EQ(findings_, 1u);
}

TEST_F(SymbolizeModule, FindsADeletedExecutableThroughItsProcess) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const fs::path sleeper = folder_ / "sleeper";
  fs::copy_file("/bin/cat", sleeper);
  ModuleKey key = key_of(sleeper);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[0], 0);
    ::close(pipe_ends[1]);
    ::execl(sleeper.c_str(), "cat", nullptr);
    ::_exit(1);
  }
  ::close(pipe_ends[0]);
  key.pid = child;
  for (int i = 0; i < 1000; ++i) { // until it runs the other program
    std::error_code ignored;
    if (fs::read_symlink("/proc/" + std::to_string(child) + "/exe", ignored) == sleeper)
      break;
    ::usleep(1000);
  }
  fs::remove(sleeper);
  key.path += " (deleted)";
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId module = symbolizer->module(key, diagnostics);
  EXPECT_TRUE(diagnostics.findings().empty());
  EXPECT_FALSE(symbolizer->build_id(module).empty());
  key.pid = 0;
  const ModuleId gone = symbolizer->module(key, diagnostics);
  EXPECT_TRUE(symbolizer->build_id(gone).empty() || gone == module);
  ::close(pipe_ends[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
}

// Names may come from the cache while the process exists, and from its file afterwards.
TEST_F(SymbolizeModule, ReadsTheFileOfAProcessThatHasEnded) {
  ModuleKey key = key_of(copy_);
  key.pid = ::fork();
  if (key.pid == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId module = symbolizer->module(key, diagnostics);
  ::kill(key.pid, SIGKILL);
  int status = 0;
  ::waitpid(key.pid, &status, 0);
  const auto address = symbolizer->link_address(
      module, file_offset_of(reinterpret_cast<void *>(&tally_test_function)));
  ASSERT_TRUE(address.has_value());
  std::vector<SourceFrame> frames;
  symbolizer->frames(module, *address, frames);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().function, "tally_test_function");
}

TEST_F(SymbolizeModule, ReportsOnceWhatCannotBeRead) {
  ModuleKey key;
  for (const std::string &path : {(folder_ / "missing").string(), folder_.string(),
                                  std::string("[heap]"), std::string(), std::string("//anon")}) {
    key.path = path;
    EXPECT_EQ(name(key), "") << path;
    EXPECT_EQ(findings_, 1u) << path;
  }
  for (std::string_view bytes : {"",
                                 "\x7f"
                                 "ELF",
                                 "text"}) {
    const fs::path file = folder_ / "bad";
    std::ofstream(file, std::ios::binary) << bytes;
    key.path = file;
    EXPECT_EQ(name(key), "");
    EXPECT_EQ(findings_, 1u);
  }
}

TEST_F(SymbolizeModule, ReturnsNothingForUnknownModules) {
  const auto symbolizer = make_symbolizer();
  std::vector<SourceFrame> frames;
  symbolizer->frames(ModuleId{5}, 0x1000, frames);
  EXPECT_TRUE(frames.empty());
  EXPECT_FALSE(symbolizer->link_address(ModuleId{5}, 0).has_value());
  EXPECT_EQ(symbolizer->build_id(none<ModuleId>), "");
}

TEST_F(SymbolizeModule, NamesTheVdso) {
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  ModuleKey key;
  key.path = "[vdso]";
  const ModuleId module = symbolizer->module(key, diagnostics);
  if (!diagnostics.findings().empty())
    GTEST_SKIP() << diagnostics.findings()[0].text();
  bool found = false;
  for (uint64_t offset = 0; offset < 0x4000; offset += 16) {
    const auto address = symbolizer->link_address(module, offset);
    std::vector<SourceFrame> frames;
    if (address)
      symbolizer->frames(module, *address, frames);
    found |= !frames.empty() && frames[0].function.find("gettime") != std::string_view::npos;
  }
  EXPECT_TRUE(found);
}

TEST_F(SymbolizeModule, FindsTheSameStartsWithoutASearchTable) {
  std::string bytes = bytes_of(copy_);
  hide_search_table(bytes);
  const fs::path hidden = folder_ / "hidden";
  std::ofstream(hidden, std::ios::binary) << bytes;
  const auto symbolizer = make_symbolizer();
  Diagnostics diagnostics;
  const ModuleId with = symbolizer->module(key_of(copy_), diagnostics);
  const ModuleId without = symbolizer->module(key_of(hidden), diagnostics);
  const auto begin =
      symbolizer->link_address(with, file_offset_of(reinterpret_cast<void *>(&landmark)));
  ASSERT_TRUE(begin.has_value());
  EXPECT_EQ(symbolizer->function_start(without, *begin), *begin);
  for (uint64_t at = *begin - 20'000; at < *begin + 20'000; at += TALLY_SANITIZED ? 31 : 3)
    ASSERT_EQ(symbolizer->function_start(without, at), symbolizer->function_start(with, at)) << at;
}

// Each case runs in a separate process, so that the message names the case that crashed.
TEST_F(SymbolizeModule, SurvivesDamagedFiles) {
  // Uses a small program if there is one, because this test is large.
  const char *const programs = std::getenv("TALLY_PROGRAMS");
  const fs::path subject = programs ? fs::path(programs) / "inlines" : copy_;
  std::string whole = bytes_of(subject);
  hide_search_table(whole);
  // Most flips go to the sections with debug information.
  auto elf = symbolize::ElfFile::open(subject);
  ASSERT_TRUE(elf.has_value() && !elf->code_segments().empty());
  const symbolize::Segment code = elf->code_segments().front();
  std::vector<std::pair<size_t, size_t>> targets = {{0, 64}, {0, whole.size()}};
  for (const char *name :
       {".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists", ".debug_ranges",
        ".debug_aranges", ".debug_line_str", ".symtab", ".eh_frame"}) {
    Elf_Scn *section = elf->section(name);
    Elf_Data *data = section ? elf_rawdata(section, nullptr) : nullptr;
    if (data && data->d_size && data->d_off >= 0) {
      // d_off is an offset within the section, so look for the bytes in the file.
      const size_t at = whole.find(std::string_view(static_cast<const char *>(data->d_buf),
                                                    std::min<size_t>(data->d_size, 256)));
      if (at != std::string::npos)
        targets.push_back({at, data->d_size});
    }
  }
  targets.push_back({whole.size() - 4096, 4096}); // section headers
  std::mt19937_64 chance(7);
  const fs::path bad = folder_ / "bad";
  const size_t cases = TALLY_SANITIZED ? 40 : 120;
  for (size_t i = 0; i < cases; ++i) {
    std::string bytes = whole;
    const auto [at, size] = targets[i % targets.size()];
    const size_t flips = i % 3 == 0 ? 1 : i % 3 == 1 ? 20 : 2000;
    for (size_t n = 0; n < flips; ++n)
      bytes[at + chance() % size] = static_cast<char>(chance());
    if (i % 10 == 9)
      bytes.resize(chance() % bytes.size());
    std::ofstream(bad, std::ios::binary | std::ios::trunc) << bytes;
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      const auto symbolizer = make_symbolizer();
      Diagnostics diagnostics;
      ModuleKey key;
      key.path = bad;
      const ModuleId module = symbolizer->module(key, diagnostics);
      std::vector<SourceFrame> frames;
      for (uint64_t step = 0; step < 64; ++step) {
        const uint64_t offset = code.offset + code.size / 64 * step;
        const auto address = symbolizer->link_address(module, offset);
        symbolizer->frames(module, address.value_or(offset), frames);
        symbolizer->function_start(module, address.value_or(offset));
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "case " << i << " target " << i % targets.size() << " status " << status;
  }
}

// The address of a symbol that selects a function at run time is that of the code that selects.
TEST(Symbols, OfSelectedFunctionsHaveNoAddress) {
  Dl_info libc{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void *>(&::gnu_get_libc_version), &libc), 0);
  const auto file = symbolize::ElfFile::open(libc.dli_fname);
  ASSERT_TRUE(file.has_value()) << file.error().text();
  EXPECT_EQ(symbolize::symbol_addresses(*file, nullptr, "gnu_get_libc_version").size(), 1u);
  EXPECT_TRUE(symbolize::symbol_addresses(*file, nullptr, "strlen").empty());
}

TEST(Flatten, GivesEachAddressToTheGreatestPriority) {
  using symbolize::ScanRange;
  // Compares with painting byte by byte.
  std::mt19937 chance(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<ScanRange> ranges;
    std::vector<int> painted(64, -1);
    for (unsigned i = 0; i < chance() % 12; ++i) {
      const uint64_t low = chance() % 60;
      const uint64_t high = low + 1 + chance() % (63 - low);
      ranges.push_back({low, high, i});
    }
    for (const ScanRange &range : ranges) // in the order of priority
      for (uint64_t a = range.low; a < range.high; ++a)
        painted[a] = static_cast<int>(range.priority);
    std::shuffle(ranges.begin(), ranges.end(), chance);
    std::vector<int> flat(64, -1);
    uint64_t last = 0;
    for (const ScanRange &range : symbolize::flatten(ranges)) {
      EXPECT_LE(last, range.low);
      EXPECT_LT(range.low, range.high);
      last = range.high;
      for (uint64_t a = range.low; a < range.high; ++a)
        flat[a] = static_cast<int>(range.priority);
    }
    EXPECT_EQ(flat, painted);
  }
}

TEST(Demangle, KeepsNamesThatAreNotMangled) {
  EXPECT_EQ(symbolize::demangle("_ZN2ns1fEi"), "ns::f(int)");
  EXPECT_EQ(symbolize::demangle("main"), "main");
  EXPECT_EQ(symbolize::demangle("_Zbad"), "_Zbad");
  EXPECT_EQ(symbolize::demangle("i"), "i"); // a type to __cxa_demangle, a function here
}

} // namespace
} // namespace tally::symbolize_module_test
