#include "query/processes/process_columns.h"

#include "query/process/process_applications.h"
#include "query/process/process_binaries.h"
#include "query/rows/choice.h"
#include "query/tables/ets_tables.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/model/owner_id.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace beamdump::query {

namespace {

using Unit = RequestedColumn::Unit;

constexpr auto kRequested = std::to_array<RequestedColumn>({
    {.column = ProcessColumn::kBinaries,
     .name = "binaries",
     .title = "BINARIES",
     .what = "bytes that it refers to",
     .unit = Unit::kBytes,
     .amount = &ProcessLine::binary_bytes},
    {.column = ProcessColumn::kEts,
     .name = "ets",
     .title = "ETS TABLES",
     .what = "of tables that it owns",
     .unit = Unit::kBytes,
     .amount = &ProcessLine::ets_bytes,
     .count = &ProcessLine::ets_tables},
    {.column = ProcessColumn::kStack,
     .name = "stack",
     .title = "STACK",
     .unit = Unit::kWords,
     .amount = &ProcessLine::stack_words},
    {.column = ProcessColumn::kHeap,
     .name = "heap",
     .title = "HEAP",
     .unit = Unit::kWords,
     .amount = &ProcessLine::heap_words},
    {.column = ProcessColumn::kOldHeap,
     .name = "old_heap",
     .title = "OLD HEAP",
     .unit = Unit::kWords,
     .amount = &ProcessLine::old_heap_words},
    {.column = ProcessColumn::kLinks,
     .name = "links",
     .title = "LINKS",
     .unit = Unit::kCount,
     .amount = &ProcessLine::links},
    {.column = ProcessColumn::kMonitors,
     .name = "monitors",
     .title = "MONITORS",
     .unit = Unit::kCount,
     .amount = &ProcessLine::monitors},
    {.column = ProcessColumn::kMonitoredBy,
     .name = "monitored_by",
     .title = "MONITORED BY",
     .unit = Unit::kCount,
     .amount = &ProcessLine::monitored_by},
    {.column = ProcessColumn::kApplication,
     .name = "application",
     .title = "APPLICATION",
     .unit = Unit::kText,
     .text = &ProcessLine::application},
    {.column = ProcessColumn::kState,
     .name = "state",
     .title = "STATE",
     .what = "its flags by name",
     .unit = Unit::kText,
     .text = &ProcessLine::state},
    {.column = ProcessColumn::kFlags,
     .name = "flags",
     .title = "FLAGS",
     .unit = Unit::kText,
     .text = &ProcessLine::flags},
});
constexpr auto kColumnNames = [] {
    std::array<Named<ProcessColumn>, kRequested.size()> names;
    std::ranges::transform(kRequested, names.begin(), [](const RequestedColumn& column) {
        return Named<ProcessColumn>(column.name, column.column);
    });
    return names;
}();

}  // namespace

std::span<const RequestedColumn> requested_columns() {
    return kRequested;
}

Result<void> parse_columns(std::string_view names, ColumnChoice& choice) {
    for (bool more = true; more;) {
        const auto comma = names.find(',');
        ASSIGN_OR_RETURN(const auto column,
                         parse_choice("column", names.substr(0, comma), kColumnNames));
        choice.add(column);
        more = comma != std::string_view::npos;
        names.remove_prefix(more ? comma + 1 : 0);
    }
    return {};
}

Result<void> ProcessColumns::read_tables() {
    ASSIGN_OR_RETURN(const auto tables, ets_tables(*dump_));
    for (const auto& table : tables) {
        if (table.owner) {
            Tables& sums = tables_[*table.owner];
            ++sums.count;
            sums.bytes = sums.bytes && table.memory_bytes
                             ? std::optional(*sums.bytes + *table.memory_bytes)
                             : std::nullopt;
        }
    }
    tables_read_ = true;
    return {};
}

Result<void> ProcessColumns::read_processes(std::span<const std::uint64_t> numbers) {
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

Result<void> ProcessColumns::add(OpenedProcess& process) {
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

Result<void> ProcessColumns::read_applications(const std::set<std::uint64_t>& owners) {
    ASSIGN_OR_RETURN(applications_, applications_of(*dump_, owners));
    return {};
}

std::optional<std::uint64_t> ProcessColumns::binary_bytes(std::uint64_t owner) const {
    const auto known = facts_.find(owner);
    return known == facts_.end() ? std::nullopt : known->second.binary_bytes;
}

std::optional<std::uint64_t> ProcessColumns::stack_words(std::uint64_t owner) const {
    const auto known = facts_.find(owner);
    return known == facts_.end() ? std::nullopt : known->second.stack_words;
}

std::optional<std::uint64_t> ProcessColumns::none_of_tables() const {
    return dump_->capture().has_cut_off() ? std::nullopt : std::optional<std::uint64_t>(0);
}

std::optional<std::uint64_t> ProcessColumns::ets_bytes(std::uint64_t owner) const {
    const auto known = tables_.find(pid_text(owner));
    return known == tables_.end() ? none_of_tables() : known->second.bytes;
}

void ProcessColumns::fill(std::uint64_t owner, ProcessLine& line) {
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
    if (const auto known = applications_.find(owner); known != applications_.end()) {
        line.application = known->second;
    }
    if (tables_read_) {
        const auto known = tables_.find(line.pid);
        line.ets_tables = known == tables_.end() ? none_of_tables() : known->second.count;
        line.ets_bytes = known == tables_.end() ? none_of_tables() : known->second.bytes;
    }
}

}  // namespace beamdump::query
