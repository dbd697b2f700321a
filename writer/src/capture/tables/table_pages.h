#pragma once

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libvm/beam/tables/node_tables.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace beamdump::capture {

/// Writes the pages of small tables of the node, and again those of tables that changed since. A
/// table is read once more to find that out: it may be too large to be held.
class TablePages {
  public:
    template <typename Page>
    using Read = std::function<Result<void>(const beam::TakePage<Page>&)>;

    /// `offsets` gets those of a table that was read to its end.
    template <typename Page>
    Result<void> write(DumpWriter& writer, format::RecordKind kind, const Read<Page>& read,
                       google::protobuf::RepeatedField<std::uint64_t>& offsets) {
        std::size_t print = 0;
        const auto add = [&print](const Page& page) {
            print = print * 31 + std::hash<std::string>()(page.SerializeAsString());
        };
        const auto known = prints_.find(kind);
        if (known != prints_.end()) {
            RETURN_IF_ERROR(read([&](const Page& page) -> Result<void> {
                add(page);
                return {};
            }));
            if (std::exchange(print, 0) == known->second) {
                return {};
            }
        }
        google::protobuf::RepeatedField<std::uint64_t> written;
        RETURN_IF_ERROR(read([&](const Page& page) -> Result<void> {
            add(page);
            return append_noted(writer, kind, page, written);
        }));
        prints_[kind] = print;
        offsets.MergeFrom(written);
        return {};
    }

    /// Of a table that is held as a whole.
    template <typename Page>
    static Read<Page> held(Result<std::vector<Page>> pages) {
        return [pages = std::move(pages)](const beam::TakePage<Page>& take) -> Result<void> {
            if (!pages) {
                return std::unexpected(pages.error());
            }
            for (const auto& page : *pages) {
                RETURN_IF_ERROR(take(page));
            }
            return {};
        };
    }

  private:
    std::map<format::RecordKind, std::size_t> prints_;
};

}  // namespace beamdump::capture
