#pragma once

#include <libvm/target/core/core_file.h>
#include <libvm/target/core/core_memory.h>
#include <libvm/target/image/vm_image.h>

#include <filesystem>
#include <optional>

namespace beamdump::target {

/// Finds the Erlang VM among the files that a core's process had mapped, and adds to `memory` what
/// the core leaves out of it and of the libraries: code and constants, from the files themselves.
///
/// A file counts only where it is the one that was mapped: its build id is that of its first page
/// in the core. Where neither has one, the VM's is taken by its entry point (AT_ENTRY). Of a file
/// only segments that cannot be written to are taken, for what was written is not in it.
///
/// `executable`: the VM's file, instead of the one at the path that the core names. kNotABeam: the
/// core is another program's. kNotFound: the executable is not there; --exe names it. kImplausible:
/// it is another build than the one that ran.
Result<VmImage> find_core_image(const CoreFile& core, CoreMemory& memory,
                                const std::optional<std::filesystem::path>& executable);

}  // namespace beamdump::target
