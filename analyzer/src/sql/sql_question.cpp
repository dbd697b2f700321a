#include "sql/sql_question.h"

#include "sql/sql_bounded.h"
#include "sql/sql_row_terms.h"
#include "sql/sql_rows.h"
#include "sql/sql_terms.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <sqlite3.h>
#include <utility>

namespace beamdump::sql {

namespace {

using query::Cell;
using query::Column;
using query::ColumnKind;

/// Rows of one table of one thing in one dump, in which terms are looked into.
struct Origin {
    const Table* table = nullptr;
    std::size_t source = 0;
    std::vector<Cell> arguments;
};

/// Where terms of an origin's rows are read.
struct OpenedOrigin {
    std::size_t origin = 0;
    std::unique_ptr<Rows> rows;
    std::unique_ptr<TermTools> tools;
    std::uint64_t place = 0;  ///< what the tools looked at last
};

/// What the tables of one question share.
struct Asked {
    explicit Asked(const QuestionLimits& limits)
        : most_memory(limits.memory),
          memory({.memory = limits.memory, .temporary = 0, .stop = limits.stop}) {}

    std::uint64_t most_memory;
    Budget memory;  ///< of what is held beside SQLite's own
    std::vector<Source> sources;
    std::vector<Origin> origins;
    std::deque<OpenedOrigin> opened;  ///< some of them, the last one used first
    std::optional<Error> error;       ///< of a table: SQLite's own has a text only
    LeftOut left_out;
    std::size_t calls = 0;  ///< of functions that the statement writes
    bool reads_terms = false;
    bool found_terms = false;  ///< a function of terms gave one
    std::string no_part;       ///< why the first that did not gave none
    bool declares = false;     ///< a table declares its columns, which SQLite has as a CREATE TABLE
};

/// What is held leaves so much less for SQLite, of whose own memory that of other statements counts
/// too.
void share_memory(const Asked& asked) {
    const auto left = asked.most_memory - std::min(asked.most_memory, asked.memory.memory());
    sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(
        std::clamp<std::uint64_t>(left, 1, std::numeric_limits<std::int64_t>::max())));
}

/// The columns of a table that a statement sees, and their places in a row.
struct Shown {
    std::vector<const Column*> columns;
    std::vector<std::size_t> places;
};

Shown shown_columns(const Table& table) {
    Shown shown;
    for (std::size_t place = 0; place < table.columns.size(); ++place) {
        const Column& column = table.columns[place];
        if (column.in_json && !column.derived) {
            shown.columns.push_back(&column);
            shown.places.push_back(place);
        }
    }
    return shown;
}

/// A connection's table: its columns are those shown, then its arguments, the dump's file, and
/// where rows are terms what functions of them are called with, which are hidden.
struct VirtualTable : sqlite3_vtab {
    VirtualTable(const Table& of, Asked& by)
        : sqlite3_vtab(), table(of), asked(by), shown(shown_columns(of)) {}

    const Table& table;
    Asked& asked;
    Shown shown;

    [[nodiscard]] int first_argument() const { return static_cast<int>(shown.columns.size()); }
    [[nodiscard]] int dump_column() const {
        return first_argument() + static_cast<int>(table.arguments.size());
    }
    [[nodiscard]] int value_column() const { return table.has_terms ? dump_column() + 1 : -1; }
};

struct Cursor : sqlite3_vtab_cursor {
    Cursor() : sqlite3_vtab_cursor() {}

    Request request;
    std::optional<std::string> file;  ///< the only dump wanted
    std::size_t source = 0;
    std::unique_ptr<Rows> rows;
    query::Row row;
    std::int64_t number = 0;
    std::size_t origin = 0;  ///< of the rows, in Asked::origins, from 1; 0: none yet
    bool at_end = true;
};

/// What functions of a row's term are called with: the row's origin and its place there. It stays
/// right when the row has passed.
constexpr unsigned kPlaceBits = 40;
constexpr std::uint64_t kPlaces = std::uint64_t{1} << kPlaceBits;
constexpr std::size_t kMostOrigins = std::size_t{1} << 22U;

std::int64_t row_number_of(std::size_t origin, std::uint64_t place) {
    return static_cast<std::int64_t>(origin << kPlaceBits | place % kPlaces);
}

VirtualTable& table_of(sqlite3_vtab* table) {
    return *static_cast<VirtualTable*>(table);
}
Cursor& cursor_of(sqlite3_vtab_cursor* cursor) {
    return *static_cast<Cursor*>(cursor);
}
VirtualTable& table_of(sqlite3_vtab_cursor* cursor) {
    return table_of(cursor->pVtab);
}

int failed(VirtualTable& table, Error error) {
    sqlite3_free(table.zErrMsg);
    table.zErrMsg = sqlite3_mprintf("%s", error.message.c_str());
    table.asked.error = std::move(error);
    return SQLITE_ERROR;
}

std::string declaration(const VirtualTable& table) {
    std::string sql;
    const auto add = [&sql](std::string_view name, std::string_view type) {
        sql += fmt::format("{}\"{}\" {}", sql.empty() ? "" : ", ", name, type);
    };
    for (const Column* column : table.shown.columns) {
        add(column->name, query::is_text(column->kind) ? "TEXT" : "INTEGER");
    }
    for (const auto argument : table.table.arguments) {
        add(argument, "TEXT HIDDEN");
    }
    add("dump", "TEXT HIDDEN");
    if (table.table.has_terms) {
        add("value", "INTEGER HIDDEN");
    }
    return "CREATE TABLE t(" + sql + ")";
}

/// What a module is given: its table, and what it shares with the others.
struct Module {
    const Table* table = nullptr;
    Asked* asked = nullptr;
};

int connect(sqlite3* database, void* data, int /*count*/, const char* const* /*words*/,
            sqlite3_vtab** made, char** /*error*/) {
    const auto& module = *static_cast<const Module*>(data);
    auto table = std::make_unique<VirtualTable>(*module.table, *module.asked);
    module.asked->declares = true;
    const int code = sqlite3_declare_vtab(database, declaration(*table).c_str());
    module.asked->declares = false;
    if (code == SQLITE_OK) {
        *made = table.release();
    }
    return code;
}

int disconnect(sqlite3_vtab* table) {
    const std::unique_ptr<VirtualTable> freed(&table_of(table));
    sqlite3_free(freed->zErrMsg);
    return SQLITE_OK;
}

std::string_view sign_of(unsigned char operation) {
    switch (operation) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
            return "=";
        case SQLITE_INDEX_CONSTRAINT_GT:
            return ">";
        case SQLITE_INDEX_CONSTRAINT_GE:
            return ">=";
        case SQLITE_INDEX_CONSTRAINT_LT:
            return "<";
        case SQLITE_INDEX_CONSTRAINT_LE:
            return "<=";
        default:
            return {};
    }
}

/// Filters that the table can apply: of texts the whole value, of numbers also their order.
bool is_pushed(const Column& column, std::string_view sign) {
    return !column.derived && column.kind != ColumnKind::kFlag &&
           column.kind != ColumnKind::kAddress && column.kind != ColumnKind::kTenths &&
           (sign == "=" || (!sign.empty() && !query::is_text(column.kind)));
}

/// Whether texts are compared byte by byte, as tables compare them: not by NOCASE or RTRIM.
bool compares_bytes(sqlite3_index_info& info, int constraint) {
    return std::string_view(sqlite3_vtab_collation(&info, constraint)) == "BINARY";
}

/// The order that is asked for, as RowQuery::sort has it, if the table can give its rows by it:
/// amounts, the largest first, and what is not known last, in SQLite as in a list.
std::optional<std::string> wanted_order(const VirtualTable& table, const sqlite3_index_info& info) {
    std::string sort;
    for (int at = 0; at < info.nOrderBy; ++at) {
        const auto& by = info.aOrderBy[at];
        if (!table.table.orders || by.desc == 0 || by.iColumn < 0 ||
            by.iColumn >= table.first_argument()) {
            return std::nullopt;
        }
        const auto& column = *table.shown.columns[static_cast<std::size_t>(by.iColumn)];
        if (column.late || !is_pushed(column, ">") || column.kind == ColumnKind::kId) {
            return std::nullopt;
        }
        sort += fmt::format("{}{}", sort.empty() ? "" : ",", column.name);
    }
    return sort;
}

/// The columns of a table that are filled late.
std::vector<std::size_t> late_columns(const VirtualTable& table) {
    std::vector<std::size_t> late;
    for (std::size_t at = 0; at < table.shown.columns.size(); ++at) {
        if (table.shown.columns[at]->late) {
            late.push_back(at);
        }
    }
    return late;
}

/// Those of them that the statement uses: a bit each, in their order.
int late_used(const VirtualTable& table, sqlite3_uint64 used) {
    constexpr std::size_t kLastBit = 63;  // of this column and all behind it
    int bits = 0;
    for (int bit = 0; const std::size_t at : late_columns(table)) {
        bits |= static_cast<int>(used >> std::min(at, kLastBit) & 1U) << bit++;
    }
    return bits;
}

/// What is pushed into the table: the order in the first line, then a line each, in the order of
/// the values that filter() gets: "argument", "dump", "limit", or a column with its sign. The
/// plan's number is late_used().
int best_index(sqlite3_vtab* base, sqlite3_index_info* info) {
    auto& table = table_of(base);
    std::string plan;
    int given = 0;
    std::vector<bool> arguments(table.table.arguments.size());
    const auto order = wanted_order(table, *info);
    bool all_pushed = order.has_value();
    const auto push = [&](int at, std::string_view what) {
        info->aConstraintUsage[at].argvIndex = ++given;
        plan += fmt::format("{}\n", what);
    };
    for (std::size_t argument = 0; argument < arguments.size(); ++argument) {
        for (int at = 0; at < info->nConstraint && !arguments[argument]; ++at) {
            const auto& constraint = info->aConstraint[at];
            if (constraint.iColumn == table.first_argument() + static_cast<int>(argument) &&
                constraint.op == SQLITE_INDEX_CONSTRAINT_EQ && constraint.usable != 0) {
                arguments[argument] = true;
                push(at, "argument");
                info->aConstraintUsage[at].omit = 1;
            }
        }
        if (!arguments[argument]) {
            // SQLite tries another order of tables; if there is none, the statement lacks it.
            info->estimatedCost = std::numeric_limits<double>::max();
            return SQLITE_CONSTRAINT;
        }
    }
    std::optional<int> limit;
    for (int at = 0; at < info->nConstraint; ++at) {
        const auto& constraint = info->aConstraint[at];
        if (info->aConstraintUsage[at].argvIndex != 0) {
            continue;
        }
        const auto sign = sign_of(constraint.op);
        const bool usable = constraint.usable != 0;
        if (constraint.op == SQLITE_INDEX_CONSTRAINT_LIMIT) {
            limit = usable ? std::optional(at) : std::nullopt;
            continue;
        }
        if (usable && constraint.iColumn == table.dump_column() && sign == "=" &&
            compares_bytes(*info, at)) {
            push(at, "dump");
            continue;
        }
        // Filters let pass what SQLite then looks at again, so a limit may not be theirs.
        all_pushed = false;
        if (usable && constraint.iColumn >= 0 && constraint.iColumn < table.first_argument()) {
            const auto& column = *table.shown.columns[static_cast<std::size_t>(constraint.iColumn)];
            if (is_pushed(column, sign) &&
                (!query::is_text(column.kind) || compares_bytes(*info, at))) {
                push(at, fmt::format("{}{}", column.name, sign));
            }
        }
    }
    if (limit && all_pushed) {
        push(*limit, "limit");
    }
    constexpr double kWhole = 1e6;
    constexpr double kSome = 1e3;
    info->estimatedCost = given > 0 ? kSome : kWhole;
    plan.insert(0, fmt::format("{}\n", order.value_or("")));
    info->idxNum = late_used(table, info->colUsed);
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    info->needToFreeIdxStr = 1;
    return SQLITE_OK;
}

int open_cursor(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** made) {
    *made = std::make_unique<Cursor>().release();
    return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
    const std::unique_ptr<Cursor> freed(&cursor_of(cursor));
    return SQLITE_OK;
}

std::string text_of(sqlite3_value* value) {
    const auto* text = sqlite3_value_text(value);
    return text == nullptr ? std::string()
                           : std::string(reinterpret_cast<const char*>(text),
                                         static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

void leave_out(Asked& asked, const std::string& sentence) {
    // It may quote a path, however long.
    constexpr std::size_t kMostBytes = 1000;
    if (asked.left_out.things++ == 0) {
        asked.left_out.first = sentence.size() <= kMostBytes
                                   ? sentence
                                   : valid_utf8(sentence.substr(0, kMostBytes)) + "...";
    }
}

/// The next row, of this dump or one after it.
int step(sqlite3_vtab_cursor* base) {
    auto& cursor = cursor_of(base);
    auto& table = table_of(base);
    const auto& sources = table.asked.sources;
    for (;; ++cursor.source, cursor.rows.reset()) {
        if (cursor.source >= sources.size()) {
            cursor.at_end = true;
            return SQLITE_OK;
        }
        const Source& source = sources[cursor.source];
        if (cursor.file && *cursor.file != source.file) {
            continue;
        }
        if (!cursor.rows) {
            auto rows = table.table.open(source, cursor.request);
            if (!rows && rows.error().code == ErrorCode::kNotFound) {
                leave_out(table.asked, rows.error().message);
                continue;
            }
            if (!rows) {
                return failed(table, std::move(rows.error()));
            }
            cursor.rows = std::move(*rows);
            cursor.origin = 0;
            share_memory(table.asked);
        }
        const auto found = cursor.rows->next(cursor.row);
        if (!found) {
            return failed(table, found.error());
        }
        if (*found) {
            ++cursor.number;
            return SQLITE_OK;
        }
        if (const auto missing = cursor.rows->missing(); !missing.empty()) {
            leave_out(table.asked, missing);
        }
    }
}

int filter(sqlite3_vtab_cursor* base, int number, const char* plan, int count,
           sqlite3_value** values) {
    auto& cursor = cursor_of(base);
    cursor.request = {};
    cursor.file.reset();
    cursor.source = 0;
    cursor.rows.reset();
    cursor.number = 0;
    cursor.at_end = false;
    const auto& table = table_of(base);
    for (int bit = 0; const std::size_t at : late_columns(table)) {
        if ((number >> bit++ & 1) != 0) {
            cursor.request.late.push_back(table.shown.columns[at]->name);
        }
    }
    std::string_view rest(plan == nullptr ? "" : plan);
    const auto next_line = [&rest] {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        return line;
    };
    cursor.request.sort = next_line();
    for (int at = 0; at < count && !rest.empty(); ++at) {
        const auto what = next_line();
        sqlite3_value* const value = values[at];
        const bool is_whole = sqlite3_value_type(value) == SQLITE_INTEGER;
        if (what == "argument") {
            if (sqlite3_value_type(value) == SQLITE_NULL) {
                // Of nothing there are no rows, as where a join has found none.
                cursor.at_end = true;
                return SQLITE_OK;
            }
            cursor.request.arguments.emplace_back(text_of(value));
        } else if (what == "dump") {
            cursor.file = text_of(value);
        } else if (what == "limit") {
            const auto limit = sqlite3_value_int64(value);
            cursor.request.limit = limit > 0 ? static_cast<std::uint64_t>(limit) : 0;
        } else if ((is_whole && sqlite3_value_int64(value) >= 0) ||
                   sqlite3_value_type(value) == SQLITE_TEXT) {
            const auto sign_at = what.find_first_of("=<>");
            const auto& columns = table.table.columns;
            const auto& column = columns[query::column_place(columns, what.substr(0, sign_at))];
            // A number is compared with no text, nor a text with a number.
            if (query::is_text(column.kind) != is_whole) {
                cursor.request.filters.push_back(std::string(what) + text_of(value));
            }
        }
    }
    return step(base);
}

int is_at_end(sqlite3_vtab_cursor* cursor) {
    return cursor_of(cursor).at_end ? 1 : 0;
}

void give(sqlite3_context* context, const std::string& text) {
    const std::string valid = valid_utf8(text);
    sqlite3_result_text64(context, valid.data(), valid.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// What functions of the row's term are called with.
int give_row(Cursor& cursor, VirtualTable& table, sqlite3_context* context) {
    auto& origins = table.asked.origins;
    if (cursor.origin == 0) {
        if (origins.size() == kMostOrigins) {
            return failed(table, {ErrorCode::kLimit,
                                  "functions look into rows of too many things: ask for fewer "
                                  "(WHERE, LIMIT)"});
        }
        constexpr std::uint64_t kOriginBytes = 2 * sizeof(Origin);
        table.asked.memory.use_memory(kOriginBytes + query::row_bytes(cursor.request.arguments));
        if (auto room = check_room(table.asked.memory); !room) {
            return failed(table, std::move(room.error()));
        }
        origins.push_back({&table.table, cursor.source, cursor.request.arguments});
        cursor.origin = origins.size();
    }
    sqlite3_result_int64(context, row_number_of(cursor.origin, cursor.rows->place()));
    return SQLITE_OK;
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int place) {
    auto& cursor = cursor_of(base);
    auto& table = table_of(base);
    if (place == table.dump_column()) {
        give(context, table.asked.sources[cursor.source].file);
        return SQLITE_OK;
    }
    if (place == table.value_column()) {
        return give_row(cursor, table, context);
    }
    if (place >= table.first_argument()) {
        give(context, query::cell_text(cursor.request.arguments[static_cast<std::size_t>(
                          place - table.first_argument())]));
        return SQLITE_OK;
    }
    const auto at = static_cast<std::size_t>(place);
    const Cell& cell = cursor.row[table.shown.places[at]];
    if (const auto* flag = std::get_if<bool>(&cell)) {
        sqlite3_result_int(context, *flag ? 1 : 0);
    } else if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
        constexpr auto kGreatest =
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (table.shown.columns[at]->kind == ColumnKind::kAddress) {
            give(context, query::cell_text(*table.shown.columns[at], cell));
        } else if (*number <= kGreatest) {
            sqlite3_result_int64(context, static_cast<std::int64_t>(*number));
        }
    } else if (const auto* text = std::get_if<std::string>(&cell)) {
        give(context, *text);
    }
    return SQLITE_OK;
}

int row_number(sqlite3_vtab_cursor* cursor, sqlite3_int64* number) {
    *number = cursor_of(cursor).number;
    return SQLITE_OK;
}

constexpr sqlite3_module table_module() {
    sqlite3_module module = {};
    module.iVersion = 1;
    // Without xCreate, a table is there by its module's name, without CREATE.
    module.xConnect = connect;
    module.xDisconnect = disconnect;
    module.xBestIndex = best_index;
    module.xOpen = open_cursor;
    module.xClose = close_cursor;
    module.xFilter = filter;
    module.xNext = step;
    module.xEof = is_at_end;
    module.xColumn = column;
    module.xRowid = row_number;
    return module;
}
constexpr sqlite3_module kModule = table_module();

/// A function of a term: NAME(process, path), and the dump's file where there are several.
struct Function {
    const TermFunction* of = nullptr;
    Asked* asked = nullptr;
};

void fail_call(sqlite3_context* context, Asked& asked, Error error) {
    sqlite3_result_error(context, error.message.c_str(), -1);
    asked.error = std::move(error);
}

void call(sqlite3_context* context, int count, sqlite3_value** values) {
    const auto& function = *static_cast<const Function*>(sqlite3_user_data(context));
    Asked& asked = *function.asked;
    const int least = function.of->takes_pattern ? 3 : 2;
    const Source* source =
        count == least && asked.sources.size() == 1 ? asked.sources.data() : nullptr;
    if (count == least + 1) {
        const auto found = std::ranges::find(asked.sources, text_of(values[least]), &Source::file);
        source = found == asked.sources.end() ? nullptr : &*found;
    }
    if (source == nullptr) {
        return fail_call(
            context, asked,
            {ErrorCode::kUsage,
             fmt::format("{0}(PROCESS, PATH{1}), and with several dumps {0}(PROCESS, "
                         "PATH{1}, DUMP), such as p.dump",
                         function.of->name, function.of->takes_pattern ? ", PATTERN" : "")});
    }
    if (std::any_of(values, values + least, [](sqlite3_value* given) {
            return sqlite3_value_type(given) == SQLITE_NULL;
        })) {
        return;
    }
    auto value = function.of->value(
        *source, {.process = text_of(values[0]),
                  .path = text_of(values[1]),
                  .pattern = function.of->takes_pattern ? text_of(values[2]) : ""});
    if (!value) {
        return fail_call(context, asked, std::move(value.error()));
    }
    if (!value->not_told.empty()) {
        leave_out(asked, value->not_told);
    } else if (value->no_part.empty()) {
        asked.found_terms = true;
    } else if (asked.no_part.empty()) {
        asked.no_part = std::move(value->no_part);
    }
    if (const auto* number = std::get_if<std::uint64_t>(&value->cell)) {
        sqlite3_result_int64(context, static_cast<std::int64_t>(*number));
    } else if (const auto* text = std::get_if<std::string>(&value->cell)) {
        give(context, *text);
    }
}

/// A function of a row's term: NAME(value, ...).
struct RowCall {
    const RowFunction* of = nullptr;
    Asked* asked = nullptr;
};

Value value_of(sqlite3_value* value) {
    switch (sqlite3_value_type(value)) {
        case SQLITE_INTEGER:
            return sqlite3_value_int64(value);
        case SQLITE_FLOAT:
            return sqlite3_value_double(value);
        case SQLITE_NULL:
            return {};
        default:
            return text_of(value);
    }
}

void give(sqlite3_context* context, const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        sqlite3_result_int64(context, *whole);
    } else if (const auto* number = std::get_if<double>(&value)) {
        sqlite3_result_double(context, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
        give(context, *text);
    }
}

/// Where an origin's terms are read.
Result<OpenedOrigin*> opened_origin(Asked& asked, std::size_t origin) {
    constexpr std::size_t kMostOpened = 4;
    auto& opened = asked.opened;
    const auto known = std::ranges::find(opened, origin, &OpenedOrigin::origin);
    if (known != opened.end() && known == opened.begin()) {
        return &opened.front();
    }
    OpenedOrigin first{.origin = origin, .rows = {}, .tools = {}};
    if (known != opened.end()) {
        first = std::move(*known);
        opened.erase(known);
    } else {
        const Origin& of = asked.origins[origin - 1];
        ASSIGN_OR_RETURN(first.rows, of.table->open(asked.sources[of.source],
                                                    {.arguments = of.arguments, .filters = {}}));
        if (opened.size() == kMostOpened) {
            opened.pop_back();
        }
    }
    opened.push_front(std::move(first));
    return &opened.front();
}

void call_of_row(sqlite3_context* context, int count, sqlite3_value** values) {
    const auto& [function, asked] = *static_cast<const RowCall*>(sqlite3_user_data(context));
    const auto given = static_cast<std::size_t>(count);
    if (given < 1 + function->least || given > 1 + function->most) {
        return fail_call(context, *asked,
                         {ErrorCode::kUsage,
                          fmt::format("{}(value{}{}), such as {}(m.value) of messages('name') m",
                                      function->name, function->arguments.empty() ? "" : ", ",
                                      function->arguments, function->name)});
    }
    std::vector<Value> arguments;
    for (std::size_t at = 1; at < given; ++at) {
        arguments.push_back(value_of(values[at]));
        if (std::holds_alternative<std::monostate>(arguments.back())) {
            return;
        }
    }
    // Of an outer join that has found no row.
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) {
        return;
    }
    const auto number =
        sqlite3_value_type(values[0]) == SQLITE_INTEGER ? sqlite3_value_int64(values[0]) : 0;
    const auto origin = number > 0 ? static_cast<std::size_t>(number >> kPlaceBits) : 0;
    if (origin == 0 || origin > asked->origins.size()) {
        return fail_call(context, *asked,
                         {ErrorCode::kUsage,
                          fmt::format("{} is called with the column value of messages or ets_rows, "
                                      "not with another value",
                                      function->name)});
    }
    auto opened = opened_origin(*asked, origin);
    if (!opened) {
        return fail_call(context, *asked, std::move(opened.error()));
    }
    const auto place = static_cast<std::uint64_t>(number) % kPlaces;
    const auto term = (*opened)->rows->term_at(place);
    if (!term && term.error().code == ErrorCode::kNotFound) {
        leave_out(*asked, term.error().message);
        return;
    }
    if (!term) {
        return fail_call(context, *asked, term.error());
    }
    auto& tools = (*opened)->tools;
    if (!tools || !tools->fit(*term)) {
        tools = std::make_unique<TermTools>(*term);
    } else if (place != (*opened)->place) {
        tools->forget();
    }
    (*opened)->place = place;
    const Source& source = asked->sources[asked->origins[origin - 1].source];
    auto answer = function->call(source, *tools, term->word, arguments);
    if (!answer) {
        return fail_call(context, *asked, std::move(answer.error()));
    }
    if (answer->no_part.empty()) {
        asked->found_terms = true;
    } else if (asked->no_part.empty()) {
        asked->no_part = std::move(answer->no_part);
    }
    give(context, answer->value);
}

constexpr std::size_t kMostCalls = 1000;

/// Lets a statement read tables of dumps and call functions.
int authorize(void* data, int action, const char* first, const char* second,
              const char* /*database*/, const char* /*trigger*/) {
    auto& asked = *static_cast<Asked*>(data);
    if (asked.declares) {
        return SQLITE_OK;
    }
    switch (action) {
        case SQLITE_SELECT:
        case SQLITE_RECURSIVE:
            return SQLITE_OK;
        case SQLITE_FUNCTION:
            // Between two looks at the limits each of them is called once at most.
            if (++asked.calls > kMostCalls) {
                asked.error = {
                    ErrorCode::kLimit,
                    fmt::format("the statement has more than {} calls of functions", kMostCalls)};
                return SQLITE_DENY;
            }
            asked.reads_terms =
                asked.reads_terms ||
                (second != nullptr && std::ranges::any_of(term_functions(), [&](const auto& one) {
                     return one.name == second;
                 }));
            return second != nullptr && std::string_view(second) == "load_extension" ? SQLITE_DENY
                                                                                     : SQLITE_OK;
        case SQLITE_READ: {
            const auto known = tables();
            const auto table = std::ranges::find(known, std::string_view(first), &Table::name);
            asked.reads_terms = asked.reads_terms || (table != known.end() && table->reads_terms);
            return SQLITE_OK;
        }
        default:
            return SQLITE_DENY;
    }
}

std::string known_tables() {
    std::string names;
    for (const Table& table : tables()) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", table.name);
    }
    return names;
}

class Asking final : public Question {
  public:
    static Result<std::unique_ptr<Question>> make(const std::string& statement,
                                                  const QuestionLimits& limits) {
        auto question = std::unique_ptr<Asking>(new Asking(limits));
        RETURN_IF_ERROR(question->open());
        RETURN_IF_ERROR(question->prepare_statement(statement));
        return question;
    }

    [[nodiscard]] bool reads_terms() const override { return asked_.reads_terms; }
    [[nodiscard]] const std::vector<std::string>& columns() const override { return columns_; }

    Result<LeftOut> run(std::vector<Source> sources,
                        const std::function<bool(const std::vector<Value>& row)>& visit) override {
        asked_.sources = std::move(sources);
        for (Source& source : asked_.sources) {
            source.memory = &asked_.memory;
        }
        std::vector<Value> row(columns_.size());
        for (std::uint64_t rows = 0;; ++rows) {
            const int code = sqlite3_step(statement_.get());
            if (code == SQLITE_DONE) {
                // A path that leads nowhere in some processes is right; one that does in all is
                // probably mistaken.
                if (!asked_.found_terms && !asked_.no_part.empty()) {
                    leave_out(asked_, asked_.no_part);
                }
                return rows == 0 && asked_.left_out.things != 0
                           ? fail(ErrorCode::kNotFound, asked_.left_out.first)
                           : Result<LeftOut>(asked_.left_out);
            }
            if (code != SQLITE_ROW) {
                return failure(code);
            }
            for (std::size_t at = 0; at < row.size(); ++at) {
                row[at] = value(static_cast<int>(at));
            }
            if (!visit(row)) {
                return asked_.left_out;
            }
        }
    }

  private:
    explicit Asking(const QuestionLimits& limits)
        : limits_(limits), asked_(limits), bounded_(limits.stop) {}

    Result<void> open() {
        sqlite3* database = nullptr;
        const int code = sqlite3_open_v2(":memory:", &database,
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
        database_.reset(database);
        if (code != SQLITE_OK) {
            return fail(ErrorCode::kIo, fmt::format("SQLite: {}", sqlite3_errstr(code)));
        }
        // Sorted rows stay in memory, within its limit: no file is written.
        sqlite3_exec(database, "PRAGMA temp_store = MEMORY", nullptr, nullptr, nullptr);
        share_memory(asked_);
        modules_.reserve(tables().size());
        for (const Table& table : tables()) {
            modules_.push_back({&table, &asked_});
            sqlite3_create_module(database, std::string(table.name).c_str(), &kModule,
                                  &modules_.back());
        }
        functions_.reserve(term_functions().size());
        for (const TermFunction& function : term_functions()) {
            functions_.push_back({&function, &asked_});
            sqlite3_create_function_v2(database, std::string(function.name).c_str(), -1,
                                       SQLITE_UTF8, &functions_.back(), call, nullptr, nullptr,
                                       nullptr);
        }
        row_calls_.reserve(row_functions().size());
        for (const RowFunction& function : row_functions()) {
            row_calls_.push_back({&function, &asked_});
            sqlite3_create_function_v2(database, std::string(function.name).c_str(), -1,
                                       SQLITE_UTF8, &row_calls_.back(), call_of_row, nullptr,
                                       nullptr, nullptr);
        }
        bounded_.put_into(database);
        sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
        constexpr int kMostStatementBytes = 1 << 20;
        constexpr int kMostTextBytes = 1 << 24;
        sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, kMostStatementBytes);
        sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMostTextBytes);
        sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_set_authorizer(database, authorize, &asked_);
        if (limits_.steps != 0 || limits_.stop.stop_possible()) {
            sqlite3_progress_handler(
                database, kStepsOfACall,
                [](void* data) { return static_cast<Asking*>(data)->may_go_on() ? 0 : 1; }, this);
        }
        return {};
    }

    /// After each kStepsOfACall steps.
    [[nodiscard]] bool may_go_on() {
        if (limits_.steps != 0) {
            limits_.steps -= std::min<std::uint64_t>(limits_.steps, kStepsOfACall);
            if (limits_.steps == 0) {
                return false;
            }
        }
        return !limits_.stop.stop_requested();
    }

    Result<void> prepare_statement(const std::string& text) {
        sqlite3_stmt* statement = nullptr;
        const char* rest = nullptr;
        const int code = sqlite3_prepare_v2(database_.get(), text.c_str(),
                                            static_cast<int>(text.size()), &statement, &rest);
        statement_.reset(statement);
        if (code != SQLITE_OK) {
            return failure(code);
        }
        if (statement == nullptr || sqlite3_column_count(statement) == 0) {
            return fail(ErrorCode::kUsage, "the statement is no SELECT");
        }
        const std::string_view more(rest);
        if (more.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
            return fail(ErrorCode::kUsage, "there is more than one statement: ask them one by one");
        }
        for (int at = 0; at < sqlite3_column_count(statement); ++at) {
            columns_.emplace_back(sqlite3_column_name(statement, at));
        }
        return {};
    }

    std::unexpected<Error> failure(int code) {
        if (asked_.error) {
            return std::unexpected(std::move(*std::exchange(asked_.error, std::nullopt)));
        }
        const std::string text = sqlite3_errmsg(database_.get());
        switch (code & 0xff) {
            case SQLITE_NOMEM:
                return fail(ErrorCode::kLimit,
                            "the statement needs more memory than --max-memory "
                            "allows: ask for less (WHERE, LIMIT), or raise it");
            case SQLITE_INTERRUPT:
                if (auto stopped = check_stop(limits_.stop); !stopped) {
                    return std::unexpected(std::move(stopped.error()));
                }
                return fail(ErrorCode::kLimit, "the statement took too many steps");
            case SQLITE_TOOBIG:
                return fail(ErrorCode::kLimit, "SQL: " + text);
            case SQLITE_AUTH:
                return fail(ErrorCode::kUsage,
                            "only SELECT of the dump's tables is possible: " + text);
            default:
                break;
        }
        if (text.starts_with("no such table")) {
            return fail(ErrorCode::kUsage, fmt::format("{}: there are {}", text, known_tables()));
        }
        if (text == "no query solution") {
            return fail(ErrorCode::kUsage,
                        "a table of something needs it: messages('my_server'), ets_rows('users')");
        }
        return fail(ErrorCode::kUsage, "SQL: " + text);
    }

    [[nodiscard]] Value value(int at) const {
        sqlite3_stmt* const statement = statement_.get();
        switch (sqlite3_column_type(statement, at)) {
            case SQLITE_INTEGER:
                return sqlite3_column_int64(statement, at);
            case SQLITE_FLOAT:
                return sqlite3_column_double(statement, at);
            case SQLITE_NULL:
                return {};
            default: {
                const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, at));
                const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
                return bytes == nullptr ? std::string() : std::string(bytes, size);
            }
        }
    }

    // A step that makes a text of 16 MiB takes a tenth of a second.
    static constexpr int kStepsOfACall = 100;

    QuestionLimits limits_;
    Asked asked_;
    std::vector<Module> modules_;
    std::vector<Function> functions_;
    std::vector<RowCall> row_calls_;
    BoundedFunctions bounded_;
    std::vector<std::string> columns_;
    Database database_;
    Statement statement_;
};

}  // namespace

Result<std::unique_ptr<Question>> Question::prepare(const std::string& statement,
                                                    const QuestionLimits& limits) {
    return Asking::make(statement, limits);
}

bool is_whole_statement(const std::string& text) {
    return sqlite3_complete(text.c_str()) != 0;
}

}  // namespace beamdump::sql
