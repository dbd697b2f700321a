#include "query/holders/node_sweep.h"

#include "query/process/process_names.h"
#include "query/tables/ets_row_records.h"
#include "query/tables/persistent_terms.h"
#include "query/term/term_text.h"

#include <libdump/base/return_if_error.h>
#include <libdump/heap/heap_scan.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/node_scheme.h>
#include <libdump/term/heap_object.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::size_t kLongestRowKey = 60;

/// As that of processes' terms: large maps print as pairs.
Result<TagScheme> printed_scheme(Dump& dump) {
    ASSIGN_OR_RETURN(auto scheme, node_scheme(dump));
    scheme.large_maps_as_pairs = true;
    return scheme;
}

/// The lines of the processes that own tables.
Result<std::map<std::string, ProcessLine>> owners_of(Dump& dump,
                                                     const std::vector<EtsTableLine>& tables) {
    std::map<std::string, ProcessLine> owners;
    for (const auto& table : tables) {
        if (table.owner && !owners.contains(*table.owner)) {
            ProcessLine line;
            line.pid = *table.owner;
            if (const auto row = dump.find_process(*table.owner)) {
                line = named_line(dump, *row);
            }
            owners[*table.owner] = std::move(line);
        }
    }
    return owners;
}

std::string table_name(const EtsTableLine& table) {
    return table.name.value_or(table.id.value_or(fmt::format("{}", table.index)));
}

/// Where the words end that the dump has from an address on; 0 where it has none.
std::uint64_t words_end(const RegionMap& literals, std::uint64_t address) {
    for (const Region& region : literals.regions()) {
        const auto before = (address - region.address) / kWordBytes;
        if (address >= region.address && before < region.here) {
            return region.address + region.here * kWordBytes;
        }
    }
    return 0;
}

/// The text of a row's key, if it can be read.
std::string key_text(TermPrinter& printer, EtsRowPlace place, std::uint64_t position) {
    auto& context = printer.context();
    const auto header = context.word(place.address);
    const auto key = position != 0 && header && position <= header_arity(*header)
                         ? context.word(place.address + position * kWordBytes)
                         : Result<std::uint64_t>(fail(ErrorCode::kAbsent, ""));
    if (!key) {
        return "?";
    }
    const TermText text = term_text(printer, *key, kLongestRowKey);
    return text.text + (text.cut ? "..." : "");
}

}  // namespace

std::string holder_name(const TermOwner& owner) {
    if (owner.table) {
        return "ETS table " + *owner.table;
    }
    if (owner.module) {
        return "literals of module " + *owner.module;
    }
    return owner.persistent_terms ? "persistent terms" : "";
}

NodeSweep::NodeSweep(const InputLimits& limits)
    : space_({.max_memory_bytes = limits.memory, .max_file_bytes = limits.temporary_bytes()}),
      marks_(&space_) {}

std::vector<std::string> not_searched(const NodeSweepCounts& counts) {
    if (!counts.processes_only) {
        return {};
    }
    return {
        "rows of ETS tables, which crash dumps do not have, and literals and persistent terms that "
        "no process refers to"};
}

Result<void> NodeSweep::rows(Dump& dump, SweepVisitor& visitor, const Begin& begin) {
    counts_.processes_only = !form_of(dump).table_rows;
    if (counts_.processes_only || dump.trailer().ets_tables_offset_size() == 0) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto tables, ets_tables(dump));
    ASSIGN_OR_RETURN(const auto owners, owners_of(dump, tables));
    std::map<std::uint64_t, bool> whole;  // by table of which there are rows
    const EtsTableLine* at = nullptr;
    std::set<std::uint64_t> seen;
    ASSIGN_OR_RETURN(const auto offsets, ets_row_offsets(dump));
    for (const auto offset : offsets) {
        if (!seen.insert(offset).second) {
            continue;
        }
        ASSIGN_OR_RETURN(const auto record, dump.reader().message_at<records::EtsRows>(
                                                offset, format::RecordKind::kEtsRows));
        if (!record.has_table_index() || record.table_index() >= tables.size()) {
            continue;
        }
        const EtsTableLine& table = tables[record.table_index()];
        bool& is_whole = whole.try_emplace(table.index, true).first->second;
        is_whole = is_whole && !lacks_rows(record);
        if (at != &table) {
            at = &table;
            const auto owner = owners.find(table.owner.value_or(""));
            begin({owner == owners.end() ? ProcessLine{} : owner->second, table_name(table),
                   std::nullopt});
        }
        if (table.compressed.value_or(false)) {
            counts_.compressed_rows += record.rows();
        } else {
            RETURN_IF_ERROR(this->record(dump, offset, table, visitor));
        }
    }
    counts_.tables = whole.size();
    for (const auto& table : tables) {
        const auto known = whole.find(table.index);
        const bool lacks = known == whole.end() ? table.size != 0 : !known->second;
        counts_.tables_without += lacks ? 1 : 0;
    }
    return {};
}

Result<void> NodeSweep::record(Dump& dump, std::uint64_t offset, const EtsTableLine& table,
                               SweepVisitor& visitor) {
    ASSIGN_OR_RETURN(const auto scheme, printed_scheme(dump));
    ASSIGN_OR_RETURN(const auto record, open_ets_rows(dump, offset));
    WordReader words(*record->context);
    marks_.clear();
    visitor.look_through(*record->context, scheme, words);
    TermWalk walk(scheme, words, marks_, TermWalk::Measure::kHeap, &space_);
    // One for all rows: a printer takes longer to make than most rows to walk.
    TermPrinter printer(*record->context, scheme);
    Result<void> failed;
    RETURN_IF_ERROR(visit_ets_rows(dump, *record, [&](EtsRowPlace place) {
        HeapRoot root;
        root.word = word_to(scheme, place.address, false);
        // Only a row that is told is named: printing a key takes longer than to walk most rows.
        const std::function<std::string()> name = [&] {
            return fmt::format("row {} of ETS table {}",
                               key_text(printer, place, table.keypos.value_or(1)),
                               table_name(table));
        };
        visitor.begin_root(root, false);
        visitor.name_root(name);
        const auto outcome = walk.walk(root.word, visitor);
        if (!outcome) {
            failed = std::unexpected(outcome.error());
            return false;
        }
        counts_.unreadable += outcome->unreadable;
        return true;
    }));
    return failed;
}

Result<void> NodeSweep::literals(Dump& dump, SweepVisitor& visitor, const Begin& begin) {
    if (!form_of(dump).literal_areas || dump.literals().regions().empty()) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto* instances, dump.code().instances());
    // By address; a module may have been written twice.
    std::map<std::uint64_t, records::Module> areas;
    for (const auto& instance : *instances) {
        ASSIGN_OR_RETURN(auto module, dump.reader().message_at<records::Module>(
                                          instance.offset, format::RecordKind::kModule));
        if (module.has_literal_area_address()) {
            areas[module.literal_area_address()] = std::move(module);
        }
    }
    for (auto next = areas.begin(); next != areas.end();) {
        const auto& [address, module] = *next++;
        // No further than to the next area, and than the dump has words.
        auto end = std::min(module.literal_area_end(), words_end(dump.literals(), address));
        end = next == areas.end() ? end : std::min(end, next->first);
        if (end <= address) {
            continue;
        }
        ++counts_.modules;
        begin({{}, std::nullopt, atom_text(dump, module.name_atom()), module.name_atom()});
        RETURN_IF_ERROR(area(dump, module, {address, end}, visitor));
    }
    return {};
}

Result<void> NodeSweep::persistent_terms(Dump& dump, SweepVisitor& visitor, const Begin& begin) {
    if (!form_of(dump).literal_areas || dump.trailer().persistent_terms_offset().empty()) {
        return {};
    }
    ASSIGN_OR_RETURN(const auto scheme, printed_scheme(dump));
    TermOwner owner;
    owner.persistent_terms = true;
    begin(owner);
    ASSIGN_OR_RETURN(
        const auto terms,
        visit_persistent_pairs(
            dump, [&](TermContext& context, std::uint64_t address) -> Result<void> {
                WordReader words(context);
                marks_.clear();
                visitor.look_through(context, scheme, words);
                TermWalk walk(scheme, words, marks_, TermWalk::Measure::kHeap, &space_);
                TermPrinter printer(context, scheme);
                HeapRoot root;
                root.word = word_to(scheme, address, false);
                root.name =
                    fmt::format("persistent term {}", key_text(printer, {.address = address}, 1));
                visitor.begin_root(root, false);
                ASSIGN_OR_RETURN(const auto outcome, walk.walk(root.word, visitor));
                ++counts_.persistent_terms;
                counts_.unreadable += outcome.unreadable;
                return {};
            }));
    counts_.persistent_terms_without = terms.left_out + terms.changed + terms.unreadable;
    return {};
}

Result<void> NodeSweep::area(Dump& dump, const records::Module& module, const HeapBlock& block,
                             SweepVisitor& visitor) {
    ASSIGN_OR_RETURN(const auto scheme, printed_scheme(dump));
    const ProcessRun nothing;
    ProcessContext context(dump, nothing);
    WordReader words(context);
    marks_.clear();
    visitor.look_through(context, scheme, words);
    TermWalk walk(scheme, words, marks_, TermWalk::Measure::kHeap, &space_);
    TopLevelTerms terms(scheme, words, [](std::uint64_t) { return false; }, &space_);
    RETURN_IF_ERROR(terms.add(block));
    HeapRoot root;
    root.name = fmt::format("literal of module {}{}", atom_text(dump, module.name_atom()),
                            module.instance() == records::MODULE_INSTANCE_OLD ? " (old)" : "");
    visitor.begin_root(root, false);
    Result<void> failed;
    RETURN_IF_ERROR(terms.visit(
        block,
        [&](const TopLevelTerms::Term& term) {
            if (!failed) {
                return;
            }
            const auto outcome = walk.walk(term.word, visitor);
            if (!outcome) {
                failed = std::unexpected(outcome.error());
                return;
            }
            counts_.unreadable += outcome->unreadable;
        },
        [this](const UnreadableStretch&) { ++counts_.unreadable; }));
    return failed;
}

}  // namespace beamdump::query
