#include "sql/sql_bounded.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace beamdump::sql {

namespace {

struct Slow {
    const char* name;
    int arguments;
};
constexpr std::array kSlow = {Slow{"glob", 2},    Slow{"instr", 2}, Slow{"json_patch", 2},
                              Slow{"like", 2},    Slow{"like", 3},  Slow{"ltrim", 2},
                              Slow{"replace", 3}, Slow{"rtrim", 2}, Slow{"trim", 2}};

}  // namespace

void BoundedFunctions::put_into(sqlite3* database) {
    bounded_.clear();
    bounded_.reserve(kSlow.size());
    for (const Slow& slow : kSlow) {
        bounded_.push_back({.functions = this, .name = slow.name, .arguments = slow.arguments});
        sqlite3_create_function_v2(database, slow.name, slow.arguments,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC, &bounded_.back(), call,
                                   nullptr, nullptr, nullptr);
    }
}

bool BoundedFunctions::prepare(Bounded& bounded) {
    if (!own_) {
        sqlite3* database = nullptr;
        const int code = sqlite3_open_v2(":memory:", &database,
                                         SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
        own_.reset(database);
        if (code != SQLITE_OK) {
            own_.reset();
            return false;
        }
    }
    const auto text =
        fmt::format("SELECT {}(?1, ?2{})", bounded.name, bounded.arguments == 3 ? ", ?3" : "");
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(own_.get(), text.c_str(), -1, &statement, nullptr);
    bounded.own.reset(statement);
    return statement != nullptr;
}

void BoundedFunctions::call(sqlite3_context* context, int count, sqlite3_value** values) {
    auto& bounded = *static_cast<Bounded*>(sqlite3_user_data(context));
    auto& functions = *bounded.functions;
    if (functions.stop_.stop_requested()) {
        sqlite3_result_error_code(context, SQLITE_INTERRUPT);
        return;
    }
    const auto first = static_cast<std::uint64_t>(sqlite3_value_bytes(values[0]));
    const auto second = static_cast<std::uint64_t>(sqlite3_value_bytes(values[1]));
    if (second != 0 && first > kMostSteps / second) {
        const auto sentence = fmt::format(
            "{} of texts of {} and {} bytes would take too long: ask for parts of them "
            "(substr)",
            bounded.name, first, second);
        sqlite3_result_error(context, sentence.c_str(), -1);
        sqlite3_result_error_code(context, SQLITE_TOOBIG);
        return;
    }
    if (!bounded.own && !functions.prepare(bounded)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    sqlite3_stmt* const statement = bounded.own.get();
    for (int at = 0; at < count; ++at) {
        sqlite3_bind_value(statement, at + 1, values[at]);
    }
    if (const int code = sqlite3_step(statement); code == SQLITE_ROW) {
        sqlite3_result_value(context, sqlite3_column_value(statement, 0));
    } else {
        sqlite3_result_error(context, sqlite3_errmsg(functions.own_.get()), -1);
        sqlite3_result_error_code(context, code);
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

}  // namespace beamdump::sql
