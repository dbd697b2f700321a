#pragma once

#include <libvm/arch/host.h>
#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>
#include <libvm/target/image/mappings.h>

#include <span>

namespace beamdump::target {

/// Adds what `code`, which is at `address`, holds to those of `found` that are still 0.
void find_gadgets_in(std::span<const std::byte> code, memory::Address address, Gadgets& found);

/// Searches the code that a target has mapped from files (libc and the vdso hold both gadgets),
/// present pages first. Code that the target made itself is skipped: it may go away.
/// kUnsupported: there are none.
Result<Gadgets> find_gadgets(memory::MemorySource& memory, memory::PresentPages& pages,
                             const Mappings& mappings);

/// Whether the gadgets are (still) there.
Result<void> verify_gadgets(memory::MemorySource& memory, const Gadgets& gadgets);

}  // namespace beamdump::target
