#include <tally/gcov_json.h>

#include "support/demangled.h"
#include "support/json_text.h"
#include "support/text_sink.h"

namespace tally {

namespace {

class Json {
public:
  Json(const GcovDocument &document, std::string &out)
      : graph_(*document.graph), counts_(*document.counts), gcc3_(document.gcc3),
        branches_(document.branches), to_(out) {
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
    to_.put("], \"format_version\": \"1\"");
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

  void write_function(const GcovFunction &row) {
    const GraphFunction &function = graph_.functions[row.id];
    if (gcc3_) {
      to_.put("{\"name\": ");
      to_.put(name_of(row.id));
      field(", \"execution_count\": ", row.execution_count);
      to_.put(", \"demangled_name\": ");
      to_.put(json_text(demangled(graph_.strings[function.name])));
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
    to_.put(json_text(demangled(graph_.strings[function.name])));
    field(", \"start_column\": ", function.start_column);
    field(", \"end_line\": ", function.end_line);
    to_.put('}');
  }

  const CoverageGraph &graph_;
  const GcovCounts &counts_;
  const bool gcc3_, branches_;
  TextSink to_;
  std::vector<std::string> names_; // as JSON, by function
};

} // namespace

std::string to_gcov_json(const GcovDocument &document) {
  std::string out;
  Json(document, out).write(document);
  return out;
}

} // namespace tally
