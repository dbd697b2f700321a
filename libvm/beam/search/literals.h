#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

/// erts_literals_start and erts_literals_size (erl_mmap.c): the range that all literals lie in.
struct LiteralRange {
    Address start_at = 0;  ///< of the word that holds the start
    Address bytes_at = 0;
    Address start = 0;
    std::uint64_t bytes = 0;
};

/// Finds two adjacent words in the runtime's data, an address and a size in whole pages, whose
/// range contains the literal areas of all loaded modules. Modules must be known.
Result<LiteralRange> find_literals(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
