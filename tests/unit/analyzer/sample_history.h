#pragma once

#include "sample_process.h"
#include "support/dump_builder.h"

#include <libdump/write/append.h>

namespace beamdump::test {

inline constexpr std::int64_t kHistoryBegin = 1'700'000'000'000'000;

/// Samples of two and a half minutes, ten a second of processor time: demo:alpha/1 takes a fifth of
/// a processor, and in the last of four profiles demo:loop/0 takes a whole one.
inline records::Samples sample_profile_of(std::int64_t number) {
    constexpr std::uint32_t kLoopAtom = 4;
    constexpr std::int64_t kSeconds = 150;
    records::Samples profile;
    auto& time = *profile.mutable_time();
    time.set_began_us(kHistoryBegin + number * kSeconds * 1'000'000);
    time.set_took_ns(kSeconds * 1'000'000'000);
    time.set_rate(10);
    time.set_left_out(number == 0 ? 7 : 0);
    auto& thread = *profile.add_thread();
    thread.set_os_id(17);
    thread.set_name("erts_sched_1");
    thread.set_scheduler("scheduler 1");
    auto& process = *profile.add_process();
    process.set_owner_id(format::owner_id_of(1, 0));
    process.set_registered_name_atom(kAlphaAtom);
    const auto add = [&](std::uint32_t function, std::uint32_t arity, std::uint64_t count) {
        auto& code = *profile.add_code()->mutable_function();
        code.set_module_atom(kModuleAtom);
        code.set_function_atom(function);
        code.set_arity(arity);
        auto& sample = *profile.add_sample();
        sample.set_kind(records::SAMPLE_KIND_EXACT);
        sample.add_function(static_cast<std::uint32_t>(profile.code_size() - 1));
        sample.set_process(0);
        sample.set_thread(0);
        sample.set_count(count);
    };
    add(kAlphaAtom, 1, 300);
    if (number == 3) {
        add(kLoopAtom, 0, 1500);
    }
    return profile;
}

/// Readings of ten minutes, one each ten seconds: memory grows by a mebibyte each time, and so does
/// the heap of alpha; a process without a name gets messages, and another gets many at the end.
inline records::History sample_history() {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    records::History history;
    for (std::uint64_t number = 0; number < 60; ++number) {
        auto& reading = *history.add_reading();
        const auto at = kHistoryBegin + static_cast<std::int64_t>(number) * 10'000'000;
        reading.set_at_us(at);
        reading.set_used_bytes((100 + number) * kMebibyte);
        reading.set_limit_bytes(160 * kMebibyte);
        reading.set_resident_bytes((90 + number) * kMebibyte);
        reading.set_processes(50);
        reading.set_processor_ms(number * 5'000);
        reading.set_oom_kills(2);
        if (number % 6 == 5) {
            auto& scan = *reading.mutable_scan();
            scan.set_began_us(at - 10'000'000);
            scan.set_processes(50);
            auto& alpha = *scan.add_process();
            alpha.set_owner_id(format::owner_id_of(1, 0));
            alpha.set_registered_name_atom(kAlphaAtom);
            alpha.set_heap_bytes((1 + number) * kMebibyte);
            alpha.set_messages(0);
            auto& other = *scan.add_process();
            other.set_owner_id(format::owner_id_of(7, 0));
            other.mutable_initial_call()->set_module_atom(kModuleAtom);
            other.mutable_initial_call()->set_function_atom(kAlphaAtom);
            other.mutable_initial_call()->set_arity(1);
            other.set_heap_bytes(1000);
            other.set_messages(number * 100);
            if (number == 59) {
                // Its queue was empty when all were read before.
                auto& sudden = *scan.add_process();
                sudden.set_owner_id(format::owner_id_of(8, 0));
                sudden.set_messages(9000);
                sudden.set_messages_growth(9000);
            }
        }
    }
    for (std::int64_t number = 0; number < 4; ++number) {
        *history.add_profile() = sample_profile_of(number);
    }
    return history;
}

/// The history in a dump that a rule took, a reading a record.
inline void add_history(DumpBuilder& builder) {
    auto history = sample_history();
    for (const auto& reading : history.reading()) {
        records::History page;
        *page.add_reading() = reading;
        builder.trailer().add_history_offset(builder.append(format::RecordKind::kHistory, page));
    }
    history.clear_reading();
    builder.trailer().add_history_offset(builder.append(format::RecordKind::kHistory, history));
}

/// A recording of beamdump-watch, a frame for each reading. `end`: what History says of it.
inline std::vector<std::byte> sample_recording(const records::History& end = {},
                                               records::History history = sample_history()) {
    DumpBuilder builder({.threads = 1, .frame_bytes = 4096});
    records::Capture capture;
    capture.set_mode(records::CAPTURE_MODE_RECORDING);
    capture.set_started_us(kHistoryBegin);
    capture.set_os_pid(4711);
    capture.set_executable("/usr/lib/erlang/erts-13.1.5/bin/beam.smp");
    capture.set_host_name("host.example");
    capture.set_tool_version("0.1.0");
    builder.trailer().set_capture_offset(builder.append(format::RecordKind::kCapture, capture));
    records::Node node;
    node.set_otp_release("25");
    node.set_term_scheme(static_cast<std::uint32_t>(format::TermScheme::kOtp25));
    node.set_name_atom(2);
    builder.trailer().set_node_offset(builder.append(format::RecordKind::kNode, node));
    builder.add_atoms(0, kSampleAtoms);
    history.MergeFrom(end);
    for (auto& reading : *history.mutable_reading()) {
        records::History page;
        page.add_reading()->Swap(&reading);
        builder.trailer().add_history_offset(builder.append(format::RecordKind::kHistory, page));
        expect_value(builder.writer().flush());
    }
    history.clear_reading();
    builder.trailer().add_history_offset(builder.append(format::RecordKind::kHistory, history));
    return builder.finish();
}

}  // namespace beamdump::test
