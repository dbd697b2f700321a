#pragma once

#include <libsample/node/observed_node.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace beamdump::sampler {

/// Where the JIT's fragment that calls BIFs (call_light_bif_shared) goes on if a collection is due
/// after the BIF: the offset of the place that most of its conditional jumps lead to, if the
/// fragment calls a function of the emulator directly behind it and nowhere else. There the
/// process's registers are as in its own code, with the heap's top after the BIF
/// (emit_call_light_bif_shared(), jit/x86/instr_bif.cpp, OTP 25 to 29). Nothing: the code is
/// another.
std::optional<std::size_t> collection_branch(std::span<const std::byte> code);

/// Addresses of shared code at which a process is about to collect its heap, with its heap's top in
/// r15, its stack's in rsp and its structure in r13.
struct CollectionPlaces {
    std::vector<Address> addresses{};
    bool complete = false;  ///< both were found: where code finds no room, and after a BIF
};

CollectionPlaces collection_places(ObservedNode& node);

}  // namespace beamdump::sampler
