#include "beam/checks/process_sample.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::beam {

Result<std::uint32_t> sample_processes(
    Vm& vm, CodeLookup& code, const ProcessSample& sample,
    const std::function<bool(Result<ProcessView>& process, const StructView& structure)>& visit) {
    // A busy node maps and unmaps heaps all the time: the mappings must be as recent as the
    // structures.
    RETURN_IF_ERROR(vm.target().refresh_mappings());
    ASSIGN_OR_RETURN(auto table, IdTable::processes(vm));
    ASSIGN_OR_RETURN(auto reader, ProcessReader::open(vm, code));
    constexpr std::uint32_t kSlots = 4096;
    const std::vector<std::byte> unread(reader.bytes());
    std::uint32_t counted = 0;
    std::uint32_t looked_at = 0;
    const auto enough = [&] { return counted >= sample.processes || looked_at >= sample.slots; };
    for (std::uint32_t first = 0; first < table.slots() && !enough(); first += kSlots) {
        ASSIGN_OR_RETURN(auto used, table.used(first, kSlots));
        for (const auto& slot : used) {
            if (enough()) {
                break;
            }
            ++looked_at;
            // What was cached for the one before may be older than this one's structure.
            vm.forget();
            auto raw = OwnedStruct::read(vm.memory(), slot.address, reader.bytes());
            const StructView view = raw ? raw->view() : StructView(unread);
            auto process = raw ? reader.decode(slot, view.bytes())
                               : Result<ProcessView>(std::unexpected(raw.error()));
            counted += visit(process, view) ? 1 : 0;
        }
    }
    return counted;
}

}  // namespace beamdump::beam
