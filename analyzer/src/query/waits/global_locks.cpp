#include "query/waits/global_locks.h"

#include "query/tables/ets_rows.h"

#include <libdump/base/return_if_error.h>

#include <functional>
#include <utility>

namespace beamdump::query {

namespace {

constexpr const char* kTable = "global_locks";
constexpr std::size_t kMostBytes = 1000;  ///< of a row's text; a longer one is passed over

}  // namespace

Result<GlobalLocks> GlobalLocks::read(Dump& dump) {
    GlobalLocks locks;
    EtsRowsOptions options;
    options.limit = 0;
    options.term_bytes = kMostBytes;
    options.keys = true;
    const auto listing = EtsRowListing::open(dump, kTable, options);
    if (!listing) {
        if (listing.error().code == ErrorCode::kNotFound) {
            return locks;
        }
        return std::unexpected(listing.error());
    }
    // {Resource, Requester, [{Pid, Reference}, ...]} (global.erl, insert_lock; OTP 25 to 29).
    RETURN_IF_ERROR((*listing)->each([&locks](const EtsRowLine& line) {
        const std::string_view row = line.row.text;
        constexpr std::string_view kHolders = ",[{<";
        const auto holders = row.rfind(kHolders);
        if (line.row.cut || !line.key || holders == std::string_view::npos) {
            return;
        }
        const auto begin = holders + kHolders.size() - 1;
        locks.holders_[*line.key] = row.substr(begin, row.find('>', begin) + 1 - begin);
    }));
    return locks;
}

std::optional<GlobalLocks::Lock> GlobalLocks::of_id(std::string_view id) const {
    for (const auto& [resource, holder] : holders_) {
        if (id.starts_with('{') && id.substr(1).starts_with(resource) &&
            id.substr(1 + resource.size()).starts_with(',')) {
            return Lock{resource, holder};
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::query
