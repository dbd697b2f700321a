#include "capture/activity/timers.h"

#include "beam/activity/timers.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <fmt/format.h>

namespace beamdump::capture {

Result<void> write_timers(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                          bool moving) {
    auto reader = beam::TimerReader::open(vm, moving);
    if (!reader) {
        trailer.add_warning("timers: " + reader.error().message);
        return {};
    }
    ASSIGN_OR_RETURN(const auto left,
                     reader->read(limits::kEntriesOfAPage, [&](records::Timers& page) {
                         return append_noted(writer, format::RecordKind::kTimers, page,
                                             *trailer.mutable_timers_offset());
                     }));
    if (left.schedulers != 0 || left.lost != 0) {
        trailer.add_warning(fmt::format(
            "timers of {} schedulers and the rest of {} lists or trees of timers could not be "
            "read, as: {}",
            left.schedulers, left.lost, left.why));
    }
    // While the node runs, timers come and go between the counters and the lists.
    if (!moving && left.missing != 0) {
        trailer.add_warning(
            fmt::format("{} timers that the node counts were not in its timer wheels: they were "
                        "due, or could not be read",
                        left.missing));
    }
    return {};
}

}  // namespace beamdump::capture
