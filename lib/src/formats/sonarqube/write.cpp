#include <algorithm>

#include "formats/sonarqube/sonarqube.h"
#include "support/path.h"
#include "support/xml.h"

namespace tally::sonarqube {

Result<Written> write(const Coverage &coverage, const WriteOptions &options) {
  XmlDocument xml;
  pugi::xml_node root = xml.root("coverage");
  xml.put(root, "version", 1);
  bool line_0 = false;
  for (const FileCoverage &file : coverage.files) {
    pugi::xml_node node = root.append_child("file");
    xml.put(node, "path", relative_path(file.path, options.root));
    for (const LineCoverage &line : file.lines) {
      if (line.line == 0) { // SonarQube would refuse the whole report
        line_0 = true;
        continue;
      }
      pugi::xml_node to = node.append_child("lineToCover");
      xml.put(to, "lineNumber", line.line);
      xml.put(to, "covered", line.count != 0 ? "true" : "false");
      const auto branches = file.branches_of(line);
      if (branches.empty())
        continue;
      xml.put(to, "branchesToCover", branches.size());
      xml.put(to, "coveredBranches", std::ranges::count_if(branches, [](const BranchCoverage &b) {
                return b.count != 0;
              }));
    }
  }
  Written out{xml.bytes(), {"how often lines ran (whether they ran is written)"}};
  const CoverageTotals totals = totals_of(coverage);
  if (totals.functions > 0)
    out.lost.push_back("functions");
  if (totals.branches > 0)
    out.lost.push_back("the counts of branches (the number of branches taken is written)");
  if (totals.outcomes > 0)
    out.lost.push_back("the terms of conditions");
  if (totals.mcdc > 0)
    out.lost.push_back("MC/DC");
  if (!coverage.tests.empty())
    out.lost.push_back("the coverage of each test");
  if (line_0)
    out.lost.push_back("lines with the number 0");
  if (xml.changed())
    out.lost.emplace_back(xml_text_changed);
  return out;
}

} // namespace tally::sonarqube
