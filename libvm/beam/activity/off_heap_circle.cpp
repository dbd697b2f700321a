#include <libdump/base/return_if_error.h>
#include <libvm/beam/activity/off_heap_circle.h>

namespace beamdump::beam {

/// Brent's algorithm: a mark that moves on after 1, 2, 4... steps is met again in a circle.
Result<std::optional<OffHeapCircle>> find_off_heap_circle(memory::MemorySource& source, Field next,
                                                          Address first, std::uint64_t limit) {
    const auto after = [&](Address member) { return source.word(member + next.offset); };
    Address mark = first;
    Address member = first;
    std::uint64_t members = 0;
    std::uint64_t most = 1;
    for (std::uint64_t steps = 0;; ++steps) {
        if (member == 0 || steps > limit) {
            return std::nullopt;
        }
        ASSIGN_OR_RETURN(member, after(member));
        ++members;
        if (member == mark) {
            break;
        }
        if (members == most) {
            mark = member;
            most *= 2;
            members = 0;
        }
    }
    // Of two members that are the circle's length apart the first one that is the other one.
    Address ahead = first;
    for (std::uint64_t step = 0; step < members; ++step) {
        ASSIGN_OR_RETURN(ahead, after(ahead));
    }
    for (member = first; member != ahead;) {
        ASSIGN_OR_RETURN(member, after(member));
        ASSIGN_OR_RETURN(ahead, after(ahead));
    }
    return OffHeapCircle{.address = member, .members = members};
}

}  // namespace beamdump::beam
