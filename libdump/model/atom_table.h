#pragma once

#include <libdump/base/error.h>
#include <libdump/model/faults.h>
#include <libdump/model/recent_cache.h>
#include <libdump/read/dump_reader.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// The node's atoms by index. Pages are read when needed; a few stay in memory.
class AtomTable {
  public:
    /// Non-owning: both must outlive the table.
    AtomTable(DumpReader& reader, Faults& faults);

    /// An atom's name in UTF-8; nullopt if the dump lacks it. Read errors go to Faults.
    std::optional<std::string> text(std::uint32_t index);

    /// An atom's name, with read errors returned.
    Result<std::optional<std::string>> find(std::uint32_t index);

    /// The index of the atom with that name. Reads pages from the first on until it is found.
    Result<std::optional<std::uint32_t>> index_of(std::string_view name);

    /// Tells all atoms, the one with the highest index first: the newest. One page in memory.
    Result<void> visit_newest_first(
        const std::function<void(std::uint32_t index, const std::string& text)>& visit);

  private:
    struct Page {
        std::uint32_t first = 0;
        std::uint64_t offset = 0;
    };
    Result<std::shared_ptr<const records::Atoms>> load(const Page& page);

    DumpReader& reader_;
    Faults& faults_;
    std::vector<Page> pages_;  // by first index
    RecentCache<std::uint64_t, records::Atoms> cache_;
};

}  // namespace beamdump
