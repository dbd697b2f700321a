#include "render/export/sqlite_schema.h"

#include "query/things/thing_kinds.h"

#include <fmt/format.h>

namespace beamdump::render {

namespace {

std::string table(const query::ThingKind& kind) {
    const bool is_dump = &kind == &query::dump_kind();
    std::string sql = fmt::format("CREATE TABLE IF NOT EXISTS {} ({}", kind.table,
                                  is_dump ? "id INTEGER PRIMARY KEY, node TEXT, captured_us INTEGER"
                                          : "dump INTEGER NOT NULL REFERENCES dumps (id)");
    for (const auto& column : kind.columns) {
        sql += ", " + sqlite_column(column);
    }
    return sql + ");\n";
}

constexpr std::string_view kIndexes = R"(
CREATE INDEX processes_by_pid ON processes (dump, pid);
CREATE INDEX frames_by_pid ON frames (dump, pid);
)";

constexpr std::string_view kViews = R"(
CREATE VIEW named_processes AS
  SELECT d.node, d.captured_us, p.*,
         coalesce(p.display_name, p.registered_name, p.translated_initial_call, p.initial_call) AS name
  FROM processes p JOIN dumps d ON d.id = p.dump;
CREATE VIEW mailboxes AS
  SELECT p.dump, p.node, p.captured_us, p.pid, p.name, p.message_queue_len, s.shape, s.count
  FROM named_processes p LEFT JOIN message_shapes s ON s.dump = p.dump AND s.pid = p.pid
  WHERE p.message_queue_len > 0;
CREATE VIEW stacks AS
  SELECT dump, pid, group_concat(function, ' < ') AS functions
  FROM (SELECT dump, pid, coalesce(function, '?') AS function FROM frames
        ORDER BY dump, pid, frame)
  GROUP BY dump, pid;
CREATE VIEW waiting AS
  SELECT w.dump, p.node, p.captured_us, w.pid, p.name, w.waits_for, t.name AS waits_for_name,
         t.current_function AS waits_for_function
  FROM waits w JOIN named_processes p ON p.dump = w.dump AND p.pid = w.pid
  LEFT JOIN named_processes t ON t.dump = w.dump AND t.pid = w.waits_for;
CREATE VIEW group_growth AS
  SELECT d.node, d.captured_us, g.group_by, g.name, g.count, g.memory, g.message_queue_len,
         g.count - lag(g.count) OVER earlier AS more_processes,
         g.memory - lag(g.memory) OVER earlier AS more_memory
  FROM groups g JOIN dumps d ON d.id = g.dump
  WINDOW earlier AS (PARTITION BY d.node, g.group_by, g.name ORDER BY d.captured_us);
CREATE VIEW ets_growth AS
  SELECT d.node, d.captured_us, e.name, e.size, e.memory_bytes,
         e.size - lag(e.size) OVER earlier AS more_rows,
         e.memory_bytes - lag(e.memory_bytes) OVER earlier AS more_memory
  FROM ets_tables e JOIN dumps d ON d.id = e.dump
  WHERE e.named_table
  WINDOW earlier AS (PARTITION BY d.node, e.name ORDER BY d.captured_us);
)";

}  // namespace

std::string sqlite_column(const query::Column& column) {
    return fmt::format("\"{}\" {}", column.name, query::is_text(column.kind) ? "TEXT" : "INTEGER");
}

std::string sqlite_tables() {
    std::string sql;
    for (const query::ThingKind* kind : query::thing_kinds()) {
        sql += table(*kind);
    }
    return sql;
}

std::string sqlite_indexes() {
    return std::string(kIndexes);
}

std::string sqlite_schema() {
    auto sql = sqlite_tables();
    sql += kViews;
    sql += fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kSqliteApplication,
                       kSqliteVersion);
    return sql;
}

}  // namespace beamdump::render
