#include <libdump/model/dump_form.h>

namespace beamdump {

DumpForm DumpForm::of_text() {
    return {.heap_areas = false,
            .off_heap_lists = false,
            .unreferenced_binaries = false,
            .argument_registers = false,
            .suspended_by_process = false,
            .behaviours = false,
            .dictionary_sizes = false,
            .indexed_stack_sizes = false,
            .scheduling_states = false,
            .table_rows = false,
            .literal_areas = false,
            .code_instances = false,
            .atom_indices = false,
            .vm_arguments = false,
            .system_process = false,
            .capture_cost = false};
}

DumpForm form_of(const Dump& dump) {
    return is_of_crash_dump(dump) ? DumpForm::of_text() : DumpForm();
}

bool is_of_crash_dump(const Dump& dump) {
    return dump.capture().mode() == records::CAPTURE_MODE_CRASH_DUMP;
}

}  // namespace beamdump
