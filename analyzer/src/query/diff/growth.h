#pragma once

#include "query/diff/diff.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// Finds what grew by a large part of what the node has, section by section.
class GrowthList {
  public:
    /// `memory_bytes`: of the node at the end, where known.
    GrowthList(const DiffContext& context, std::optional<std::uint64_t> memory_bytes)
        : context_(context), memory_bytes_(memory_bytes) {}

    /// The section's things of large growth. Sections of parts come before those of containers.
    std::vector<ThingChange> of(const SectionKind& kind, const ThingTable& table);

    /// Steadily growing things first, then by share.
    static void sort(std::vector<ThingChange>& growth);

  private:
    struct Share {
        double share = 0;
        Measure measure = Measure::kSize;
    };
    [[nodiscard]] std::optional<Share> share_of(const SectionKind& kind, const ThingTable& table,
                                                std::size_t thing) const;

    const DiffContext& context_;
    std::optional<std::uint64_t> memory_bytes_;
    /// How much the part of each container of a section that grew most has grown, in bytes.
    std::map<std::string_view, std::unordered_map<std::string, std::int64_t>> largest_parts_;
    std::optional<std::uint64_t> members_at_end_;
};

}  // namespace beamdump::query
