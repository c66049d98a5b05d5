// Tests chains of callers. The oracle is libgcc's unwinder, which reads the same tables with code
// of its own: a clock interrupts this program, and both unwind from there. A sanitizer's runtime
// would stand between the signal and its handler.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <execinfo.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/unwinder.h"
#include "symbolize/unwind/code_step.h"

namespace tally::unwind_libgcc {
namespace {

#if defined(__x86_64__) || defined(__aarch64__)

constexpr size_t most_samples = 2000;
constexpr size_t most_frames = 400;
constexpr size_t stack_bytes = 16384;

struct Interrupted {
  Registers registers;
  size_t bytes = 0;
  std::array<std::byte, stack_bytes> stack;
  std::array<void *, most_frames> oracle; // the handler's own frames first
  int frames = 0;
};

Interrupted *samples = nullptr;
volatile size_t taken = 0, lost = 0;
volatile sig_atomic_t in_oracle = 0;
sigjmp_buf before_oracle;
uint64_t stack_limit = 0; // of this thread

#if defined(__x86_64__)
// ucontext's registers in DWARF's order.
constexpr int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                         REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                         REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

void read_registers(const ucontext_t &context, Registers &registers) {
  for (size_t i = 0; i < std::size(order); ++i)
    registers.value[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[order[i]]);
}
#else
void read_registers(const ucontext_t &context, Registers &registers) {
  const mcontext_t &machine = context.uc_mcontext;
  registers.processor = Processor::aarch64;
  std::copy(std::begin(machine.regs), std::end(machine.regs), registers.value.begin());
  registers.value[31] = machine.sp;
  registers.value[32] = machine.pc;
}
#endif

void on_fault(int, siginfo_t *, void *) {
  if (in_oracle)
    ::siglongjmp(before_oracle, 1);
  ::signal(SIGSEGV, SIG_DFL); // and it faults again
}

void on_tick(int, siginfo_t *, void *context) {
  if (taken >= most_samples)
    return;
  Interrupted &now = samples[taken];
  read_registers(*static_cast<ucontext_t *>(context), now.registers);
  const uint64_t sp = now.registers.sp();
  now.bytes = std::min<uint64_t>(stack_bytes, stack_limit - sp);
  std::memcpy(now.stack.data(), reinterpret_cast<const void *>(sp), now.bytes);
  // Where libgcc's own chain is wrong (is_astray() below), it may look for code where there is
  // none.
  in_oracle = 1;
  if (sigsetjmp(before_oracle, 1) == 0) {
    now.frames = ::backtrace(now.oracle.data(), static_cast<int>(most_frames));
    taken = taken + 1;
  } else {
    lost = lost + 1;
  }
  in_oracle = 0;
}

// The executable ranges of this process.
class OwnCode {
public:
  explicit OwnCode(Unwinder &unwinder) {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (std::getline(maps, line)) {
      unsigned long start = 0, limit = 0, offset = 0, inode = 0;
      unsigned major_number = 0, minor_number = 0;
      char access[5] = "";
      int path_at = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &start, &limit, access, &offset,
                      &major_number, &minor_number, &inode, &path_at) != 7 ||
          access[2] != 'x')
        continue;
      const std::string path = line.substr(static_cast<size_t>(path_at));
      const ModuleId module = unwinder.module({path.empty() ? "//anon" : path,
                                               {},
                                               makedev(major_number, minor_number),
                                               inode,
                                               ::getpid()});
      ranges_.push_back({module, start, limit, offset});
    }
  }
  std::optional<CodeMapping> at(uint64_t pc) const {
    const auto found = std::ranges::find_if(
        ranges_, [pc](const CodeMapping &range) { return pc >= range.start && pc < range.limit; });
    return found == ranges_.end() ? std::nullopt : std::optional(*found);
  }

private:
  std::vector<CodeMapping> ranges_;
};

uint64_t sink = 0;
#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

KEEP uint64_t leaf(uint64_t x) {
  for (int i = 0; i < 60; ++i)
    x = x * 6364136223846793005U + (x >> 29);
  return x;
}
KEEP uint64_t deep(uint64_t x, int depth) {
  uint64_t kept[3] = {x, x + 1, x + 2}; // forces registers to be saved and restored
  if (depth == 0)
    return leaf(x);
  kept[0] = deep(kept[1] ^ kept[2], depth - 1);
  return kept[0] + leaf(kept[2]) + kept[1];
}
KEEP uint64_t with_alloca(uint64_t x) {
  auto *room = static_cast<volatile uint64_t *>(__builtin_alloca((x % 64 + 1) * 8)); // needs rbp
  room[0] = deep(x, 2);
  return room[0] + 1;
}
KEEP int compare(const void *a, const void *b) {
  return static_cast<int>(leaf(*static_cast<const uint64_t *>(a)) & 1) -
         static_cast<int>(leaf(*static_cast<const uint64_t *>(b)) & 1);
}
KEEP uint64_t by_libc(uint64_t x) {
  uint64_t values[16];
  for (uint64_t &value : values)
    value = x = leaf(x);
  ::qsort(values, std::size(values), sizeof values[0], compare);
  return values[0];
}
KEEP uint64_t by_templates(uint64_t x) {
  std::map<std::string, uint64_t> map;
  for (int i = 0; i < 8; ++i) {
    x = leaf(x);
    map[std::to_string(x)] = x;
  }
  std::vector<uint64_t> values;
  for (const auto &[key, value] : map)
    values.push_back(value);
  std::sort(values.begin(), values.end(), [](uint64_t a, uint64_t b) { return leaf(a) < leaf(b); });
  return values[0];
}
KEEP uint64_t throwing(uint64_t x, int depth) {
  if (depth == 0)
    throw std::runtime_error("far out");
  return throwing(leaf(x), depth - 1) + 1;
}
KEEP uint64_t catching(uint64_t x) {
  try {
    return throwing(x, 4);
  } catch (const std::runtime_error &) {
    return x + 1;
  }
}
KEEP uint64_t by_the_kernel(uint64_t x) {
  timespec time;
  for (int i = 0; i < 40; ++i)
    ::clock_gettime(CLOCK_MONOTONIC, &time); // the vdso
  return x + static_cast<uint64_t>(time.tv_nsec) + static_cast<uint64_t>(::getppid());
}
void on_alarm(int, siginfo_t *, void *) { sink = sink + deep(sink, 3); }

void handle(int number, void (*handler)(int, siginfo_t *, void *)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

// Another clock of the process runs meanwhile, so that handlers are interrupted, too.
KEEP void run_until_sampled(size_t count) {
  handle(SIGPROF, on_tick);
  handle(SIGVTALRM, on_alarm);
  handle(SIGSEGV, on_fault);
  const auto arm = [](int which, suseconds_t us) {
    const itimerval timer{{0, us}, {0, us}};
    ::setitimer(which, &timer, nullptr);
  };
  arm(ITIMER_PROF, 1000);
  arm(ITIMER_VIRTUAL, 1700);
  const std::function<uint64_t(uint64_t)> work[] = {[](uint64_t x) { return deep(x, 12); },
                                                    with_alloca,
                                                    by_libc,
                                                    by_templates,
                                                    catching,
                                                    by_the_kernel};
  while (taken < count)
    for (const auto &each : work)
      sink = each(sink);
  arm(ITIMER_PROF, 0);
  arm(ITIMER_VIRTUAL, 0);
  ::signal(SIGPROF, SIG_IGN);
  ::signal(SIGVTALRM, SIG_IGN);
  ::signal(SIGSEGV, SIG_DFL);
}

uint64_t limit_of_stack() {
  std::ifstream maps("/proc/self/maps");
  std::string line; // the line may be elsewhere: AddressSanitizer has a separate stack for such
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  while (std::getline(maps, line)) {
    unsigned long start = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &start, &end) == 2 && here >= start && here < end)
      return end;
  }
  return here;
}

Interrupted seen;

// Keeps the registers and the stack of this call.
KEEP void keep_this_stack() {
  ucontext_t context;
  ::getcontext(&context);
  read_registers(context, seen.registers);
  seen.registers.only_sp_and_pc = false;
  seen.bytes = std::min<uint64_t>(stack_bytes, limit_of_stack() - seen.registers.sp());
  std::memcpy(seen.stack.data(), reinterpret_cast<const void *>(seen.registers.sp()), seen.bytes);
}

#if defined(__x86_64__)
// As compilers translate without optimization: each function addresses its frame by the frame
// pointer.
#if defined(__clang__)
#define UNOPTIMIZED __attribute__((noinline, optnone))
#else
#define UNOPTIMIZED __attribute__((noinline, noclone, optimize("O0", "no-omit-frame-pointer")))
#endif
UNOPTIMIZED void plainly() { keep_this_stack(); }
UNOPTIMIZED int with_many_arguments(int a, int b, int c, int d, int e, int f, int g, int h) {
  plainly();
  return a + b + c + d + e + f + g + h;
}
UNOPTIMIZED void with_arguments_on_the_stack() {
  sink = sink + static_cast<uint64_t>(with_many_arguments(1, 2, 3, 4, 5, 6, 7, 8));
}
UNOPTIMIZED void with_room(size_t bytes) {
  auto *room = static_cast<volatile char *>(__builtin_alloca(bytes));
  room[0] = 1;
  keep_this_stack();
}
UNOPTIMIZED void with_rooms() {
  volatile uint64_t array[300];
  array[0] = 1;
  with_room(700 + array[0]);
}
UNOPTIMIZED void recursing(int depth) {
  if (depth > 0)
    recursing(depth - 1); // leaves return addresses of calls to itself below
  else
    plainly();
  if (depth == 2)
    plainly();
}
UNOPTIMIZED int comparing(const void *, const void *) {
  keep_this_stack();
  return 0;
}
UNOPTIMIZED void by_qsort() {
  uint64_t values[4] = {};
  ::qsort(values, std::size(values), sizeof values[0], comparing);
}
UNOPTIMIZED void by_pointer() {
  void (*volatile where)(size_t) = with_room;
  where(100);
}

// Calls itself by pointer, so that the direct call of its start is not that of its last frame.
UNOPTIMIZED void through_others(size_t bytes) {
  auto *room = static_cast<volatile char *>(__builtin_alloca(bytes));
  room[0] = 1;
  void (*volatile again)(size_t) = through_others;
  if (bytes > 300)
    again(bytes - 100);
  else
    keep_this_stack();
}
#endif

class SymbolizeUnwind : public ::testing::Test {
protected:
  void SetUp() override {
    if (samples)
      return;
    void *room = ::mmap(nullptr, most_samples * sizeof(Interrupted), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(room, MAP_FAILED);
    samples = static_cast<Interrupted *>(room);
    stack_limit = limit_of_stack();
    void *first[4];
    ::backtrace(first, 4); // loads libgcc
    run_until_sampled(600);
  }

  struct Other {
    std::span<const std::byte> bytes;
    uint64_t at;
  };
  StackEnd unwind(const Interrupted &from, size_t bytes, std::vector<uint64_t> &pcs,
                  const Other &other = {}) {
    UnwindInput input;
    input.other = other.bytes;
    input.other_at = other.at;
    input.registers = from.registers;
    input.stack = std::span(from.stack).first(std::min(bytes, from.bytes));
    input.mapping_of_pc = [this](uint64_t pc) { return code_.at(pc); };
    pcs.clear();
    return unwinder_->unwind(input, pcs);
  }
  // Returns libgcc's chain, from the interrupted pc outward.
  static std::span<void *const> oracle(const Interrupted &from) {
    const auto all = std::span(from.oracle).first(static_cast<size_t>(from.frames));
    const auto pc = reinterpret_cast<void *>(from.registers.pc());
    const auto at = std::ranges::find(all, pc);
    return all.subspan(static_cast<size_t>(at - all.begin()));
  }
  // In the last instructions before a landing pad, libgcc has moved the stack pointer, which no
  // table describes; libgcc's own chain is wrong there.
  bool is_astray(const Interrupted &from) const {
    return std::ranges::any_of(oracle(from), [this](const void *address) {
      const auto returns = reinterpret_cast<uint64_t>(address);
      return !code_.at(returns - 1) && !code_.at(returns); // a handler's return begins its page
    });
  }

  std::unique_ptr<Unwinder> unwinder_ = make_unwinder();
  OwnCode code_{*unwinder_};
};

std::string words(std::span<const uint64_t> pcs) {
  std::string out;
  for (const uint64_t pc : pcs)
    out += fmt::format(" {:x}", pc);
  return out;
}

// Accepts a return address, which is one more than ours, or the address where a signal arrived.
bool is_frame(uint64_t ours, const void *theirs) {
  const auto address = reinterpret_cast<uint64_t>(theirs);
  return ours == address || ours + 1 == address;
}

TEST_F(SymbolizeUnwind, AgreesWithLibgcc) {
  size_t equal = 0, signals = 0, astray = 0;
  std::vector<uint64_t> pcs;
  for (size_t i = 0; i < taken; ++i) {
    const StackEnd end = unwind(samples[i], stack_bytes, pcs);
    const auto theirs = oracle(samples[i]);
    if (is_astray(samples[i])) {
      EXPECT_NE(end, StackEnd::complete);
      ++astray;
      continue;
    }
    ASSERT_FALSE(theirs.empty());
    const bool same = std::equal(pcs.begin(), pcs.end(), theirs.begin(), theirs.end(), is_frame);
    equal += same && end == StackEnd::complete;
    if (same)
      for (size_t frame = 1; frame < pcs.size(); ++frame)
        signals += pcs[frame] == reinterpret_cast<uint64_t>(theirs[frame]);
    else
      ADD_FAILURE() << "sample " << i << ", end " << static_cast<int>(end) << ": ours" << words(pcs)
                    << " theirs"
                    << words({reinterpret_cast<const uint64_t *>(theirs.data()), theirs.size()});
  }
  EXPECT_EQ(equal + astray, taken);
  EXPECT_LE(astray + lost, taken / 100);
  EXPECT_GT(signals, 0u) << "no sample fell into a handler";
}

// A truncated stack dump gives the beginning of the same chain, and the result says so.
TEST_F(SymbolizeUnwind, TruncatesTheChainOfAShortDump) {
  std::vector<uint64_t> whole, cut;
  size_t shorter = 0;
  for (size_t i = 0; i < taken; i += 3) {
    if (is_astray(samples[i]))
      continue;
    ASSERT_EQ(unwind(samples[i], stack_bytes, whole), StackEnd::complete);
    for (const size_t bytes : {0U, 7U, 8U, 64U, 200U, 512U, 1024U}) {
      const StackEnd end = unwind(samples[i], bytes, cut);
      ASSERT_LE(cut.size(), whole.size());
      ASSERT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin()))
          << bytes << " bytes: ours" << words(cut) << " whole" << words(whole);
      if (cut.size() < whole.size()) {
        EXPECT_EQ(end, StackEnd::dump_too_short) << bytes << words(cut) << " of" << words(whole);
        ++shorter;
      }
    }
  }
  EXPECT_GT(shorter, 100u);
}

// What another sample found continues a short dump if the last return addresses agree.
TEST_F(SymbolizeUnwind, ContinuesAShortDumpByAnotherSample) {
  std::vector<uint64_t> whole, cut, joined;
  size_t continued = 0;
  for (size_t i = 0; i < taken; i += 3) {
    if (is_astray(samples[i]))
      continue;
    ASSERT_EQ(unwind(samples[i], stack_bytes, whole), StackEnd::complete);
    const auto dump = std::span(samples[i].stack).first(samples[i].bytes);
    for (size_t bytes = 64; bytes < dump.size(); bytes += 264) {
      const StackEnd end = unwind(samples[i], bytes, cut);
      const StackEnd with_other =
          unwind(samples[i], bytes, joined, {dump, samples[i].registers.sp()});
      if (with_other == StackEnd::joined) {
        EXPECT_EQ(end, StackEnd::dump_too_short);
        EXPECT_EQ(joined, whole);
        ++continued;
      } else {
        EXPECT_EQ(with_other, end);
        EXPECT_EQ(joined, cut);
      }
      // Another content, or none of the addresses before the dump's end.
      const std::vector<std::byte> zeros(dump.size());
      EXPECT_EQ(unwind(samples[i], bytes, joined, {zeros, samples[i].registers.sp()}), end);
      EXPECT_EQ(joined, cut);
      if (bytes < dump.size()) {
        EXPECT_EQ(unwind(samples[i], bytes, joined,
                         {dump.subspan(bytes), samples[i].registers.sp() + bytes}),
                  end);
      }
    }
  }
  EXPECT_GT(continued, 100u);
}

// Rows are cached by pc, and so are missing ones: neither the order of the requests nor earlier
// requests may change a chain.
TEST_F(SymbolizeUnwind, DoesNotDependOnTheOrderOfRequests) {
  std::vector<std::vector<uint64_t>> chains(taken);
  std::vector<StackEnd> ends;
  for (size_t i = 0; i < taken; ++i)
    ends.push_back(unwind(samples[i], stack_bytes, chains[i]));
  std::vector<uint64_t> pcs;
  for (const bool anew : {false, true}) {
    if (anew) {
      unwinder_ = make_unwinder();
      code_ = OwnCode(*unwinder_);
    }
    for (size_t i = taken; i-- > 0;) {
      EXPECT_EQ(unwind(samples[i], stack_bytes, pcs), ends[i]) << i << anew;
      EXPECT_EQ(pcs, chains[i]) << i << anew;
    }
  }
}

// elfutils does not lock, so each unwinder has its own handles of the same files.
TEST_F(SymbolizeUnwind, AllowsTwoUnwindersAtOnce) {
  struct Worker {
    std::unique_ptr<Unwinder> unwinder = make_unwinder();
    OwnCode code{*unwinder};
    std::vector<std::vector<uint64_t>> chains;
    void run() {
      for (size_t i = 0; i < taken; ++i) {
        UnwindInput input;
        input.registers = samples[i].registers;
        input.stack = std::span(samples[i].stack).first(samples[i].bytes);
        input.mapping_of_pc = [this](uint64_t pc) { return code.at(pc); };
        unwinder->unwind(input, chains.emplace_back());
      }
    }
  } one, other;
  std::thread thread([&other] { other.run(); });
  one.run();
  thread.join();
  EXPECT_EQ(one.chains, other.chains);
}

// The handler runs on an alternate stack, so the dump does not contain its caller: the chain is
// truncated there, but correct.
TEST_F(SymbolizeUnwind, TruncatesAChainWhereAnAlternateStackWasEntered) {
  constexpr size_t size = 65536;
  void *const room =
      ::mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  stack_t alternate{}, before{};
  alternate.ss_sp = room;
  alternate.ss_size = size; // the memory above it is copied, too
  ASSERT_EQ(::sigaltstack(&alternate, &before), 0);
  handle(SIGUSR2, on_tick);
  struct sigaction outer {};
  outer.sa_handler = [](int) {
    ::raise(SIGUSR2);
    sink = sink + 1;
  };
  outer.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR1, &outer, nullptr);
  const size_t at = taken;
  ASSERT_LT(at, most_samples);
  ::raise(SIGUSR1);
  ASSERT_EQ(taken, at + 1);
  std::vector<uint64_t> pcs;
  EXPECT_EQ(unwind(samples[at], stack_bytes, pcs), StackEnd::dump_too_short);
  const auto theirs = oracle(samples[at]);
  EXPECT_GE(pcs.size(), 3u); // raise, our handler, the signal's frame
  ASSERT_LE(pcs.size(), theirs.size());
  EXPECT_TRUE(std::equal(pcs.begin(), pcs.end(), theirs.begin(), is_frame)) << words(pcs);
  taken = at;
  ::sigaltstack(&before, nullptr);
  ::munmap(room, 2 * size);
}

// Whatever the stack holds, unwinding ends and reports only addresses of code.
TEST_F(SymbolizeUnwind, EndsOnRandomStacks) {
  std::vector<uint64_t> pcs;
  uint64_t random = 1;
  const auto next = [&random] { return random = leaf(random); };
  for (size_t i = 0; i < taken; ++i) {
    Interrupted &at = samples[i];
    const Interrupted kept = at;
    for (int round = 0; round < 10; ++round) {
      for (size_t change = 0; change < 8; ++change) {
        const size_t word = next() % (at.bytes / 8 / (1 + next() % 64) + 1) * 8;
        // An address of the stack itself makes loops.
        const uint64_t value = next() % 2 ? next() : at.registers.sp() + next() % 4096 / 8 * 8;
        if (word + 8 <= at.bytes)
          std::memcpy(at.stack.data() + word, &value, sizeof value);
      }
      at.registers.value[next() % 16] ^= next() % 256;
      at.registers.only_sp_and_pc = next() % 2 == 0;
      unwind(at, stack_bytes, pcs);
      ASSERT_FALSE(pcs.empty());
      for (const uint64_t pc : std::span(pcs).subspan(1))
        ASSERT_TRUE(code_.at(pc)) << std::hex << pc;
      at = kept;
    }
  }
}

// Code without a mapped file, as a JIT compiler makes it, is unwound by its frame pointers.
TEST_F(SymbolizeUnwind, FollowsFramePointersWithoutRules) {
#if defined(__x86_64__)
  // push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret
  const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
  // stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret
  const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif
  void *room = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  std::memcpy(room, code, sizeof code);
  ASSERT_EQ(::mprotect(room, 4096, PROT_READ | PROT_EXEC), 0);
  __builtin___clear_cache(static_cast<char *>(room), static_cast<char *>(room) + sizeof code);
  using Callee = void (*)();
  reinterpret_cast<void (*)(Callee)>(room)(keep_this_stack);
  code_ = OwnCode(*unwinder_);
  std::vector<uint64_t> pcs;
  EXPECT_EQ(unwind(seen, stack_bytes, pcs), StackEnd::complete);
  const auto in_room = [room](uint64_t pc) {
    return pc - reinterpret_cast<uint64_t>(room) < sizeof code;
  };
  EXPECT_EQ(std::ranges::count_if(pcs, in_room), 1);
  EXPECT_GT(pcs.size(), 5u); // the test's own callers
  ::munmap(room, 4096);
}

#if defined(__x86_64__)
// Hand-written code without call frame information, as media libraries have: it uses the frame
// pointer as any other register, aligns its stack, leaves return addresses below, and calls another
// such function that returns by a register.
__asm__(".text\n.type hand_written, @function\nhand_written:\n"
        "push %rbp\npush %rbx\npush %r12\nmov %rsp, %rax\nsub $600, %rsp\nand $-64, %rsp\n"
        "mov %rax, 512(%rsp)\nmov %rdi, %rbx\nxor %ebp, %ebp\n"
        "1: inc %ebp\ncall *%rbx\ncmp $2, %ebp\njb 1b\n"
        "call by_register\nmov 512(%rsp), %rsp\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size hand_written, . - hand_written\n"
        ".type by_register, @function\nby_register:\nmov %rsp, %r12\nsub $200, %rsp\n"
        "and $-32, %rsp\ncall *%rbx\nmov %r12, %rsp\nret\n.size by_register, . - by_register");
extern "C" void hand_written(void (*)());

TEST_F(SymbolizeUnwind, FollowsHandWrittenCode) {
  if (symbolize::CodeSteps().at("\xc3", 0).kind != symbolize::CodeStep::Kind::returns)
    GTEST_SKIP() << "Tally was built without Capstone";
  static std::vector<std::vector<uint64_t>> chains;
  static std::function<StackEnd(std::vector<uint64_t> &)> unwind_here;
  chains.clear();
  unwind_here = [this](std::vector<uint64_t> &pcs) { return unwind(seen, stack_bytes, pcs); };
  const auto collect = [] {
    keep_this_stack();
    EXPECT_EQ(unwind_here(chains.emplace_back()), StackEnd::complete);
  };
  hand_written(collect);
  void (*volatile by_pointer)() = collect; // as the other calls of it
  by_pointer();
  ASSERT_EQ(chains.size(), 4u);
  EXPECT_EQ(chains[0], chains[1]);
  const auto without = [](const std::vector<uint64_t> &chain, ptrdiff_t frames) {
    return std::vector<uint64_t>(chain.begin() + frames, chain.end());
  };
  // Each has keep_this_stack(), the lambda and its conversion, and this function, which is at
  // different calls.
  const std::vector<uint64_t> callers = without(chains[3], 4);
  EXPECT_GT(callers.size(), 4u);
  EXPECT_EQ(without(chains[0], 5), callers) << "hand_written";
  EXPECT_EQ(without(chains[2], 6), callers) << "by_register and hand_written";
}

// A thread that is seen from outside shows its stack pointer and its pc only.
TEST_F(SymbolizeUnwind, FindsFramesWithoutTheFramePointer) {
  struct Way {
    void (*run)();
    bool has_room = false; // an array of variable size hides where the frame is
  };
  const Way ways[] = {{plainly},
                      {with_arguments_on_the_stack},
                      {by_qsort},
                      {[] { recursing(4); }},
                      {with_rooms, true},
                      {by_pointer, true},
                      {[] { through_others(500); }, true}};
  for (size_t way = 0; way < std::size(ways); ++way) {
    ways[way].run();
    std::vector<uint64_t> whole, pcs;
    ASSERT_EQ(unwind(seen, stack_bytes, whole), StackEnd::complete) << way;
    const uint64_t sp = seen.registers.sp(), pc = seen.registers.pc();
    seen.registers = {};
    seen.registers.value[7] = sp;
    seen.registers.value[16] = pc;
    seen.registers.only_sp_and_pc = true;
    const StackEnd end = unwind(seen, stack_bytes, pcs);
    if (ways[way].has_room && pcs != whole) {
      EXPECT_EQ(end, StackEnd::guessed) << way;
      continue;
    }
    EXPECT_EQ(pcs, whole) << way << words(pcs) << " of" << words(whole);
    EXPECT_TRUE(end == StackEnd::complete || ways[way].has_room) << way;
  }
}
#endif

#endif

} // namespace
} // namespace tally::unwind_libgcc
