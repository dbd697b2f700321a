#include "capture/node/mapping_groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace beamdump::capture {
namespace {

using target::Mapping;

/// HEAP_MAX_SIZE in malloc/arena.c of glibc: the alignment of the arenas of threads.
constexpr std::uint64_t kArenaBytes = 64U << 20U;
/// The guard before a thread's stack: one page, or more if its creator asked for more.
constexpr std::uint64_t kMaxGuardBytes = 64U << 10U;

bool is_closed(const Mapping& mapping) {
    return mapping.path.empty() && !mapping.readable && !mapping.writable && !mapping.executable;
}

bool follows(const Mapping* before, const Mapping& mapping) {
    return before != nullptr && before->range.end == mapping.range.begin;
}

/// An arena reserves 64 MiB; only its first part is accessible.
bool is_arena(const Mapping& mapping, const Mapping* after) {
    const auto end = mapping.range.begin + kArenaBytes;
    const bool rest_closed = after != nullptr && after->range.begin == mapping.range.end &&
                             is_closed(*after) && after->range.end >= end;
    return mapping.range.begin % kArenaBytes == 0 && rest_closed;
}

std::string_view kind_of_anonymous(const Mapping& mapping, const Mapping* before,
                                   std::string_view kind_before, const Mapping* after) {
    if (mapping.executable) {
        return kJitCode;
    }
    // Uninitialised data (.bss) follows the mapping of the file.
    const bool of_file = kind_before == kVmFile || kind_before == kLibrary;
    if (of_file && follows(before, mapping) && before->writable && !before->path.empty()) {
        return kind_before;
    }
    if (mapping.writable && is_arena(mapping, after)) {
        return kMallocArena;
    }
    const bool guarded =
        follows(before, mapping) && is_closed(*before) && before->range.bytes() <= kMaxGuardBytes;
    return mapping.writable && guarded ? kThreadStack : kAnonymous;
}

using memory::AddressRange;

class GroupWriter {
  public:
    GroupWriter(beam::Vm& vm, std::span<const MappedPart> parts, records::SystemMemory& system)
        : vm_(vm), parts_(parts), system_(system) {}

    std::vector<std::string> write() {
        auto uses = vm_.target().mapping_use();
        std::vector<target::Mapping> mappings;
        if (uses) {
            for (const auto& use : *uses) {
                mappings.push_back(use.mapping);
            }
        } else {
            mappings = vm_.target().mappings().all();
            if (uses.error().code != ErrorCode::kUnsupported) {
                failed_.emplace_back(uses.error().message);
            }
        }
        const auto& facts = vm_.facts();
        const auto kinds = mapping_kinds(
            mappings, {vm_.target().executable(),
                       {facts.literals_start, facts.literals_start + facts.literals_bytes}});
        for (std::size_t index = 0; index < mappings.size(); ++index) {
            auto& entry = group(kinds[index]);
            entry.set_mappings(entry.mappings() + 1);
            entry.set_bytes(entry.bytes() + mappings[index].range.bytes());
            if (uses) {
                const auto& use = (*uses)[index];
                entry.set_resident_bytes(entry.resident_bytes() + use.resident_bytes);
                entry.set_swapped_bytes(entry.swapped_bytes() + use.swapped_bytes);
                system_.set_resident_bytes(system_.resident_bytes() + use.resident_bytes);
                parts_in(mappings[index].range, entry);
            }
        }
        if (uses) {
            residents_of_parts();
        }
        return std::move(failed_);
    }

  private:
    records::MappingGroup& group(std::string_view kind) {
        const auto [known, is_new] = groups_.emplace(kind, system_.group_size());
        if (is_new) {
            system_.add_group()->set_kind(std::string(kind));
        }
        return *system_.mutable_group(known->second);
    }

    /// The resident bytes of a range; nullopt if the kernel does not tell.
    std::optional<std::uint64_t> resident(AddressRange range) {
        const auto present = vm_.target().pages().present(range);
        if (!present) {
            return std::nullopt;
        }
        std::uint64_t bytes = 0;
        for (const auto& part : *present) {
            bytes += part.bytes();
        }
        return bytes;
    }

    /// Adds up the resident bytes of a mapping that belong to carriers or to the mseg cache.
    void parts_in(AddressRange mapping, records::MappingGroup& entry) {
        if (system_.carriers_size() != 0) {
            entry.set_carrier_resident_bytes(entry.carrier_resident_bytes());
        }
        if (system_.has_segment_cache()) {
            entry.set_cache_resident_bytes(entry.cache_resident_bytes());
        }
        auto part = std::ranges::upper_bound(parts_, mapping.begin, {},
                                             [](const MappedPart& one) { return one.range.begin; });
        part = part == parts_.begin() ? part : std::prev(part);
        for (; part != parts_.end() && part->range.begin < mapping.end; ++part) {
            const AddressRange here{std::max(part->range.begin, mapping.begin),
                                    std::min(part->range.end, mapping.end)};
            if (here.begin >= here.end) {
                continue;
            }
            const auto bytes = resident(here);
            known_ = known_ && bytes;
            if (part->allocator) {
                entry.set_carrier_resident_bytes(entry.carrier_resident_bytes() +
                                                 bytes.value_or(0));
                residents_[*part->allocator] += bytes.value_or(0);
            } else {
                entry.set_cache_resident_bytes(entry.cache_resident_bytes() + bytes.value_or(0));
                cache_resident_ += bytes.value_or(0);
            }
        }
    }

    void residents_of_parts() {
        if (!known_) {
            failed_.emplace_back("which pages of carriers are in memory is not known");
            for (auto& entry : *system_.mutable_group()) {
                entry.clear_carrier_resident_bytes();
                entry.clear_cache_resident_bytes();
            }
            return;
        }
        for (auto& pages : *system_.mutable_carriers()) {
            pages.set_resident_bytes(residents_[pages.allocator()]);
        }
        if (system_.has_segment_cache()) {
            system_.mutable_segment_cache()->set_resident_bytes(cache_resident_);
        }
    }

    beam::Vm& vm_;
    std::span<const MappedPart> parts_;
    records::SystemMemory& system_;
    std::map<std::string, int, std::less<>> groups_;
    std::map<std::uint32_t, std::uint64_t> residents_;
    std::uint64_t cache_resident_ = 0;
    bool known_ = true;  // residents of all parts
    std::vector<std::string> failed_;
};

}  // namespace

std::vector<std::string_view> mapping_kinds(std::span<const Mapping> mappings,
                                            const MappingContext& context) {
    std::vector<std::string_view> kinds;
    for (std::size_t index = 0; index < mappings.size(); ++index) {
        const auto& mapping = mappings[index];
        const std::string_view path = mapping.path;
        if (context.literals.contains(mapping.range.begin)) {
            kinds.push_back(kLiterals);
        } else if (path == "[heap]") {
            kinds.push_back(kHeapMapping);
        } else if (path == "[stack]") {
            kinds.push_back(kThreadStack);
        } else if (path.starts_with('[')) {
            kinds.push_back(path.starts_with("[anon") ? kAnonymous : kKernel);
        } else if (path.starts_with("/memfd:vmem")) {
            kinds.push_back(kJitCode);
        } else if (path == context.executable) {
            kinds.push_back(kVmFile);
        } else if (!path.empty()) {
            kinds.push_back(kLibrary);
        } else {
            const bool first = index == 0;
            kinds.push_back(
                kind_of_anonymous(mapping, first ? nullptr : &mappings[index - 1],
                                  first ? std::string_view() : kinds.back(),
                                  index + 1 == mappings.size() ? nullptr : &mappings[index + 1]));
        }
    }
    return kinds;
}

std::vector<std::string> add_mapping_groups(beam::Vm& vm, std::span<const MappedPart> parts,
                                            records::SystemMemory& system) {
    return GroupWriter(vm, parts, system).write();
}

}  // namespace beamdump::capture
