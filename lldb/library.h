// libtally's interface. The plug-in loads the library itself instead of linking to it. If the
// library is missing, the plug-in can then print a message, whereas LLDB would not show the dynamic
// loader's error.
#pragma once

#include <string>

#include <tally.h>

namespace tally_lldb {

// The functions that tally.hpp and the plug-in call.
#define TALLY_LLDB_FUNCTIONS(_)                                                                    \
  _(tally_abi)                                                                                     \
  _(tally_error_free)                                                                              \
  _(tally_error_get_code)                                                                          \
  _(tally_error_text)                                                                              \
  _(tally_error_message)                                                                           \
  _(tally_error_source)                                                                            \
  _(tally_error_line)                                                                              \
  _(tally_error_column)                                                                            \
  _(tally_error_offset)                                                                            \
  _(tally_table_free)                                                                              \
  _(tally_table_rows)                                                                              \
  _(tally_table_columns)                                                                           \
  _(tally_table_column_name)                                                                       \
  _(tally_table_texts)                                                                             \
  _(tally_table_counts)                                                                            \
  _(tally_commands)                                                                                \
  _(tally_settings)                                                                                \
  _(tally_help)                                                                                    \
  _(tally_formats)                                                                                 \
  _(tally_profile_read)                                                                            \
  _(tally_profile_free)                                                                            \
  _(tally_profile_format)                                                                          \
  _(tally_profile_diagnostics)                                                                     \
  _(tally_profile_events)                                                                          \
  _(tally_profile_report)                                                                          \
  _(tally_profile_write)                                                                           \
  _(tally_convert)                                                                                 \
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
  _(tally_session_report)                                                                          \
  _(tally_session_tick_wait_ns)                                                                    \
  _(tally_session_tick_interrupt)                                                                  \
  _(tally_session_tick_withdraw)                                                                   \
  _(tally_session_tick_take)                                                                       \
  _(tally_session_tick)                                                                            \
  _(tally_region_exits)                                                                            \
  _(tally_session_region_hit)                                                                      \
  _(tally_session_region_measures)                                                                 \
  _(tally_sigint_watch)                                                                            \
  _(tally_sigint_seen)                                                                             \
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

// Loads the library once per process and never unloads it. Returns false and sets `why` on failure.
bool load_library(std::string &why);
const Library &library(); // after load_library() has returned true

} // namespace tally_lldb

#define TALLY_CALL(function) (::tally_lldb::library().function)
#include <tally.hpp>
