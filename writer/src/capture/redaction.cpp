#include "capture/redaction.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/record_limits.h>

namespace beamdump::capture {

void note_memory(beam::Vm& vm, redact::Redactor* redactor) {
    if (redactor == nullptr) {
        return;
    }
    for (const auto& mapping : vm.target().mappings().all()) {
        redactor->memory_at(mapping.range.begin, mapping.range.end);
    }
}

Result<void> note_code(beam::Vm& vm, const std::vector<beam::ModuleCode>& modules,
                       redact::Redactor* redactor) {
    if (redactor == nullptr) {
        return {};
    }
    ASSIGN_OR_RETURN(auto reader, beam::ModuleReader::open(vm));
    for (const auto& code : modules) {
        redactor->code_atom(code.name_atom);
        const auto record = reader.module(code);
        for (std::uint32_t first = 0; record && first < record->function_count();
             first += limits::kFunctionsOfAPage) {
            const auto page = reader.functions(code, first, limits::kFunctionsOfAPage);
            if (!page) {
                break;
            }
            for (const auto atom : page->name_atom()) {
                redactor->code_atom(atom);
            }
        }
    }
    return {};
}

}  // namespace beamdump::capture
