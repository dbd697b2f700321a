#include "show/stacks_text.h"

#include <libdump/format/owner_id.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace beamdump::sampler {
namespace {

std::string_view kind_text(records::SchedulerKind kind) {
    switch (kind) {
        case records::SCHEDULER_KIND_DIRTY_CPU:
            return "dirty CPU scheduler";
        case records::SCHEDULER_KIND_DIRTY_IO:
            return "dirty I/O scheduler";
        default:
            return "scheduler";
    }
}

std::string_view proof_text(StackProof proof) {
    switch (proof) {
        case StackProof::kSampled:
            return "running Erlang code";
        case StackProof::kNative:
            return "in a native call";
        default:
            return "";
    }
}

std::string_view miss_text(StackMiss miss) {
    switch (miss) {
        case StackMiss::kRunning:
            return "it runs";
        case StackMiss::kCollecting:
            return "it collects garbage";
        case StackMiss::kLocked:
            return "another thread works on it";
        case StackMiss::kChanged:
            return "it kept changing";
        case StackMiss::kTorn:
            return "what was read is no stack";
        case StackMiss::kExiting:
            return "it has ended";
        case StackMiss::kNone:
            break;
    }
    return "it was not read";
}

/// "<0.82.0> accounts (label, sample_accounts:init/1)"
std::string who(const ProcessIdentity& process) {
    auto text = pid_text(process.owner_id);
    if (process.registered) {
        text += fmt::format(" {}", *process.registered);
    }
    if (process.label) {
        text += fmt::format(" {}", *process.label);
    }
    if (process.initial_call) {
        text += fmt::format(" ({})", *process.initial_call);
    }
    return text;
}

}  // namespace

std::string_view miss_name(StackMiss miss) {
    switch (miss) {
        case StackMiss::kRunning:
            return "running";
        case StackMiss::kCollecting:
            return "garbage_collecting";
        case StackMiss::kLocked:
            return "locked";
        case StackMiss::kChanged:
            return "changed";
        case StackMiss::kTorn:
            return "implausible";
        case StackMiss::kExiting:
            return "exiting";
        case StackMiss::kNone:
            break;
    }
    return "unknown";
}

void StacksText::frames(const ProcessStack& stack) {
    for (const auto& frame : stack.frames) {
        output_.print("    {}\n", one_line(frame));
    }
    if (stack.more) {
        output_.write("    ... further frames\n");
    }
}

void StacksText::scheduler(const SchedulerStack& scheduler) {
    if (!scheduler.owner_id && !scheduler.port_number && !scheduler.stack) {
        ++idle_[scheduler.kind];
        return;
    }
    auto head = fmt::format("{} {}", kind_text(scheduler.kind), scheduler.number);
    if (scheduler.thread) {
        head += fmt::format(" (thread {})", *scheduler.thread);
    }
    if (scheduler.port_number) {
        head += fmt::format(": #Port<0.{}>", *scheduler.port_number);
    }
    if (!scheduler.stack) {
        if (scheduler.owner_id) {
            head += fmt::format(": {}, no stack: {}", pid_text(*scheduler.owner_id),
                                miss_text(scheduler.miss.value_or(StackMiss::kNone)));
        }
        output_.print("{}\n\n", one_line(head));
        return;
    }
    head += fmt::format(": {}", who(scheduler.stack->process));
    if (const auto proof = proof_text(scheduler.stack->proof); !proof.empty()) {
        head += fmt::format(", {}", proof);
    } else {
        head += fmt::format(", {}", scheduler.stack->process.status);
    }
    output_.print("{}\n", one_line(head));
    for (const auto& frame : scheduler.native_frames) {
        output_.print("    [native] {}\n", one_line(frame));
    }
    if (scheduler.more_native) {
        output_.write("    [native] ... further frames\n");
    }
    frames(*scheduler.stack);
    output_.write("\n");
}

void StacksText::tell_idle() {
    if (std::exchange(idle_told_, true)) {
        return;
    }
    for (const auto& [kind, count] : idle_) {
        output_.print("{}{}: {} without work\n", kind_text(kind), count == 1 ? "" : "s", count);
    }
    if (!idle_.empty()) {
        output_.write("\n");
    }
}

void StacksText::process(const ProcessStack& stack) {
    tell_idle();
    output_.print("{}, {}\n", one_line(who(stack.process)), stack.process.status);
    frames(stack);
    output_.write("\n");
}

void StacksText::end(const StacksReport& report) {
    tell_idle();
    output_.print("{} (process {}, OTP {}), {:%Y-%m-%d %H:%M:%S} UTC: {} stacks in {:.0f} ms, ",
                  one_line(report.node), report.pid, one_line(report.otp_release),
                  fmt::gmtime(static_cast<std::time_t>(report.read_us / 1'000'000)), report.shown,
                  static_cast<double>(report.took_ns) / 1e6);
    if (report.stopped_ns) {
        output_.print("the node stood for {:.1f} ms\n",
                      static_cast<double>(*report.stopped_ns) / 1e6);
    } else {
        output_.print("the node was not stopped; {} readings did not hold and were repeated\n",
                      report.repeated);
    }
    for (const auto& [miss, count] : report.missed) {
        output_.print("not shown: {} process{}: {}\n", count, count == 1 ? "" : "es",
                      miss_text(miss));
    }
    if (report.not_read != 0) {
        output_.print("not shown: {} process{}: the stop was too short (--max-pause)\n",
                      report.not_read, report.not_read == 1 ? "" : "es");
    }
}

}  // namespace beamdump::sampler
