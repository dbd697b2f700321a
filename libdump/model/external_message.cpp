#include <libdump/base/return_if_error.h>
#include <libdump/model/external_message.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace beamdump {

namespace {

/// Bit 0 of an undecoded message's flags: no version byte comes first (external.h,
/// ERTS_DIST_EXT_DFLAG_HDR).
constexpr std::uint32_t kHasHeader = 1;

}  // namespace

Result<std::unique_ptr<ExternalMessage>> ExternalMessage::open(Dump& dump,
                                                               const records::External& external) {
    std::unique_ptr<ExternalMessage> message(new ExternalMessage(dump, external));
    if (external.part_size() == 0) {
        message->size_ = std::max<std::uint64_t>(external.data().size(), external.total_bytes());
        return message;
    }
    for (const auto& ref : external.part()) {
        ASSIGN_OR_RETURN(auto region, region_of(ref));
        if (region.kind != format::RegionKind::kExternalData ||
            region.total > std::numeric_limits<std::uint64_t>::max() - message->size_) {
            return fail(ErrorCode::kCorrupt, "an undecoded message has an invalid part");
        }
        message->begins_.push_back(message->size_);
        message->size_ += region.total;
        message->parts_.push_back(region);
    }
    return message;
}

ExternalTerm ExternalMessage::term() {
    const auto& atoms = external_.atom();
    return {.source = this,
            .cached_atoms = std::span(atoms.data(), static_cast<std::size_t>(atoms.size())),
            .version_byte = (external_.dist_flags() & kHasHeader) == 0};
}

std::size_t ExternalMessage::read(std::uint64_t from, std::span<std::uint8_t> into) {
    if (parts_.empty()) {
        const auto& data = external_.data();
        if (from >= data.size()) {
            return 0;
        }
        const auto count = std::min<std::size_t>(into.size(), data.size() - from);
        std::memcpy(into.data(), data.data() + from, count);
        return count;
    }
    std::size_t have = 0;
    auto part = static_cast<std::size_t>(std::ranges::upper_bound(begins_, from) - begins_.begin());
    for (; have < into.size() && part > 0 && part <= parts_.size(); ++part) {
        const Region& region = parts_[part - 1];
        const auto inside = from + have - begins_[part - 1];
        if (inside > region.here) {
            break;
        }
        const auto count = std::min<std::size_t>(into.size() - have, region.here - inside);
        if (auto done = read_region(dump_.reader(), region, inside,
                                    std::as_writable_bytes(into.subspan(have, count)));
            !done) {
            dump_.faults().note(done.error());
            break;
        }
        have += count;
        if (region.here < region.total) {
            break;
        }
    }
    return have;
}

std::optional<std::uint32_t> DumpNames::atom_index(std::string_view name) {
    constexpr std::size_t kMaxNames = 4096;
    const std::string key(name);
    if (const auto known = indexes_.find(key); known != indexes_.end()) {
        return known->second;
    }
    auto found = dump_.atoms().index_of(name);
    if (!found) {
        dump_.faults().note(found.error());
    }
    if (indexes_.size() >= kMaxNames) {
        indexes_.clear();
    }
    return indexes_[key] = found ? *found : std::nullopt;
}

bool DumpNames::is_this_node(std::string_view name) {
    if (!this_node_) {
        this_node_ = dump_.node().has_name_atom()
                         ? dump_.atoms().text(dump_.node().name_atom()).value_or("")
                         : "";
    }
    return name == *this_node_;
}

}  // namespace beamdump
