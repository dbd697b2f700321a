#include "show/stacks.h"

#include <libdump/format/owner_id.h>
#include <libdump/profile/report_parts.h>

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

std::string_view kind_name(records::SchedulerKind kind) {
    switch (kind) {
        case records::SCHEDULER_KIND_NORMAL:
            return "normal";
        case records::SCHEDULER_KIND_DIRTY_CPU:
            return "dirty_cpu";
        case records::SCHEDULER_KIND_DIRTY_IO:
            return "dirty_io";
        default:
            return "unknown";
    }
}

std::string_view proof_name(StackProof proof) {
    switch (proof) {
        case StackProof::kUnchanged:
            return "unchanged";
        case StackProof::kSampled:
            return "sampled";
        case StackProof::kNative:
            return "native";
        case StackProof::kStopped:
            break;
    }
    return "stopped";
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

StacksJson::StacksJson(Output& output) : json_(output, "beamdump.stacks/1") {
    json_.begin_array("schedulers");
}

void StacksJson::stack(const ProcessStack& stack) {
    const auto& process = stack.process;
    json_.member("pid", pid_text(process.owner_id));
    json_.member("registered_name", process.registered);
    json_.member("label", process.label);
    json_.member("initial_call", process.initial_call);
    json_.member("status", process.status);
    json_.member("proof", proof_name(stack.proof));
    json_.begin_array("frames");
    for (const auto& frame : stack.frames) {
        json_.value(frame);
    }
    json_.end_array();
    json_.member("more_frames", stack.more);
}

void StacksJson::scheduler(const SchedulerStack& scheduler) {
    json_.begin_object();
    json_.member("kind", kind_name(scheduler.kind));
    json_.member("scheduler", scheduler.number);
    json_.member("thread", scheduler.thread);
    if (scheduler.port_number) {
        json_.member("port", fmt::format("#Port<0.{}>", *scheduler.port_number));
    }
    if (scheduler.stack) {
        json_.begin_object("process");
        stack(*scheduler.stack);
        json_.end_object();
        if (!scheduler.native_frames.empty()) {
            json_.begin_array("native_frames");
            for (const auto& frame : scheduler.native_frames) {
                json_.value(frame);
            }
            json_.end_array();
            json_.member("more_native_frames", scheduler.more_native);
        }
    } else if (scheduler.owner_id) {
        json_.begin_object("process");
        json_.member("pid", pid_text(*scheduler.owner_id));
        json_.member("not_shown", miss_name(scheduler.miss.value_or(StackMiss::kNone)));
        json_.end_object();
    }
    json_.end_object();
}

void StacksJson::begin_processes() {
    if (!processes_begun_) {
        json_.end_array();
        json_.begin_array("processes");
        processes_begun_ = true;
    }
}

void StacksJson::process(const ProcessStack& one) {
    begin_processes();
    json_.begin_object();
    stack(one);
    json_.end_object();
}

void StacksJson::end(const StacksReport& report) {
    json_.end_array();
    write_node(json_, report);
    json_.member("read_us", report.read_us);
    json_.member("took_ns", report.took_ns);
    json_.member("stopped_ns", report.stopped_ns);
    json_.member("shown", report.shown);
    json_.member("repeated", report.repeated);
    json_.begin_object("not_shown");
    for (const auto& [miss, count] : report.missed) {
        json_.member(miss_name(miss), count);
    }
    if (report.not_read != 0) {
        json_.member("stop_too_short", report.not_read);
    }
    json_.end_object();
    write_remarks(json_, report);
    json_.finish();
}

}  // namespace beamdump::sampler
