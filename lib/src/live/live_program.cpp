#include "live/live_program.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include <sys/stat.h>

#include <fmt/format.h>

#include <tally/file_io.h>

#include "live/counter_code.h"
#include "live/process_modules.h"
#include "stacks/address_space.h"
#include "support/path.h"
#include "symbolize/producer.h"

namespace tally::live {

namespace {

// Without the options, which Clang does not record, assumes the worst.
LiveProgram::Compilation how_compiled(std::string_view producer) {
  LiveProgram::Compilation out{true, !producer.starts_with("GNU"), false};
  bool atomic = false;
  while (!producer.empty()) {
    const size_t end = std::min(producer.find(' '), producer.size());
    const std::string_view word = producer.substr(0, end);
    producer.remove_prefix(std::min(end + 1, producer.size()));
    if (word.starts_with("-O"))
      out.optimized = word != "-O0" && word != "-Og";
    atomic |= word == "-fprofile-update=atomic" || word == "-fprofile-update=prefer-atomic";
  }
  out.in_registers = out.optimized && !atomic;
  return out;
}

} // namespace

std::shared_ptr<const GcovNotes> NotesCache::notes_of(const std::string &path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return nullptr;
  const int64_t mtime_ns =
      static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  Entry &entry = entries_[path];
  if (entry.notes && entry.mtime_ns == mtime_ns)
    return entry.notes;
  entry = {mtime_ns, nullptr};
  auto source = ByteSource::open(path);
  auto bytes = source ? (*source)->rest() : Result<std::string>(fail(source.error()));
  Diagnostics ignored; // whoever reads the notes again reports what is wrong
  if (auto notes = bytes ? read_gcov_notes(std::move(*bytes), path, ignored)
                         : Result<GcovNotes>(fail(bytes.error())))
    entry.notes = std::make_shared<GcovNotes>(std::move(*notes));
  return entry.notes;
}

std::string NotesCache::place_of(const std::string &path) const {
  if (place_ == "none" || place_.empty())
    return path;
  if (const size_t equals = place_.find('='); equals != place_.npos)
    return path.starts_with(place_.substr(0, equals))
               ? place_.substr(equals + 1) + path.substr(equals)
               : path;
  return fmt::format("{}/{}", place_, base_name(path));
}

Result<LiveProgram> LiveProgram::open(pid_t pid) {
  TALLY_TRY(memory, process_memory(pid));
  LiveProgram program;
  program.pid_ = pid;
  program.memory_ = std::move(memory);
  return program;
}

Result<void> LiveProgram::refresh(Diagnostics &diagnostics) {
  TALLY_TRY(maps, read_maps(pid_));
  std::string mapped; // only what modules_of() uses; other mappings change all the time
  for (const CodeRange &range : parse_maps(maps))
    if (range.inode != 0)
      mapped += fmt::format("{:x} {:x} {}\n", range.start, range.inode, range.path);
  if (mapped == mapped_ && is_refreshed_)
    return {};
  mapped_ = std::move(mapped);
  is_refreshed_ = true;
  modules_ = modules_of(maps, pid_, diagnostics);
  layout_ = {};
  ++generation_;
  symbolizer_ = nullptr;
  compilations_.clear();
  for (uint32_t i = 0; i < modules_.size(); ++i)
    add_module(layout_, modules_[i], i, *memory_, diagnostics);
  return {};
}

LiveProgram::Notes LiveProgram::notes_of_objects(NotesCache &cache) const {
  Notes notes;
  for (const CountedModuleObject &object : layout_.objects)
    notes.push_back(cache.notes_of(cache.place_of(files_of_object(object.data_path).notes)));
  return notes;
}

std::vector<ObjectFiles> LiveProgram::wanted_objects(const Reading &reading, const Notes &notes,
                                                     Frames frames, const std::vector<bool> &wanted,
                                                     NotesCache &cache) {
  std::vector<ObjectFiles> out;
  CounterFiles files(layout_, reading.snapshot, *memory_);
  for (size_t i = 0; i < notes.size(); ++i) {
    if (!wanted[i])
      continue;
    out.push_back(files_of_object(layout_.objects[i].data_path));
    out.back().notes = cache.place_of(out.back().notes);
    out.back().live = std::make_shared<LiveCounters>(
        LiveCounters{notes[i], files.data_of(layout_.objects[i]), std::move(frames[i])});
  }
  return out;
}

std::vector<ObjectFiles> LiveProgram::objects(const Reading &reading, NotesCache &cache) {
  const Notes notes = notes_of_objects(cache);
  return wanted_objects(reading, notes, open_frames(reading.threads, notes),
                        std::vector<bool>(notes.size(), true), cache);
}

std::pair<std::vector<ObjectFiles>, std::vector<ObjectFiles>>
LiveProgram::changed_objects(const Reading &now, const Reading &before, NotesCache &cache) {
  const Notes notes = notes_of_objects(cache);
  Frames frames = open_frames(now.threads, notes), old = open_frames(before.threads, notes);
  std::vector<bool> wanted = live::changed_objects(layout_, now.snapshot, before.snapshot);
  for (size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = wanted[i] || !frames[i].empty() || !old[i].empty();
  return {wanted_objects(now, notes, std::move(frames), wanted, cache),
          wanted_objects(before, notes, std::move(old), wanted, cache)};
}

LiveProgram::Compilation LiveProgram::compilation_at(uint64_t pc) {
  for (const LoadedModule &module : modules_)
    for (const AddressRange &segment : module.places.segments)
      if (segment.contains(pc - module.bias, 1)) {
        Compilation &known = compilations_[pc];
        if (!known.is_known)
          known = how_compiled(symbolize::producer_at(
              symbolize::find_files(module.key, {"/usr/lib/debug"}, of_names_), pc - module.bias));
        return known;
      }
  return {};
}

// Finds the innermost function of each thread that has counters. Functions outside of it are exact,
// because their calls end blocks (see open_frames.h). If a function was inlined before the counters
// were added, its lines belong to the graph of its caller; therefore a caller of inlined code is
// also open if its graph has the line of the pc.
LiveProgram::Frames LiveProgram::open_frames(std::span<const StoppedThread> threads,
                                             const Notes &notes) {
  Frames out(notes.size());
  if (threads.empty())
    return out;
  struct Place {
    size_t object;
    GraphFunctionId function;
  };
  std::unordered_multimap<std::string_view, Place> functions; // by linkage name
  for (size_t i = 0; i < notes.size(); ++i)
    if (notes[i])
      for (uint32_t k = 0; k < notes[i]->graph.functions.size(); ++k) {
        const auto id = static_cast<GraphFunctionId>(k);
        functions.emplace(notes[i]->graph.strings[notes[i]->graph.functions[id].name],
                          Place{i, id});
      }
  if (!symbolizer_)
    symbolizer_ = make_symbolizer();
  std::vector<ModuleId> ids;
  for (const LoadedModule &module : modules_)
    ids.push_back(symbolizer_->module(module.key, of_names_));
  const auto frames_at = [&](uint64_t pc) {
    std::vector<SourceFrame> frames;
    for (size_t i = 0; i < modules_.size(); ++i)
      for (const AddressRange &segment : modules_[i].places.segments)
        if (segment.contains(pc - modules_[i].bias, 1))
          symbolizer_->frames(ids[i], pc - modules_[i].bias, frames);
    return frames;
  };
  const auto has_line = [](const CoverageGraph &graph, GraphFunctionId id, uint32_t line) {
    for (const GraphLocation &location : graph.locations_of(graph.functions[id]))
      for (const uint32_t each : graph.lines_of(location))
        if (each == line)
          return true;
    return false;
  };
  const auto arcs_of = [&](size_t object, const GraphFunction &function) -> const CounterArray * {
    for (const CountedFunction &each : layout_.functions_of(layout_.objects[object]))
      if (each.key.ident == function.ident && each.key.cfg_checksum == function.cfg_checksum)
        for (const CounterArray &array : layout_.arrays_of(each))
          if (array.kind == static_cast<uint32_t>(GcovCounter::arcs))
            return &array;
    return nullptr;
  };
  const bool module_has_x86_64_code =
      std::ranges::any_of(modules_, [](const LoadedModule &m) { return m.places.x86_64; });
  for (const StoppedThread &thread : threads)
    for (size_t depth = 0; depth < thread.pcs.size(); ++depth) {
      const uint64_t pc = thread.pcs[depth];
      const std::vector<SourceFrame> frames = frames_at(pc);
      const Compilation how = frames.empty() ? Compilation() : compilation_at(pc);
      bool found = false;
      for (const SourceFrame &frame : frames) {
        const std::string_view name =
            frame.system_name.empty() ? frame.function : frame.system_name;
        const auto [first, last] = functions.equal_range(name);
        for (auto at = first; at != last; ++at) {
          const CoverageGraph &graph = notes[at->second.object]->graph;
          const GraphFunction &function = graph.functions[at->second.function];
          if (frame.function_line != 0 && frame.function_line != function.start_line)
            continue;
          OpenFrame open{.function = at->second.function,
                         .file = std::string(frames[0].file),
                         .line = frames[0].line,
                         .optimized = how.optimized,
                         .in_registers = how.in_registers && depth == 0,
                         .in_call = depth > 0};
          if (found && !how.optimized && !has_line(graph, open.function, open.line))
            continue;
          if (depth == 0) {
            const std::vector<SourceFrame> before = frames_at(pc - 1);
            if (const CounterArray *array = arcs_of(at->second.object, function);
                array && module_has_x86_64_code)
              open.near_counters = counters_near(pc, *array, *memory_);
            open.at_line_start = before.size() != frames.size() || before[0].line != open.line ||
                                 before[0].function != frames[0].function;
          }
          out[at->second.object].push_back(std::move(open));
        }
        found |= first != last;
      }
      if (found)
        break;
    }
  return out;
}

Result<void> write_counter_files(std::span<const ObjectFiles> objects, const std::string &folder) {
  namespace fs = std::filesystem;
  for (const ObjectFiles &object : objects) {
    const fs::path path = fs::path(folder) / fs::path(object.data).relative_path();
    std::error_code fault;
    fs::create_directories(path.parent_path(), fault);
    if (fault)
      return fail_errno(fault.value(), "cannot create the directory", path.parent_path().string());
    TALLY_TRY(bytes, object.live->data.bytes());
    TALLY_CHECK(write_file(path.string(), bytes));
  }
  return {};
}

Result<std::vector<ObjectFiles>> objects_of_process(pid_t pid, Diagnostics &diagnostics) {
  TALLY_TRY(program, LiveProgram::open(pid));
  TALLY_CHECK(program.refresh(diagnostics));
  if (program.layout().objects.empty())
    return fail(ErrorCode::no_data,
                fmt::format("nothing in process {} was compiled with --coverage", pid));
  const auto snapshot = program.snapshot();
  if (!snapshot)
    return fail(ErrorCode::io, fmt::format("the counters of process {} cannot be read", pid));
  NotesCache cache;
  return program.objects({*snapshot, {}}, cache);
}

} // namespace tally::live
