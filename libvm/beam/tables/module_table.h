#pragma once

#include <libvm/beam/vm/vm.h>

#include <records.pb.h>

#include <optional>
#include <vector>

namespace beamdump::beam {

/// One instance of a loaded module: its code range and the address of its header.
struct ModuleCode {
    std::uint32_t name_atom = 0;
    records::ModuleInstance instance = records::MODULE_INSTANCE_UNKNOWN;
    Address header = 0;  ///< BeamCodeHeader; also where the code range starts
    std::uint64_t bytes = 0;
    std::uint32_t first_catch = 0;
    std::uint32_t entry = 0;  ///< of the module table: the same for each code index
    [[nodiscard]] Address end() const { return header + bytes; }
};

/// Reads the module table of the active code index (module.c): current and old instances, and an
/// instance whose on_load function has not finished. If another index becomes active meanwhile, the
/// table is read again, a few times.
Result<std::vector<ModuleCode>> read_modules(Vm& vm);

/// The code index that is active now, if the module table has the instance for it now: then what
/// was read of the instance, while this index was active, was not being loaded or purged. Not
/// cached.
std::optional<std::uint32_t> loaded_now(Vm& vm, const ModuleCode& code);

}  // namespace beamdump::beam
