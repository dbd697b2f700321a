#include "query/processes/process_values.h"

#include "query/process/process_applications.h"
#include "query/process/process_binaries.h"
#include "query/process/process_names.h"
#include "query/tables/ets_tables.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/owner_id.h>

#include <unordered_set>
#include <utility>
#include <vector>

namespace beamdump::query {

Result<void> ProcessValues::read_tables() {
    ASSIGN_OR_RETURN(const auto tables, ets_tables(*dump_));
    tables_.emplace();
    for (const auto& table : tables) {
        if (table.owner) {
            Tables& sums = (*tables_)[*table.owner];
            ++sums.count;
            sums.bytes = sums.bytes && table.memory_bytes
                             ? std::optional(*sums.bytes + *table.memory_bytes)
                             : std::nullopt;
        }
    }
    return {};
}

Result<void> ProcessValues::read_processes(std::span<const std::uint64_t> numbers) {
    // How much a process refers to is no content of it.
    ASSIGN_OR_RETURN(
        const auto read,
        visit_processes(*dump_,
                        {.sensitive = true,
                         .progress = progress_,
                         .rows = std::vector<std::uint64_t>(numbers.begin(), numbers.end())},
                        [this](OpenedProcess& process) { return add(process); }));
    if (!read_) {
        read_.emplace();
    }
    read_->read += read.read;
    read_->inconsistent += read.inconsistent;
    return {};
}

Result<void> ProcessValues::add(OpenedProcess& process) {
    const records::Process& record = process.run.process;
    Facts facts;
    if (record.has_heap_words()) {
        facts.heap_words = record.heap_words();
    }
    if (record.has_old_heap_words()) {
        facts.old_heap_words = record.old_heap_words();
    }
    if (!form_of(*dump_).indexed_stack_sizes && record.has_stack_words()) {
        facts.stack_words = record.stack_words();
    }
    if (choice_.has(ProcessColumn::kBinaries) && form_of(*dump_).off_heap_lists) {
        std::unordered_set<std::uint64_t> seen;
        std::uint64_t references = 0;
        std::uint64_t bytes = 0;
        bool known = true;
        const auto visit = [&](std::uint64_t, std::uint64_t binary) {
            ++references;
            if (seen.insert(binary).second) {
                const auto info = process.context().binary_at(binary);
                known = known && info.has_value();
                bytes += info ? info->size_bytes : 0;
            }
        };
        RETURN_IF_ERROR(
            visit_off_heap_binaries(*dump_, process, OffHeapLists::kProcessInfo, visit));
        facts.binary_references = references;
        if (known) {
            facts.binary_bytes = bytes;
        }
    }
    facts_[process.run.owner_id()] = facts;
    return {};
}

Result<void> ProcessValues::read_applications(const std::set<std::uint64_t>& owners) {
    ASSIGN_OR_RETURN(applications_, applications_of(*dump_, owners));
    return {};
}

Result<void> ProcessValues::read_labels() {
    ASSIGN_OR_RETURN(labels_, ProcessNames(*dump_).labels());
    return {};
}

std::optional<ProcessValues::Tables> ProcessValues::tables_of(std::uint64_t owner) const {
    if (!tables_) {
        return std::nullopt;
    }
    const auto known = tables_->find(pid_text(owner));
    if (known != tables_->end()) {
        return known->second;
    }
    return dump_->capture().has_cut_off() ? std::nullopt : std::optional<Tables>(Tables());
}

std::optional<std::uint64_t> ProcessValues::amount(ProcessColumn column,
                                                   std::uint64_t owner) const {
    if (column == ProcessColumn::kEts) {
        const auto tables = tables_of(owner);
        return tables ? tables->bytes : std::nullopt;
    }
    const auto known = facts_.find(owner);
    if (known == facts_.end()) {
        return std::nullopt;
    }
    switch (column) {
        case ProcessColumn::kBinaries:
            return known->second.binary_bytes;
        case ProcessColumn::kStack:
            return known->second.stack_words;
        case ProcessColumn::kHeap:
            return known->second.heap_words;
        case ProcessColumn::kOldHeap:
            return known->second.old_heap_words;
        default:
            return std::nullopt;
    }
}

const std::string* ProcessValues::find(const Texts& texts, std::uint64_t owner) {
    const auto known = texts.find(owner);
    return known == texts.end() ? nullptr : &known->second;
}

const std::string* ProcessValues::application(std::uint64_t owner) const {
    return find(applications_, owner);
}

const std::string* ProcessValues::label(std::uint64_t owner) const {
    return find(labels_, owner);
}

void ProcessValues::fill(std::uint64_t owner, ProcessLine& line) {
    if (const auto known = facts_.find(owner); known != facts_.end()) {
        const Facts& facts = known->second;
        line.binary_references = facts.binary_references;
        line.binary_bytes = facts.binary_bytes;
        if (choice_.has(ProcessColumn::kStack) && facts.stack_words) {
            line.stack_words = facts.stack_words;
        }
        if (choice_.has(ProcessColumn::kHeap)) {
            line.heap_words = facts.heap_words;
        }
        if (choice_.has(ProcessColumn::kOldHeap)) {
            line.old_heap_words = facts.old_heap_words;
        }
        facts_.erase(known);
    }
    if (const auto* const known = application(owner)) {
        line.application = *known;
    }
    if (const auto tables = tables_of(owner)) {
        line.ets_tables = tables->count;
        line.ets_bytes = tables->bytes;
    }
}

}  // namespace beamdump::query
