#include <libdump/profile/profile_text.h>
#include <libdump/profile/report_parts.h>
#include <libdump/text/json_writer.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace beamdump {
namespace {

/// A vector of entries, the greatest by `key` first.
template <typename Entry, typename Counts, typename Key>
std::vector<Entry> sorted(const Counts& counts, Key key) {
    std::vector<Entry> entries(counts.begin(), counts.end());
    std::ranges::sort(entries, [&](const Entry& one, const Entry& other) {
        return std::pair(key(other), one.first) < std::pair(key(one), other.first);
    });
    return entries;
}

std::string_view by_name(SamplesBy by) {
    switch (by) {
        case SamplesBy::kProcess:
            return "process";
        case SamplesBy::kName:
            return "name";
        case SamplesBy::kInitialCall:
            return "initial_call";
        case SamplesBy::kScheduler:
            return "scheduler";
        case SamplesBy::kThread:
            return "thread";
        case SamplesBy::kNone:
            break;
    }
    return "none";
}

void write_functions(JsonWriter& json, const FunctionCounts& counts) {
    write_objects(json, "functions", sorted_functions(counts), [&](const auto& entry) {
        json.member("function", entry.first);
        json.member("self", entry.second.self);
        json.member("native", entry.second.native);
        json.member("total", entry.second.total);
    });
}

void write_account(JsonWriter& json, const ProfileReport& report) {
    const auto& profile = report.profile;
    json.begin_object("account");
    for (const auto& [kind, count] : profile.kinds()) {
        json.member(kind_name(kind), count);
    }
    json.end_object();
    json.begin_object("not_known");
    for (const auto& [reason, count] : profile.unknown()) {
        json.member(unknown_name(reason), count);
    }
    json.end_object();
    json.member("processes_not_known", profile.ended());
    json.member("lost", report.lost);
    json.member("median_delay_ns", report.delay_ns);
    json.member("longest_delay_ns", report.longest_delay_ns);
    write_not_sampled(json, report);
}

}  // namespace

std::vector<std::pair<std::string, FunctionCount>> sorted_functions(const FunctionCounts& counts) {
    return sorted<std::pair<std::string, FunctionCount>>(
        counts, [](const auto& entry) { return std::pair(entry.second.self, entry.second.total); });
}

std::vector<std::pair<std::string, NativeCount>> sorted_native(const Profile& profile) {
    return sorted<std::pair<std::string, NativeCount>>(profile.native(), [](const auto& entry) {
        return std::pair(entry.second.self, entry.second.total);
    });
}

std::vector<std::pair<std::string, const GroupCount*>> sorted_groups(const Profile& profile) {
    std::map<std::string, const GroupCount*> groups;
    for (const auto& [name, group] : profile.groups()) {
        groups.emplace(name, &group);
    }
    return sorted<std::pair<std::string, const GroupCount*>>(
        groups, [](const auto& entry) { return entry.second->samples; });
}

ProfileTerms profile_terms(const ProfileReport& report, std::string exporter) {
    ProfileTerms terms{.title = fmt::format("{}: processor time by stack", report.node),
                       .exporter = std::move(exporter),
                       .type = "cpu",
                       .unit = "nanoseconds",
                       .scale = report.period_ns(),
                       .time_us = report.began_us};
    if (report.calls) {
        terms.title =
            fmt::format("{}: calls of {}", report.node, fmt::join(report.calls->functions, ", "));
        terms.type = "calls";
        terms.unit = "count";
        terms.scale = 1;
    }
    if (report.readings) {
        terms.title = fmt::format("{}: where running processes last paused", report.node);
        terms.type = "readings";
        terms.unit = "count";
        terms.scale = 1;
    }
    return terms;
}

void profile_json(Output& output, const ProfileReport& report) {
    const auto& profile = report.profile;
    JsonWriter json(output, "beamdump.profile/1");
    write_node(json, report);
    json.member("mode", report.calls      ? "calls"
                        : report.readings ? "readings"
                        : report.stops    ? "stops"
                                          : "samples");
    json.member("began_us", report.began_us);
    json.member("took_ns", report.took_ns);
    json.member("rate", report.rate);
    json.member("samples", profile.samples());
    if (profile.only()) {
        json.begin_object("only");
        json.member("native", profile.only()->text());
        json.member("all_samples", profile.all_samples());
        json.member("unnamed", profile.unnamed());
        json.end_object();
    }
    if (report.calls) {
        json.begin_object("calls");
        json.begin_array("functions");
        for (const auto& function : report.calls->functions) {
            json.value(function);
        }
        json.end_array();
        json.member("counted", report.calls->counted);
        json.member("set_ns", report.calls->set_ns);
        const auto seconds = static_cast<double>(report.took_ns) / 1e9;
        json.member("calls", static_cast<std::uint64_t>(report.calls->a_second * seconds));
        json.member("calls_error",
                    static_cast<std::uint64_t>(report.calls->a_second_error * seconds));
        json.member("held_back", report.calls->held_back);
        json.end_object();
    }
    if (report.stops) {
        json.begin_object("stops");
        json.member("count", report.stops->count);
        json.member("total_ns", report.stops->total_ns);
        json.member("longest_ns", report.stops->longest_ns);
        json.end_object();
    }
    if (report.readings) {
        json.member("without_process", report.without_process);
    } else {
        json.member("kernel_sampled", report.kernel_seen);
    }
    write_account(json, report);
    write_functions(json, profile.functions());
    write_objects(json, "native", sorted_native(profile), [&](const auto& entry) {
        json.member("name", entry.first);
        json.member("self", entry.second.self);
        json.member("total", entry.second.total);
    });
    write_objects(json, "other_threads", profile.other_threads(), [&](const auto& entry) {
        json.member("name", entry.first);
        json.member("samples", entry.second);
    });
    if (profile.by() != SamplesBy::kNone) {
        json.member("by", by_name(profile.by()));
        write_objects(json, "groups", sorted_groups(profile), [&](const auto& entry) {
            json.member("group", entry.first);
            json.member("samples", entry.second->samples);
            write_functions(json, entry.second->functions);
        });
    }
    write_stacks(json, profile.stacks(), "samples", [](std::uint32_t /*node*/) {});
    write_remarks(json, report);
    json.finish();
}

}  // namespace beamdump
