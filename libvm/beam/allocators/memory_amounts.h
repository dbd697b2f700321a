#pragma once

#include <libvm/beam/allocators/allocators.h>
#include <libvm/beam/tables/atoms.h>

#include <records.pb.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace beamdump::beam {

/// Bytes by name. What could not be read is not in it.
using MemoryAmounts = std::map<std::string, std::uint64_t>;

/// The memory of the runtime's tables, by the names of erlang:system_info(allocated_areas) and by
/// its rules (erl_alloc.c): atom_table, atom_space, atom_space_used, module_table, export_table,
/// export_list, fun_table, fun_list (from OTP 29 on), module_refs, loaded_code, process_table,
/// ets_misc. `module_code_bytes`: sum of the loaded modules' code, for a runtime whose own sum has
/// no name. `atoms`: of a whole pass over the atoms. `failed` is told what could not be read.
MemoryAmounts read_areas(Vm& vm, const AtomSpace& atoms, std::uint64_t module_code_bytes,
                         const std::function<void(std::string)>& failed);

/// erlang:memory/0's categories by the rules of erts_memory() (erl_alloc.c), from the counters of
/// all allocators' instances and the areas. A category of which a part is unknown is not in it.
MemoryAmounts memory_categories(const Layout& layout,
                                std::span<const records::AllocatorInstance> allocators,
                                const MemoryAmounts& areas);

}  // namespace beamdump::beam
