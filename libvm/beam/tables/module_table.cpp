#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/tables/index_table.h>
#include <libvm/beam/tables/module_table.h>

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxCodeBytes = std::uint64_t{1} << 31U;  // code_length is an int
/// How often the table is read because another code index became the active one meanwhile.
constexpr int kTableReadings = 8;

/// The members of the module table (module.h).
struct ModuleTableFields {
    static Result<ModuleTableFields> resolve(const Layout& layout);

    std::uint32_t table_bytes = 0, module_bytes = 0, instance_bytes = 0;
    Field module, curr, old, on_load;
    Field header, length, catches;
};

Result<ModuleTableFields> ModuleTableFields::resolve(const Layout& layout) {
    LayoutNames names(layout);
    ModuleTableFields fields;
    fields.table_bytes = names.bytes("IndexTable");
    fields.module_bytes = names.bytes("Module");
    fields.module = names.field("Module", "module");
    fields.curr = names.field("Module", "curr");
    fields.old = names.field("Module", "old");
    fields.on_load = names.field("Module", "on_load");
    fields.instance_bytes = names.bytes("ModuleInstance");
    fields.header = names.field("ModuleInstance", "code_hdr");
    fields.length = names.field("ModuleInstance", "code_length");
    fields.catches = names.field("ModuleInstance", "catches");
    RETURN_IF_ERROR(names.outcome());
    // An inferred layout has the two structures from different releases.
    for (const auto field : {fields.curr, fields.old}) {
        if (std::uint64_t{field.offset} + fields.instance_bytes > fields.module_bytes) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("layout: expected ModuleInstance ({} bytes) inside of Module "
                                    "({} bytes), found it at {}",
                                    fields.instance_bytes, fields.module_bytes, field.offset));
        }
    }
    return fields;
}

/// Calls `visit` with each instance of a module: its kind and structure.
template <typename Visit>
void for_each_instance(memory::MemorySource& source, const ModuleTableFields& fields,
                       StructView module, Visit&& visit) {
    const auto part = [&](Field field) {
        return StructView(module.bytes().subspan(field.offset, fields.instance_bytes));
    };
    visit(records::MODULE_INSTANCE_CURRENT, part(fields.curr));
    visit(records::MODULE_INSTANCE_OLD, part(fields.old));
    if (const auto pending = module.get(fields.on_load); pending != 0) {
        if (auto loading = OwnedStruct::read(source, pending, fields.instance_bytes)) {
            visit(records::MODULE_INSTANCE_ON_LOAD, loading->view());
        }
    }
}

/// The table of the code index that was active when the index was read last.
Result<std::vector<ModuleCode>> read_table(Vm& vm, const ModuleTableFields& fields) {
    auto table = IndexTableWalker::open(
        vm, vm.tables().modules + std::uint64_t{vm.facts().active_code_index} * fields.table_bytes);
    auto objects = table ? table->objects(0, table->entries())
                         : Result<std::vector<Address>>(std::unexpected(table.error()));
    if (!objects) {
        return wrap("module table", objects.error());
    }
    std::vector<ModuleCode> result;
    std::size_t without_length = 0;
    for (std::uint32_t entry = 0; entry < objects->size(); ++entry) {
        auto read = OwnedStruct::read(vm.memory(), (*objects)[entry], fields.module_bytes);
        if (!read) {
            return wrap("module table", read.error());
        }
        const auto name = static_cast<std::uint32_t>(read->view().get(fields.module));
        for_each_instance(
            vm.memory(), fields, read->view(),
            [&](records::ModuleInstance kind, StructView instance) {
                const ModuleCode code{name,
                                      kind,
                                      instance.get(fields.header),
                                      instance.get(fields.length),
                                      instance.u32(fields.catches),
                                      entry};
                if (code.header != 0 && code.bytes != 0 && code.bytes < kMaxCodeBytes) {
                    result.push_back(code);
                } else if (code.header != 0) {
                    ++without_length;
                }
            });
    }
    // In a running node a module may be in the middle of being loaded.
    if (without_length * 10 > result.size()) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("module table: expected code of some length, found none for {} of "
                                "{} instances",
                                without_length, without_length + result.size()));
    }
    return result;
}

}  // namespace

Result<std::vector<ModuleCode>> read_modules(Vm& vm) {
    ASSIGN_OR_RETURN(const auto fields, ModuleTableFields::resolve(vm.layout()));
    for (int tries = 1;; ++tries) {
        auto modules = read_table(vm, fields);
        const auto now = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
        // The table of an index that is no longer active may be being written.
        if (!now || *now == vm.facts().active_code_index || tries == kTableReadings) {
            return modules;
        }
        vm.forget();
        RETURN_IF_ERROR(vm.refresh_code_index());
    }
}

std::optional<std::uint32_t> loaded_now(Vm& vm, const ModuleCode& code) {
    const auto fields = ModuleTableFields::resolve(vm.layout());
    const auto index = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
    if (!fields || !index || *index >= kCodeIndexes) {
        return std::nullopt;
    }
    const auto table = vm.tables().modules + std::uint64_t{*index} * fields->table_bytes;
    const auto object = index_object(vm, table, code.entry);
    const auto module = object ? OwnedStruct::read(vm.bulk(), *object, fields->module_bytes)
                               : Result<OwnedStruct>(std::unexpected(object.error()));
    if (!module) {
        return std::nullopt;
    }
    bool same = false;
    for_each_instance(
        vm.bulk(), *fields, module->view(), [&](records::ModuleInstance kind, StructView instance) {
            same = same || (kind == code.instance && instance.get(fields->header) == code.header &&
                            instance.get(fields->length) == code.bytes);
        });
    const auto after = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
    return same && after && *after == *index ? std::optional(*index) : std::nullopt;
}

}  // namespace beamdump::beam
