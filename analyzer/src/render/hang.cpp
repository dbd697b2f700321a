#include "render/hang.h"

#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/known.h"
#include "render/shared/process_counts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump::render {

namespace {

using query::WaitKind;

/// "<0.9.0> shop (waiting in shop:loop/1)".
std::string text_of(const query::HangStep& step) {
    if (!step.process) {
        return one_line(step.place.name);
    }
    const auto& line = *step.process;
    std::string text = fmt::format("{} {}", line.pid, process_name(line));
    if (line.status) {
        text += fmt::format(" ({}", *line.status);
        if (const auto function = query::shown_function(line)) {
            text += fmt::format(" in {}", one_line(*function));
        }
        text += ')';
    }
    return text;
}

/// What a place does with regard to the next one, which `to` names: "waits for the answer of X".
std::string verb(const query::WaitEdge& edge, std::string_view to) {
    const auto be = [&edge](std::string_view done) {
        return fmt::format("{} {} by ", edge.certain ? "is" : "may be", done);
    };
    const auto wait = [&edge](std::string_view what) {
        return fmt::format("{} for {}", edge.certain ? "waits" : "may wait", what);
    };
    switch (edge.kind) {
        case WaitKind::kReply:
            return fmt::format("{}{}", wait("the answer of "), to);
        case WaitKind::kStart:
            return fmt::format("{}{}", wait("the start of "), to);
        case WaitKind::kPermission:
        case WaitKind::kLock:
            return fmt::format("{}{}", wait("the "), to);
        case WaitKind::kHolder:
            return fmt::format("{}{}", be("held"), to);
        case WaitKind::kProgress:
            return wait(to);
        case WaitKind::kHeldUp:
            return fmt::format(
                "{}{}{}", be("held up"), to,
                edge.us ? fmt::format(", for at least {}",
                                      duration_text(static_cast<std::int64_t>(*edge.us * 1000)))
                        : std::string());
        case WaitKind::kRuns:
            return fmt::format("runs {}", to);
        case WaitKind::kFrees:
            return fmt::format("frees the memory of {}, which has ended", to);
        case WaitKind::kRunQueue:
            return fmt::format("may be in the run queue of {}", to);
        case WaitKind::kTask:
            return fmt::format("{} of {}", wait(one_line(edge.task)), to);
        case WaitKind::kSuspender:
            return fmt::format("{}{}", be("suspended"), to);
        case WaitKind::kConnection:
        case WaitKind::kPort:
            return fmt::format("{}{}", wait("the busy "), to);
    }
    std::unreachable();
}

constexpr std::size_t kMostNamed = 4;

void print_others(Output& output, const query::HangStep& step, std::size_t from) {
    const auto end = std::min(step.edges.size(), from + kMostNamed);
    for (auto at = from; at < end; ++at) {
        const auto& edge = step.edges[at];
        print_line(output, fmt::format("    {}{}", from == 0 ? "" : "also ",
                                       verb(edge, one_line(edge.to.name))));
    }
    if (end < step.edges.size()) {
        output.print("    and {} more\n", step.edges.size() - end);
    }
}

void print_chain(Output& output, const query::HangChain& chain, bool first_kept) {
    const auto& steps = chain.steps;
    for (std::size_t at = 0; at < steps.size(); ++at) {
        if (chain.left_out != 0 && at == (first_kept ? 1U : 0U)) {
            output.print("  ... {} more that wait\n", chain.left_out);
        }
        const auto& step = steps[at];
        if (at == 0) {
            print_line(output, "  " + text_of(step));
        }
        const bool goes_on = at + 1 < steps.size() || chain.cycle;
        if (goes_on && !step.edges.empty()) {
            const bool cut = chain.left_out != 0 && first_kept && at == 0;
            print_line(output, "  -> " + verb(step.edges.front(),
                                              at + 1 < steps.size() && !cut
                                                  ? text_of(steps[at + 1])
                                                  : one_line(step.edges.front().to.name)));
        }
        print_others(output, step, goes_on ? 1 : 0);
    }
}

std::string waiting_behind(std::uint64_t count) {
    return counted(count, "process waits", "processes wait");
}

void print_end(Output& output, const query::HangEnd& end) {
    const auto& last = end.chain.steps.back();
    print_title(output, fmt::format("{} behind {}", waiting_behind(end.behind), text_of(last)));
    print_line(output, "  " + end.why);
    print_chain(output, end.chain, false);
}

void print_untold(Output& output, const query::Hang& answer) {
    if (answer.untold.empty()) {
        return;
    }
    output.write("\nnot known:\n");
    for (const auto& sentence : answer.untold) {
        output.print("  {}\n", one_line(sentence));
    }
}

void write_place(JsonWriter& json, std::string_view name, const query::WaitPlace& place) {
    json.begin_object(name);
    json.member("kind", query::wait_place_kind_name(place.kind));
    json.member("name", place.name);
    json.end_object();
}

void write_chain(JsonWriter& json, const query::HangChain& chain) {
    json.member("left_out", chain.left_out);
    json.member("cycle", chain.cycle);
    write_objects(json, "chain", chain.steps, [&json](const query::HangStep& step) {
        json.member("kind", query::wait_place_kind_name(step.place.kind));
        json.member("name", step.place.name);
        if (step.process) {
            json.begin_object("process");
            write_process_members(json, *step.process);
            json.end_object();
        }
        write_objects(json, "waits", step.edges, [&json](const query::WaitEdge& edge) {
            json.member("kind", query::wait_kind_name(edge.kind));
            json.member("certain", edge.certain);
            if (!edge.task.empty()) {
                json.member("task", edge.task);
            }
            json.member("held_up_for_us", edge.us);
            write_place(json, "for", edge.to);
        });
    });
}

void write_end(JsonWriter& json, const query::HangEnd& end) {
    json.member("why", end.why);
    json.member("direct", end.direct);
    json.member("behind", end.behind);
    write_place(json, "end", end.place);
    write_chain(json, end.chain);
}

}  // namespace

void hang_text(Output& output, const query::Hang& answer) {
    print_layout_notice(output, answer.dump.layout);
    if (!query::known_total(answer.dump, answer.read.read)) {
        print_none(output, answer.dump, answer.read.read, "stacks");
        return;
    }
    if (answer.asked) {
        print_chain(output, answer.asked->chain, true);
        print_line(output,
                   fmt::format("  {}: {}", one_line(answer.asked->place.name), answer.asked->why));
        output.print("\n{} behind it\n", waiting_behind(answer.asked_behind.value_or(0)));
        print_untold(output, answer);
        return;
    }
    output.print("{}{}, for {} and in {}\n", at_least(answer.dump, "proc_stack"),
                 waiting_behind(answer.waiting), counted(answer.end_count, "end"),
                 counted(answer.cycle_count, "cycle"));
    for (const auto& end : answer.ends) {
        print_end(output, end);
    }
    print_rest(output, answer.ends.size(), answer.end_count);
    for (const auto& cycle : answer.cycles) {
        print_title(output, fmt::format("A cycle of waits, and {} behind it",
                                        waiting_behind(cycle.behind)));
        print_chain(output, cycle.chain, false);
    }
    print_rest(output, answer.cycles.size(), answer.cycle_count);
    print_untold(output, answer);
}

void hang_json(Output& output, const query::Hang& answer) {
    JsonWriter json(output, "beamdump.hang/1");
    write_dump(json, "dump", answer.dump);
    write_processes_read(json, answer.read);
    const bool known = query::known_total(answer.dump, answer.read.read).has_value();
    if (known) {
        json.member("waiting", answer.waiting);
    }
    if (answer.asked) {
        json.begin_object("asked");
        json.member("waiting_behind", answer.asked_behind);
        write_end(json, *answer.asked);
        json.end_object();
    } else if (known) {
        json.member("end_count", answer.end_count);
        write_objects(json, "ends", answer.ends,
                      [&json](const query::HangEnd& end) { write_end(json, end); });
        json.member("cycle_count", answer.cycle_count);
        write_objects(json, "cycles", answer.cycles, [&json](const query::HangCycle& cycle) {
            json.member("behind", cycle.behind);
            write_chain(json, cycle.chain);
        });
    }
    json.begin_array("untold");
    for (const auto& sentence : answer.untold) {
        json.value(sentence);
    }
    json.end_array();
    json.finish();
}

}  // namespace beamdump::render
