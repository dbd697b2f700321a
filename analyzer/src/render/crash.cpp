#include "render/crash.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"

#include <libdump/text/json_writer.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::render {
namespace {

using query::CrashThreadLine;
using query::ErlangFrameLine;
using query::NativeFrameLine;
using query::NodeEnd;

constexpr std::array<std::string_view, 4> kEnds = {"signal", "running", "crash_dump", "unknown"};

std::string scheduler_text(const CrashThreadLine& thread) {
    if (!thread.scheduler_kind) {
        return thread.name.value_or("");
    }
    const auto kind = *thread.scheduler_kind == "dirty_cpu"  ? "dirty CPU scheduler"
                      : *thread.scheduler_kind == "dirty_io" ? "dirty I/O scheduler"
                                                             : "scheduler";
    return fmt::format("{}{}{}", kind,
                       thread.scheduler ? fmt::format(" {}", *thread.scheduler) : "",
                       thread.name ? fmt::format(" ({})", *thread.name) : "");
}

std::string process_text(const query::ProcessLine& process) {
    const auto name = query::shown_name(process);
    return name ? fmt::format("{} ({})", process.pid, *name) : process.pid;
}

std::string place_text(const ErlangFrameLine& place) {
    const auto where = place.file && place.line
                           ? fmt::format(" ({}, line {})", *place.file, *place.line)
                       : place.file ? fmt::format(" ({})", *place.file)
                                    : std::string();
    return place.function.value_or(fmt::format("{:#x}", place.address)) + where;
}

/// What a thread ran, in one line.
std::string short_place(const CrashThreadLine& thread) {
    if (!thread.native_frames.empty()) {
        return thread.native_frames.front().text();
    }
    return thread.erlang_frames.empty() ? std::string() : place_text(thread.erlang_frames.front());
}

std::string_view end_sentence(NodeEnd end) {
    switch (end) {
        case NodeEnd::kRunning:
            return "The node did not crash: it was running when this dump was taken.";
        case NodeEnd::kCrashDump:
            return "The VM ended by itself and wrote this crash dump; no signal ended it.";
        default:
            return "Whether a signal ended the node is not known: the program that made this dump "
                   "did not "
                   "look for one.";
    }
}

void print_fact(Output& output, std::string_view name, std::string_view value) {
    if (!value.empty()) {
        print_line(output, fmt::format("{:<10}{}", name, value));
    }
}

void print_facts(Output& output, const query::Crash& crash) {
    print_fact(output, "signal",
               fmt::format("{} ({}){}", crash.signal_name, crash.signal,
                           crash.code_text ? ", " + *crash.code_text
                           : crash.code    ? fmt::format(", code {}", *crash.code)
                                           : ""));
    if (crash.fault_address) {
        print_fact(output, "address", fmt::format("{:#x}", *crash.fault_address));
    }
    print_fact(output, "mapping", crash.fault_mapping.value_or(""));
    if (crash.sender_pid) {
        print_fact(output, "sent by", fmt::format("process {}", *crash.sender_pid));
    }
    print_fact(output, "text", crash.abort_text.value_or(""));
    if (!crash.died) {
        return;
    }
    const auto& died = *crash.died;
    const auto scheduler = scheduler_text(died);
    print_fact(output, "thread",
               fmt::format("{}{}{}", died.id, scheduler.empty() ? "" : ", " + scheduler,
                           died.scheduler_state ? ", " + *died.scheduler_state : ""));
    print_fact(output, "process", died.process ? process_text(*died.process) : "");
    if (died.called) {
        const auto kind = died.called_kind == "nif"   ? "NIF "
                          : died.called_kind == "bif" ? "BIF "
                                                      : "";
        print_fact(output, "in", kind + *died.called);
    }
}

void print_frames(Output& output, const CrashThreadLine& died) {
    if (!died.native_frames.empty()) {
        print_title(output, "Native frames");
        for (std::size_t at = 0; at < died.native_frames.size(); ++at) {
            print_line(output, fmt::format("#{:<3} {:#018x} {}", at, died.native_frames[at].address,
                                           died.native_frames[at].text()));
        }
        if (!died.native_whole) {
            print_line(output, "further ones are not known");
        }
    }
    if (!died.erlang_frames.empty() || died.erlang_more) {
        print_title(output, "Erlang frames");
        for (const auto& place : died.erlang_frames) {
            print_line(output, place_text(place));
        }
        if (died.erlang_more) {
            print_line(output, "further ones are left out");
        }
    }
}

/// The files of a thread's frames, each once.
void print_files(Output& output, const CrashThreadLine& died) {
    std::map<std::string, std::string> files;
    for (const auto& frame : died.native_frames) {
        if (frame.file) {
            files.emplace(*frame.file, frame.build_id.value_or(""));
        }
    }
    if (files.empty()) {
        return;
    }
    print_title(output, "Files of the frames");
    Table table({{"FILE", Align::kLeft, true}, {"BUILD ID"}});
    for (const auto& [file, build_id] : files) {
        table.add({file, build_id});
    }
    table.print(output);
}

void print_registers(Output& output, const CrashThreadLine& died) {
    if (died.registers.empty()) {
        return;
    }
    print_title(output, "Registers");
    constexpr std::size_t kOfALine = 4;
    for (std::span rest(died.registers); !rest.empty();) {
        const auto part = rest.first(std::min(rest.size(), kOfALine));
        std::string line;
        for (const auto& [name, value] : part) {
            line += fmt::format("{}{:<4}{:016x}", line.empty() ? "" : "  ", name, value);
        }
        print_line(output, line);
        rest = rest.subspan(part.size());
    }
}

void print_others(Output& output, const query::Crash& crash, std::size_t most) {
    if (crash.others.empty()) {
        return;
    }
    print_title(output, "Other threads");
    Table table(
        {{"THREAD", Align::kRight}, {"SCHEDULER"}, {"PROCESS"}, {"PLACE", Align::kLeft, true}});
    const auto shown = std::min(most, crash.others.size());
    for (const auto& thread : std::span(crash.others).first(shown)) {
        table.add({fmt::format("{}", thread.id), scheduler_text(thread),
                   thread.process ? process_text(*thread.process) : "", short_place(thread)});
    }
    table.print(output);
    print_rest(output, shown, crash.others.size());
}

void write_native(JsonWriter& json, const NativeFrameLine& frame) {
    json.hex_member("address", frame.address);
    json.member("file", frame.file);
    json.member("build_id", frame.build_id);
    json.member("file_offset", frame.offset);
    json.member("function", frame.function);
    json.member("function_offset", frame.function_offset);
    if (frame.file) {
        json.member("is_vm", frame.is_vm);
    }
}

void write_erlang(JsonWriter& json, const ErlangFrameLine& place) {
    json.hex_member("address", place.address);
    json.member("function", place.function);
    json.member("file", place.file);
    json.member("line", place.line);
}

void write_thread(JsonWriter& json, const CrashThreadLine& thread, bool whole) {
    json.member("id", thread.id);
    json.member("name", thread.name);
    json.member("scheduler_kind", thread.scheduler_kind);
    json.member("scheduler", thread.scheduler);
    json.member("scheduler_state", thread.scheduler_state);
    if (thread.process) {
        json.begin_object("process");
        write_process_members(json, *thread.process);
        json.end_object();
    }
    json.member("in_system_call", thread.in_system_call);
    if (!thread.registers.empty()) {
        json.begin_object("registers");
        for (const auto& [name, value] : thread.registers) {
            json.hex_member(name, value);
        }
        json.end_object();
    }
    write_objects(json, "native_frames", thread.native_frames,
                  [&](const auto& frame) { write_native(json, frame); });
    if (whole && !thread.native_frames.empty()) {
        json.member("native_frames_complete", thread.native_whole);
    }
    json.member("called", thread.called);
    json.member("called_kind", thread.called_kind);
    write_objects(json, "erlang_frames", thread.erlang_frames,
                  [&](const auto& place) { write_erlang(json, place); });
    if (whole && (!thread.erlang_frames.empty() || thread.erlang_more)) {
        json.member("erlang_frames_complete", !thread.erlang_more);
    }
}

}  // namespace

void crash_text(Output& output, const query::Crash& crash, std::size_t most) {
    print_layout_notice(output, crash.dump.layout);
    if (crash.end != NodeEnd::kSignal) {
        print_line(output, end_sentence(crash.end));
        print_fact(output, "slogan", crash.slogan.value_or(""));
        return;
    }
    print_facts(output, crash);
    if (!crash.causes.empty()) {
        print_title(output, "Likely causes");
        for (const auto& cause : crash.causes) {
            print_line(output, cause.sentence);
        }
    }
    if (crash.died) {
        print_frames(output, *crash.died);
        print_files(output, *crash.died);
        print_registers(output, *crash.died);
    }
    print_others(output, crash, most);
}

void crash_json(Output& output, const query::Crash& crash) {
    JsonWriter json(output, "beamdump.crash/1");
    write_dump(json, "dump", crash.dump);
    json.member("end", kEnds.at(static_cast<std::size_t>(crash.end)));
    json.member("slogan", crash.slogan);
    if (crash.end == NodeEnd::kSignal) {
        json.member("signal", crash.signal);
        json.member("signal_name", crash.signal_name);
        json.member("code", crash.code);
        json.member("code_text", crash.code_text);
        if (crash.fault_address) {
            json.hex_member("fault_address", *crash.fault_address);
        }
        json.member("fault_mapping", crash.fault_mapping);
        json.member("sender_pid", crash.sender_pid);
        json.member("sender_user", crash.sender_user);
        json.member("abort_text", crash.abort_text);
        write_objects(json, "causes", crash.causes, [&](const auto& cause) {
            json.member("id", cause.id);
            json.member("sentence", cause.sentence);
        });
        if (crash.died) {
            json.begin_object("thread");
            write_thread(json, *crash.died, true);
            json.end_object();
        }
        write_objects(json, "other_threads", crash.others,
                      [&](const auto& thread) { write_thread(json, thread, false); });
    }
    json.finish();
}

}  // namespace beamdump::render
