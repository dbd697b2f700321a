#pragma once

#include <libvm/beam/search/image_search.h>
#include <libvm/beam/vm/vm.h>

namespace beamdump::beam {

// Searches for what says where the node's memory is. Schedulers and modules must be known.

/// erts_allctr_thr_spec (erl_alloc.c): a row of allocators whose instances number themselves.
Result<Address> find_thread_allocators(Vm& vm, const ImageSearch& search);

/// erts_allctrs_info (erl_alloc.c): a row of entries that point to those of `thread_allocators`.
Result<Address> find_allocators(Vm& vm, const ImageSearch& search, Address thread_allocators);

/// What aligned_mseg_allctr (erl_mseg.c) points to: an array of instances that number themselves.
Result<Address> find_segment_allocators(Vm& vm, const ImageSearch& search);

/// erts_dflt_mmapper (erl_mmap.c): two functions, and sizes in whole pages; not the other one.
Result<Address> find_default_mapper(Vm& vm, const ImageSearch& search, Address literal_mapper);

/// r (beam_ranges.c): for each code index a sorted array of code ranges; the active one's has a
/// range for each module.
Result<Address> find_code_ranges(Vm& vm, const ImageSearch& search);

}  // namespace beamdump::beam
