#pragma once

#include "query/diff/diff.h"

namespace beamdump::query {

/// A thing with its amounts in all dumps, without a share.
ThingChange thing_change(const DiffContext& context, const SectionKind& kind,
                         const ThingTable& table, std::size_t thing);

/// The change from the first dump that says a measure to the last; nothing where fewer than two do.
std::optional<std::int64_t> change_of(const ThingTable& table, std::size_t thing, Measure measure);

/// Counts and lists what changed; the lists are not described yet.
DiffSection make_section(const DiffContext& context, const SectionKind& kind,
                         const ThingTable& table);

}  // namespace beamdump::query
