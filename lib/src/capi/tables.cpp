// Errors and tables of the C interface, and the tables of commands and settings.
#include "capi/handles.h"
#include "session/command_help.h"
#include "session/profile_table.h"
#include "session/session.h"

namespace tally::capi {

tally_error out_of_memory{{ErrorCode::limit, "out of memory"}, "out of memory"};

tally_error *to_c(Error error) noexcept {
  try {
    std::string text = error.text();
    return new tally_error{std::move(error), std::move(text)};
  } catch (...) {
    return &out_of_memory;
  }
}

tally_error *defect(const char *what) noexcept {
  try {
    return to_c({ErrorCode::internal, what});
  } catch (...) {
    return &out_of_memory;
  }
}

namespace {

uint64_t offset_of(const Position &where) {
  return where.kind == Position::Kind::offset ? where.offset : UINT64_MAX;
}

} // namespace

TablePtr table_of(const FlatTable &flat) {
  std::vector<std::string> names, files, objects;
  std::vector<uint64_t> lines, ids, self, inclusive;
  for (const FlatRow &row : flat.rows) {
    names.push_back(row.name);
    files.push_back(row.file);
    objects.push_back(row.object);
    lines.push_back(row.line);
    ids.push_back(row.id);
    self.push_back(row.self.front());
    inclusive.push_back(row.inclusive.front());
  }
  auto out = std::make_unique<tally_table>();
  out->add("name", std::move(names));
  out->add("file", std::move(files));
  out->add("object", std::move(objects));
  out->add("line", std::move(lines));
  out->add("id", std::move(ids));
  out->add("self", std::move(self));
  out->add("inclusive", std::move(inclusive));
  return out;
}

TablePtr table_of(const Diagnostics &diagnostics) {
  std::vector<std::string> severities, messages, sources, texts;
  std::vector<uint64_t> lines, columns, offsets, counts;
  for (const Finding &finding : diagnostics.findings()) {
    severities.emplace_back(severity_name(finding.severity));
    messages.push_back(finding.message);
    sources.push_back(finding.source);
    lines.push_back(finding.where.line);
    columns.push_back(finding.where.column);
    offsets.push_back(offset_of(finding.where));
    counts.push_back(finding.count);
    texts.push_back(finding.text());
  }
  auto out = std::make_unique<tally_table>();
  out->add("severity", std::move(severities));
  out->add("message", std::move(messages));
  out->add("source", std::move(sources));
  out->add("line", std::move(lines));
  out->add("column", std::move(columns));
  out->add("offset", std::move(offsets));
  out->add("count", std::move(counts));
  out->add("text", std::move(texts));
  return out;
}

Result<GroupId> group_of(const char *name) {
  const std::string_view text = view_of(name);
  for (const GroupId id : {GroupId::profile, GroupId::coverage})
    if (table_of(id).name == text)
      return id;
  return fail(ErrorCode::invalid_argument, "is not a group of commands", std::string(text));
}

} // namespace tally::capi

using namespace tally;
using namespace tally::capi;

void tally_table::add(std::string name, std::vector<std::string> texts) {
  TableColumn &column = columns.emplace_back();
  column.name = std::move(name);
  column.texts.owned = std::move(texts);
  for (const std::string &text : column.texts.owned)
    column.texts.pointers.push_back(text.c_str());
  rows = column.texts.owned.size();
}

void tally_table::add(std::string name, std::vector<uint64_t> counts) {
  TableColumn &column = columns.emplace_back();
  column.name = std::move(name);
  column.kind = TALLY_COLUMN_COUNT;
  rows = counts.size();
  column.counts = std::move(counts);
}

extern "C" {

const char *tally_version(void) { return TALLY_VERSION; }
uint32_t tally_abi(void) { return TALLY_ABI; }

void tally_error_free(tally_error *error) {
  if (error != &out_of_memory)
    delete error;
}
int tally_error_get_code(const tally_error *error) { return static_cast<int>(error->error.code); }
const char *tally_error_text(const tally_error *error) { return error->text.c_str(); }
const char *tally_error_message(const tally_error *error) { return error->error.message.c_str(); }
const char *tally_error_source(const tally_error *error) { return error->error.source.c_str(); }
uint64_t tally_error_line(const tally_error *error) { return error->error.where.line; }
uint64_t tally_error_column(const tally_error *error) { return error->error.where.column; }
uint64_t tally_error_offset(const tally_error *error) { return offset_of(error->error.where); }

void tally_table_free(tally_table *table) { delete table; }
size_t tally_table_rows(const tally_table *table) { return table->rows; }
size_t tally_table_columns(const tally_table *table) { return table->columns.size(); }
const char *tally_table_column_name(const tally_table *table, size_t column) {
  return column < table->columns.size() ? table->columns[column].name.c_str() : "";
}
int tally_table_column_kind(const tally_table *table, size_t column) {
  return column < table->columns.size() ? table->columns[column].kind : TALLY_COLUMN_TEXT;
}
const char *const *tally_table_texts(const tally_table *table, size_t column) {
  if (column >= table->columns.size() || table->columns[column].kind != TALLY_COLUMN_TEXT)
    return nullptr;
  return table->columns[column].texts.pointers.data();
}
const uint64_t *tally_table_counts(const tally_table *table, size_t column) {
  if (column >= table->columns.size() || table->columns[column].kind != TALLY_COLUMN_COUNT)
    return nullptr;
  return table->columns[column].counts.data();
}

tally_error *tally_commands(const char *group, tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(id, group_of(group));
        const CommandTable &commands = table_of(id);
        std::vector<std::string> names, summaries, usages, helps;
        for (const CommandSpec &command : commands.commands) {
          names.emplace_back(command.name);
          summaries.emplace_back(command.summary);
          usages.push_back(command_usage(commands, command));
          helps.push_back(command_help(commands, command));
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("summary", std::move(summaries));
        out->add("usage", std::move(usages));
        out->add("help", std::move(helps));
        return out;
      },
      into(table));
}

tally_error *tally_settings(const char *group, tally_table **table) {
  return guarded(
      [&]() -> TableResult {
        TALLY_TRY(id, group_of(group));
        std::vector<std::string> names, values, fallbacks, summaries;
        for (const OptionSpec &setting : table_of(id).settings) {
          names.emplace_back(setting.name);
          values.emplace_back(setting.word());
          fallbacks.emplace_back(setting.fallback);
          summaries.push_back(one_line(setting.summary));
        }
        auto out = std::make_unique<tally_table>();
        out->add("name", std::move(names));
        out->add("values", std::move(values));
        out->add("fallback", std::move(fallbacks));
        out->add("summary", std::move(summaries));
        return out;
      },
      into(table));
}

const char *tally_help(const char *group) {
  try {
    static const std::string of_profile = help_of(GroupId::profile),
                             of_coverage = help_of(GroupId::coverage);
    const auto id = group_of(group);
    return !id ? "" : *id == GroupId::coverage ? of_coverage.c_str() : of_profile.c_str();
  } catch (...) {
    return "";
  }
}

} // extern "C"
