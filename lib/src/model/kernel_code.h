// Represents the kernel's code in a profile: one frame "[kernel]", called by the user's stack,
// whose location keeps the address at which the sample was taken.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally {

constexpr std::string_view kernel_function = "[kernel]";
// The path of the kernel's mapping, and the object of its frame, as perf and pprof name them. In a
// recording, the mapping has the address of the kernel's symbol _text in place of an inode.
constexpr std::string_view kernel_object = "[kernel.kallsyms]";

// The kernel's part of a 64-bit address space, with five-level page tables on x86-64 and 52 bits on
// AArch64. Every truncation_mark() is below it.
constexpr uint64_t kernel_start = uint64_t{0xff} << 56;
constexpr uint64_t kernel_limit = ~uint64_t{0};
constexpr bool is_kernel_code(uint64_t pc) { return pc >= kernel_start; }

// Stands for an address that is unknown, or that belongs to the kernel of another machine. There
// cannot be code at this value, because it is PERF_CONTEXT_KERNEL of linux/perf_event.h.
constexpr uint64_t somewhere_in_kernel = ~uint64_t{0} - 127;

} // namespace tally
