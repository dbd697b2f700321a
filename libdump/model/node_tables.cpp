#include <libdump/model/node_tables.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump {

NodeTables::NodeTables(DumpReader& reader, Faults& faults) : reader_(reader), faults_(faults) {}

template <typename Value, typename Load>
std::optional<Value> NodeTables::find(Table<Value>& table, std::uint64_t key, const Load& load) {
    if (!table.loaded) {
        table.loaded = true;
        if (auto done = load(); !done) {
            faults_.note(done.error());
        }
    }
    auto found = table.entries.find(key);
    if (found == table.entries.end()) {
        return std::nullopt;
    }
    return found->second;
}

std::optional<FunctionName> NodeTables::export_at(std::uint64_t address) {
    return find(exports_, address, [this] { return load_exports(); });
}

std::optional<FunInfo> NodeTables::fun_entry_at(std::uint64_t address) {
    return find(fun_entries_, address, [this] { return load_fun_entries(); });
}

std::optional<NodeInfo> NodeTables::node_at(std::uint64_t address) {
    return find(node_entries_, address, [this] { return load_node_entries(); });
}

std::optional<std::uint64_t> NodeTables::catch_address(std::uint32_t index) {
    return find(catches_, index, [this] { return load_catches(); });
}

std::optional<std::string> NodeTables::code_point_at(std::uint64_t address) {
    return find(code_points_, address, [this] { return load_code_points(); });
}

Result<void> NodeTables::load_exports() {
    for (const std::uint64_t offset : reader_.trailer().exports_offset()) {
        auto page = reader_.message_at<records::Exports>(offset, format::RecordKind::kExports);
        if (!page) {
            return wrap("reading the export table", std::move(page.error()));
        }
        const int count = std::min({page->address_size(), page->module_atom_size(),
                                    page->function_atom_size(), page->arity_size()});
        for (int i = 0; i < count; ++i) {
            exports_.entries.insert_or_assign(
                page->address(i),
                FunctionName{page->module_atom(i), page->function_atom(i), page->arity(i)});
        }
    }
    return {};
}

Result<void> NodeTables::load_fun_entries() {
    for (const std::uint64_t offset : reader_.trailer().fun_entries_offset()) {
        auto page =
            reader_.message_at<records::FunEntries>(offset, format::RecordKind::kFunEntries);
        if (!page) {
            return wrap("reading the fun table", std::move(page.error()));
        }
        for (const auto& entry : page->entry()) {
            fun_entries_.entries.insert_or_assign(
                entry.address(), FunInfo{entry.module_atom(),
                                         entry.has_old_index() ? entry.old_index() : entry.index(),
                                         entry.old_uniq(), entry.arity(), entry.code_address()});
        }
    }
    return {};
}

Result<void> NodeTables::load_node_entries() {
    for (const std::uint64_t offset : reader_.trailer().node_entries_offset()) {
        auto page =
            reader_.message_at<records::NodeEntries>(offset, format::RecordKind::kNodeEntries);
        if (!page) {
            return wrap("reading the node table", std::move(page.error()));
        }
        for (const auto& entry : page->entry()) {
            node_entries_.entries.insert_or_assign(
                entry.address(), NodeInfo{entry.name_atom(), entry.creation(), entry.is_self()});
        }
    }
    mark_other_creations_of_self();
    return {};
}

void NodeTables::mark_other_creations_of_self() {
    auto& entries = node_entries_.entries;
    const auto self =
        std::ranges::find_if(entries, [](const auto& entry) { return entry.second.is_self; });
    if (self == entries.end()) {
        return;
    }
    const std::uint32_t name = self->second.name_atom;
    for (auto& [address, node] : entries) {
        node.is_self = node.name_atom == name;
    }
}

Result<void> NodeTables::load_catches() {
    for (const std::uint64_t offset : reader_.trailer().catches_offset()) {
        auto page = reader_.message_at<records::Catches>(offset, format::RecordKind::kCatches);
        if (!page) {
            return wrap("reading the catch table", std::move(page.error()));
        }
        std::uint64_t index = page->first_index();
        for (const std::uint64_t code_address : page->code_address()) {
            if (code_address != 0) {
                catches_.entries.insert_or_assign(index, code_address);
            }
            ++index;
        }
    }
    return {};
}

Result<void> NodeTables::load_code_points() {
    for (const std::uint64_t offset : reader_.trailer().code_points_offset()) {
        auto page =
            reader_.message_at<records::CodePoints>(offset, format::RecordKind::kCodePoints);
        if (!page) {
            return wrap("reading the shared code addresses", std::move(page.error()));
        }
        for (const auto& point : page->point()) {
            code_points_.entries.insert_or_assign(
                point.address(), point.has_shown_as() ? point.shown_as() : point.name());
        }
    }
    return {};
}

}  // namespace beamdump
