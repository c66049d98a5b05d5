// How the kernel's code stands in a profile: below the user's stack as one frame, "[kernel]", whose
// location keeps the address where the clock struck.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally {

constexpr std::string_view kernel_function = "[kernel]";
// The mapping's path, and the function's object: the name that perf and pprof use. The mapping of a
// recording has the address of the kernel's symbol _text in place of an inode.
constexpr std::string_view kernel_object = "[kernel.kallsyms]";

// The kernel's part of a 64-bit address space, with five levels of page tables on x86-64 and 52
// bits on AArch64. A cut_mark() lies below it.
constexpr uint64_t kernel_start = uint64_t{0xff} << 56;
constexpr uint64_t kernel_limit = ~uint64_t{0};
constexpr bool is_kernel_code(uint64_t pc) { return pc >= kernel_start; }

// In place of an address that is not known, or that another machine's kernel has elsewhere. No code
// can be there: it is PERF_CONTEXT_KERNEL of linux/perf_event.h.
constexpr uint64_t somewhere_in_kernel = ~uint64_t{0} - 127;

} // namespace tally
