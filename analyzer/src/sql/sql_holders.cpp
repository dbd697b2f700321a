#include "sql/sql_holders.h"

#include "query/holders/node_binaries.h"
#include "query/holders/refs.h"
#include "query/rows/cells.h"
#include "sql/sql_rows.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::sql {

namespace {

using query::cell;
using query::Cell;
using query::Column;
using query::ColumnKind;
using query::Row;

constexpr std::array kHolderColumns = {
    Column{.name = "pid", .sentence = "The process that holds it, or the owner of the table"},
    Column{.name = "name", .sentence = "What tables call that process"},
    Column{.name = "table", .sentence = "The ETS table, if a row holds it"},
    Column{.name = "module", .sentence = "The module, if its literals hold it"},
    Column{.name = "persistent_terms",
           .kind = ColumnKind::kFlag,
           .sentence = "Whether a persistent term holds it"},
    Column{.name = "root", .sentence = "Where the way to it begins: y(3) of frame 0, message 1..."},
    Column{.name = "path", .sentence = "The steps from there, separated by /"},
    Column{.name = "first_byte",
           .kind = ColumnKind::kSpan,
           .sentence = "Of a binary: where the part begins that the term shows"},
    Column{.name = "shown_bytes",
           .kind = ColumnKind::kSpan,
           .sentence = "Of a binary: the size of that part"}};

Row row_of(const query::HolderLine& holder) {
    const auto& owner = holder.owner;
    const bool is_known = !owner.process.pid.empty();
    return {is_known ? Cell(owner.process.pid) : Cell(),
            is_known ? cell(query::shown_name(owner.process)) : Cell(),
            cell(owner.table),
            cell(owner.module),
            owner.persistent_terms,
            holder.place.root,
            fmt::format("{}", fmt::join(holder.place.path, "/")),
            holder.slice ? Cell(holder.slice->first) : Cell(),
            holder.slice ? Cell(holder.slice->bytes) : Cell()};
}

/// What was not looked at, in one sentence; empty: nothing.
std::string not_looked_at(const query::RefsAnswer& answer) {
    auto sentences = withheld_sentences(answer.read);
    std::ranges::move(query::not_searched(answer.node), std::back_inserter(sentences));
    if (answer.unreadable != 0) {
        sentences.push_back(fmt::format("{} unreadable places", answer.unreadable));
    }
    if (answer.undecoded_messages != 0) {
        sentences.push_back(fmt::format("{} undecoded messages", answer.undecoded_messages));
    }
    return sentences.empty()
               ? std::string()
               : fmt::format("holders were not looked for in: {}", fmt::join(sentences, "; "));
}

}  // namespace

Result<std::unique_ptr<Rows>> open_binaries(const Source& source, const Request& request) {
    // Holders are counted by a look at all processes.
    const query::RowQuery query{
        .sort = request.sort.empty() ? std::string(query::kNodeBinarySort) : request.sort,
        .filters = request.filters,
        .limit = request.limit,
        .derived = !request.late.empty(),
        .any = request.sort.empty(),
        .memory = source.memory};
    ASSIGN_OR_RETURN(auto found, query::node_binaries(*source.dump, query, source.limits));
    RETURN_IF_ERROR(check_room(*source.memory));
    Room room(*source.memory, found.list.memory());
    auto missing = found.read ? withheld_sentences(*found.read) : std::vector<std::string>();
    if (found.may_lack_some) {
        missing.emplace_back("the crash dump breaks off before or among its binaries");
    }
    return std::make_unique<HeldRows>(found.list.take(), std::move(room),
                                      fmt::format("{}", fmt::join(missing, "; ")));
}

std::span<const Column> holder_columns() {
    return kHolderColumns;
}

Result<std::unique_ptr<Rows>> open_holders(const Source& source, const Request& request) {
    ASSIGN_OR_RETURN(
        const auto target,
        query::parse_target(*source.dump, query::cell_text(request.arguments.front())));
    std::vector<Row> rows;
    Room room(*source.memory);
    Result<void> held;
    query::RefsOptions options;
    options.sensitive = source.sensitive;
    options.limits = source.limits;
    options.found = [&](const query::HolderLine& holder) {
        if (held) {
            rows.push_back(row_of(holder));
            held = room.take(rows.back());
        }
    };
    ASSIGN_OR_RETURN(const auto answer, query::find_holders(*source.dump, target, options));
    RETURN_IF_ERROR(held);
    return std::make_unique<HeldRows>(std::move(rows), std::move(room), not_looked_at(answer));
}

}  // namespace beamdump::sql
