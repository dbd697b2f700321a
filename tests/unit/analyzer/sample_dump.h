#pragma once

#include "sample_nodes.h"
#include "sample_process.h"
#include "sample_profile.h"
#include "sample_schedulers.h"
#include "sample_timers.h"
#include "support/dump_builder.h"
#include "whole_node/sample_sockets.h"

#include <string>
#include <utility>
#include <vector>

namespace beamdump::test {

/// What the dump says of the layout that it was read by, and how it is written. The node is one of
/// OTP 25.
struct SampleLayout {
    std::string name = "otp-25";
    std::optional<std::string> release = {};
    std::vector<std::string> inferred_from = {};
    std::vector<std::string> unverified_fields = {};
    std::vector<std::string> left_out = {};
    std::string erts_version = "13.1.5";
    std::string otp_version = "25.2.3";
    std::string system_version = {};                      // empty: not known
    std::optional<std::uint32_t> processes_started = {};  // as the capture began
    std::string process_state = "S";                      // of /proc/PID/stat
    records::CaptureMode mode = records::CAPTURE_MODE_FREEZE;
    std::string module_name = kSampleAtoms[kModuleAtom];
    std::uint32_t frame_bytes = 4096;
    std::uint32_t process_limit = 262144;
    std::optional<std::uint32_t> port_limit = {};
    std::vector<std::string> arguments = {};
    std::int64_t os_pid = 4711;
};

/// Writes a dump like one that beamdump-capture writes of a very small node.
class SampleDump {
  public:
    explicit SampleDump(std::int64_t captured_us = 1'700'000'100'000'000, SampleLayout layout = {})
        : builder_(options(layout.frame_bytes)),
          captured_us_(captured_us),
          layout_(std::move(layout)) {
        add_node();
        std::vector<std::string> atoms = kSampleAtoms;
        atoms[kModuleAtom] = layout_.module_name;
        builder_.add_atoms(0, atoms);
        add_code();
    }

    DumpBuilder& builder() { return builder_; }

    /// A socket of alpha's, and a program that nobody listens to.
    void add_ports() {
        records::Ports ports;
        auto& socket = *ports.add_port();
        socket.set_number(5);
        socket.set_name("tcp_inet");
        socket.set_driver("tcp_inet");
        socket.set_connected_owner_id(format::owner_id_of(1, 0));
        socket.set_input_bytes(100);
        socket.set_output_bytes(2'000'000);
        socket.set_queued_bytes(4096);
        socket.set_busy(true);
        auto& program = *ports.add_port();
        program.set_number(6);
        program.set_name("sh -c \"sleep 1\"");
        program.set_driver("spawn");
        program.set_registered_name_atom(kAlphaAtom);
        program.set_input_bytes(0);
        program.set_os_pid(4711);
        program.set_busy(false);
        ports.mutable_port(0)->set_file_descriptor(21);
        builder_.trailer().add_ports_offset(builder_.append(format::RecordKind::kPorts, ports));
        add_sockets(builder_);
    }

    void add(const SampleProcess& sample) {
        const std::uint64_t owner = format::owner_id_of(sample.number, 0);
        const records::Process process = process_of(sample);
        records::ProcessEnd end;
        end.set_owner_id(owner);
        end.set_begin_offset(builder_.append(format::RecordKind::kProcess, process));
        end.set_void_reason(sample.void_reason);
        end.set_memory_bytes(sample.memory);
        end.set_words_captured(sample.heap.size());
        if (sample.void_reason == records::VOID_REASON_NONE) {
            add_memory(sample, owner, *end.mutable_directory());
        }
        add_row(sample, process, end, builder_.append(format::RecordKind::kProcessEnd, end));
    }

    std::vector<std::byte> finish() {
        add_index();
        records::Trailer& trailer = builder_.trailer();
        trailer.mutable_cost()->set_elapsed_ns(12'000'000);
        trailer.mutable_cost()->set_total_stopped_ns(9'500'000);
        trailer.mutable_cost()->set_longest_stop_ns(9'500'000);
        trailer.mutable_cost()->add_stop()->set_length_ns(9'500'000);
        trailer.mutable_cost()->set_bytes_read(5 << 20);
        trailer.mutable_cost()->set_reads(123);
        trailer.mutable_totals()->set_atom_text_bytes(47);
        trailer.mutable_totals()->set_code_bytes(0x1000);
        trailer.mutable_totals()->set_modules(1);
        return builder_.finish();
    }

  private:
    static DumpWriterOptions options(std::uint32_t frame_bytes) {
        DumpWriterOptions options;
        options.threads = 1;
        options.frame_bytes = frame_bytes;
        return options;
    }

    void add_node() {
        records::Capture capture;
        capture.set_tool_version("0.1.0");
        capture.set_mode(layout_.mode);
        capture.set_started_us(captured_us_);
        capture.set_os_pid(layout_.os_pid);
        capture.set_host_name("box");
        capture.set_os_release("Linux 6.1");
        capture.set_layout_name(layout_.name);
        if (layout_.release) {
            capture.set_layout_release(*layout_.release);
        }
        if (!layout_.inferred_from.empty()) {
            capture.set_layout_inferred(true);
            capture.mutable_inferred_from()->Assign(layout_.inferred_from.begin(),
                                                    layout_.inferred_from.end());
        }
        capture.mutable_unverified_fields()->Assign(layout_.unverified_fields.begin(),
                                                    layout_.unverified_fields.end());
        capture.mutable_left_out()->Assign(layout_.left_out.begin(), layout_.left_out.end());
        capture.set_binary_prefix_bytes(64);
        capture.set_process_state(layout_.process_state);
        builder_.trailer().set_capture_offset(
            builder_.append(format::RecordKind::kCapture, capture));
        records::Node node;
        node.set_otp_release("25");
        node.set_erts_version(layout_.erts_version);
        if (!layout_.otp_version.empty()) {
            node.set_otp_version(layout_.otp_version);
        }
        if (!layout_.system_version.empty()) {
            node.set_system_version(layout_.system_version);
        }
        if (layout_.processes_started) {
            node.set_processes_started(*layout_.processes_started);
        }
        node.set_jit(true);
        node.set_word_size(8);
        node.set_little_endian(true);
        node.set_term_scheme(static_cast<std::uint32_t>(format::TermScheme::kOtp25));
        node.set_name_atom(kNodeAtom);
        node.set_boot_us(1'700'000'000'000'000);
        node.set_process_limit(layout_.process_limit);
        if (layout_.port_limit) {
            node.set_port_limit(*layout_.port_limit);
        }
        node.mutable_arguments()->Assign(layout_.arguments.begin(), layout_.arguments.end());
        node.set_schedulers(2);
        node.set_resident_bytes(40 << 20);
        builder_.trailer().set_node_offset(builder_.append(format::RecordKind::kNode, node));
    }

    void add_code() {
        builder_.add_code();
        records::CodePoints points;
        auto* point = points.add_point();
        point->set_name("normal_exit");
        point->set_address(kNormalExit);
        point->set_shown_as("<terminate process normally>");
        builder_.trailer().add_code_points_offset(
            builder_.append(format::RecordKind::kCodePoints, points));
    }

    static records::Process process_of(const SampleProcess& sample) {
        records::Process process;
        process.set_owner_id(format::owner_id_of(sample.number, 0));
        process.set_pid_word(pid_word(sample.number));
        process.set_status(sample.void_reason == records::VOID_REASON_RUNNING ? "running"
                                                                              : "waiting");
        if (sample.name) {
            process.set_registered_name_atom(*sample.name);
        }
        process.set_reductions(sample.reductions);
        process.set_sensitive(sample.sensitive);
        process.set_trap_exit(false);
        process.set_priority("normal");
        process.set_group_leader_word(pid_word(1));
        process.set_message_queue_length(sample.queue_length.value_or(sample.messages.size()));
        if (sample.dictionary_entries) {
            process.set_dictionary_entries(*sample.dictionary_entries);
        }
        if (sample.off_heap != 0) {
            process.set_off_heap_first_address(sample.off_heap);
        }
        if (sample.binary_bytes) {
            process.set_off_heap_overhead_words(*sample.binary_bytes / 8);
            process.set_old_binary_virtual_heap_words(0);
        }
        if (sample.state_bits) {
            process.set_state_bits(*sample.state_bits);
            process.set_extended_state_bits(0);
        }
        process.mutable_system_task()->Assign(sample.system_tasks.begin(),
                                              sample.system_tasks.end());
        if (sample.trace_flags) {
            process.set_trace_flags(*sample.trace_flags);
        }
        if (sample.naming_keys_absent) {
            process.set_naming_keys_absent(*sample.naming_keys_absent);
        }
        process.mutable_tracing()->Assign(sample.tracing.begin(), sample.tracing.end());
        if (sample.hibernated) {
            process.set_hibernated(true);
        }
        if (!sample.arguments.empty()) {
            process.set_arity(static_cast<std::uint32_t>(sample.arguments.size()));
            process.mutable_argument_words()->Assign(sample.arguments.begin(),
                                                     sample.arguments.end());
        }
        process.set_heap_words(233);
        process.set_stack_words(sample.stack.size());
        process.set_instruction_address(sample.instruction_address);
        process.set_stack_top_address(stack_of(sample.number));
        process.set_heap_end_address(stack_of(sample.number) + sample.stack.size() * 8);
        auto* call = process.mutable_initial_call();
        call->set_module_atom(sample.initial_module);
        call->set_function_atom(sample.initial_function);
        call->set_arity(sample.initial_arity);
        *process.mutable_current_function() = *call;
        if (sample.current) {
            process.mutable_current_function()->set_module_atom((*sample.current)[0]);
            process.mutable_current_function()->set_function_atom((*sample.current)[1]);
            process.mutable_current_function()->set_arity((*sample.current)[2]);
        }
        if (sample.translated_arity) {
            auto* translated = process.mutable_translated_initial_call();
            translated->set_module_atom(sample.translated_module);
            translated->set_function_atom(kAlphaAtom);
            translated->set_arity(*sample.translated_arity);
        }
        return process;
    }

    void add_memory(const SampleProcess& sample, std::uint64_t owner,
                    records::RunDirectory& directory) {
        const auto add = [&](format::RegionKind kind, std::uint64_t address,
                             const std::vector<std::uint64_t>& words) {
            if (!words.empty()) {
                *directory.add_region() =
                    builder_.add_region(format::OwnerKind::kProcess, owner, kind, address, words);
            }
        };
        add(format::RegionKind::kHeap, heap_of(sample.number), sample.heap);
        add(format::RegionKind::kStack, stack_of(sample.number), sample.stack);
        add(format::RegionKind::kDictionary, dictionary_of(sample.number), sample.dictionary);
        add_messages(sample, directory);
        records::Relations relations;
        relations.add_link()->set_kind(records::LINK_KIND_PROCESS);
        relations.mutable_link(0)->set_other_word(pid_word(1));
        auto* monitor = relations.add_monitor();
        monitor->set_kind(records::MONITOR_KIND_PROCESS);
        monitor->set_other_word(pid_word(2));
        for (const std::uint32_t number : {7U, 8U, 9U}) {
            monitor->add_reference(number);
        }
        if (sample.monitored_name) {
            auto* by_name = relations.add_monitor();
            by_name->set_kind(records::MONITOR_KIND_PROCESS);
            by_name->set_name_atom(*sample.monitored_name);
        }
        for (const auto& further : sample.monitors) {
            *relations.add_monitor() = further;
        }
        directory.add_relations()->set_offset(
            builder_.append(format::RecordKind::kRelations, relations));
    }

    void add_messages(const SampleProcess& sample, records::RunDirectory& directory) {
        std::vector<records::Message> entries;
        for (const std::uint64_t term : sample.messages) {
            auto& message = entries.emplace_back();
            message.set_kind(records::MESSAGE_KIND_HEAP);
            message.set_queue(records::QUEUE_KIND_INNER);
            message.set_term_word(term);
        }
        entries.insert(entries.end(), sample.entries.begin(), sample.entries.end());
        for (std::size_t first = 0; first < entries.size(); first += sample.entries_of_a_record) {
            const auto last = std::min(first + sample.entries_of_a_record, entries.size());
            records::Messages messages;
            messages.set_first_index(first);
            for (std::size_t i = first; i < last; ++i) {
                *messages.add_entry() = entries[i];
            }
            auto* ref = directory.add_messages();
            ref->set_offset(builder_.append(format::RecordKind::kMessages, messages));
            ref->set_first_index(first);
            ref->set_count(last - first);
        }
    }

    void add_row(const SampleProcess& sample, const records::Process& process,
                 const records::ProcessEnd& end, std::uint64_t end_offset) {
        auto& row = rows_.emplace_back();
        row.set_owner_id(end.owner_id());
        row.set_begin_offset(end.begin_offset());
        row.set_end_offset(end_offset);
        row.set_void_reason(sample.void_reason);
        row.set_memory_bytes(sample.memory);
        row.set_reductions(sample.reductions);
        row.set_message_queue_length(process.message_queue_length());
        if (sample.name) {
            row.set_registered_name_atom(*sample.name);
        }
        *row.mutable_initial_call() = process.initial_call();
        *row.mutable_current_function() = process.current_function();
        if (process.has_translated_initial_call()) {
            *row.mutable_translated_initial_call() = process.translated_initial_call();
        }
        row.set_status(sample.void_reason == records::VOID_REASON_RUNNING
                           ? records::PROCESS_STATUS_RUNNING
                           : records::PROCESS_STATUS_WAITING);
        if (sample.status) {
            row.set_status(*sample.status);
        }
        if (sample.state_bits) {
            row.set_state_bits(*sample.state_bits);
        }
        if (sample.trace_flags) {
            row.set_trace_flags(*sample.trace_flags);
        }
        if (sample.naming_keys_absent) {
            row.set_naming_keys_absent(*sample.naming_keys_absent);
        }
        if (sample.monitored) {
            row.set_monitored(*sample.monitored);
        }
        if (sample.monitored_by) {
            row.set_monitored_by(*sample.monitored_by);
        }
        row.set_heap_words(233);
        row.set_stack_words(sample.stack.size());
    }

    void add_top(records::ProcessColumnKind by,
                 std::uint64_t (records::ProcessRow::*value)() const) {
        std::vector<records::ProcessRow> sorted = rows_;
        std::ranges::stable_sort(sorted, std::greater{},
                                 [value](const auto& row) { return (row.*value)(); });
        auto* top = builder_.trailer().add_top();
        top->set_by(by);
        for (const auto& row : sorted) {
            *top->add_row() = row;
        }
    }

    void add_index() {
        records::Trailer& trailer = builder_.trailer();
        builder_.add_process_index(rows_);
        auto& totals = *trailer.mutable_totals();
        std::uint64_t voids = 0;
        totals.mutable_void_by_reason()->Resize(records::VoidReason_ARRAYSIZE, 0);
        for (const auto& row : rows_) {
            totals.set_process_memory_bytes(totals.process_memory_bytes() + row.memory_bytes());
            totals.set_messages(totals.messages() + row.message_queue_length());
            totals.set_void_by_reason(row.void_reason(),
                                      totals.void_by_reason(row.void_reason()) + 1);
            voids += row.void_reason() == records::VOID_REASON_NONE ? 0 : 1;
        }
        totals.set_processes_void(voids);
        add_top(records::PROCESS_COLUMN_MEMORY_BYTES, &records::ProcessRow::memory_bytes);
        add_top(records::PROCESS_COLUMN_MESSAGE_QUEUE_LENGTH,
                &records::ProcessRow::message_queue_length);
    }

    DumpBuilder builder_;
    std::int64_t captured_us_;
    SampleLayout layout_;
    std::vector<records::ProcessRow> rows_;
};

/// Four processes: alpha, one whose name needs quotes, a sensitive one, and a void one.
inline std::vector<std::byte> sample_dump(SampleLayout layout = {}) {
    SampleDump dump(1'700'000'100'000'000, std::move(layout));
    dump.add_ports();
    add_profile(dump.builder());
    add_schedulers(dump.builder());
    add_timers(dump.builder(), kLoopAtom);
    add_nodes(dump.builder(), kQuotedAtom, {.busy = true, .suspended = 0});
    dump.add(alpha_process());
    SampleProcess quoted;
    quoted.number = 2;
    quoted.name = kQuotedAtom;
    quoted.memory = 3000;
    quoted.reductions = 20;
    dump.add(quoted);
    SampleProcess secret;
    secret.number = 3;
    secret.name = kSecretAtom;
    secret.memory = 2000;
    secret.sensitive = true;
    secret.dictionary = {kNil};
    secret.messages = {small_word(99)};
    dump.add(secret);
    SampleProcess running;
    running.number = 4;
    running.memory = 100;
    running.reductions = 99;
    running.void_reason = records::VOID_REASON_RUNNING;
    running.initial_arity = 3;
    dump.add(running);
    return dump.finish();
}

/// The same node two minutes later: alpha has grown, 2 has exited, 5 has started, and 3 is another
/// process.
inline std::vector<std::byte> later_sample_dump() {
    SampleDump dump(1'700'000'220'000'000);
    SampleProcess alpha = alpha_process();
    alpha.memory = 9000;
    alpha.reductions += 1000;
    alpha.messages.push_back(small_word(8));
    dump.add(alpha);
    SampleProcess other;
    other.number = 3;
    other.memory = 700;
    other.initial_arity = 9;
    dump.add(other);
    SampleProcess born;
    born.number = 5;
    born.memory = 800;
    dump.add(born);
    return dump.finish();
}

}  // namespace beamdump::test
