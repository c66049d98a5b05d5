/* TALLY_SANITIZED is 1 if AddressSanitizer or ThreadSanitizer is built in. Their runtimes handle
 * signals, allocate memory and may start a thread. GCC shows them by macros, Clang by
 * features. */
#pragma once

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TALLY_SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TALLY_SANITIZED 1
#endif
#endif
#ifndef TALLY_SANITIZED
#define TALLY_SANITIZED 0
#endif
