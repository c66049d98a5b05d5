#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include <tally/version.h>

#include "formats/cobertura/cobertura.h"
#include "model/coverage_findings.h"
#include "support/demangle.h"
#include "support/path.h"
#include "support/xml.h"
#include "transform/function_of_line.h"

namespace tally::cobertura {

namespace {

// Returns the share with four decimal places. It is rounded down, so that 1.0000 means complete
// coverage. If there is nothing to cover, it is 1, as in Cobertura.
std::string rate(uint64_t part, uint64_t whole) {
  const uint64_t of_10000 = whole == 0 ? 10'000 : part * 10'000 / whole;
  return fmt::format("{}.{:04}", of_10000 / 10'000, of_10000 % 10'000);
}

// A demangled function name, split before its parameters.
struct Signature {
  std::string name, parameters;
};

Signature signature_of(std::string name) {
  const size_t end = name.rfind(')');
  // Only a suffix that begins with a blank may follow: " const", " &", " [clone .cold]".
  if (end == name.npos || (end + 1 < name.size() && name[end + 1] != ' '))
    return {std::move(name), ""};
  size_t open = 0;
  for (size_t at = end + 1; at-- > 0;) {
    if (name[at] == ')')
      ++open;
    else if (name[at] == '(' && --open == 0)
      return {name.substr(0, at), name.substr(at)};
  }
  return {std::move(name), ""};
}

// The content of a `condition` element: the share of something in a line that was covered.
struct Share {
  std::string_view type;
  uint64_t part, whole;

  std::string percent() const { return fmt::format("{}%", part * 100 / whole); }
};

class Writer {
public:
  explicit Writer(const WriteOptions &options)
      : options_(options),
        xml_("coverage SYSTEM \"http://cobertura.sourceforge.net/xml/coverage-04.dtd\"") {}

  Written write(const Coverage &coverage) {
    pugi::xml_node root = xml_.root("coverage");
    const CoverageTotals totals = totals_of(coverage);
    put_rates(root, totals);
    xml_.put(root, "lines-covered", totals.lines_executed);
    xml_.put(root, "lines-valid", totals.lines);
    xml_.put(root, "branches-covered", totals.branches_taken);
    xml_.put(root, "branches-valid", totals.branches);
    xml_.put(root, "complexity", 0);
    xml_.put(root, "version", "Tally " TALLY_VERSION);
    xml_.put(root, "timestamp", fmt::format("{}{}", options_.time, options_.time ? "000" : ""));
    xml_.put_text(root.append_child("sources").append_child("source"),
                  options_.root.empty() ? "." : options_.root);

    std::map<std::string_view, std::vector<const FileCoverage *>> folders;
    for (const FileCoverage &file : coverage.files)
      folders[folder_of(file)].push_back(&file);
    pugi::xml_node packages = root.append_child("packages");
    for (const auto &[folder, files] : folders)
      add_package(packages, folder, files);

    Written out{xml_.bytes(), {"the ends of functions"}};
    if (totals.branches > 0)
      out.lost.push_back("the counts of branches (the number of branches taken is written)");
    if (totals.outcomes > 0)
      out.lost.push_back("the terms of conditions (the share that was covered is written)");
    if (totals.mcdc > 0)
      out.lost.push_back("the terms of MC/DC (the share that was covered is written)");
    if (!coverage.tests.empty())
      out.lost.push_back("the coverage of each test");
    if (demangled_)
      out.lost.push_back("mangled names (the demangled names are written)");
    if (negative_)
      out.lost.emplace_back(negative_counts_lost);
    if (xml_.changed())
      out.lost.emplace_back(xml_text_changed);
    return out;
  }

private:
  std::string_view path_of(const FileCoverage &file) const {
    return relative_path(file.path, options_.root);
  }
  std::string_view folder_of(const FileCoverage &file) const {
    const std::string_view path = path_of(file);
    const size_t slash = path.rfind('/');
    return slash == path.npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  }

  void put_rates(pugi::xml_node to, const CoverageTotals &totals) {
    xml_.put(to, "line-rate", rate(totals.lines_executed, totals.lines));
    xml_.put(to, "branch-rate", rate(totals.branches_taken, totals.branches));
  }

  void add_package(pugi::xml_node to, std::string_view folder,
                   std::span<const FileCoverage *const> files) {
    pugi::xml_node package = to.append_child("package");
    xml_.put(package, "name", folder);
    CoverageTotals totals;
    for (const FileCoverage *file : files)
      totals += totals_of(*file);
    put_rates(package, totals);
    xml_.put(package, "complexity", 0);
    pugi::xml_node classes = package.append_child("classes");
    for (const FileCoverage *file : files)
      add_class(classes, *file);
  }

  void add_class(pugi::xml_node to, const FileCoverage &file) {
    pugi::xml_node node = to.append_child("class");
    xml_.put(node, "name", base_name(file.path));
    xml_.put(node, "filename", path_of(file));
    put_rates(node, totals_of(file));
    xml_.put(node, "complexity", 0);
    add_methods(node.append_child("methods"), file);
    pugi::xml_node lines = node.append_child("lines");
    for (const LineCoverage &line : file.lines)
      add_line(lines, file, line);
  }

  // Writes the methods of a file. The first line of a method is the line in which it begins. Its
  // count is the number of calls of the method, which differs between instances. The other lines
  // follow, except those of nested functions.
  void add_methods(pugi::xml_node to, const FileCoverage &file) {
    std::vector<std::vector<const LineCoverage *>> lines_of(file.functions.size());
    FunctionOfLine function_of(file);
    for (const LineCoverage &line : file.lines)
      if (const FunctionCoverage *function = function_of(line.line))
        lines_of[static_cast<size_t>(function - file.functions.data())].push_back(&line);
    for (size_t i = 0; i < file.functions.size(); ++i)
      add_method(to, file, file.functions[i], lines_of[i]);
  }

  void add_method(pugi::xml_node to, const FileCoverage &file, const FunctionCoverage &function,
                  std::span<const LineCoverage *const> lines) {
    LineCoverage first;
    if (!lines.empty() && lines.front()->line == function.start_line) {
      first = *lines.front();
      lines = lines.subspan(1);
    }
    first.line = function.start_line;
    first.count = function.count;
    CoverageTotals totals;
    const auto count = [&](const LineCoverage &line) {
      const auto branches = file.branches_of(line);
      ++totals.lines;
      totals.lines_executed += line.count != 0;
      totals.branches += branches.size();
      totals.branches_taken += taken(branches);
    };
    count(first);
    for (const LineCoverage *line : lines)
      count(*line);

    pugi::xml_node method = to.append_child("method");
    const std::string for_people = demangled(function.name);
    const bool changed = for_people != function.name;
    const Signature signature = changed ? signature_of(for_people) : Signature{for_people, ""};
    demangled_ |= changed;
    xml_.put(method, "name", signature.name);
    xml_.put(method, "signature", signature.parameters);
    put_rates(method, totals);
    xml_.put(method, "complexity", 0);
    pugi::xml_node node = method.append_child("lines");
    add_line(node, file, first);
    for (const LineCoverage *line : lines)
      add_line(node, file, *line);
  }

  static uint64_t taken(std::span<const BranchCoverage> branches) {
    return static_cast<uint64_t>(std::ranges::count_if(
        branches, [](const BranchCoverage &branch) { return branch.count != 0; }));
  }

  void add_line(pugi::xml_node to, const FileCoverage &file, const LineCoverage &row) {
    pugi::xml_node line = to.append_child("line");
    xml_.put(line, "number", row.line);
    xml_.put(line, "hits", times_run(row.count));
    negative_ |= row.count < 0;
    const auto branches = file.branches_of(row);
    xml_.put(line, "branch", branches.empty() ? "false" : "true");
    std::vector<Share> shares;
    if (!branches.empty()) {
      shares.push_back({"jump", taken(branches), branches.size()});
      xml_.put(line, "condition-coverage",
               fmt::format("{} ({}/{})", shares[0].percent(), shares[0].part, shares[0].whole));
    }
    for (const ConditionCoverage &each : file.conditions_of(row))
      shares.push_back({"mcdc", each.covered(), each.outcomes()});
    for (const McdcCoverage &each : file.decisions_of(row))
      shares.push_back({"mcdc", each.conditions_covered(), each.conditions()});
    std::erase_if(shares, [](const Share &each) { return each.whole == 0; });
    if (shares.empty())
      return;
    pugi::xml_node conditions = line.append_child("conditions");
    for (size_t i = 0; i < shares.size(); ++i) {
      pugi::xml_node condition = conditions.append_child("condition");
      xml_.put(condition, "number", i);
      xml_.put(condition, "type", shares[i].type);
      xml_.put(condition, "coverage", shares[i].percent());
    }
  }

  const WriteOptions &options_;
  XmlDocument xml_;
  bool demangled_ = false, negative_ = false;
};

} // namespace

Result<Written> write(const Coverage &coverage, const WriteOptions &options) {
  return Writer(options).write(coverage);
}

} // namespace tally::cobertura
