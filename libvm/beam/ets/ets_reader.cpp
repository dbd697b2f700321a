#include <libdump/base/return_if_error.h>
#include <libvm/beam/ets/ets_reader.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <thread>

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

// erl_db.c: the table of names has at most 2^26 entries; unnamed tables are rarely more.
constexpr std::uint64_t kMaxTables = std::uint64_t{1} << 26U;
constexpr std::size_t kMostFixersRead = 1U << 20U;
constexpr std::uint64_t kMostFixers = 1024;
/// A member that is deleted meanwhile, between two reads of a running node.
constexpr std::uint64_t kMembersInMotion = 4;

std::unexpected<Error> no_table(Address address, std::string_view why) {
    return fail(ErrorCode::kImplausible,
                fmt::format("there is no ETS table at {:#x}: {}", address, why));
}

}  // namespace

Result<EtsCounters> EtsCounters::open(Vm& vm, std::optional<std::uint32_t> processors) {
    LayoutNames names(vm.layout());
    EtsCounters counters(vm, names);
    counters.block_ = names.field(runtime::DecentralizedCounters::block_start);
    counters.status_ = names.field(runtime::DecentralizedCounters::snapshot_status);
    counters.first_line_ = names.field(runtime::DecentralizedCounters::array);
    counters.line_bytes_ = names.bytes(runtime::DecentralizedCounterSlot::kName);
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

Result<std::uint64_t> count_ets_tables(Vm& vm) {
    if (vm.tables().schedulers == 0) {
        return fail(ErrorCode::kNotFound, "the schedulers, which count the tables, were not found");
    }
    LayoutNames names(vm.layout());
    const auto count = names.field(runtime::EtsScheduler::tables_count);
    const std::uint64_t stride = names.bytes(runtime::ErtsAlignedSchedulerData::kName);
    RETURN_IF_ERROR(names.outcome());
    std::uint64_t tables = 0;
    for (std::uint32_t index = 0; index < vm.facts().schedulers; ++index) {
        ASSIGN_OR_RETURN(const auto counted,
                         vm.memory().word(vm.tables().schedulers + index * stride + count.offset));
        if (counted > kMaxTables) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("scheduler {} would have {} ETS tables", index + 1, counted));
        }
        tables += counted;
    }
    return tables;
}

Result<EtsReader> EtsReader::open(Vm& vm, std::optional<std::uint32_t> processors) {
    if (vm.tables().schedulers == 0) {
        return fail(ErrorCode::kNotFound,
                    "the schedulers, whose lists the tables are in, were "
                    "not found");
    }
    ASSIGN_OR_RETURN(auto counters, EtsCounters::open(vm, processors));
    ASSIGN_OR_RETURN(auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    LayoutNames names(vm.layout());
    EtsReader reader(vm, names, std::move(counters), pids, atoms);
    reader.count_ = names.field(runtime::EtsScheduler::tables_count);
    reader.list_ = names.field(runtime::EtsScheduler::tables_clist);
    reader.fixer_left_ = names.field(runtime::DbFixation::procs_left);
    reader.fixer_right_ = names.field(runtime::DbFixation::procs_right);
    reader.fixer_process_ = names.field(runtime::DbFixation::procs_p);
    reader.fixer_count_ = names.field(runtime::DbFixation::counter);
    reader.fixer_bytes_ = names.bytes(runtime::DbFixation::kName);
    reader.process_id_ = names.field(runtime::Process::common_id);
    reader.stride_ = names.bytes(runtime::ErtsAlignedSchedulerData::kName);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<EtsTableList> EtsReader::read(const Moving& moving) {
    EtsTableList list;
    for (std::uint32_t index = 0; index < vm_->facts().schedulers; ++index) {
        const auto scheduler = vm_->tables().schedulers + index * stride_;
        Walk best;
        for (int attempt = 1;; ++attempt) {
            const bool is_moving = moving();
            ASSIGN_OR_RETURN(auto walked, walk(scheduler, is_moving));
            if (attempt == 1 || walked.doubt.empty() || walked.tables.size() > best.tables.size()) {
                best = std::move(walked);
            }
            if (best.doubt.empty() || !is_moving || attempt == kTableTries) {
                break;
            }
            std::this_thread::sleep_for(kBetweenTableTries);
            vm_->forget();
        }
        for (auto& table : best.tables) {
            table.facts.set_scheduler(index + 1);
            list.tables.push_back(std::move(table));
        }
        if (!best.doubt.empty()) {
            list.doubts.push_back(
                fmt::format("ETS tables of scheduler {}: {}", index + 1, best.doubt));
        }
    }
    return list;
}

/// What was found of a list, and why that is not all. Fails where the target is gone.
Result<EtsReader::Walk> EtsReader::walk(Address scheduler, bool moving) {
    Walk walk;
    const auto stop = [&](std::string why) {
        walk.doubt = std::move(why);
        return walk;
    };
    auto& memory = vm_->memory();
    const auto counted = memory.word(scheduler + count_.offset);
    const auto first = memory.word(scheduler + list_.offset);
    if (!counted || !first) {
        return stop(!counted ? counted.error().message : first.error().message);
    }
    Address before = 0;
    Address first_prev = 0;
    for (auto at = *first; at != 0;) {
        if (walk.members >= std::min(*counted + kMembersInMotion, kMaxTables)) {
            return stop(fmt::format("the list does not close after the {} it counts", *counted));
        }
        if (!vm_->plausible(at, fields_.bytes)) {
            return stop(fmt::format("one would be at {:#x}", at));
        }
        const auto raw = OwnedStruct::read(memory, at, fields_.bytes);
        if (!raw) {
            return raw.error().code == ErrorCode::kTargetDied
                       ? Result<Walk>(std::unexpected(raw.error()))
                       : stop(raw.error().message);
        }
        const auto view = raw->view();
        const auto prev = view.get(fields_.prev);
        if (walk.members != 0 && prev != before) {
            return stop(fmt::format("the one at {:#x} does not lead back", at));
        }
        first_prev = walk.members == 0 ? prev : first_prev;
        ++walk.members;
        if ((view.get(fields_.status) & fields_.deleted) == 0) {
            auto table = decode(at, view);
            if (!table) {
                return stop(table.error().message);
            }
            walk.tables.push_back(std::move(*table));
        }
        before = at;
        at = view.get(fields_.next);
        if (at == *first) {
            break;
        }
        if (at == 0) {
            return stop(fmt::format("the list ends at {:#x}", before));
        }
    }
    if (walk.members != 0 && first_prev != before) {
        return stop("its ends do not meet");
    }
    if (!moving && walk.members != *counted) {
        return stop(fmt::format("the list has {} and counts {}", walk.members, *counted));
    }
    return walk;
}

Result<EtsTableView> EtsReader::table(Address address) {
    ASSIGN_OR_RETURN(const auto raw, OwnedStruct::read(vm_->memory(), address, fields_.bytes));
    if ((raw.view().get(fields_.status) & fields_.deleted) != 0) {
        return no_table(address, "it was deleted");
    }
    return decode(address, raw.view());
}

Result<EtsTableView> EtsReader::decode(Address address, StructView view) {
    EtsTableView table;
    table.address = address;
    table.status = view.get(fields_.status);
    table.owner_word = view.get(fields_.owner);
    auto& facts = table.facts;
    facts.set_struct_address(address);
    const auto types = fields_.set | fields_.bag | fields_.duplicate_bag | fields_.ordered_set |
                       fields_.ca_ordered_set;
    const auto protections = fields_.private_ | fields_.protected_ | fields_.public_;
    if (!std::has_single_bit(table.status & types) ||
        !std::has_single_bit(table.status & protections)) {
        return no_table(address, fmt::format("status {:#x}", table.status));
    }
    const auto owner = pids_.owner_id(table.owner_word);
    if (!owner) {
        return no_table(address, fmt::format("its owner would be {:#x}", table.owner_word));
    }
    facts.set_owner_id(*owner);
    if (const auto heir = pids_.owner_id(view.get(fields_.heir))) {
        facts.set_heir_id(*heir);
    } else if (atoms_.index(view.get(fields_.heir))) {
        facts.set_no_heir(true);
    }
    if (const auto name = atoms_.index(view.get(fields_.name))) {
        facts.set_name_atom(*name);
    } else {
        return no_table(address, "its name is no atom");
    }
    options(table.status, facts);
    facts.set_key_position(view.u32(fields_.key_position));
    facts.set_compressed(view.get(fields_.compress) != 0);
    facts.set_decentralized_counters(view.get(fields_.decentralized) != 0);
    facts.set_fixed(view.get(fields_.fix_count) != 0);
    RETURN_IF_ERROR(fixers(view, facts));
    RETURN_IF_ERROR(identify(view, facts));
    ASSIGN_OR_RETURN(const auto counts, counters_.read(view));
    if (counts) {
        facts.set_rows(counts->rows);
        facts.set_bytes(counts->bytes);
    }
    return table;
}

/// Processes that fixed a table, in the order of a walk of their tree.
struct EtsReader::Fixers {
    Address root = 0;
    std::uint64_t fixations = 0, monotonic = 0, offset = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> owners;  ///< and how many times each
    bool operator==(const Fixers&) const = default;
};

Result<EtsReader::Fixers> EtsReader::read_fixers(Address table) {
    auto& memory = vm_->bulk();
    ASSIGN_OR_RETURN(const auto raw, OwnedStruct::read(memory, table, fields_.bytes));
    Fixers fixers;
    fixers.root = raw.view().get(fields_.fixers);
    fixers.fixations = raw.view().get(fields_.fix_count);
    fixers.monotonic = raw.view().get(fields_.fixed_monotonic);
    fixers.offset = raw.view().get(fields_.fixed_offset);
    std::vector<Address> pending;
    if (fixers.root != 0) {
        pending.push_back(fixers.root);
    }
    while (!pending.empty()) {
        const auto at = pending.back();
        pending.pop_back();
        if (fixers.owners.size() >= kMostFixersRead || !vm_->plausible(at, fixer_bytes_)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("there is no fixation of a table at {:#x}", at));
        }
        ASSIGN_OR_RETURN(const auto fixation, OwnedStruct::read(memory, at, fixer_bytes_));
        const auto view = fixation.view();
        ASSIGN_OR_RETURN(const auto id, memory.word(view.get(fixer_process_) + process_id_.offset));
        const auto owner = pids_.owner_id(id);
        if (!owner) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("fixation at {:#x}: expected a pid, found {:#x}", at, id));
        }
        fixers.owners.emplace_back(*owner, view.get(fixer_count_));
        for (const auto child : {view.get(fixer_right_), view.get(fixer_left_)}) {
            if (child != 0) {
                pending.push_back(child);
            }
        }
    }
    return fixers;
}

/// The tree is changed under the table's fixlock: it is read until two reads in a row are equal,
/// else its processes are not told.
Result<void> EtsReader::fixers(StructView view, records::EtsTable& facts) {
    if (view.get(fields_.fix_count) == 0) {
        return {};
    }
    const auto table = facts.struct_address();
    auto last = read_fixers(table);
    bool equal = false;
    for (int tries = 1; tries < kTableTries && !equal; ++tries) {
        if (!last && last.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(last.error());
        }
        auto next = read_fixers(table);
        equal = last && next && *last == *next;
        last = std::move(next);
    }
    if (!equal) {
        return {};
    }
    facts.set_fixations(last->fixations);
    facts.set_fixers(last->owners.size());
    facts.set_fixed(last->fixations != 0);
    for (const auto& [owner, count] : last->owners) {
        if (static_cast<std::uint64_t>(facts.fixer_size()) == kMostFixers) {
            break;
        }
        auto& fixer = *facts.add_fixer();
        fixer.set_owner_id(owner);
        fixer.set_count(count);
    }
    if (!last->owners.empty()) {
        // The node's monotonic time is in nanoseconds on Linux (erl_time.h).
        constexpr std::int64_t kNanosecondsOfOne = 1000;
        facts.set_fixed_since_us(static_cast<std::int64_t>(last->monotonic + last->offset) /
                                 kNanosecondsOfOne);
    }
    return {};
}

/// The table identifier: a magic binary that leads to the table. Its numbers are the reference's.
Result<void> EtsReader::identify(StructView view, records::EtsTable& facts) {
    const auto binary = view.get(fields_.identifier);
    const auto address = facts.struct_address();
    const auto back = vm_->memory().word(binary + binary_.magic_data.offset);
    if (!back || *back != address) {
        return no_table(address, "its identifier does not lead to it");
    }
    std::array<std::uint32_t, kReferenceNumbers> numbers{};
    RETURN_IF_ERROR(vm_->memory().read(binary + binary_.magic_numbers.offset,
                                       std::as_writable_bytes(std::span(numbers))));
    facts.mutable_reference()->Add(numbers.begin(), numbers.end());
    return {};
}

void EtsReader::options(std::uint64_t status, records::EtsTable& facts) const {
    const auto has = [status](std::uint64_t flag) { return (status & flag) != 0; };
    facts.set_type(has(fields_.set)             ? records::ETS_TYPE_SET
                   : has(fields_.bag)           ? records::ETS_TYPE_BAG
                   : has(fields_.duplicate_bag) ? records::ETS_TYPE_DUPLICATE_BAG
                                                : records::ETS_TYPE_ORDERED_SET);
    if (facts.type() == records::ETS_TYPE_ORDERED_SET) {
        facts.set_ca_tree(has(fields_.ca_ordered_set));
    }
    facts.set_protection(has(fields_.private_)     ? records::ETS_PROTECTION_PRIVATE
                         : has(fields_.protected_) ? records::ETS_PROTECTION_PROTECTED
                                                   : records::ETS_PROTECTION_PUBLIC);
    facts.set_named(has(fields_.named));
    facts.set_read_concurrency(has(fields_.read_concurrency));
    facts.set_write_concurrency(
        !has(fields_.write_concurrency)       ? records::ETS_WRITE_CONCURRENCY_FALSE
        : has(fields_.write_concurrency_auto) ? records::ETS_WRITE_CONCURRENCY_AUTO
                                              : records::ETS_WRITE_CONCURRENCY_TRUE);
}

}  // namespace beamdump::beam
