#pragma once

#include <memory>
#include <sqlite3.h>
#include <stop_token>
#include <vector>

namespace beamdump::sql {

struct Closer {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Closer>;
using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

/// SQLite's functions whose time grows with the product of two arguments' sizes: LIKE, GLOB, instr,
/// replace, trim and json_patch. SQLite ends a statement only between steps of its machine, and a
/// call of one of them is one step. Here a call that would take long fails with SQLITE_TOOBIG, and
/// one after a stop request with SQLITE_INTERRUPT.
class BoundedFunctions {
  public:
    /// Steps of one call: the product of the sizes in bytes. LIKE takes about 4 ns for each
    /// (SQLite 3.40).
    static constexpr std::uint64_t kMostSteps = 1U << 30U;

    explicit BoundedFunctions(std::stop_token stop) : stop_(std::move(stop)) {}
    BoundedFunctions(const BoundedFunctions&) = delete;
    BoundedFunctions& operator=(const BoundedFunctions&) = delete;
    ~BoundedFunctions() = default;

    /// Puts them in place of SQLite's own in a connection, which must end before this.
    void put_into(sqlite3* database);

  private:
    /// One function with one number of arguments.
    struct Bounded {
        BoundedFunctions* functions = nullptr;
        const char* name = nullptr;
        int arguments = 0;
        Statement own = nullptr;  ///< calls SQLite's own
    };

    static void call(sqlite3_context* context, int count, sqlite3_value** values);
    /// False: SQLite cannot prepare it.
    bool prepare(Bounded& bounded);

    std::stop_token stop_;
    Database own_;  ///< a connection that has SQLite's own
    std::vector<Bounded> bounded_;
};

}  // namespace beamdump::sql
