#include <libdump/base/return_if_error.h>
#include <libvm/beam/ets/ets_counters.h>

#include <algorithm>
#include <charconv>

namespace beamdump::beam {
namespace {

// erl_db_util.h: ERTS_DB_TABLE_NITEMS_COUNTER_ID, ERTS_DB_TABLE_MEM_COUNTER_ID.
constexpr std::size_t kRows = 0;
constexpr std::size_t kBytes = 1;
constexpr std::uint64_t kCounters = 2;
constexpr std::uint32_t kMostGroups = 256;  // erl_init.c, without +dcg

/// What the node's arguments say of +dcg, the most groups there may be.
std::uint32_t most_groups(Vm& vm) {
    const auto arguments = vm.target().arguments();
    for (std::size_t at = 0; arguments && at + 1 < arguments->size(); ++at) {
        const auto& flag = (*arguments)[at];
        if (flag != "-dcg" && flag != "+dcg") {
            continue;
        }
        const auto& text = (*arguments)[at + 1];
        std::uint32_t groups = 0;
        const auto end = text.data() + text.size();
        if (std::from_chars(text.data(), end, groups).ptr == end && !text.empty()) {
            return std::max(groups, 1U);
        }
    }
    return kMostGroups;
}

EtsCounts counts_of(std::uint64_t rows, std::uint64_t bytes) {
    return {rows, bytes};
}

/// A sum of lines that were read one after another may be below 0 for a moment.
bool is_negative(std::uint64_t counter) {
    return static_cast<std::int64_t>(counter) < 0;
}

}  // namespace

Result<EtsCounters> EtsCounters::open(Vm& vm, std::optional<std::uint32_t> processors) {
    LayoutNames names(vm.layout());
    EtsCounters counters(vm, names);
    counters.block_ = names.field("DecentralizedCounters", "block_start");
    counters.status_ = names.field("DecentralizedCounters", "snapshot_status");
    counters.first_line_ = names.field("DecentralizedCounters", "array");
    counters.line_bytes_ = names.bytes("DecentralizedCounterSlot");
    RETURN_IF_ERROR(names.outcome());
    // erl_cpu_topology.c (erts_early_init_cpu_topology), erl_flxctr.c (erts_flxctr_setup).
    const auto schedulers = vm.facts().schedulers;
    const auto groups =
        std::min(std::min(schedulers, processors.value_or(schedulers)), most_groups(vm));
    counters.lines_ = std::max(groups, 1U) + 1;
    return counters;
}

Result<std::optional<EtsCounts>> EtsCounters::read(StructView table) {
    if (table.get(fields_.counters_length) != kCounters) {
        return std::nullopt;
    }
    if (table.get(fields_.decentralized) != 0) {
        return sum(table.word(fields_.counters, 0));
    }
    const auto counts =
        counts_of(table.word(fields_.counters, kRows), table.word(fields_.counters, kBytes));
    const bool plausible = !is_negative(counts.rows) && !is_negative(counts.bytes);
    return plausible ? std::optional(counts) : std::nullopt;
}

Result<std::optional<EtsCounts>> EtsCounters::sum(Address lines) {
    const auto bytes = first_line_.offset + lines_ * line_bytes_;
    if (!vm_->plausible(lines, bytes)) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto raw,
                     OwnedStruct::read(vm_->bulk(), lines, static_cast<std::uint32_t>(bytes)));
    const auto view = raw.view();
    // The block begins less than a line before the structure. While a process waits for a sum,
    // the present array lacks what was counted before.
    const auto block = view.get(block_);
    if (block > lines || lines - block > line_bytes_ || view.get(status_) != 0) {
        return std::nullopt;
    }
    EtsCounts counts;
    for (std::uint64_t line = 0; line < lines_; ++line) {
        const Field place{static_cast<std::uint32_t>(first_line_.offset + line * line_bytes_), 8};
        counts.rows += view.word(place, kRows);
        counts.bytes += view.word(place, kBytes);
    }
    if (is_negative(counts.rows) || is_negative(counts.bytes)) {
        return std::nullopt;
    }
    return counts;
}

}  // namespace beamdump::beam
