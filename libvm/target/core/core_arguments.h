#pragma once

#include <libvm/memory/memory_source.h>
#include <libvm/target/core/core_file.h>

namespace beamdump::target {

/// The command line of a core's process, from where the kernel put it on the first stack: below the
/// auxiliary vector, which the core's notes repeat, stand the pointers to environment and arguments
/// (System V ABI, AMD64 supplement, 3.4.1). kAbsent: they are not to be found.
Result<std::vector<std::string>> arguments_on_stack(const CoreFile& core,
                                                    memory::MemorySource& memory);

/// The environment that it was started with, NAME=VALUE, from the same place.
Result<std::vector<std::string>> environment_on_stack(const CoreFile& core,
                                                      memory::MemorySource& memory);

}  // namespace beamdump::target
