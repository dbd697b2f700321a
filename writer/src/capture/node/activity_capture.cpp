#include "capture/node/activity_capture.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libdump/write/record_pages.h>
#include <libvm/beam/activity/schedulers.h>
#include <libvm/beam/emulator/breakpoints.h>
#include <libvm/beam/emulator/emulator.h>
#include <libvm/beam/processes/traces.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace beamdump::capture {
namespace {

/// Appends `schedulers` in pages.
Result<void> append(const records::Schedulers& schedulers, DumpWriter& writer,
                    records::Trailer& trailer) {
    RecordPages<records::Schedulers> pages(writer, format::RecordKind::kScheduler,
                                           *trailer.mutable_schedulers_offset());
    for (const auto& scheduler : schedulers.scheduler()) {
        RETURN_IF_ERROR(pages.add([&](auto& page) { *page.add_scheduler() = scheduler; }));
    }
    for (const auto& queue : schedulers.run_queue()) {
        RETURN_IF_ERROR(pages.add([&](auto& page) { *page.add_run_queue() = queue; }));
    }
    return pages.finish(false);
}

void warn_of_unread(const std::vector<std::string>& parts, std::string_view why,
                    records::Trailer& trailer) {
    if (!parts.empty()) {
        trailer.add_warning(
            fmt::format("{} could not be read, as: {}", fmt::join(parts, ", and "), why));
    }
}

std::string were(std::uint64_t count) {
    return count == 1 ? "it was" : "they were";
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

Result<std::set<beam::Address>> write_emulator(beam::Vm& vm,
                                               std::span<const beam::ModuleCode> modules,
                                               bool stopped, DumpWriter& writer,
                                               records::Trailer& trailer) {
    std::set<beam::Address> types;
    records::Emulator emulator;
    std::vector<std::string> untold;
    if (auto reader = beam::EmulatorReader::open(vm)) {
        ASSIGN_OR_RETURN(*emulator.add_progress(),
                         reader->progress(target::clock_ns(CLOCK_MONOTONIC), untold));
        RETURN_IF_ERROR(reader->state(emulator));
        RETURN_IF_ERROR(reader->resource_types(
            limits::kEntriesOfAPage, !stopped,
            [&](records::ResourceTypes& page) {
                for (const auto& type : page.type()) {
                    types.insert(type.struct_address());
                }
                return append_noted(writer, format::RecordKind::kResourceTypes, page,
                                    *trailer.mutable_resource_types_offset());
            },
            untold));
    } else {
        untold.push_back("the layout does not have the emulator's structures");
    }
    if (const auto first = vm.tables().emulator.trace_sessions) {
        if (auto traces = beam::TraceReader::open(vm)) {
            RETURN_IF_ERROR(traces->sessions(*first, emulator));
        }
    }
    RETURN_IF_ERROR(beam::read_traced_functions(vm, modules, limits::kEntriesOfAPage, emulator));
    for (auto& sentence : untold) {
        emulator.add_untold(std::move(sentence));
    }
    RETURN_IF_ERROR(append_noted(writer, format::RecordKind::kEmulator, emulator,
                                 *trailer.mutable_emulator_offset()));
    return types;
}

Result<void> write_progress_again(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer) {
    auto reader = beam::EmulatorReader::open(vm);
    if (!reader || trailer.emulator_offset_size() != 1) {
        return {};
    }
    records::Emulator emulator;
    std::vector<std::string> told_before;
    ASSIGN_OR_RETURN(*emulator.add_progress(),
                     reader->progress(target::clock_ns(CLOCK_MONOTONIC), told_before));
    return append_noted(writer, format::RecordKind::kEmulator, emulator,
                        *trailer.mutable_emulator_offset());
}

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

Result<void> write_distribution(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                                const beam::Moving& moving) {
    auto reader = beam::DistributionReader::open(vm);
    if (!reader) {
        const auto& other = vm.tables().other;
        trailer.add_warning("connections to other nodes: " +
                            (other.distribution || other.not_found.empty()
                                 ? reader.error().message
                                 : other.not_found.back()));
        return {};
    }
    // Only the table's walk, before the first page, is repeated.
    const auto left = beam::read_steadily(moving, vm, [&] {
        return reader->read(limits::kEntriesOfAPage, [&](records::DistributionEntries& page) {
            return append_noted(writer, format::RecordKind::kDistributionEntries, page,
                                *trailer.mutable_distribution_offset());
        });
    });
    if (!left && (left.error().code == ErrorCode::kImplausible ||
                  left.error().code == ErrorCode::kUnmapped)) {
        trailer.add_warning("connections to other nodes: " + left.error().message);
        return {};
    }
    if (!left) {
        return std::unexpected(left.error());
    }
    warn_of_connections(*left, trailer);
    return {};
}

void warn_of_timers(const beam::TimerReader::Left& left, bool moving, records::Trailer& trailer) {
    std::vector<std::string> parts;
    if (left.schedulers != 0) {
        parts.push_back(fmt::format("timers of {}", counted(left.schedulers, "scheduler")));
    }
    if (left.lost != 0) {
        parts.push_back(fmt::format("the rest of {} of timers",
                                    counted(left.lost, "list or tree", "lists or trees")));
    }
    warn_of_unread(parts, left.why, trailer);
    if (!moving && left.missing != 0) {
        trailer.add_warning(fmt::format("{} not in its timer wheels: {} due, or could not be read",
                                        counted(left.missing, "timer that the node counts was",
                                                "timers that the node counts were"),
                                        were(left.missing)));
    }
}

void warn_of_connections(const beam::DistributionReader::Left& left, records::Trailer& trailer) {
    std::vector<std::string> parts;
    if (left.unreadable != 0) {
        parts.push_back(counted(left.unreadable, "other node"));
    }
    if (left.suspended != 0) {
        parts.push_back(fmt::format("the processes that {} suspended",
                                    counted(left.suspended, "connection has", "connections have")));
    }
    warn_of_unread(parts, left.why, trailer);
}

void warn_of_persistent_terms(const beam::PersistentTermReader::Counts& counts,
                              records::Trailer& trailer) {
    const auto left_out = [](std::uint64_t count) {
        return counted(count, "persistent term is left out", "persistent terms are left out");
    };
    if (counts.changed != 0) {
        trailer.add_warning(fmt::format("{}: {} changed each time that {} read",
                                        left_out(counts.changed),
                                        counts.changed == 1 ? "it" : "they", were(counts.changed)));
    }
    if (counts.unreadable != 0) {
        trailer.add_warning(fmt::format("{}, as {} unreadable", left_out(counts.unreadable),
                                        were(counts.unreadable)));
    }
    if (counts.replaced) {
        trailer.add_warning(
            "persistent terms may be missing: their table was replaced each time that it was read");
    }
}

void warn_of_schedulers(std::uint64_t unreadable, std::string_view why, records::Trailer& trailer) {
    if (unreadable != 0) {
        warn_of_unread({counted(unreadable, "scheduler or run queue", "schedulers or run queues")},
                       why, trailer);
    }
}

void warn_of_ports(const beam::PortReader::Left& left, records::Trailer& trailer) {
    if (left.unreadable != 0) {
        trailer.add_warning(fmt::format("{} changed each time that {} read",
                                        counted(left.unreadable, "port"), were(left.unreadable)));
    }
    std::vector<std::string> parts;
    if (left.suspended != 0) {
        parts.push_back(fmt::format("the processes that {} suspended",
                                    counted(left.suspended, "port has", "ports have")));
    }
    warn_of_unread(parts, left.why, trailer);
    if (left.queues != 0) {
        warn_of_unread(
            {fmt::format("the binaries in the queue of {}", counted(left.queues, "port"))},
            left.why_queue, trailer);
    }
}

}  // namespace beamdump::capture
