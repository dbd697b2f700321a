#include "query/diff/diff_source.h"

#include <array>

namespace beamdump::query {

// A new section is a file in sources, and a line here.
#define BEAMDUMP_DIFF_SOURCES(SOURCE) \
    SOURCE(memory)                    \
    SOURCE(processes)                 \
    SOURCE(registered_names)          \
    SOURCE(groups)                    \
    SOURCE(mailboxes)                 \
    SOURCE(ets_tables)                \
    SOURCE(ets_names)                 \
    SOURCE(persistent_terms)          \
    SOURCE(binary_holders)            \
    SOURCE(binaries)                  \
    SOURCE(atoms)                     \
    SOURCE(modules)                   \
    SOURCE(ports)                     \
    SOURCE(sockets)

#define BEAMDUMP_DECLARE(NAME) const DiffSource& NAME##_diff_source();
BEAMDUMP_DIFF_SOURCES(BEAMDUMP_DECLARE)
#undef BEAMDUMP_DECLARE

std::span<const DiffSource* const> diff_sources() {
#define BEAMDUMP_LIST(NAME) &NAME##_diff_source(),
    static const std::array kSources = {BEAMDUMP_DIFF_SOURCES(BEAMDUMP_LIST)};
#undef BEAMDUMP_LIST
    return kSources;
}

#undef BEAMDUMP_DIFF_SOURCES

}  // namespace beamdump::query
