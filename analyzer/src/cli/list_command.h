#pragma once

#include "cli/command.h"
#include "query/rows/row_list.h"
#include "render/shared/row_list.h"

#include <libdump/model/dump.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// A command whose answer is a list of things that are alike, with --sort, --filter, --group-by and
/// --limit.
struct ListSpec {
    Command::Description description;
    std::span<const query::Column> columns;  ///< must outlive the command
    std::string_view sort;                   ///< the column that rows are sorted by by default
    render::RowListTexts texts;
    /// The rows of a dump, whose file is named.
    Result<query::RowList> (*list)(Dump& dump, const std::string& file,
                                   const query::RowQuery& query) = nullptr;
    std::string_view counted_by = {};  ///< a column of few different texts: also count by it
};

std::unique_ptr<Command> make_list_command(const ListSpec& spec);

}  // namespace beamdump::cli
