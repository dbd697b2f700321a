#include "show/stacks_text.h"

#include <libdump/format/owner_id.h>
#include <libdump/profile/report_parts.h>

#include <fmt/format.h>

namespace beamdump::sampler {
namespace {

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
