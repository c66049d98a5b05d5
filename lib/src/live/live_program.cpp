#include "live/live_program.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include <sys/stat.h>

#include <fmt/format.h>

#include "formats/gcov/stream.h"
#include "support/demangle.h"
#include "support/file_io.h"
#include "support/path.h"
#include "support/text.h"

namespace tally::live {

std::shared_ptr<const GcovNotes> NotesCache::notes_of(const std::string &path) {
  struct stat info {};
  const std::string normal = std::filesystem::path(path).lexically_normal().string();
  if ((pid_ > 0 ? file_systems_.may_not_answer(pid_, 0, normal)
                : file_systems_.may_not_answer_here(normal)) ||
      ::stat(path.c_str(), &info) != 0)
    return nullptr;
  const int64_t mtime_ns =
      static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  Entry &entry = entries_[path];
  if (entry.notes && entry.mtime_ns == mtime_ns)
    return entry.notes;
  entry = {mtime_ns, nullptr};
  auto source = ByteSource::open_found(path);
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

Result<void> LiveProgram::refresh(NotesCache &cache) {
  TALLY_TRY(state, source_->state_of_modules());
  state += "notes " + cache.place();
  if (state == state_)
    return {};
  state_.reset(); // until all is read
  Diagnostics findings;
  std::vector<LoadedModule> before = std::exchange(modules_, source_->modules(findings));
  const CounterLayout old_layout = std::exchange(layout_, {});
  ++generation_;
  for (LoadedModule &module : modules_) {
    const auto old = std::ranges::find_if(before, [&](const LoadedModule &each) {
      return each.loaded_path() == module.loaded_path() && each.bias == module.bias;
    });
    module.since = old == before.end() ? generation_ : old->since;
  }
  for (const CountedModuleObject &object : old_layout.objects)
    if (!is_loaded(before[object.module].identity()))
      unloaded_.insert(before[object.module].key.path);
  open_functions_.reset();
  source_based_.reset();
  if (!modules_.empty())
    layout_.words = modules_.front().places.words;  // of the program, and so of all modules
  const size_t unread = findings.findings().size(); // files
  for (uint32_t i = 0; i < modules_.size(); ++i)
    add_module(layout_, modules_[i], i, source_->memory(), findings);
  cache.set_process(modules_.empty() ? 0 : modules_.front().key.pid);
  const auto notes_of = [&](const std::string &data_path) {
    return cache.notes_of(cache.place_of(files_of_object(data_path).notes));
  };
  for (uint32_t i = 0; i < modules_.size(); ++i)
    if (!modules_[i].places.clang_units.empty())
      add_clang_objects(layout_, modules_[i], i, source_->memory(), notes_of, findings);
  for (uint32_t i = 0; i < modules_.size(); ++i)
    add_source_based(layout_, modules_[i], i, source_->memory(), findings);
  TALLY_CHECK(source_->failure()); // what was read is not complete
  // The variables of a module perhaps have no values yet. The next call then looks again.
  std::vector<bool> described(modules_.size());
  for (const CountedModuleObject &object : layout_.objects)
    described[object.module] = true;
  bool complete = findings.findings().size() == unread;
  for (size_t i = 0; i < modules_.size(); ++i)
    complete &= described[i] || !modules_[i].places.has_counters();
  if (complete)
    state_ = std::move(state);
  findings_ = std::move(findings);
  return {};
}

bool LiveProgram::is_loaded(const ModuleIdentity &identity) const {
  return std::ranges::find(modules_, identity, &LoadedModule::identity) != modules_.end();
}

std::vector<ModuleIdentity> LiveProgram::loaded() const {
  std::vector<ModuleIdentity> out;
  std::ranges::transform(modules_, std::back_inserter(out), &LoadedModule::identity);
  return out;
}

CounterSnapshot LiveProgram::carried(const CounterSnapshot &snapshot,
                                     std::span<const ModuleIdentity> loaded_then) const {
  return snapshot.carried_to(layout_, [&](uint32_t module) {
    return std::ranges::find(loaded_then, modules_[module].identity()) != loaded_then.end();
  });
}

Notes LiveProgram::notes_of_objects(NotesCache &cache) const {
  Notes notes;
  for (const CountedModuleObject &object : layout_.objects)
    notes.push_back(cache.notes_of(cache.place_of(files_of_object(object.data_path).notes)));
  return notes;
}

OpenFunctions &LiveProgram::open_functions(const Notes &notes) {
  if (!open_functions_ || open_functions_->notes() != notes)
    open_functions_ = std::make_unique<OpenFunctions>(layout_, modules_, notes);
  return *open_functions_;
}

std::vector<ObjectFiles> LiveProgram::wanted_objects(const Reading &reading, const Notes &notes,
                                                     Frames frames, const Wanted &wanted,
                                                     NotesCache &cache) {
  std::vector<ObjectFiles> out;
  CounterFiles files(layout_, reading.snapshot, source_->memory(), wanted.has_summary);
  for (size_t i = 0; i < notes.size(); ++i) {
    if (!wanted.objects[i])
      continue;
    out.push_back(files_of_object(layout_.objects[i].data_path));
    out.back().notes = cache.place_of(out.back().notes);
    out.back().live = std::make_shared<LiveCounters>(
        LiveCounters{notes[i], files.data_of(layout_.objects[i]), std::move(frames[i]),
                     wanted.functions.empty() ? std::vector<bool>() : wanted.functions[i],
                     modules_[layout_.objects[i].module].key.path});
  }
  return out;
}

std::vector<ObjectFiles> LiveProgram::objects(const Reading &reading, NotesCache &cache) {
  const Notes notes = notes_of_objects(cache);
  return wanted_objects(reading, notes,
                        open_functions(notes).frames(reading.threads, source_->memory()),
                        {std::vector<bool>(notes.size(), true), {}}, cache);
}

GivenSourceBased LiveProgram::source_based(const Reading &now, const Reading *before) {
  if (layout_.source_based.empty())
    return {};
  if (!source_based_)
    source_based_ = std::make_unique<SourceBasedProgram>(layout_, modules_, findings_);
  std::optional<SourceBasedProgram::Moment> old;
  if (before)
    old.emplace(SourceBasedProgram::Moment{before->snapshot, before->threads});
  return source_based_->counters({now.snapshot, now.threads}, old ? &*old : nullptr,
                                 source_->memory());
}

bool LiveProgram::was_reset(const Reading &now, const Reading &before, NotesCache &cache) {
  if (source_based_reset(layout_, now.snapshot, before.snapshot))
    return true;
  if (!live::was_reset(layout_, now.snapshot, before.snapshot, {}))
    return false; // the usual case, without a look at the stacks
  const Notes notes = notes_of_objects(cache);
  const Frames frames = open_functions(notes).frames(before.threads, source_->memory());
  std::vector<bool> unsure(layout_.functions.size());
  for (size_t i = 0; i < notes.size(); ++i)
    for (const OpenFrame &frame : frames[i]) {
      if (!frame.in_registers)
        continue;
      const GraphFunction &open = notes[i]->graph.functions[frame.function];
      const CountedModuleObject &object = layout_.objects[i];
      for (uint32_t k = object.first_function; k < object.last_function; ++k)
        if (layout_.functions[k].key.ident == open.ident &&
            layout_.functions[k].key.cfg_checksum == open.cfg_checksum)
          unsure[k] = true;
    }
  return live::was_reset(layout_, now.snapshot, before.snapshot, unsure);
}

std::vector<bool> LiveProgram::wanted_functions(const CountedModuleObject &object,
                                                const GcovNotes &notes,
                                                const std::vector<bool> &changed,
                                                std::span<const OpenFrame> now,
                                                std::span<const OpenFrame> before) const {
  std::set<std::pair<uint32_t, uint32_t>> keys;
  for (uint32_t i = object.first_function; i < object.last_function; ++i)
    if (changed[i])
      keys.emplace(layout_.functions[i].key.ident, layout_.functions[i].key.cfg_checksum);
  const std::span<const GraphFunction> functions = notes.graph.functions;
  std::vector<bool> out;
  for (const GraphFunction &function : functions)
    out.push_back(keys.contains({function.ident, function.cfg_checksum}));
  for (const std::span<const OpenFrame> frames : {now, before})
    for (const OpenFrame &frame : frames)
      out[static_cast<size_t>(frame.function)] = true;
  return out;
}

std::pair<std::vector<ObjectFiles>, std::vector<ObjectFiles>>
LiveProgram::changed_objects(const Reading &now, const Reading &before, bool only_changed,
                             NotesCache &cache) {
  const Notes notes = notes_of_objects(cache);
  OpenFunctions &functions = open_functions(notes);
  Frames frames = functions.frames(now.threads, source_->memory()),
         old = functions.frames(before.threads, source_->memory());
  const std::vector<bool> changed = changed_functions(layout_, now.snapshot, before.snapshot);
  Wanted wanted;
  wanted.has_summary = false;
  for (size_t i = 0; i < notes.size(); ++i) {
    const CountedModuleObject &object = layout_.objects[i];
    wanted.objects.push_back(!frames[i].empty() || !old[i].empty() ||
                             std::find(changed.begin() + object.first_function,
                                       changed.begin() + object.last_function,
                                       true) != changed.begin() + object.last_function);
    if (only_changed)
      wanted.functions.push_back(
          notes[i] && wanted.objects[i]
              ? wanted_functions(object, *notes[i], changed, frames[i], old[i])
              : std::vector<bool>());
  }
  return {wanted_objects(now, notes, std::move(frames), wanted, cache),
          wanted_objects(before, notes, std::move(old), wanted, cache)};
}

Result<void> write_counter_files(std::span<const ObjectFiles> objects, const std::string &folder) {
  // Several modules may contain the same object. Each adds to its file when the program exits.
  GcovStream files;
  for (const ObjectFiles &object : objects)
    if (auto added = files.add(object.data, object.live->data); !added)
      return fail(added.error().code,
                  fmt::format("two modules write this file, and their counters cannot be added up: "
                              "{}",
                              added.error().message),
                  added.error().source);
  return files.write_below(folder);
}

namespace {

std::string function_and_line(const ObjectFiles &object, const OpenFrame &frame) {
  const CoverageGraph &graph = object.live->notes->graph;
  return fmt::format("{} ({}:{})", demangled(graph.strings[graph.functions[frame.function].name]),
                     base_name(frame.file), frame.line);
}

} // namespace

std::string why_uncertain(const Coverage &coverage, std::span<const ObjectFiles> objects,
                          std::span<const SourceBasedFrame> frames) {
  size_t lines = 0;
  for (const FileCoverage &file : coverage.files)
    lines += static_cast<size_t>(std::ranges::count_if(
        file.lines, [](const LineCoverage &line) { return line.uncertain != 0; }));
  const std::string what = lines == 1 ? "1 line is" : fmt::format("{} lines are", lines);
  std::vector<std::string> places;
  for (const SourceBasedFrame &frame : frames)
    if (std::string text =
            fmt::format("{} ({}:{})", demangled(frame.function), base_name(frame.file), frame.line);
        std::ranges::find(places, text) == places.end())
      places.push_back(std::move(text));
  for (const ObjectFiles &object : objects)
    for (const OpenFrame &frame : object.live->frames) {
      if (lines > 0 && frame.file.empty()) // as OpenFunctions::frames() describes
        return what + " uncertain, because no symbols show which function a thread is in";
      if (frame.perhaps)
        continue;
      if (std::string text = function_and_line(object, frame);
          std::ranges::find(places, text) == places.end())
        places.push_back(std::move(text));
    }
  if (lines == 0 || places.empty())
    return {};
  constexpr size_t most = 3;
  const size_t all = places.size();
  places.resize(std::min(all, most));
  return fmt::format("{} uncertain, because a thread is in {}{}", what, joined_text(places, ", "),
                     all > most ? fmt::format(" and {} more", all - most) : "");
}

namespace {

// Returns whether some variable of a module can be read.
bool holds_data(const LoadedModule &module, Memory &memory) {
  std::vector<uint64_t> variables = module.places.roots;
  for (const AddressRange &range : module.places.data)
    variables.push_back(range.low);
  for (const ClangUnit &unit : module.places.clang_units)
    variables.push_back(unit.counters.begin()->second.low);
  std::byte first;
  return std::ranges::any_of(variables, [&](uint64_t address) {
    return memory.read(address + module.bias, std::span(&first, 1));
  });
}

} // namespace

Error no_objects(LiveProgram &program, std::string_view what, bool is_core) {
  const std::span<const Finding> findings = program.findings().findings();
  Error out;
  out.code = ErrorCode::no_data;
  out.message = findings.empty()
                    ? fmt::format("nothing in {} was compiled with --coverage, or with "
                                  "-fprofile-instr-generate -fcoverage-mapping",
                                  what)
                    : findings[0].text();
  for (const LoadedModule &module : program.modules()) {
    const std::string_view name = base_name(module.key.path);
    if (is_core && module.places.has_counters() && !holds_data(module, program.source().memory())) {
      out.message =
          fmt::format("the core file holds no data of {} (bit 0 of its coredump_filter)", name);
    } else if (findings.empty() && module.places.has_counters()) {
      out.code = ErrorCode::bad_state;
      out.message =
          fmt::format("the variables of {} have no values yet: let its startup code run", name);
    } else {
      continue;
    }
    break;
  }
  return out;
}

namespace {

Result<ProgramCounters> counters_of(std::unique_ptr<ProgramSource> source, bool is_core,
                                    std::span<const StoppedThread> threads, const std::string &what,
                                    Diagnostics &diagnostics) {
  LiveProgram program(std::move(source));
  NotesCache cache;
  TALLY_CHECK(program.refresh(cache));
  if (!program.layout().has_counters()) {
    diagnostics.append(program.findings());
    return fail(no_objects(program, what, is_core));
  }
  const auto snapshot = program.snapshot();
  if (!snapshot)
    return fail(ErrorCode::io, fmt::format("the counters of {} cannot be read", what));
  const Reading reading{*snapshot, threads};
  ProgramCounters out{program.objects(reading, cache), program.source_based(reading, nullptr), {}};
  out.frames.assign(program.source_based_frames().begin(), program.source_based_frames().end());
  diagnostics.append(program.findings());
  if (out.objects.empty() && out.source_based.empty())
    return fail(no_objects(program, what, is_core));
  return out;
}

} // namespace

Result<ProgramCounters> counters_of_process(pid_t pid, Diagnostics &diagnostics) {
  TALLY_TRY(source, process_source(pid));
  return counters_of(std::move(source), false, {}, fmt::format("process {}", pid), diagnostics);
}

Result<ProgramCounters> counters_of_core(const std::string &core, const std::string &program,
                                         Diagnostics &diagnostics) {
  TALLY_TRY(source, core_source(core, program));
  TALLY_TRY(threads, threads_of_core(core, program));
  return counters_of(std::move(source), true, threads, core, diagnostics);
}

} // namespace tally::live
