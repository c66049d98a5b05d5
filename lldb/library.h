// libtally's C interface. The plug-in loads the library itself instead of linking to it. If the
// library is missing, the plug-in can then print a message, whereas LLDB would not show the dynamic
// loader's error.
#pragma once

#include <string>

#include <tally.h>

namespace tally_lldb {

#define TALLY_LLDB_FUNCTIONS(_)                                                                    \
  _(tally_abi)                                                                                     \
  _(tally_error_free)                                                                              \
  _(tally_error_text)                                                                              \
  _(tally_table_free)                                                                              \
  _(tally_table_rows)                                                                              \
  _(tally_table_columns)                                                                           \
  _(tally_table_column_name)                                                                       \
  _(tally_table_texts)                                                                             \
  _(tally_table_counts)                                                                            \
  _(tally_commands)                                                                                \
  _(tally_help)                                                                                    \
  _(tally_session_new)                                                                             \
  _(tally_session_free)                                                                            \
  _(tally_session_run)                                                                             \
  _(tally_session_event)                                                                           \
  _(tally_session_is_armed)                                                                        \
  _(tally_session_sampled_pid)                                                                     \
  _(tally_session_setting)                                                                         \
  _(tally_session_set_passed_stops)                                                                \
  _(tally_session_limit_ns)                                                                        \
  _(tally_session_limit_reached)                                                                   \
  _(tally_session_set_display)                                                                     \
  _(tally_session_tick_wait_ns)                                                                    \
  _(tally_session_tick_interrupt)                                                                  \
  _(tally_session_tick_withdraw)                                                                   \
  _(tally_session_tick_take)                                                                       \
  _(tally_region_exits)                                                                            \
  _(tally_session_region_hit)                                                                      \
  _(tally_session_tick)                                                                            \
  _(tally_sigint_watch)                                                                            \
  _(tally_sigint_seen)                                                                             \
  _(tally_session_region_measures)                                                                 \
  _(tally_leads_on)                                                                                \
  _(tally_unsafe_frame)                                                                            \
  _(tally_sink_done)                                                                               \
  _(tally_sink_refuse)                                                                             \
  _(tally_sink_frame)                                                                              \
  _(tally_sink_instruction)                                                                        \
  _(tally_sink_stack)                                                                              \
  _(tally_sink_module)                                                                             \
  _(tally_sink_count)                                                                              \
  _(tally_sink_memory)

struct Library {
#define TALLY_LLDB_POINTER(name) decltype(&::name) name;
  TALLY_LLDB_FUNCTIONS(TALLY_LLDB_POINTER)
#undef TALLY_LLDB_POINTER
};

// Loads the library once per process and never unloads it. Returns null and sets `why` on failure.
const Library *load_library(std::string &why);

} // namespace tally_lldb
