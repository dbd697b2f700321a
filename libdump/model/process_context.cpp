#include <libdump/base/return_if_error.h>
#include <libdump/model/process_context.h>
#include <libdump/term/term_scheme.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

namespace beamdump {

namespace {

constexpr std::size_t kRegionPacksHeld = 8;
constexpr std::size_t kBinariesHeld = 16;

/// Where a packed region ends, with the words that are not in the dump.
std::uint64_t packed_end(const records::PackedRegion& region) {
    const auto words =
        std::max(static_cast<std::uint64_t>(region.words_size()), region.total_words());
    const auto most = (std::numeric_limits<std::uint64_t>::max() - region.address()) / kWordBytes;
    return region.address() + std::min(words, most) * kWordBytes;
}

/// Words of a packed region from `address` on; nullopt if the region does not have that address.
std::optional<Result<std::size_t>> words_of(const records::PackedRegion& region,
                                            std::uint64_t address, std::span<std::uint64_t> into) {
    const auto here = static_cast<std::uint64_t>(region.words_size());
    const std::uint64_t total = std::max(here, region.total_words());
    if (address < region.address() || (address - region.address()) / kWordBytes >= total) {
        return std::nullopt;
    }
    const std::uint64_t index = (address - region.address()) / kWordBytes;
    if (index >= here) {
        return fail(ErrorCode::kAbsent,
                    fmt::format("the word at {:#x} (word {} of {} from {:#x}) is {}", address,
                                index, total, region.address(),
                                absence_reason(static_cast<format::RegionState>(region.state()))));
    }
    const auto count = std::min<std::size_t>(into.size(), here - index);
    std::copy_n(region.words().begin() + static_cast<std::ptrdiff_t>(index), count, into.begin());
    return count;
}

}  // namespace

/// The process's words as they are in the dump, and how they are shown.
struct ProcessContext::Collecting {
    explicit Collecting(const records::Collection& collection) : forwarding(collection) {}

    Forwarding forwarding;
    std::optional<Result<void>> read;  // once it was
};

ProcessContext::ProcessContext(Dump& dump, const ProcessRun& run, Plain /*unused*/)
    : dump_(dump),
      run_(run),
      regions_(dump.reader(), run.directory.regions, dump.gaps()),
      packs_(kRegionPacksHeld),
      binaries_(kBinariesHeld) {}

ProcessContext::ProcessContext(Dump& dump, const ProcessRun& run)
    : ProcessContext(dump, run, Plain()) {
    if (run.end.has_collection()) {
        collecting_ = std::make_shared<Collecting>(run.end.collection());
    }
}

void ProcessContext::set_message(const records::Message* message) {
    message_ = message;
}

Result<std::shared_ptr<const ProcessContext::Fragments>> ProcessContext::fragments(
    const Pack& pack) {
    if (auto known = packs_.find(pack.offset)) {
        return known;
    }
    auto record = dump_.reader().message_at<records::PackedRegions>(
        pack.offset, format::RecordKind::kPackedRegions);
    if (!record) {
        return wrap("reading heap fragments", std::move(record.error()));
    }
    Fragments fragments{std::move(*record), {}};
    fragments.by_address.resize(static_cast<std::size_t>(fragments.record.region_size()));
    std::iota(fragments.by_address.begin(), fragments.by_address.end(), 0);
    std::ranges::sort(fragments.by_address, {},
                      [&](int i) { return fragments.record.region(i).address(); });
    return packs_.insert(pack.offset, std::move(fragments));
}

const std::vector<ProcessContext::PackedPlace>& ProcessContext::packed_places() {
    if (places_) {
        return *places_;
    }
    places_.emplace();
    const auto& packs = run_.directory.packed_regions;
    for (std::size_t index = 0; index < packs.size(); ++index) {
        const auto record = dump_.reader().message_at<records::PackedRegions>(
            packs[index].offset, format::RecordKind::kPackedRegions);
        if (!record) {
            lost_packs_.emplace_back(index, wrap("reading heap fragments", record.error()).error());
            continue;
        }
        for (const auto& region : record->region()) {
            places_->push_back({region.address(), packed_end(region), index});
        }
    }
    std::ranges::sort(*places_, {}, &PackedPlace::begin);
    return *places_;
}

std::unexpected<Error> ProcessContext::not_packed(std::uint64_t address) const {
    // A crash dump's text has only what the VM printed: other pointers are not invalid.
    const bool of_text = dump_.capture().mode() == records::CAPTURE_MODE_CRASH_DUMP;
    return fail(of_text ? ErrorCode::kAbsent : ErrorCode::kUnmapped,
                fmt::format("address {:#x} lies in none of the captured regions", address));
}

/// The pack that has an address; an error if none has.
Result<const Pack*> ProcessContext::pack_with(std::uint64_t address) {
    const auto& packs = run_.directory.packed_regions;
    const auto covers = [&](const Pack& pack) {
        return address >= pack.lowest_address && address < pack.highest_address;
    };
    const auto first = std::ranges::find_if(packs, covers);
    if (first == packs.end()) {
        return not_packed(address);
    }
    if (std::find_if(std::next(first), packs.end(), covers) == packs.end()) {
        return &*first;
    }
    // Rows of ETS tables are in the order of the table: each pack spans the addresses of many.
    const auto& places = packed_places();
    const auto after = std::ranges::upper_bound(places, address, {}, &PackedPlace::begin);
    if (after != places.begin() && address < std::prev(after)->end) {
        return &packs[std::prev(after)->pack];
    }
    for (const auto& [index, error] : lost_packs_) {
        if (covers(packs[index])) {
            dump_.faults().note(error);
            return std::unexpected(error);
        }
    }
    return not_packed(address);
}

Result<const records::PackedRegion*> ProcessContext::packed_region(std::uint64_t address) {
    ASSIGN_OR_RETURN(const auto* pack, pack_with(address));
    auto held = fragments(*pack);
    if (!held) {
        dump_.faults().note(held.error());
        return std::unexpected(held.error());
    }
    const Fragments& fragments = **held;
    const auto after = std::ranges::upper_bound(fragments.by_address, address, {}, [&](int i) {
        return fragments.record.region(i).address();
    });
    if (after == fragments.by_address.begin()) {
        return not_packed(address);
    }
    const auto& region = fragments.record.region(*std::prev(after));
    return address < packed_end(region) ? Result<const records::PackedRegion*>(&region)
                                        : not_packed(address);
}

Result<std::size_t> ProcessContext::packed_words(std::uint64_t address,
                                                 std::span<std::uint64_t> into) {
    ASSIGN_OR_RETURN(const auto* region, packed_region(address));
    const auto got = words_of(*region, address, into);
    return got ? *got : not_packed(address);
}

std::uint64_t ProcessContext::words_begin(std::uint64_t address) {
    const auto& packs = run_.directory.packed_regions;
    const bool of_others = packs.size() < 2 || regions_.covers(address) ||
                           (!packed_before_literals_ && dump_.literals().covers(address));
    const auto region = of_others ? nullptr : packed_region(address).value_or(nullptr);
    return region == nullptr ? 0 : region->address();
}

Result<std::size_t> ProcessContext::words_before_packed(std::uint64_t address, std::size_t most) {
    for (const Pack& pack : run_.directory.packed_regions) {
        if (address >= pack.highest_address ||
            (address < pack.lowest_address &&
             (pack.lowest_address - address) / kWordBytes >= most)) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto held, fragments(pack));
        const auto after = std::ranges::upper_bound(
            held->by_address, address, {}, [&](int i) { return held->record.region(i).address(); });
        if (after != held->by_address.end()) {
            const auto next = held->record.region(*after).address();
            most = std::min<std::size_t>(most, (next - address) / kWordBytes);
        }
    }
    return most;
}

std::optional<Result<std::size_t>> ProcessContext::region_words(std::uint64_t address,
                                                                std::span<std::uint64_t> into) {
    if (!regions_.covers(address)) {
        return std::nullopt;
    }
    auto got = regions_.words(address, into);
    if (!got && got.error().code == ErrorCode::kUnmapped) {
        return std::nullopt;
    }
    if (!got) {
        dump_.faults().note(got.error());
    }
    return got;
}

Result<std::size_t> ProcessContext::words(std::uint64_t address, std::span<std::uint64_t> into) {
    if (!collecting_) {
        return plain_words(address, into);
    }
    if (!collecting_->read) {
        ProcessContext plain(dump_, run_, Plain());
        collecting_->read = collecting_->forwarding.read(plain);
    }
    RETURN_IF_ERROR(*collecting_->read);
    auto got = plain_words(address, into);
    if (got) {
        collecting_->forwarding.show(address, into.first(*got));
    }
    return got;
}

Result<std::size_t> ProcessContext::plain_words(std::uint64_t address,
                                                std::span<std::uint64_t> into) {
    if (into.empty() || address % kWordBytes != 0) {
        return fail(ErrorCode::kUnmapped,
                    fmt::format("address {:#x} is not word-aligned", address));
    }
    if (auto got = region_words(address, into)) {
        return *std::move(got);
    }
    if (message_ != nullptr) {
        for (const auto& fragment : message_->fragment()) {
            if (auto got = words_of(fragment, address, into)) {
                return *got;
            }
        }
    }
    if (packed_before_literals_) {
        auto got = packed_words(address, into);
        if (got || got.error().code != ErrorCode::kUnmapped) {
            return got;
        }
        ASSIGN_OR_RETURN(const auto before, words_before_packed(address, into.size()));
        into = into.first(before);
    }
    RegionMap& literals = dump_.literals();
    if (literals.covers(address)) {
        auto got = literals.words(address, into);
        if (!got) {
            dump_.faults().note(got.error());
        }
        return got;
    }
    return packed_words(address, into);
}

void ProcessContext::missed(std::uint64_t address) {
    if (const auto object = left_out_at(run_.end, address)) {
        dump_.text_damage().met(*object);
    }
}

std::uint64_t ProcessContext::region_bytes_bound() const {
    std::uint64_t bound =
        std::max(regions_.longest_region_bytes(), dump_.literals().longest_region_bytes());
    // A fragment in a pack or with a message fits a frame.
    return std::max<std::uint64_t>(bound, format::kMaxFrameBytes);
}

AtomText ProcessContext::atom(std::uint32_t index) {
    return dump_.atoms().text(index);
}

std::optional<FunctionName> ProcessContext::export_at(std::uint64_t address) {
    return dump_.tables().export_at(address);
}

std::optional<FunInfo> ProcessContext::fun_entry_at(std::uint64_t address) {
    return dump_.tables().fun_entry_at(address);
}

std::optional<NodeInfo> ProcessContext::node_at(std::uint64_t address) {
    return dump_.tables().node_at(address);
}

std::optional<std::uint64_t> ProcessContext::catch_address(std::uint32_t index) {
    return dump_.tables().catch_address(index);
}

std::optional<CodeLocation> ProcessContext::code_at(std::uint64_t address) {
    return dump_.code_at(address);
}

Result<BinaryRecord> ProcessContext::binary(std::uint64_t address) {
    if (auto known = binaries_.find(address)) {
        return *known;
    }
    for (const Pack& pack : run_.directory.binaries) {
        if (pack.highest_address != 0 &&
            (address < pack.lowest_address || address >= pack.highest_address)) {
            continue;
        }
        auto found = dump_.binaries().in_pack(pack.offset, address);
        if (!found) {
            dump_.faults().note(found.error());
            return found;
        }
        if (*found != nullptr) {
            return *binaries_.insert(address, std::move(*found));
        }
    }
    auto found = dump_.binaries().at(address, run_.row.end_offset());
    if (!found) {
        dump_.faults().note(found.error());
        return found;
    }
    return *binaries_.insert(address, std::move(*found));
}

Result<BinaryInfo> ProcessContext::binary_at(std::uint64_t address) {
    auto record = binary(address);
    if (!record) {
        return std::unexpected(record.error());
    }
    const auto& capture = dump_.capture();
    const auto captured = captured_bytes(**record);
    std::vector<BinaryInfo::Part> parts;
    for (const auto& part : (*record)->part()) {
        parts.push_back({part.first_byte(), part.content().size()});
    }
    return BinaryInfo{.data_address = (*record)->data_address(),
                      .size_bytes = (*record)->size_bytes(),
                      .captured_bytes = captured,
                      .references = (*record)->has_references()
                                        ? std::optional((*record)->references())
                                        : std::nullopt,
                      .as_asked = capture.has_binary_prefix_bytes() &&
                                  captured >= std::min<std::uint64_t>(capture.binary_prefix_bytes(),
                                                                      (*record)->size_bytes()),
                      .parts = std::move(parts)};
}

std::optional<std::array<std::uint32_t, 3>> ProcessContext::magic_reference(std::uint64_t address) {
    auto record = binary(address);
    if (!record || (*record)->magic_reference_size() < 3) {
        return std::nullopt;
    }
    return std::array{(*record)->magic_reference(0), (*record)->magic_reference(1),
                      (*record)->magic_reference(2)};
}

std::optional<std::uint64_t> ProcessContext::resource_type(std::uint64_t address) {
    auto record = binary(address);
    return record && (*record)->has_resource_type_address()
               ? std::optional(std::uint64_t{(*record)->resource_type_address()})
               : std::nullopt;
}

Result<std::size_t> ProcessContext::binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                                 std::span<std::byte> into) {
    auto record = binary(binary_address);
    if (!record) {
        return std::unexpected(record.error());
    }
    auto got = dump_.binaries().bytes(**record, from, into);
    if (!got) {
        dump_.faults().note(got.error());
    }
    return got;
}

}  // namespace beamdump
