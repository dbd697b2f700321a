#pragma once

#include <libvm/target/image/elf_image.h>
#include <libvm/target/image/mappings.h>
#include <libvm/target/process/proc_directory.h>

#include <optional>
#include <string>

namespace beamdump::target {

/// The file in a process that is an Erlang VM, at the addresses where it is loaded.
struct VmImage {
    std::string path;  ///< as the target sees it
    ElfImage image;
};

/// Whether an executable is an Erlang VM: it defines names that only a VM does (etp_otp_release and
/// the like, exported so that debuggers find them, erl_etp.c of OTP 25; the enif_ and driver_
/// functions from OTP 29 on), or, where it has no symbols, holds the VM's own strings. The file's
/// name does not matter.
bool is_vm(const ElfImage& image, const std::string& file);

/// A path of ours, valid as long as `process` is, to a file that the target has mapped; empty where
/// it cannot be opened. Its path in /proc/PID/maps may be one that neither side's root has. Where
/// /proc/PID/map_files is not permitted, that path is tried below the target's root, and must be
/// the same file.
std::string reachable_path(const ProcDirectory& process, const Mapping& mapping);

/// Finds the VM among the executable files mapped by a process: its own program, or, where that is
/// a loader such as ld.so, another. nullopt if none is a VM. kPermission. kImplausible: it is not
/// mapped as its headers say.
Result<std::optional<VmImage>> find_vm_image(const ProcDirectory& process,
                                             const Mappings& mappings);

/// Whether a process's own program defines a VM's names; cheap enough for many processes. False
/// also if unknown.
bool runs_vm(pid_t pid);

}  // namespace beamdump::target
