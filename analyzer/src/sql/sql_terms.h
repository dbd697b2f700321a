#pragma once

#include "query/rows/row_list.h"
#include "sql/sql_table.h"

#include <libdump/base/error.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::sql {

/// What a function gives, or why it gives nothing.
struct TermValue {
    query::Cell cell;
    std::string not_told;  ///< the dump lacks the process or its terms: a sentence
    std::string no_part;   ///< the process has no such root or part: a sentence
};

/// What a function is called with: a term of a process, which a path names as `term DUMP PROCESS
/// PATH` has it.
struct TermArguments {
    std::string process;
    std::string path;
    std::string pattern = {};  ///< of a function that takes one
};

struct TermFunction {
    std::string_view name;
    std::string_view sentence;  ///< what it gives
    Result<TermValue> (*value)(const Source& source, const TermArguments& arguments) = nullptr;
    bool takes_pattern = false;  ///< as the third argument
};

/// All of them, in the order of their names.
std::span<const TermFunction> term_functions();

/// The columns of the table of a term's parts, and of the table of a process's roots.
std::span<const query::Column> term_part_columns();
/// Parts of the term that the arguments name by process and path; roots where there is no path.
Result<std::unique_ptr<Rows>> open_terms(const Source& source, const Request& request);

}  // namespace beamdump::sql
