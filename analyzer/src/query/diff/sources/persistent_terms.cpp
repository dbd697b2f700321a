#include "query/tables/persistent_terms.h"

#include "query/diff/diff_source.h"

#include <libdump/base/return_if_error.h>

#include <string>
#include <utility>
#include <variant>

namespace beamdump::query {

namespace {

/// Of a key's text.
constexpr std::size_t kLongestTermKey = 200;

/// By their keys' texts. An export does not have them; of a crash dump the words of their keys are
/// not read.
Result<void> read_terms(DiffContext& context, std::size_t number, ThingTable& table) {
    const ComparedDump& dump = context.dumps[number];
    if (dump.exported != nullptr || dump.of_crash_dump) {
        return {};
    }
    const RowQuery query{.sort = "memory", .filters = {}, .limit = 0};
    auto answer = list_persistent_terms(*dump.dump, query, kLongestTermKey);
    if (!answer && answer.error().code == ErrorCode::kNotFound) {
        return {};
    }
    if (!answer) {
        return std::unexpected(std::move(answer.error()));
    }
    table.begin(number, dump.whole && answer->counts.is_whole());
    const auto place_of = [](std::string_view name) {
        return column_place(persistent_term_columns(), name);
    };
    const auto key = place_of("key");
    const auto memory = place_of("memory");
    for (const Row& row : answer->list.take()) {
        const auto* text = std::get_if<std::string>(&row.at(key));
        const auto* bytes = std::get_if<std::uint64_t>(&row.at(memory));
        table.add(text != nullptr ? *text : "(unknown)",
                  {.size = bytes != nullptr ? std::optional(*bytes) : std::nullopt});
    }
    return {};
}

constexpr DiffSource kTermSource = {
    .kind = {.name = "persistent_terms",
             .title = "Persistent terms",
             .thing = "KEY",
             .size = "memory",
             .members = "terms",
             .gone = "erased",
             .ranked = true},
    .read = read_terms,
};

}  // namespace

const DiffSource& persistent_terms_diff_source() {
    return kTermSource;
}

}  // namespace beamdump::query
