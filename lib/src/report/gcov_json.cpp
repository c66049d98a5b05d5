#include "report/gcov_json.h"

#include "support/demangle.h"
#include "support/json_text.h"
#include "support/text_sink.h"

namespace tally {

namespace {

// Demangles a name if gcov's demangler, libiberty, would demangle it.
std::string as_gcov_has_it(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_GLOBAL_") ? demangle(name)
                                                                : std::string(name);
}

class JsonText {
public:
  JsonText(const GcovDocument &document, std::string &out)
      : graph_(*document.graph), counts_(*document.counts), gcc3_(document.gcc3),
        branches_(document.branches), format_2_(document.format_2),
        conditions_(document.conditions), to_(out) {
    names_.resize(graph_.functions.size());
  }

  void write(const GcovDocument &document) {
    to_.put("{\"gcc_version\": ");
    to_.put(json_text(document.compiler));
    to_.put(", \"files\": [");
    bool first = true;
    for (const GcovFile &file : counts_.files) {
      separate(first);
      write_file(file);
    }
    to_.put(format_2_ ? "], \"format_version\": \"2\"" : "], \"format_version\": \"1\"");
    if (!gcc3_) {
      to_.put(", \"current_working_directory\": ");
      to_.put(json_text(graph_.strings[graph_.working_directory]));
    }
    to_.put(", \"data_file\": ");
    to_.put(json_text(document.data_file));
    to_.put("}\n");
  }

private:
  void separate(bool &first) {
    if (!first)
      to_.put(", ");
    first = false;
  }
  void field(std::string_view key, int64_t value) {
    to_.put(key);
    to_.put_signed(value);
  }
  std::string_view name_of(GraphFunctionId id) {
    std::string &name = names_[index_of(id)];
    if (name.empty())
      name = json_text(graph_.strings[graph_.functions[id].name]);
    return name;
  }

  void write_file(const GcovFile &file) {
    to_.put("{\"lines\": [");
    bool first = true;
    for (const GcovLine &line : file.lines) {
      separate(first);
      if (format_2_)
        write_line_2(line);
      else
        write_line(line);
    }
    to_.put("], \"functions\": [");
    first = true;
    for (const GcovFunction &function : file.functions) {
      separate(first);
      write_function(function);
    }
    to_.put("], \"file\": ");
    to_.put(json_text(file.name));
    to_.put('}');
  }

  void write_line(const GcovLine &line) {
    to_.put("{\"branches\": [");
    bool first = true;
    for (uint32_t i = line.first_branch; branches_ && i < line.last_branch; ++i) {
      const GcovBranch &branch = counts_.branches[i];
      separate(first);
      if (gcc3_) {
        field("{\"count\": ", branch.count);
        to_.put('}');
        continue;
      }
      to_.put(branch.fall_through ? "{\"fallthrough\": true" : "{\"fallthrough\": false");
      field(", \"count\": ", branch.count);
      to_.put(branch.throws ? ", \"throw\": true}" : ", \"throw\": false}");
    }
    field("], \"count\": ", line.count);
    field(", \"line_number\": ", line.line);
    if (!gcc3_)
      to_.put(line.unexecuted_block ? ", \"unexecuted_block\": true"
                                    : ", \"unexecuted_block\": false");
    if (line.function != none<GraphFunctionId>) {
      to_.put(", \"function_name\": ");
      to_.put(name_of(line.function));
    }
    to_.put('}');
  }

  // Writes `key` and a JSON array of column[first..last), with `put` for each element.
  template <class T>
  void list(std::string_view key, const std::vector<T> &column, uint32_t first, uint32_t last,
            auto put) {
    to_.put(key);
    to_.put('[');
    for (uint32_t i = first; i < last; ++i) {
      if (i != first)
        to_.put(", ");
      put(column[i]);
    }
    to_.put(']');
  }

  void write_line_2(const GcovLine &line) {
    const GcovDetails &details = counts_.details[line.details];
    field("{\"line_number\": ", line.line);
    if (line.function != none<GraphFunctionId>) {
      to_.put(", \"function_name\": ");
      to_.put(name_of(line.function));
    }
    field(", \"count\": ", line.count);
    to_.put(line.unexecuted_block ? ", \"unexecuted_block\": true"
                                  : ", \"unexecuted_block\": false");
    list(", \"block_ids\": ", counts_.blocks, details.first_block, details.last_block,
         [&](uint32_t block) { to_.put(uint64_t{block}); });
    list(", \"branches\": ", counts_.branches, line.first_branch,
         branches_ ? line.last_branch : line.first_branch, [&](const GcovBranch &branch) {
           field("{\"count\": ", branch.count);
           to_.put(branch.throws ? ", \"throw\": true" : ", \"throw\": false");
           to_.put(branch.fall_through ? ", \"fallthrough\": true" : ", \"fallthrough\": false");
           field(", \"source_block_id\": ", branch.source);
           field(", \"destination_block_id\": ", branch.destination);
           to_.put('}');
         });
    list(", \"calls\": ", counts_.calls, details.first_call,
         branches_ ? details.last_call : details.first_call, [&](const GcovCall &call) {
           field("{\"source_block_id\": ", call.source);
           field(", \"destination_block_id\": ", call.destination);
           field(", \"returned\": ", call.returned);
           to_.put('}');
         });
    list(", \"conditions\": ", counts_.conditions, details.first_condition,
         conditions_ ? details.last_condition : details.first_condition,
         [&](const ConditionCoverage &condition) {
           field("{\"count\": ", condition.outcomes());
           field(", \"covered\": ", condition.covered());
           terms(", \"not_covered_true\": [", condition.terms, condition.when_true);
           terms("], \"not_covered_false\": [", condition.terms, condition.when_false);
           to_.put("]}");
         });
    to_.put('}');
  }
  // Writes the numbers of the terms whose bit in `bits` is 0. There are `count` terms.
  void terms(std::string_view key, uint32_t count, uint64_t bits) {
    to_.put(key);
    bool first = true;
    for (uint32_t term = 0; term < count; ++term)
      if (!(bits >> term & 1)) {
        separate(first);
        to_.put(uint64_t{term});
      }
  }

  void write_function(const GcovFunction &row) {
    const GraphFunction &function = graph_.functions[row.id];
    if (gcc3_) {
      to_.put("{\"name\": ");
      to_.put(name_of(row.id));
      field(", \"execution_count\": ", row.execution_count);
      to_.put(", \"demangled_name\": ");
      to_.put(json_text(as_gcov_has_it(graph_.strings[function.name])));
      to_.put('}');
      return;
    }
    field("{\"blocks\": ", row.blocks);
    field(", \"end_column\": ", function.end_column);
    field(", \"start_line\": ", function.start_line);
    to_.put(", \"name\": ");
    to_.put(name_of(row.id));
    field(", \"blocks_executed\": ", row.blocks_executed);
    field(", \"execution_count\": ", row.execution_count);
    to_.put(", \"demangled_name\": ");
    to_.put(json_text(as_gcov_has_it(graph_.strings[function.name])));
    field(", \"start_column\": ", function.start_column);
    field(", \"end_line\": ", function.end_line);
    to_.put('}');
  }

  const CoverageGraph &graph_;
  const GcovCounts &counts_;
  const bool gcc3_, branches_, format_2_, conditions_;
  TextSink to_;
  std::vector<std::string> names_; // as JSON, by function
};

} // namespace

std::string to_gcov_json(const GcovDocument &document) {
  std::string out;
  JsonText(document, out).write(document);
  return out;
}

} // namespace tally
