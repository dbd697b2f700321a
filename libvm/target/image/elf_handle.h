#pragma once

#include <libelf.h>

#include <memory>

namespace beamdump::target {

struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
};

/// libelf's view of an ELF file; what it was made of must outlive it.
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

}  // namespace beamdump::target
