#pragma once

#include <libsample/node/observed_node.h>

#include <string>

namespace beamdump::sampler {

/// A function of a module that the node has loaded.
struct LoadedFunction {
    std::string name;           ///< as the VM prints it
    Address entry = 0;          ///< its first instruction
    Address end = 0;            ///< behind its last
    bool calls_itself = false;  ///< it has a tail call of itself
    bool has_old_code = false;  ///< the module's old code is loaded too
    bool may_be_bif = false;    ///< the layout does not say where BIFs have their number
};

/// Whether a text has the form module:function/arity.
bool is_function_text(const std::string& text);

/// The function that `text` names in the module's current code: "lists:map/2", "'Elixir.A':b/1" or
/// "Elixir.A:b/1". kNotFound: the module is not loaded, or has no such function. kUnsupported: it
/// is a BIF, whose calls do not go by its entry in the module.
Result<LoadedFunction> find_loaded_function(ObservedNode& node, const std::string& text);

/// Whether machine code at `begin` has a jump to its own first byte: E9 with four bytes of
/// distance, or EB with one.
bool jumps_to_begin(std::span<const std::byte> code);

}  // namespace beamdump::sampler
