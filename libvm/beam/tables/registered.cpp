#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/tables/index_table.h>
#include <libvm/beam/tables/registered.h>

namespace beamdump::beam {

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
