#include <libdump/format/crash_regions.h>

namespace beamdump {

format::RegionKind place_in_crash_dump(const records::Process& process, bool literals,
                                       std::uint64_t address) {
    using format::RegionKind;
    const bool bounds = process.has_heap_address() && process.has_heap_end_address();
    if (bounds && address >= process.heap_address() && address < process.heap_end_address()) {
        return RegionKind::kHeap;
    }
    const bool old_heap = !process.has_old_heap_words() || process.old_heap_words() != 0;
    // Those of messages are not in the count of fragments' words (erl_process.c, mbuf_sz).
    const bool fragments = !process.has_fragment_words() || process.fragment_words() != 0 ||
                           !process.has_message_queue_length() ||
                           process.message_queue_length() != 0;
    const int places = (bounds ? 0 : 1) + (old_heap ? 1 : 0) + (fragments ? 1 : 0);
    if (places != 1 || !literals || address >= kMadeUpAddresses) {
        return RegionKind::kUnplaced;
    }
    return old_heap    ? RegionKind::kOldHeap
           : fragments ? RegionKind::kHeapFragment
                       : RegionKind::kHeap;
}

}  // namespace beamdump
