#include <libdump/profile/profile_text.h>
#include <libdump/profile/report_parts.h>
#include <libdump/text/table.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace beamdump {
namespace {

std::string_view kind_sentence(SampleKind kind) {
    switch (kind) {
        case SampleKind::kExact:
            return "exact: function and callers are of the moment";
        case SampleKind::kFunctionOnly:
            return "function is of the moment, callers not known";
        case SampleKind::kReadAfter:
            return "in native code: function is of the moment, its callers were read afterwards";
        case SampleKind::kAllReadAfter:
            return "in native code: function and callers were read afterwards";
        case SampleKind::kProcessOnly:
            return "at most the process is known";
        case SampleKind::kEmulator:
            return "schedulers' own work, for no process";
        case SampleKind::kOtherThread:
            return "threads that run no processes";
        case SampleKind::kReading:
            break;
    }
    return "readings of where a process last paused";
}

std::string_view unknown_sentence(UnknownCallers unknown) {
    switch (unknown) {
        case UnknownCallers::kHalfMadeFrame:
            return "callers not known: a frame was just being made";
        case UnknownCallers::kBetweenFunctions:
            return "function not known: in code that counts to none";
        case UnknownCallers::kNoStack:
            return "callers not known: the words are no stack";
        case UnknownCallers::kWentOn:
            return "callers not known: the process had gone on when they were read";
        case UnknownCallers::kNotUnwound:
            return "callers not known: native frames do not lead to them";
        case UnknownCallers::kDirty:
            return "callers not known: a dirty scheduler had left its process, or had none";
        case UnknownCallers::kNone:
            break;
    }
    return "callers known";
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-"
                      : fmt::format("{:.1f}%",
                                    100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void functions_table(Output& output, const FunctionCounts& counts, std::uint64_t samples,
                     std::size_t most) {
    Table table({{"SELF", Align::kRight},
                 {"NATIVE", Align::kRight},
                 {"TOTAL", Align::kRight},
                 {"FUNCTION"}});
    const auto sorted = sorted_functions(counts);
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) {
        const auto& [name, count] = sorted[at];
        table.add({share(count.self, samples), share(count.native, samples),
                   share(count.total, samples), one_line(name)});
    }
    table.print(output);
    if (sorted.size() > most) {
        output.print("... {} further functions (--limit)\n", sorted.size() - most);
    }
}

void native_table(Output& output, const Profile& profile, std::size_t most) {
    if (profile.native().empty()) {
        return;
    }
    print_title(output, "Native code");
    Table table({{"SELF", Align::kRight}, {"TOTAL", Align::kRight}, {"NAME"}});
    const auto sorted = sorted_native(profile);
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) {
        table.add({share(sorted[at].second.self, profile.samples()),
                   share(sorted[at].second.total, profile.samples()), one_line(sorted[at].first)});
    }
    table.print(output);
}

void groups_table(Output& output, const Profile& profile, std::size_t most) {
    if (profile.by() == SamplesBy::kNone) {
        return;
    }
    const auto groups = sorted_groups(profile);
    for (std::size_t at = 0; at < std::min(most, groups.size()); ++at) {
        print_title(output, fmt::format("{}: {}", one_line(groups[at].first),
                                        share(groups[at].second->samples, profile.samples())));
        constexpr std::size_t kOfAGroup = 5;
        functions_table(output, groups[at].second->functions, profile.samples(),
                        std::min(most, kOfAGroup));
    }
    if (groups.size() > most) {
        output.print("\n... {} further groups (--limit)\n", groups.size() - most);
    }
}

void account(Output& output, const ProfileReport& report) {
    const auto& profile = report.profile;
    print_title(output, report.readings ? "Readings" : "Samples");
    Table table({{"", Align::kRight}, {"", Align::kRight}, {""}});
    const auto add = [&](std::uint64_t count, std::string_view what) {
        table.add({fmt::format("{}", count), share(count, profile.samples()), std::string(what)});
    };
    for (const auto& [kind, count] : profile.kinds()) {
        add(count, kind_sentence(kind));
    }
    for (const auto& [name, count] : profile.other_threads()) {
        add(count, fmt::format("  of thread {}", one_line(name)));
    }
    for (const auto& [reason, count] : profile.unknown()) {
        add(count, unknown_sentence(reason));
    }
    if (profile.ended() != 0) {
        add(profile.ended(), "of processes that were gone before they were named");
    }
    table.print(output);
    lost_line(output, report);
    if (report.delay_ns && report.longest_delay_ns) {
        output.print("attributed {:.2f} ms after they were taken (median), {:.1f} ms at most\n",
                     static_cast<double>(*report.delay_ns) / 1e6,
                     static_cast<double>(*report.longest_delay_ns) / 1e6);
    }
    if (!report.kernel_seen && !report.stops) {
        output.write("time in the kernel is not sampled: that is not allowed\n");
    }
    not_sampled_lines(output, report);
}

void calls_header(Output& output, const ProfileReport& report, const CallCounts& calls) {
    output.print("calls of {}: {} in {:.2f} s for which breakpoints were set{}; {} sampled\n",
                 one_line(fmt::format("{}", fmt::join(calls.functions, ", "))), calls.counted,
                 static_cast<double>(calls.set_ns) / 1e9,
                 calls.set_ns > 0 ? fmt::format(", {:.0f} (+- {:.0f}) a second", calls.a_second,
                                                calls.a_second_error)
                                  : std::string(),
                 report.profile.samples());
    if (calls.held_back != 0) {
        output.print("the kernel held the breakpoints back {} times: there were more calls\n",
                     calls.held_back);
    }
}

void samples_header(Output& output, const ProfileReport& report) {
    const auto& profile = report.profile;
    const auto all = profile.all_samples();
    output.print("{} samples, {} a second of each thread's processor time: {:.2f} s of it\n", all,
                 report.rate,
                 static_cast<double>(all) * static_cast<double>(report.period_ns()) / 1e9);
    if (report.stops) {
        output.print("{} stops of a thread, of {:.2f} ms on average, {:.1f} ms at most\n",
                     report.stops->count,
                     report.stops->count == 0 ? 0.0
                                              : static_cast<double>(report.stops->total_ns) / 1e6 /
                                                    static_cast<double>(report.stops->count),
                     static_cast<double>(report.stops->longest_ns) / 1e6);
    }
    if (profile.only()) {
        output.print("{} of them, {}, in native code named {}\n", profile.samples(),
                     share(profile.samples(), all), one_line(profile.only()->text()));
        if (profile.unnamed() != 0) {
            output.print(
                "{} more, {}, in native code that has no name in its file: it may be any\n",
                profile.unnamed(), share(profile.unnamed(), all));
        }
    }
}

}  // namespace

void profile_text(Output& output, const ProfileReport& report, std::size_t most) {
    const auto& profile = report.profile;
    node_line(output, report);
    const auto samples = static_cast<double>(profile.samples());
    if (report.calls) {
        calls_header(output, report, *report.calls);
    } else if (report.readings) {
        output.print(
            "{} readings of what schedulers have, {} a second of each; in {} there was none or it "
            "changed\nFunctions are those in which a process last paused, not those that run; "
            "native code is not seen,\nnor how much processor time anything takes.\n",
            profile.samples(), report.rate, report.without_process);
    } else {
        samples_header(output, report);
    }
    if (profile.samples() != 0) {
        // Twice the standard error of a share of one half, which is the largest.
        output.print("shares are of all of them, with an error of at most {:.1f} points (95%)\n",
                     100.0 / std::sqrt(samples));
    }
    print_title(output, "Erlang functions");
    functions_table(output, profile.functions(), profile.samples(), most);
    native_table(output, profile, most);
    groups_table(output, profile, most);
    if (profile.only() || report.calls) {
        constexpr std::size_t kStacks = 10;
        stacks_list(output, profile.stacks(), std::min(most, kStacks));
    }
    account(output, report);
}

void stacks_list(Output& output, const StackTree& stacks, std::size_t most) {
    constexpr std::size_t kFrames = 12;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> found;
    for (std::uint32_t at = 0; at < stacks.nodes().size(); ++at) {
        if (stacks.nodes()[at].weight != 0) {
            found.emplace_back(stacks.nodes()[at].weight, at);
        }
    }
    std::ranges::sort(found, [](const auto& one, const auto& other) {
        return std::pair(other.first, one.second) < std::pair(one.first, other.second);
    });
    print_title(output, "Stacks");
    for (std::size_t at = 0; at < std::min(most, found.size()); ++at) {
        auto places = stacks.stack(found[at].second);
        std::ranges::reverse(places);
        output.print("{:>6}", share(found[at].first, stacks.total()));
        for (std::size_t frame = 0; frame < std::min(places.size(), kFrames); ++frame) {
            output.print("{}{}\n", frame == 0 ? "  " : "        ",
                         one_line(stacks.places()[places[frame]].function));
        }
        if (places.size() > kFrames) {
            output.print("        ... {} further functions\n", places.size() - kFrames);
        }
    }
    if (found.size() > most) {
        output.print("... {} further stacks (--format, --json)\n", found.size() - most);
    }
}

std::vector<std::string> shortcomings(const ProfileReport& report) {
    auto sentences = report.remarks;
    if (report.lost != 0) {
        sentences.push_back(lost_sentence(report.lost));
    }
    for (const auto& [reason, threads] : report.not_sampled) {
        sentences.push_back(not_sampled_sentence(reason, threads));
    }
    if (report.log && report.log->left_out() != 0) {
        sentences.push_back(left_out_sentence(report.log->left_out()));
    }
    return sentences;
}

std::string_view kind_name(SampleKind kind) {
    switch (kind) {
        case SampleKind::kExact:
            return "exact";
        case SampleKind::kFunctionOnly:
            return "function_only";
        case SampleKind::kReadAfter:
            return "read_after";
        case SampleKind::kAllReadAfter:
            return "all_read_after";
        case SampleKind::kProcessOnly:
            return "process_only";
        case SampleKind::kEmulator:
            return "emulator";
        case SampleKind::kOtherThread:
            return "other_thread";
        case SampleKind::kReading:
            break;
    }
    return "reading";
}

std::string_view unknown_name(UnknownCallers unknown) {
    switch (unknown) {
        case UnknownCallers::kHalfMadeFrame:
            return "half_made_frame";
        case UnknownCallers::kBetweenFunctions:
            return "between_functions";
        case UnknownCallers::kNoStack:
            return "no_stack";
        case UnknownCallers::kWentOn:
            return "went_on";
        case UnknownCallers::kNotUnwound:
            return "not_unwound";
        case UnknownCallers::kDirty:
            return "dirty";
        case UnknownCallers::kNone:
            break;
    }
    return "none";
}

}  // namespace beamdump
