#pragma once

#include <libvm/target/image/elf_image.h>

#include <map>
#include <string>
#include <vector>

namespace beamdump::test {

/// How an executable is loaded.
struct ImagePlan {
    std::vector<memory::AddressRange> read_only;
    std::vector<memory::AddressRange> writable;
    std::vector<memory::AddressRange> executable;
    std::map<std::string, memory::Address> symbols;  ///< of .symtab; none: stripped
};

/// Writes an ELF executable without contents (program headers and symbols only) to a temporary file
/// and opens it as the writer does. Throws if that fails.
target::ElfImage make_image(const ImagePlan& plan);

}  // namespace beamdump::test
