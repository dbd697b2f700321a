#include "render/sql.h"

#include "render/shared/json.h"
#include "render/shared/table.h"
#include "render/shared/units.h"
#include "sql/sql_row_terms.h"
#include "sql/sql_terms.h"

#include <libdump/base/return_if_error.h>
#include <libdump/text/compact_json.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

namespace beamdump::render {

namespace {

using sql::Value;

/// What is held to align columns: a longer answer has several tables.
constexpr std::size_t kRowsOfATable = 10'000;
constexpr std::size_t kBytesOfATable = std::size_t{16} << 20U;

bool is_number(const Value& value) {
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

std::string value_text(const Value& value) {
    return std::visit(
        [](const auto& known) -> std::string {
            using Known = std::decay_t<decltype(known)>;
            if constexpr (std::is_same_v<Known, std::monostate>) {
                return {};
            } else if constexpr (std::is_same_v<Known, std::string>) {
                return known;
            } else {
                return fmt::format("{}", known);
            }
        },
        value);
}

/// Rows as a table; the columns that have numbers in its first row are aligned to the right.
class TableText {
  public:
    TableText(Output& output, const std::vector<std::string>& columns)
        : output_(output), columns_(columns) {}

    void add(const std::vector<Value>& row) {
        if (!table_) {
            begin(row);
        }
        std::vector<std::string> cells;
        cells.reserve(row.size());
        for (const Value& value : row) {
            cells.push_back(one_line(value_text(value)));
            bytes_ += cells.back().size();
        }
        table_->add(std::move(cells));
        if (++rows_ == kRowsOfATable || bytes_ >= kBytesOfATable) {
            end();
        }
    }

    void end() {
        if (table_) {
            table_->print(output_);
            table_.reset();
            rows_ = bytes_ = 0;
        }
    }

  private:
    void begin(const std::vector<Value>& row) {
        std::vector<Table::Column> head;
        for (std::size_t at = 0; at < columns_.size(); ++at) {
            const bool number = is_number(row[at]);
            head.push_back(
                {one_line(columns_[at]), number ? Align::kRight : Align::kLeft, !number});
        }
        table_.emplace(std::move(head));
    }

    Output& output_;
    const std::vector<std::string>& columns_;
    std::optional<Table> table_;
    std::size_t rows_ = 0;
    std::size_t bytes_ = 0;
};

/// JSON has no infinity.
bool is_told(const Value& value) {
    const auto* number = std::get_if<double>(&value);
    return number != nullptr ? std::isfinite(*number)
                             : !std::holds_alternative<std::monostate>(value);
}

template <typename Json>
void write_members(Json& json, const std::vector<std::string>& columns,
                   const std::vector<Value>& row) {
    for (std::size_t at = 0; at < row.size(); ++at) {
        if (!is_told(row[at])) {
            continue;
        }
        std::visit(
            [&](const auto& known) {
                using Known = std::decay_t<decltype(known)>;
                if constexpr (std::is_same_v<Known, std::string>) {
                    json.member(columns[at], std::string_view(known));
                } else if constexpr (!std::is_same_v<Known, std::monostate>) {
                    json.member(columns[at], known);
                }
            },
            row[at]);
    }
}

/// Quoted where RFC 4180 has it.
std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return quoted + '"';
}

void write_csv_line(Output& output, const std::vector<std::string>& fields) {
    std::string line;
    for (const auto& field : fields) {
        line += (line.empty() && &field == &fields.front() ? "" : ",") + csv_field(field);
    }
    output.write(line + "\r\n");
}

/// An object cannot have two members of one name.
Result<void> check_names(std::vector<std::string> names) {
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    return twice == names.end()
               ? Result<void>()
               : fail(ErrorCode::kUsage, fmt::format("two columns are named {}: name one of them "
                                                     "with AS",
                                                     *twice));
}

}  // namespace

Result<sql::LeftOut> write_sql(Output& output, sql::Question& question,
                               std::vector<sql::Source> sources, SqlForm form) {
    const auto& columns = question.columns();
    std::uint64_t rows = 0;
    sql::LeftOut left_out;
    const auto run = [&](const auto& write) -> Result<void> {
        ASSIGN_OR_RETURN(left_out,
                         question.run(std::move(sources), [&](const std::vector<Value>& row) {
                             ++rows;
                             write(row);
                             return output.ok();
                         }));
        return {};
    };
    switch (form) {
        case SqlForm::kTable: {
            TableText text(output, columns);
            const auto done = run([&](const auto& row) { text.add(row); });
            text.end();
            RETURN_IF_ERROR(done);
            if (rows == 0) {
                output.write("no rows\n");
            }
            break;
        }
        case SqlForm::kJson: {
            RETURN_IF_ERROR(check_names(columns));
            JsonWriter json(output, "beamdump.sql/1");
            json.begin_array("columns");
            for (const auto& column : columns) {
                json.value(column);
            }
            json.end_array();
            json.begin_array("rows");
            RETURN_IF_ERROR(run([&](const auto& row) {
                json.begin_object();
                write_members(json, columns, row);
                json.end_object();
            }));
            json.end_array();
            json.finish();
            break;
        }
        case SqlForm::kCsv:
            write_csv_line(output, columns);
            RETURN_IF_ERROR(run([&](const auto& row) {
                std::vector<std::string> fields(row.size());
                std::ranges::transform(row, fields.begin(), value_text);
                write_csv_line(output, fields);
            }));
            break;
        case SqlForm::kNdjson: {
            RETURN_IF_ERROR(check_names(columns));
            CompactJson json(output);
            RETURN_IF_ERROR(run([&](const auto& row) {
                json.begin_object();
                write_members(json, columns, row);
                json.end_object();
                json.end_line();
            }));
            break;
        }
    }
    return left_out;
}

void sql_tables_text(Output& output) {
    for (const sql::Table& table : sql::tables()) {
        std::string arguments;
        for (const auto argument : table.arguments) {
            arguments += fmt::format("{}{}", arguments.empty() ? "(" : ", ", argument);
        }
        output.print("{}{}{}: {}\n", table.name, arguments, arguments.empty() ? "" : ")",
                     table.sentence);
        Table columns({{""}, {"", Align::kLeft, true}});
        for (const auto& column : table.columns) {
            if (column.in_json && !column.derived) {
                columns.add({std::string(column.name), std::string(column.sentence)});
            }
        }
        columns.print(output, "  ");
        output.write("\n");
    }
    output.write(
        "Every table also has the column dump, the file that a row is of.\n\n"
        "Functions of a term that a path names, as in term DUMP PROCESS PATH; with several "
        "dumps one more argument is the dump:\n");
    Table functions({{""}, {"", Align::kLeft, true}});
    for (const auto& function : sql::term_functions()) {
        functions.add({fmt::format("{}(process, path{})", function.name,
                                   function.takes_pattern ? ", pattern" : ""),
                       std::string(function.sentence)});
    }
    functions.print(output, "  ");
    output.write(
        "\nFunctions of the term of a row of messages or ets_rows, whose hidden column value is "
        "what they are called with:\n");
    Table of_rows({{""}, {"", Align::kLeft, true}});
    for (const auto& function : sql::row_functions()) {
        of_rows.add({fmt::format("{}(value{}{})", function.name,
                                 function.arguments.empty() ? "" : ", ", function.arguments),
                     std::string(function.sentence)});
    }
    of_rows.print(output, "  ");
}

}  // namespace beamdump::render
