#include "capture/activity/warnings.h"

#include <libdump/base/amount_text.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

namespace beamdump::capture {

namespace {

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

void warn_of_ports(std::uint64_t unreadable, records::Trailer& trailer) {
    if (unreadable != 0) {
        trailer.add_warning(fmt::format("{} changed each time that {} read",
                                        counted(unreadable, "port"), were(unreadable)));
    }
}

}  // namespace beamdump::capture
