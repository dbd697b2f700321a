#pragma once

#include "cli/command.h"
#include "cli/shared_options.h"
#include "query/rows/row_list.h"
#include "render/shared/row_list.h"

#include <libdump/model/dump.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::cli {

/// A list of things that are alike, and how it is shown unless the user says otherwise.
struct ListColumns {
    std::span<const query::Column> columns;  ///< must outlive the command
    std::string_view sort;                   ///< as RowQuery::sort
    std::string_view things;                 ///< in sentences: "ports"
    std::string_view shown = {};             ///< as RowQuery::columns
};

/// --sort, --filter, --columns, --group-by and --limit of a list, in the grammar of all lists.
class ListOptions {
  public:
    explicit ListOptions(const ListColumns& list) : list_(list) { query_.columns = list.shown; }

    void add(CLI::App& app);
    /// kUsage, with what there is, for an unknown column.
    [[nodiscard]] Result<void> check() const;
    /// What was asked for.
    [[nodiscard]] query::RowQuery query() const;
    /// A list of other things, where an option of the command asks for them; after add().
    void change_to(const ListColumns& list);
    [[nodiscard]] query::RowQuery& changed() { return query_; }
    [[nodiscard]] const ListColumns& list() const { return list_; }

  private:
    ListColumns list_;
    query::RowQuery query_;
};

/// A command whose answer is a list and nothing else.
struct ListSpec {
    Command::Description description;
    std::span<const query::Column> columns;  ///< must outlive the command
    std::string_view sort;                   ///< what rows are sorted by by default
    render::RowListTexts texts;
    /// The rows of a dump, whose file is named.
    Result<query::RowList> (*list)(Dump& dump, const query::RowQuery& query) = nullptr;
    std::string_view counted_by = {};  ///< a column of few different texts: also count by it
};

std::unique_ptr<Command> make_list_command(const ListSpec& spec);

}  // namespace beamdump::cli
