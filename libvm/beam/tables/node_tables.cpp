#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/tables/index_table.h>
#include <libvm/beam/tables/node_tables.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kMaxCatches = 1U << 26U;

/// Puts items into pages of at most `most`.
template <typename Page>
Page& page_for(std::vector<Page>& pages, std::size_t items_in_last, std::size_t most) {
    if (pages.empty() || items_in_last >= most) {
        pages.emplace_back();
    }
    return pages.back();
}

/// Addresses of all ErlFunEntry. From OTP 29 on (erl_fun.c, erl_code_staged.h) those of the active
/// code index; an entry stays in all indexes once it is made.
Result<std::vector<Address>> fun_entries(Vm& vm) {
    const bool staged = vm.layout().has(runtime::FunTableEntry::kName);
    LayoutNames names(vm.layout());
    if (!staged) {
        // Up to OTP 24 an entry begins with its HashBucket.
        const auto container = names.field_if_any(runtime::ErlFunEntryContainer::entry);
        auto objects = hash_objects(vm, vm.tables().funs);
        if (!objects || !container) {
            return objects;
        }
        for (auto& object : *objects) {
            object += container->offset;
        }
        return objects;
    }
    const auto table_bytes = names.bytes(runtime::IndexTable::kName);
    const auto entry = names.field(runtime::FunTableEntry::object);
    RETURN_IF_ERROR(names.outcome());
    auto table = IndexTableWalker::open(
        vm, vm.tables().funs + std::uint64_t{vm.facts().active_code_index} * table_bytes);
    auto objects = table ? table->objects(0, table->entries())
                         : Result<std::vector<Address>>(std::unexpected(table.error()));
    if (!objects) {
        return objects;
    }
    for (auto& object : *objects) {
        ASSIGN_OR_RETURN(auto address, vm.memory().word(object + entry.offset));
        object = address;
    }
    return objects;
}

}  // namespace

Result<ExportReader> ExportReader::open(Vm& vm) {
    LayoutNames names(vm.layout());
    const auto table_bytes = names.bytes(runtime::IndexTable::kName);
    RETURN_IF_ERROR(names.outcome());
    auto atoms = AtomWords::resolve(vm.layout());
    auto table = IndexTableWalker::open(
        vm, vm.tables().exports + std::uint64_t{vm.facts().active_code_index} * table_bytes);
    if (!atoms || !table) {
        return wrap("export table", !atoms ? atoms.error() : table.error());
    }
    ExportReader reader(vm, *table, *atoms);
    reader.entry_export_ = names.field(runtime::ExportEntry::ep);
    reader.export_ = ExportFields(names);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<records::Exports> ExportReader::page(std::uint32_t first, std::uint32_t most) {
    auto objects = table_.objects(first, most);
    if (!objects) {
        return wrap("export table", objects.error());
    }
    records::Exports page;
    for (const auto object : *objects) {
        auto address = vm_->memory().word(object + entry_export_.offset);
        auto read = address ? OwnedStruct::read(vm_->memory(), *address, export_->bytes)
                            : Result<OwnedStruct>(std::unexpected(address.error()));
        if (!read) {
            return wrap("export table", read.error());
        }
        const auto view = read->view();
        const auto module = atoms_.index(view.word(export_->mfa, 0));
        const auto function = atoms_.index(view.word(export_->mfa, 1));
        if (!module || !function) {
            return fail(
                ErrorCode::kImplausible,
                fmt::format("export at {:#x}: expected two atoms, found {:#x} and {:#x}", *address,
                            view.word(export_->mfa, 0), view.word(export_->mfa, 1)));
        }
        page.add_address(*address);
        page.add_module_atom(*module);
        page.add_function_atom(*function);
        page.add_arity(static_cast<std::uint32_t>(view.word(export_->mfa, 2)));
        page.add_code_address(view.word(export_->dispatch, vm_->facts().active_code_index));
    }
    return page;
}

Result<void> read_fun_entries(Vm& vm, std::size_t most, const TakePage<records::FunEntries>& take) {
    LayoutNames names(vm.layout());
    const FunEntryFields fields(names);
    auto atoms = AtomWords::resolve(vm.layout());
    auto known = names.outcome();
    auto entries = fun_entries(vm);
    if (!known || !atoms || !entries) {
        return wrap("fun table", !known ? known.error() : !atoms ? atoms.error() : entries.error());
    }
    records::FunEntries page;
    for (const auto address : *entries) {
        if (static_cast<std::size_t>(page.entry_size()) >= most) {
            RETURN_IF_ERROR(take(page));
            page.Clear();
        }
        auto read = OwnedStruct::read(vm.memory(), address, fields.bytes);
        if (!read) {
            return wrap("fun table", read.error());
        }
        const auto view = read->view();
        const auto name = atoms->index(view.get(fields.module));
        if (!name) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("fun entry at {:#x}: expected a module's atom, found {:#x}",
                                    address, view.get(fields.module)));
        }
        auto& entry = *page.add_entry();
        entry.set_address(address);
        entry.set_module_atom(*name);
        entry.set_arity(static_cast<std::uint32_t>(view.get(fields.arity)));
        entry.set_index(view.u32(fields.index));
        entry.set_old_index(view.u32(fields.old_index));
        entry.set_old_uniq(static_cast<std::int32_t>(view.u32(fields.old_uniq)));
        const auto sum = view.bytes().subspan(fields.uniq.offset, fields.uniq.bytes);
        entry.set_uniq(std::string(reinterpret_cast<const char*>(sum.data()), sum.size()));
        if (fields.references) {
            entry.set_references(view.get(*fields.references));
        }
        // Up to OTP 24 a fun has one address for all code indexes.
        const bool indexed = fields.dispatch.bytes > sizeof(Address);
        entry.set_code_address(
            view.word(fields.dispatch, indexed ? vm.facts().active_code_index : 0));
    }
    return page.entry_size() == 0 ? Result<void>() : take(page);
}

Result<std::vector<records::FunEntries>> read_fun_entries(Vm& vm, std::size_t most) {
    std::vector<records::FunEntries> pages;
    RETURN_IF_ERROR(read_fun_entries(vm, most, [&](const records::FunEntries& page) {
        pages.push_back(page);
        return Result<void>();
    }));
    return pages;
}

Result<std::vector<records::NodeEntries>> read_node_entries(Vm& vm, std::size_t most) {
    LayoutNames names(vm.layout());
    const NodeFields fields(names);
    auto atoms = AtomWords::resolve(vm.layout());
    auto known = names.outcome();
    auto objects = hash_objects(vm, vm.tables().nodes);
    if (!known || !atoms || !objects) {
        return wrap("node table", !known   ? known.error()
                                  : !atoms ? atoms.error()
                                           : objects.error());
    }
    if (std::ranges::find(*objects, vm.facts().this_node) == objects->end()) {
        objects->push_back(vm.facts().this_node);
    }
    std::vector<records::NodeEntries> pages;
    for (const auto address : *objects) {
        auto read = OwnedStruct::read(vm.memory(), address, fields.bytes);
        if (!read) {
            return wrap("node table", read.error());
        }
        const auto view = read->view();
        const auto name = atoms->index(view.get(fields.name));
        if (!name) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("node entry at {:#x}: expected the name's atom, found {:#x}",
                                    address, view.get(fields.name)));
        }
        auto& page = page_for(pages, pages.empty() ? 0 : pages.back().entry_size(), most);
        auto& entry = *page.add_entry();
        entry.set_address(address);
        entry.set_name_atom(*name);
        entry.set_channel(*name);
        entry.set_creation(view.u32(fields.creation));
        entry.set_references(view.get(fields.references));
        entry.set_is_self(address == vm.facts().this_node);
    }
    return pages;
}

Result<std::vector<records::Catches>> read_catches(Vm& vm, std::size_t most) {
    LayoutNames names(vm.layout());
    const CatchFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    auto pool = OwnedStruct::read(
        vm.memory(),
        vm.tables().catches + std::uint64_t{vm.facts().active_code_index} * fields.pool_bytes,
        fields.pool_bytes);
    if (!pool) {
        return wrap("catch table", pool.error());
    }
    const auto count = pool->view().u32(fields.high_mark);
    if (count > kMaxCatches) {
        return fail(ErrorCode::kImplausible, fmt::format("catch table of {} entries", count));
    }
    std::vector<records::Catches> pages;
    std::vector<std::byte> bytes(most * fields.entry_bytes);
    for (std::uint32_t first = 0; first < count; first += static_cast<std::uint32_t>(most)) {
        const auto take = std::min<std::size_t>(most, count - first);
        const auto part = std::span(bytes).first(take * fields.entry_bytes);
        if (auto done = vm.memory().read(
                pool->view().get(fields.entries) + std::uint64_t{first} * fields.entry_bytes, part);
            !done) {
            return wrap("catch table", done.error());
        }
        auto& page = pages.emplace_back();
        page.set_first_index(first);
        for (std::size_t index = 0; index < take; ++index) {
            page.add_code_address(
                StructView(part.subspan(index * fields.entry_bytes, fields.entry_bytes))
                    .get(fields.code));
        }
    }
    return pages;
}

records::CodePoints code_points(const Vm& vm) {
    records::CodePoints result;
    for (const auto& found : vm.tables().code_points) {
        auto& point = *result.add_point();
        point.set_name(found.name);
        point.set_address(found.address);
        // erl_process_dump.c and beam_bif_info: a return to here ends a process.
        if (found.name == "beam_normal_exit") {
            point.set_shown_as("<terminate process normally>");
        }
    }
    return result;
}

Result<NodeName> read_node_name(Vm& vm) {
    LayoutNames names(vm.layout());
    const NodeFields fields(names);
    auto atoms = AtomWords::resolve(vm.layout());
    if (auto known = names.outcome(); !known || !atoms) {
        return std::unexpected(!known ? known.error() : atoms.error());
    }
    auto read = OwnedStruct::read(vm.memory(), vm.facts().this_node, fields.bytes);
    if (!read) {
        return wrap("the node's own name", read.error());
    }
    const auto atom = atoms->index(read->view().get(fields.name));
    if (!atom) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the node's own name at {:#x}: expected an atom, found {:#x}",
                                vm.facts().this_node, read->view().get(fields.name)));
    }
    return NodeName{*atom, read->view().u32(fields.creation)};
}

Result<Address> registered_process(Vm& vm, std::uint64_t name_word) {
    LayoutNames names(vm.layout());
    const RegisteredFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    auto entries = hash_objects(vm, vm.tables().registered);
    if (!entries) {
        return wrap("registered names", entries.error());
    }
    for (const auto address : *entries) {
        auto entry = OwnedStruct::read(vm.memory(), address, fields.bytes);
        if (!entry) {
            return wrap("registered names", entry.error());
        }
        if (entry->view().get(fields.name) == name_word) {
            return entry->view().get(fields.process);
        }
    }
    return Address{0};
}

}  // namespace beamdump::beam
