#pragma once

#include "sql/sql_row_terms.h"
#include "sql/sql_table.h"
#include "sql/sql_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::test {

/// Choices and values, the same ones in each run.
class HostileValues {
  protected:
    /// `file`: one that no statement may touch.
    HostileValues(std::string file, unsigned seed) : file_(std::move(file)), chance_(seed) {}

    std::size_t below(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(chance_);
    }
    template <std::size_t count>
    std::string any_of(const std::array<std::string_view, count>& of) {
        return std::string(of[below(count)]);
    }
    [[nodiscard]] const std::string& file() const { return file_; }

    std::string literal() {
        switch (below(6)) {
            case 0:
                return any_of<8>({"0", "-1", "1", "9223372036854775807", "-9223372036854775808",
                                  "1e999", "NULL", "x'00ff'"});
            case 1:
                return fmt::format("'{}'", std::string(below(4000), "[{(/.\""[below(6)]));
            case 2:
                return "'" + file_ + "'";
            default:
                return any_of<10>({"'alpha'", "'<0.1.0>'", "'message 1'", "'state'", "'item 1'",
                                   "'_'", "'{_, _}'", "'sample.beamdump'", "'#{'", "'/ -> [.'"});
        }
    }

  private:
    std::string file_;
    std::mt19937 chance_;
};

/// Makes statements that nobody should ask: most of them are refused.
class HostileStatements : HostileValues {
  public:
    explicit HostileStatements(std::string file, unsigned seed = 39)
        : HostileValues(std::move(file), seed) {}

    std::string next() {
        switch (below(6)) {
            case 0:
                return other();
            case 1:
                return broken(select(0));
            case 2:
                return noise();
            default:
                return select(0);
        }
    }

  private:
    /// Statements that would write, or reach elsewhere.
    std::string other() {
        switch (below(12)) {
            case 0:
                return fmt::format("ATTACH '{}' AS x", file());
            case 1:
                return fmt::format("VACUUM INTO '{}'", file());
            case 2:
                return fmt::format("SELECT load_extension('{}')", file());
            case 3:
                return fmt::format("SELECT writefile('{}', 'x'), readfile('/etc/passwd')", file());
            case 4:
                return fmt::format("PRAGMA temp_store_directory = '{}'", file());
            case 5:
                return "PRAGMA writable_schema = 1; DELETE FROM sqlite_master";
            case 6:
                return "CREATE TABLE t AS " + select(1);
            case 7:
                return "INSERT INTO processes " + select(1);
            case 8:
                return "CREATE TRIGGER t AFTER INSERT ON processes BEGIN SELECT 1; END";
            case 9:
                return "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT " +
                       value(1) + " FROM c";
            case 10:
                return "SELECT * FROM sqlite_master, pragma_database_list, sqlite_dbpage";
            default:
                return "CREATE VIRTUAL TABLE z USING fts5(x, content='" + file() + "')";
        }
    }

    std::string select(int depth) {
        std::string text = fmt::format("SELECT {}{} FROM {}", below(5) == 0 ? "DISTINCT " : "",
                                       value(depth), table(depth));
        if (below(3) == 0) {
            text += fmt::format("{} {}", any_of<4>({",", " JOIN", " LEFT JOIN", " NATURAL JOIN"}),
                                table(depth));
        }
        if (below(2) == 0) {
            text += fmt::format(
                " WHERE {} {} {}", value(depth),
                any_of<9>({"=", "<", ">=", "LIKE", "GLOB", "IS NOT", "IN", "REGEXP", "MATCH"}),
                value(depth));
        }
        if (below(3) == 0) {
            text += " GROUP BY " + value(depth);
        }
        if (below(3) == 0) {
            text += " ORDER BY " + value(depth);
        }
        if (below(3) == 0) {
            text += " LIMIT " + any_of<5>({"1", "-1", "9223372036854775807", "'x'", "1e300"});
        }
        if (below(8) == 0 && depth < 2) {
            text += any_of<3>({" UNION ALL ", " EXCEPT ", " INTERSECT "}) + select(depth + 1);
        }
        return text;
    }

    std::string table(int depth) {
        if (depth < 2 && below(8) == 0) {
            return "(" + select(depth + 1) + ")";
        }
        const auto& table = sql::tables()[below(sql::tables().size())];
        std::string text(table.name);
        if (table.arguments.empty() ? below(20) == 0 : below(20) != 0) {
            std::string arguments = value(depth + 1);
            for (std::size_t more = below(3); more > 0; --more) {
                arguments += ", " + value(depth + 1);
            }
            text += "(" + arguments + ")";
        }
        return text;
    }

    std::string column() {
        const auto& table = sql::tables()[below(sql::tables().size())];
        return std::string(table.columns[below(table.columns.size())].name);
    }

    std::string value(int depth) {
        if (depth > 3) {
            return literal();
        }
        switch (below(9)) {
            case 0:
                return column();
            case 1:
                return any_of<4>({"*", "value", "dump", "rowid"});
            case 2: {
                const auto& function = sql::term_functions()[below(sql::term_functions().size())];
                return fmt::format("{}({}, {}, {})", function.name, value(depth + 1), literal(),
                                   literal());
            }
            case 3: {
                const auto& function = sql::row_functions()[below(sql::row_functions().size())];
                return below(2) == 0
                           ? fmt::format("{}(value)", function.name)
                           : fmt::format("{}({}, {})", function.name,
                                         below(2) == 0 ? "value" : value(depth + 1), literal());
            }
            case 4:
                return fmt::format(
                    "{}({})",
                    any_of<10>({"zeroblob", "hex", "randomblob", "group_concat", "char", "printf",
                                "max", "count", "unicode", "soundex"}),
                    value(depth + 1));
            case 5:
                return fmt::format("({} {} {})", value(depth + 1),
                                   any_of<6>({"+", "||", "/", "<<", "COLLATE NOCASE =", "->>"}),
                                   value(depth + 1));
            case 6:
                return depth < 2 ? "(" + select(depth + 1) + ")" : literal();
            default:
                return literal();
        }
    }

    std::string broken(std::string text) {
        for (std::size_t times = 1 + below(4); times > 0 && !text.empty(); --times) {
            const auto at = below(text.size());
            switch (below(3)) {
                case 0:
                    text.erase(at, 1 + below(10));
                    break;
                case 1:
                    text[at] = static_cast<char>(1 + below(255));
                    break;
                default:
                    text.insert(at, std::string(1 + below(200), "(),'\";"[below(6)]));
                    break;
            }
        }
        return text;
    }

    std::string noise() {
        std::string text(below(100), ' ');
        for (char& c : text) {
            c = static_cast<char>(below(256));
        }
        return "SELECT " + text;
    }
};

/// Makes statements of the tables, columns and functions that there are, as `sql --tables` lists
/// them, with values that nobody should ask for: all of them can be asked.
class SchemaStatements : HostileValues {
  public:
    explicit SchemaStatements(std::string file, unsigned seed = 93)
        : HostileValues(std::move(file), seed) {}

    std::string next() {
        scope_.clear();
        return select(0);
    }

  private:
    /// A table of the statement, and those whose rows are there when it is read.
    struct Named {
        const sql::Table* table = nullptr;
        std::string name;
        std::vector<std::string> columns;
    };

    static Named named(const sql::Table& table, std::string name) {
        Named made{.table = &table, .name = std::move(name), .columns = {"dump", "rowid"}};
        for (const auto& column : table.columns) {
            if (column.in_json && !column.derived) {
                made.columns.push_back(fmt::format("\"{}\"", column.name));
            }
        }
        for (const auto argument : table.arguments) {
            made.columns.emplace_back(argument);
        }
        return made;
    }

    std::string select(int depth) {
        const auto outer = scope_.size();
        std::string from;
        for (std::size_t tables = 1 + (below(3) == 0 ? 1 : 0), at = 0; at < tables; ++at) {
            if (at != 0) {
                from += any_of<3>({", ", " CROSS JOIN ", " LEFT JOIN "});
            }
            from += table(depth);
        }
        std::string text = " FROM " + from;
        if (below(2) == 0) {
            text += " WHERE " + condition(depth);
        }
        std::string what;
        if (below(4) == 0) {
            what =
                fmt::format("{}({}{})", any_of<5>({"count", "sum", "max", "group_concat", "total"}),
                            below(3) == 0 ? "DISTINCT " : "", value(depth));
            if (below(2) == 0) {
                text += " GROUP BY " + column();
                text += below(2) == 0 ? " HAVING " + condition(depth) : "";
            }
        } else {
            what = (below(5) == 0 ? "DISTINCT " : "") + value(depth);
        }
        if (depth == 0) {
            text += below(3) == 0 ? " ORDER BY 1 " + any_of<3>({"", "DESC", "COLLATE NOCASE"}) : "";
        }
        if (depth != 0 || below(2) == 0) {
            text += " LIMIT " + any_of<5>({"1", "10", "-1", "9223372036854775807", "0"}) +
                    any_of<3>({"", " OFFSET 1", " OFFSET -9223372036854775808"});
        }
        scope_.resize(outer);
        return "SELECT " + what + text;
    }

    std::string table(int depth) {
        const auto& table = sql::tables()[below(sql::tables().size())];
        auto made = named(table, fmt::format("t{}", scope_.size()));
        std::string text(table.name);
        for (std::size_t at = 0; at < table.arguments.size(); ++at) {
            // A thing that another table names, which may come before it or be around it.
            const bool of_other = !scope_.empty() && below(3) == 0;
            text += (at == 0 ? "(" : ", ") + (of_other ? value(depth + 1) : literal());
        }
        text += table.arguments.empty() ? "" : ")";
        text += " " + made.name;
        scope_.push_back(std::move(made));
        return text;
    }

    std::string column() {
        const auto& of = scope_[below(scope_.size())];
        return of.name + "." + of.columns[below(of.columns.size())];
    }

    std::string condition(int depth) {
        switch (below(5)) {
            case 0:
                return fmt::format("{} BETWEEN {} AND {}", column(), value(depth), literal());
            case 1:
                return fmt::format("{} IN ({}, {})", column(), literal(), value(depth));
            case 2:
                return fmt::format("NOT ({} IS {}) OR {} > {}", column(), literal(), column(),
                                   value(depth));
            default:
                return fmt::format("{} {} {}", column(),
                                   any_of<8>({"=", "<", ">=", ">", "LIKE", "GLOB", "IS NOT", "<>"}),
                                   value(depth));
        }
    }

    std::string arguments(std::size_t count, int depth) {
        std::string text;
        for (; count > 0; --count) {
            text += (text.empty() ? "" : ", ") + value(depth + 1);
        }
        return text;
    }

    /// A call of a function of rows' terms, if a table has some.
    std::string of_row(int depth) {
        const auto& function = sql::row_functions()[below(sql::row_functions().size())];
        const auto has_terms = [](const Named& of) { return of.table->has_terms; };
        const auto of = std::ranges::find_if(scope_, has_terms);
        const auto called_with = of == scope_.end() ? column() : of->name + ".value";
        const auto more = function.least + below(function.most - function.least + 1);
        return fmt::format("{}({}{}{})", function.name, called_with, more == 0 ? "" : ", ",
                           arguments(more, depth));
    }

    std::string value(int depth) {
        switch (depth > 3 ? below(3) : below(9)) {
            case 0:
                return literal();
            case 1:
            case 2:
                return column();
            case 3: {
                const auto& function = sql::term_functions()[below(sql::term_functions().size())];
                return fmt::format("{}({})", function.name,
                                   arguments(function.takes_pattern ? 3 : 2, depth));
            }
            case 4:
                return of_row(depth);
            case 5:
                return fmt::format("{}({})",
                                   any_of<9>({"zeroblob", "hex", "randomblob", "quote", "char",
                                              "printf", "abs", "unicode", "length"}),
                                   value(depth + 1));
            case 6:
                return fmt::format("({} {} {})", value(depth + 1),
                                   any_of<6>({"+", "||", "/", "<<", "%", "*"}), value(depth + 1));
            case 7:
                return fmt::format("CASE WHEN {} THEN {} ELSE {} END", condition(depth + 1),
                                   value(depth + 1), literal());
            default:
                return depth < 2 ? "(" + select(depth + 1) + ")" : literal();
        }
    }

    std::vector<Named> scope_;  ///< the tables whose columns may be named here
};

/// Makes statements that take much time or memory, and are not always given up: endless ones, large
/// texts, products of tables, patterns that fit late, and copies of copies.
class LargeStatements : HostileValues {
  public:
    explicit LargeStatements(std::string file, unsigned seed = 51)
        : HostileValues(std::move(file), seed) {}

    std::string next() {
        switch (below(8)) {
            case 0:
                return product();
            case 1:
                return endless();
            case 2:
                return copies();
            case 3:
                return nested();
            case 4:
                return window();
            case 5:
                return json();
            default:
                return fmt::format("SELECT length({}), {} FROM {} LIMIT 3", text(), compared(),
                                   any_table());
        }
    }

  private:
    std::string any_table() {
        return any_of<6>({"processes", "ets_tables", "timers", "binaries", "modules", "ports"});
    }

    std::string number() {
        return any_of<6>({"1000000000", "100000000", "9000000", "2147483648", "-1", "1e18"});
    }

    std::string text() {
        switch (below(7)) {
            case 0:
                return fmt::format("printf('%.*c', {}, 'x')", number());
            case 1:
                return fmt::format("printf('%{}d%.{}f', 1, 1e300)", number(), number());
            case 2:
                return fmt::format("randomblob({})", number());
            case 3:
                return fmt::format("zeroblob({})", number());
            case 4:
                return "replace(hex(zeroblob(3000000)), '0', hex(zeroblob(1000)))";
            case 5:
                return fmt::format("(SELECT group_concat(dump || {}) FROM {} a, {} b)",
                                   any_of<3>({"rowid", "hex(zeroblob(10000))", "''"}), any_table(),
                                   any_table());
            default:
                return fmt::format("hex(zeroblob({}))", below(8'000'000));
        }
    }

    /// Comparisons that look at much before they end.
    std::string compared() {
        std::string late;
        for (std::size_t parts = 1 + below(60); parts > 0; --parts) {
            late += any_of<5>({"%0", "%0_", "*0", "*[0-9]", "00"});
        }
        const auto size = any_of<4>({"100", "10000", "400000", "7000000"});
        const auto zeros = fmt::format("hex(zeroblob({}))", size);
        switch (below(6)) {
            case 0:
                return fmt::format("{} LIKE '{}1'", zeros, late);
            case 1:
                return fmt::format("{} GLOB '{}1'", zeros, late);
            case 2:
                return fmt::format("instr({}, substr({}, 2) || '1')", zeros, zeros);
            case 3:
                return fmt::format("length(replace({}, '{}', {}))", zeros, late, zeros);
            case 4:
                return fmt::format("length({}({}, hex(randomblob({}))))",
                                   any_of<3>({"trim", "ltrim", "rtrim"}), zeros, size);
            default:
                return fmt::format("{} LIKE '%' || substr({}, 1, 30000) || '1'", zeros, zeros);
        }
    }

    std::string product() {
        std::string from;
        for (std::size_t tables = 2 + below(8), at = 0; at < tables; ++at) {
            from += fmt::format("{}{} t{}", at == 0 ? "" : any_of<2>({", ", " CROSS JOIN "}),
                                any_table(), at);
        }
        return fmt::format(
            "SELECT {} FROM {}",
            any_of<5>({"count(*)", "group_concat(t0.dump)", "t0.*", "DISTINCT t0.dump || t1.rowid",
                       "max(term(t0.rowid, t1.dump))"}),
            from);
    }

    std::string endless() {
        return fmt::format(
            "WITH RECURSIVE n(x) AS (SELECT {} UNION {} SELECT {} FROM n{}) SELECT "
            "{} FROM n",
            any_of<3>({"1", "''", "zeroblob(1000)"}), any_of<2>({"ALL", ""}),
            any_of<4>({"x + 1", "x || 'aa'", "x || x", "random()"}),
            any_of<3>({"", ", processes", ", n m"}),
            any_of<3>({"count(*)", "x", "group_concat(x)"}));
    }

    /// A table expression that is copied wherever it is named.
    std::string copies() {
        std::string statement = "WITH c0 AS (SELECT 1 AS x)";
        const auto depth = 5 + below(30);
        for (std::size_t at = 1; at < depth; ++at) {
            statement += fmt::format(", c{0} AS (SELECT 1 AS x FROM c{1} a, c{1} b)", at, at - 1);
        }
        return fmt::format("{} SELECT count(*) FROM c{}", statement, depth - 1);
    }

    std::string nested() {
        const auto depth = 1 + below(3000);
        std::string begin;
        std::string end;
        switch (below(4)) {
            case 0:
                begin = std::string(depth, '(');
                end = "1" + std::string(depth, ')');
                break;
            case 1:
                for (std::size_t at = 0; at < depth; ++at) {
                    begin += "abs(";
                }
                end = "1" + std::string(depth, ')');
                break;
            case 2:
                begin = "1";
                for (std::size_t at = 0; at < depth; ++at) {
                    end += " UNION SELECT 1";
                }
                break;
            default:
                for (std::size_t at = 0; at < depth / 20; ++at) {
                    begin += "(SELECT * FROM (SELECT ";
                    end += "))";
                }
                begin += "1";
        }
        return "SELECT " + begin + end;
    }

    std::string window() {
        return fmt::format(
            "SELECT {} OVER (PARTITION BY {} ORDER BY {} ROWS BETWEEN {} PRECEDING AND {} "
            "FOLLOWING) FROM {} t, {} u LIMIT {}",
            any_of<6>({"row_number()", "ntile(9223372036854775807)", "group_concat(t.dump)",
                       "nth_value(t.rowid, 9223372036854775807)", "lag(t.dump, -1, t.rowid)",
                       "sum(9223372036854775807)"}),
            any_of<3>({"t.dump", "t.rowid", "1"}), any_of<3>({"t.rowid", "u.rowid DESC", "NULL"}),
            any_of<3>({"UNBOUNDED", "-1", "9223372036854775807"}),
            any_of<3>({"UNBOUNDED", "1", "1e300"}), any_table(), any_table(),
            any_of<3>({"10", "-1", "100000"}));
    }

    std::string json() {
        const auto deep = fmt::format("replace(hex(zeroblob({})), '0', '[')",
                                      any_of<3>({"100", "1500", "500000"}));
        switch (below(5)) {
            case 0:
                return fmt::format("SELECT json({})", deep);
            case 1:
                return fmt::format(
                    "SELECT count(*) FROM json_tree({} || '1' || replace({}, '[', "
                    "']'))",
                    deep, deep);
            case 2:
                return fmt::format(
                    "SELECT json_group_array(json_object('a', t.dump)) FROM {} t, {} "
                    "u, {} v",
                    any_table(), any_table(), any_table());
            case 3:
                return fmt::format(
                    "SELECT length(json_patch('{{' || substr(replace(hex(zeroblob("
                    "{0})), '00', '\"a\":1,'), 2) || '}}', '{{\"b\":{1}}}'))",
                    any_of<2>({"100", "100000"}), number());
            default:
                return fmt::format(
                    "SELECT json_extract('[1]', '$[#-{}]'), json_set('{{}}', "
                    "'$.{}', {}) FROM {}",
                    number(), std::string(below(3000), 'a'), number(), any_table());
        }
    }
};

/// All of these by turns, each large one of them for a number of others.
class AnyStatements {
  public:
    /// `file`: one that no statement may touch.
    AnyStatements(const std::string& file, unsigned seed)
        : hostile_(file, seed), askable_(file, seed + 1), large_(file, seed + 2) {}

    std::string next() {
        constexpr int kOfThem = 25;
        const auto number = number_++;
        if (number % kOfThem == kOfThem - 1) {
            return large_.next();
        }
        return number % 3 == 0 ? hostile_.next() : askable_.next();
    }

  private:
    HostileStatements hostile_;
    SchemaStatements askable_;
    LargeStatements large_;
    int number_ = 0;
};

}  // namespace beamdump::test
