/* jit [SECONDS=0.5]
 *
 * Makes a function of a few bytes, `made_now`, that no file holds, and registers it by GDB's JIT
 * interface (as an ELF file in memory: one section, one symbol). Spins in it for SECONDS of CPU
 * time, and calls `checkpoint` while it exists. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "spin.h"

/* https://sourceware.org/gdb/current/onlinedocs/gdb.html/Declarations.html */
enum { JIT_NOACTION, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

struct jit_code_entry {
  struct jit_code_entry *next_entry, *prev_entry;
  const char *symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  struct jit_code_entry *relevant_entry, *first_entry;
};

__attribute__((noinline, noclone)) void __jit_debug_register_code(void) {
  __asm__ volatile("" : : : "memory");
}

struct jit_descriptor __jit_debug_descriptor = {1, JIT_NOACTION, NULL, NULL};

__attribute__((noinline, noclone)) void checkpoint(void) { __asm__ volatile("" : : : "memory"); }

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
/* push rbp; mov rbp, rsp; 1: sub rdi, 1; jnz 1b; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xE5, 0x48, 0x83,
                                     0xEF, 0x01, 0x75, 0xFA, 0x5D, 0xC3};
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
/* stp x29, x30, [sp, #-16]!; mov x29, sp; 1: subs x0, x0, #1; b.ne 1b; ldp x29, x30, [sp], #16;
 * ret */
static const uint32_t code[] = {0xA9BF7BFD, 0x910003FD, 0xF1000400,
                                0x54FFFFE1, 0xA8C17BFD, 0xD65F03C0};
#else
#error "no code for this machine"
#endif

static const char names[] = "\0.text\0.symtab\0.strtab\0made_now";
enum { TEXT = 1, SYMTAB = 7, STRTAB = 15, MADE_NOW = 23 };

static struct {
  Elf64_Ehdr header;
  Elf64_Shdr sections[4];
  Elf64_Sym symbols[2];
  char names[sizeof names];
} file;

static void describe(const void *text) {
  file.header = (Elf64_Ehdr){
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_EXEC,
      .e_machine = MACHINE,
      .e_version = EV_CURRENT,
      .e_shoff = (Elf64_Off)((char *)file.sections - (char *)&file),
      .e_ehsize = sizeof file.header,
      .e_shentsize = sizeof file.sections[0],
      .e_shnum = 4,
      .e_shstrndx = 3};
  file.sections[1] = (Elf64_Shdr){.sh_name = TEXT,
                                  .sh_type = SHT_NOBITS,
                                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                  .sh_addr = (Elf64_Addr)(uintptr_t)text,
                                  .sh_size = sizeof code,
                                  .sh_addralign = 16};
  file.sections[2] = (Elf64_Shdr){.sh_name = SYMTAB,
                                  .sh_type = SHT_SYMTAB,
                                  .sh_offset = (Elf64_Off)((char *)file.symbols - (char *)&file),
                                  .sh_size = sizeof file.symbols,
                                  .sh_link = 3,
                                  .sh_info = 1,
                                  .sh_addralign = 8,
                                  .sh_entsize = sizeof file.symbols[0]};
  file.sections[3] = (Elf64_Shdr){.sh_name = STRTAB,
                                  .sh_type = SHT_STRTAB,
                                  .sh_offset = (Elf64_Off)(file.names - (char *)&file),
                                  .sh_size = sizeof names,
                                  .sh_addralign = 1};
  file.symbols[1] = (Elf64_Sym){.st_name = MADE_NOW,
                                .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                .st_shndx = 1,
                                .st_value = (Elf64_Addr)(uintptr_t)text,
                                .st_size = sizeof code};
  memcpy(file.names, names, sizeof names);
  static struct jit_code_entry entry;
  entry.symfile_addr = (const char *)&file;
  entry.symfile_size = sizeof file;
  __jit_debug_descriptor.relevant_entry = __jit_debug_descriptor.first_entry = &entry;
  __jit_debug_descriptor.action_flag = JIT_REGISTER_FN;
  __jit_debug_register_code();
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
  void *const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return 1;
  memcpy(page, code, sizeof code);
  if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
    return 1;
  describe(page);
  void (*made_now)(uint64_t) = (void (*)(uint64_t))(uintptr_t)page;
  const double end = spin_clock(CLOCK_PROCESS_CPUTIME_ID) + seconds;
  while (spin_clock(CLOCK_PROCESS_CPUTIME_ID) < end)
    made_now(1000000);
  checkpoint();
  return 0;
}
