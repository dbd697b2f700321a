#pragma once

#include "query/rows/column.h"
#include "sql/sql_table.h"

#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace beamdump::sql {

/// A value of an answer: NULL, an integer, a number with a fraction, or a text.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

struct QuestionLimits {
    std::uint64_t memory =
        InputLimits::kDefaultMemory;  ///< of rows that are held and of SQLite's own data, bytes
    /// Steps of SQLite's machine; 0: no limit.
    std::uint64_t steps = 0;
    std::stop_token stop = {};  ///< kLimit after its request
};

/// One SELECT statement over dumps. SQLite runs it: it may read the tables (sql_table.h) and call
/// functions, and nothing else: no files, no pragmas, no other database, no extensions.
class Question {
  public:
    /// kUsage: it is no single SELECT, or SQLite does not take it.
    static Result<std::unique_ptr<Question>> prepare(const std::string& statement,
                                                     const QuestionLimits& limits);
    virtual ~Question() = default;
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;

    /// Whether it asks tables that read terms.
    [[nodiscard]] virtual bool reads_terms() const = 0;
    [[nodiscard]] virtual const std::vector<std::string>& columns() const = 0;
    /// Runs it over these dumps, which must outlive this call, until `visit` returns false.
    /// What single things lack is left out, and told; kNotFound where that leaves no row at all.
    virtual Result<LeftOut> run(
        std::vector<Source> sources,
        const std::function<bool(const std::vector<Value>& row)>& visit) = 0;

  protected:
    Question() = default;
};

/// Whether a text ends in a statement's `;`, outside of strings and comments.
bool is_whole_statement(const std::string& text);

}  // namespace beamdump::sql
