#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/tables/owned_table.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

// erl_db_hash.c, the same in OTP 25 to 29: the first segment has fewer slots than the others, and
// they are numbered as if it had as many and lacked the first ones.
constexpr std::uint64_t kSegmentSlots = 2048;
constexpr std::uint64_t kMissingSlots = kSegmentSlots - 256;
constexpr std::uint64_t kMaxOwned = std::uint64_t{1} << 20U;
constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 20U;

}  // namespace

Result<OwnedTableReader> OwnedTableReader::open(Vm& vm) {
    LayoutNames names(vm.layout());
    OwnedTableReader reader(vm, BinaryFields(names));
    reader.owner_ = names.field(runtime::DbTableHash::common_owner);
    reader.of_binary_ = names.field(runtime::DbTableHash::common_btid);
    reader.active_ = names.field(runtime::DbTableHash::nactive);
    reader.segments_ = names.field(runtime::DbTableHash::segtab);
    reader.next_ = names.field(runtime::HashDbTerm::next);
    reader.tuple_ = names.field(runtime::HashDbTerm::dbterm_tpl);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<std::optional<Address>> OwnedTableReader::table_of(Address binary, std::uint64_t owner) {
    ASSIGN_OR_RETURN(const auto flags, vm_->memory().word(binary + binary_.flags.offset));
    if ((flags & binary_.flag_magic) == 0) {
        return std::nullopt;
    }
    // Magic binaries of other kinds have arbitrary data there.
    const auto table = vm_->memory().word(binary + binary_.magic_data.offset);
    const auto bytes = end_of({owner_, of_binary_, active_, segments_});
    if (!table || *table == 0 || !vm_->plausible(*table, bytes)) {
        return std::nullopt;
    }
    const auto head = OwnedStruct::read(vm_->memory(), *table, bytes);
    if (!head || head->view().get(of_binary_) != binary || head->view().get(owner_) != owner) {
        return std::nullopt;
    }
    return *table;
}

Result<void> OwnedTableReader::rows(
    Address table, std::size_t words,
    const std::function<void(std::span<const std::uint64_t>)>& visit) {
    ASSIGN_OR_RETURN(const auto head,
                     OwnedStruct::read(vm_->memory(), table, end_of({active_, segments_})));
    const auto active = head.view().get(active_);
    const auto segments = head.view().get(segments_);
    if (active > kMaxOwned) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the ETS table at {:#x} would have {} slots", table, active));
    }
    std::uint64_t seen = 0;
    for (std::uint64_t slot = 0; slot < active;) {
        const auto number = (slot + kMissingSlots) / kSegmentSlots;
        const auto segment = vm_->memory().word(segments + number * 8);
        // From the second segment on slots begin in the middle of it and wrap around.
        const auto first = slot % kSegmentSlots;
        const auto here = std::min({(number + 1) * kSegmentSlots - kMissingSlots - slot,
                                    kSegmentSlots - first, active - slot});
        const auto buckets =
            segment ? read_words(vm_->memory(), *segment + first * 8, here)
                    : Result<std::vector<std::uint64_t>>(std::unexpected(segment.error()));
        if (!buckets) {
            return wrap("an ETS table", buckets.error());
        }
        for (const auto bucket : *buckets) {
            RETURN_IF_ERROR(chain(bucket, words, seen, visit));
        }
        slot += here;
    }
    return {};
}

Result<void> OwnedTableReader::chain(
    Address first, std::size_t words, std::uint64_t& rows,
    const std::function<void(std::span<const std::uint64_t>)>& visit) {
    for (auto row = first; row != 0;) {
        if (++rows > kMaxRows) {
            return fail(ErrorCode::kImplausible, "an ETS table's rows do not end");
        }
        const auto next = vm_->memory().word(row + next_.offset);
        const auto tuple = read_words(vm_->memory(), row + tuple_.offset, words);
        if (!next || !tuple) {
            return wrap("a row of an ETS table", next ? tuple.error() : next.error());
        }
        visit(*tuple);
        row = *next;
    }
    return {};
}

}  // namespace beamdump::beam
