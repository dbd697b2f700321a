#pragma once

#include "element_text.h"

#include <optional>
#include <span>
#include <vector>

namespace beamdump::crash {

/// The words of an object that the VM prints in the external term format, for it has no text of its
/// own: a reference, a fun (its environment as empty lists), or a pid or port of another node.
/// Nothing for anything else, and where the bytes make no term.
std::optional<std::vector<std::uint64_t>> words_of_external(std::span<const std::uint8_t> bytes,
                                                            const TextFormat& format, Names& names);

}  // namespace beamdump::crash
