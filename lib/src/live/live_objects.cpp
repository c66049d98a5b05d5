#include "live/live_objects.h"

#include <fmt/format.h>

#include "live/counter_snapshot.h"
#include "live/process_modules.h"

namespace tally::live {

Result<std::vector<ObjectFiles>> objects_now(const CounterLayout &layout, Memory &memory) {
  const auto snapshot = CounterSnapshot::take(layout, memory);
  if (!snapshot)
    return fail(ErrorCode::io, "the program's counters cannot be read");
  CounterFiles files(layout, *snapshot, memory);
  std::vector<ObjectFiles> out;
  for (const CountedModuleObject &object : layout.objects) {
    out.push_back(files_of_object(object.data_path));
    out.back().counters = std::make_shared<GcovData>(files.data_of(object));
  }
  return out;
}

Result<std::vector<ObjectFiles>> objects_of_process(pid_t pid, Diagnostics &diagnostics) {
  TALLY_TRY(memory, process_memory(pid)); // its errors are clearer
  TALLY_TRY(modules, process_modules(pid, diagnostics));
  CounterLayout layout;
  for (uint32_t i = 0; i < modules.size(); ++i)
    add_module(layout, modules[i], i, *memory, diagnostics);
  if (layout.objects.empty())
    return fail(ErrorCode::no_data,
                fmt::format("nothing in process {} was compiled with --coverage", pid));
  TALLY_TRY(objects, objects_now(layout, *memory));
  return objects;
}

} // namespace tally::live
