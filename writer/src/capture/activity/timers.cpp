#include "capture/activity/timers.h"

#include "capture/activity/warnings.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libvm/beam/activity/timers.h>

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
    warn_of_timers(left, moving, trailer);
    return {};
}

}  // namespace beamdump::capture
