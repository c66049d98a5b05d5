// Tells which rows of two tables are about the same function, line, object, …
#pragma once

#include <map>
#include <set>
#include <string>

#include "report/report.h"
#include "transform/difference.h"

namespace tally {

// Functions match without the line of their declaration, because an edit moves it. If one table has
// no files, or no objects (because the format of its profile does not hold them), rows match
// without these. Rows that are objects are never matched without them. Rows may have moved().
class RowMatch {
public:
  RowMatch(const FlatTable &before, const FlatTable &after)
      : by_line_(after.by == By::line), with_file_(both_have(before, after, &FlatRow::file)),
        with_object_(after.by == By::object || both_have(before, after, &FlatRow::object)),
        moved_(moved(identities_in(before), identities_in(after))) {}

  // Returns the same for all rows that match.
  Identity key(const FlatRow &row) const {
    Identity out = identity_of(row);
    const auto now = moved_.find(out);
    return now == moved_.end() ? out : now->second;
  }

private:
  static bool both_have(const FlatTable &before, const FlatTable &after,
                        std::string FlatRow::*what) {
    return both_know(before.rows, after.rows,
                     [&](const FlatRow &row) { return !(row.*what).empty(); });
  }
  Identity identity_of(const FlatRow &row) const {
    return {row.name, with_file_ ? row.file : "", with_object_ ? row.object : "",
            by_line_ ? row.line : 0};
  }
  std::set<Identity> identities_in(const FlatTable &table) const {
    std::set<Identity> out;
    for (const FlatRow &row : table.rows)
      out.insert(identity_of(row));
    return out;
  }

  bool by_line_, with_file_, with_object_;
  std::map<Identity, Identity> moved_; // of BEFORE to AFTER
};

} // namespace tally
