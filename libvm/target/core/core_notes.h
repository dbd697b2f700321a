#pragma once

#include <libvm/target/core/core_file.h>

#include <cstddef>
#include <span>

namespace beamdump::target {

/// What the notes of a core say of its process.
struct CoreNotes {
    std::vector<CoreMappedFile> files;
    std::vector<ThreadRegisters> threads;  ///< of NT_PRSTATUS
    CoreProcess process;
    std::vector<AuxiliaryValue> auxiliary;
    bool has_files = false;
    bool has_process = false;
};

/// Takes the contents of one note of owner "CORE" into `notes`; those of other types are skipped.
/// The first NT_PRPSINFO, NT_AUXV and NT_FILE count. kCorrupt: a note is too short for what it is,
/// or says more than it holds.
Result<void> take_core_note(std::uint32_t type, std::span<const std::byte> contents,
                            CoreNotes& notes);

}  // namespace beamdump::target
