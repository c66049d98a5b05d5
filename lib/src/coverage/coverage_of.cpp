#include <tally/coverage_of.h>

#include <algorithm>
#include <filesystem>

namespace tally {

namespace {

// The file's lines, of which those of instances stand several times, one after another.
Result<FileCoverage> of_file(const CoverageGraph &graph, const GcovCounts &counts,
                             const GcovFile &file, std::string path,
                             const CoverageOptions &options) {
  FileCoverage out;
  out.path = std::move(path);
  std::vector<const GcovLine *> rows;
  for (const GcovLine &line : file.lines)
    rows.push_back(&line);
  std::ranges::stable_sort(rows, {}, &GcovLine::line);
  for (size_t i = 0; i < rows.size();) {
    LineCoverage line;
    line.line = rows[i]->line;
    line.first_branch = line.last_branch = static_cast<uint32_t>(out.branches.size());
    bool fits = true;
    for (; i < rows.size() && rows[i]->line == line.line; ++i) {
      fits &= !__builtin_add_overflow(line.count, rows[i]->count, &line.count);
      uint32_t place = line.first_branch;
      for (uint32_t b = rows[i]->first_branch; b < rows[i]->last_branch; ++b) {
        const GcovBranch &branch = counts.branches[b];
        if (branch.throws && !options.throw_branches)
          continue;
        if (place == out.branches.size())
          out.branches.push_back({0, branch.fall_through, branch.throws});
        fits &= !__builtin_add_overflow(out.branches[place].count, branch.count,
                                        &out.branches[place].count);
        ++place;
      }
    }
    if (!fits)
      return fail(ErrorCode::overflow, "counts add up to more than 64 bits hold", out.path,
                  Position::at_line(line.line));
    line.last_branch = static_cast<uint32_t>(out.branches.size());
    out.lines.push_back(line);
  }
  for (const GcovFunction &row : file.functions) {
    const GraphFunction &function = graph.functions[row.id];
    out.functions.push_back({std::string(graph.strings[function.name]), function.start_line,
                             function.end_line, row.execution_count});
  }
  std::ranges::sort(out.functions, {},
                    [](const FunctionCoverage &f) { return std::tie(f.start_line, f.name); });
  return out;
}

} // namespace

std::string absolute_path(std::string_view path, std::string_view folder) {
  return (std::filesystem::path(folder) / std::filesystem::path(path)).lexically_normal().string();
}

Result<Coverage> coverage_of(const CoverageGraph &graph, const GcovCounts &counts,
                             const CoverageOptions &options) {
  Coverage out;
  for (const GcovFile &file : counts.files) {
    std::string path = absolute_path(file.name, graph.strings[graph.working_directory]);
    if (file.lines.empty() || (options.wanted && !options.wanted(path)))
      continue;
    TALLY_TRY(covered, of_file(graph, counts, file, std::move(path), options));
    out.files.push_back(std::move(covered));
  }
  std::ranges::sort(out.files, {}, &FileCoverage::path);
  // The same file, named in two ways.
  size_t kept = 0;
  for (size_t i = 0; i < out.files.size(); ++i) {
    if (kept > 0 && out.files[kept - 1].path == out.files[i].path) {
      TALLY_CHECK(add_coverage(out.files[kept - 1], out.files[i]));
      continue;
    }
    if (kept != i)
      out.files[kept] = std::move(out.files[i]);
    ++kept;
  }
  out.files.resize(kept);
  return out;
}

} // namespace tally
