#pragma once

#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace beamdump::capture {

/// A carrier, or a segment in mseg_alloc's cache.
struct MappedPart {
    memory::AddressRange range;
    std::optional<std::uint32_t> allocator;  ///< nothing: the cache
};

/// Adds the process's mappings to a record, in groups, and where the target says it what of them is
/// resident, in all, in carriers and in the cache. `parts`: ascending; of those that `system` has.
/// Gives a sentence for what could not be read.
std::vector<std::string> add_mapping_groups(beam::Vm& vm, std::span<const MappedPart> parts,
                                            records::SystemMemory& system);

}  // namespace beamdump::capture
