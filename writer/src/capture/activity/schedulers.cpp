#include "capture/activity/schedulers.h"

#include "capture/activity/warnings.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libvm/beam/activity/schedulers.h>

namespace beamdump::capture {
namespace {

/// Appends `schedulers` in pages.
Result<void> append(const records::Schedulers& schedulers, DumpWriter& writer,
                    records::Trailer& trailer) {
    records::Schedulers page;
    std::size_t entries = 0;
    const auto flush = [&]() -> Result<void> {
        auto done = append_noted(writer, format::RecordKind::kScheduler, page,
                                 *trailer.mutable_schedulers_offset());
        page.Clear();
        entries = 0;
        return done;
    };
    for (const auto& scheduler : schedulers.scheduler()) {
        *page.add_scheduler() = scheduler;
        if (++entries == limits::kEntriesOfAPage) {
            RETURN_IF_ERROR(flush());
        }
    }
    for (const auto& queue : schedulers.run_queue()) {
        *page.add_run_queue() = queue;
        if (++entries == limits::kEntriesOfAPage) {
            RETURN_IF_ERROR(flush());
        }
    }
    return entries == 0 ? Result<void>() : flush();
}

}  // namespace

Result<void> write_schedulers(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer) {
    auto reader = beam::SchedulerReader::open(vm);
    if (!reader) {
        trailer.add_warning("schedulers: " + reader.error().message);
        return {};
    }
    const auto read = reader->read();
    if (!read) {
        trailer.add_warning("schedulers: " + read.error().message);
        return {};
    }
    for (const auto& kind : read->not_found) {
        trailer.add_warning(kind + ": their place was not found");
    }
    warn_of_schedulers(read->unreadable, read->why, trailer);
    return append(read->schedulers, writer, trailer);
}

}  // namespace beamdump::capture
