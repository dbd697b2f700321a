#pragma once

#include "sample_process.h"
#include "support/dump_builder.h"

#include <libdump/model/owner_id.h>

#include <csignal>

namespace beamdump::test {

inline constexpr std::uint64_t kLibraryAt = 0x7f00'0000'0000;
inline constexpr std::uint64_t kVmAt = 0x5500'0000'0000;
inline constexpr std::uint64_t kLibcAt = 0x7f11'0000'0000;
inline constexpr std::uint64_t kCStackAt = 0x7f22'0001'0000;

/// A crash in a NIF's library: process 1 read through a null pointer on scheduler 1, in
/// demo:loop/2. The three files are the library, the emulator and the C library.
inline records::Crash library_crash() {
    records::Crash crash;
    crash.set_signal(SIGSEGV);
    crash.set_code(SEGV_MAPERR);
    crash.set_fault_address(0x8);
    const auto file = [&](const char* directory, const char* name, std::uint64_t begin) {
        auto& added = *crash.add_file();
        added.set_directory(directory);
        added.set_name(name);
        added.set_begin_address(begin);
        added.set_is_vm(begin == kVmAt);
        return &added;
    };
    file("/srv/shop/lib/price-1.2.3/priv", "price_nif.so", kLibraryAt)->set_build_id("0102abcd");
    file("/usr/lib/erlang/erts-13.1.5/bin", "beam.smp", kVmAt);
    file("/usr/lib/x86_64-linux-gnu", "libc.so.6", kLibcAt);
    auto& died = *crash.add_thread();
    died.set_thread_id(4713);
    died.set_scheduler_kind(records::SCHEDULER_KIND_NORMAL);
    died.set_scheduler_number(1);
    died.set_current_owner_id(format::owner_id_of(1, 0));
    died.set_instruction_address(kLibraryAt + 0x1107);
    for (std::uint64_t number = 0; number < 16; ++number) {
        died.add_general_register(number == 7 ? kCStackAt + 0x8000 : number);
    }
    died.set_in_system_call(false);
    died.mutable_stack()->set_begin_address(kCStackAt);
    died.mutable_stack()->set_end_address(kCStackAt + 0x10000);
    died.mutable_called()->set_module_atom(kModuleAtom);
    died.mutable_called()->set_function_atom(kLoopAtom);
    died.mutable_called()->set_arity(2);
    died.set_called_kind(records::CRASH_CALL_KIND_NIF);
    died.add_erlang_address(kReturnAddress);
    died.set_erlang_more(false);
    return crash;
}

/// Adds a frame outside of those before. An empty symbol: the file has no name for it.
inline void add_crash_frame(records::Crash& crash, std::uint32_t file, std::uint64_t offset,
                            const char* symbol) {
    auto& frame = *crash.mutable_thread(0)->add_native_frame();
    frame.set_address(crash.file(static_cast<int>(file)).begin_address() + offset);
    frame.set_file(file);
    if (*symbol != '\0') {
        frame.set_symbol(symbol);
        frame.set_symbol_address(frame.address() - 7);
    }
}

inline void append_crash(DumpBuilder& builder, const records::Crash& page) {
    builder.trailer().add_crash_offset(builder.append(format::RecordKind::kCrash, page));
}

/// library_crash() with its frames, and two threads that did not die.
inline void add_crash(DumpBuilder& builder) {
    auto crash = library_crash();
    add_crash_frame(crash, 0, 0x1107, "read_price");
    add_crash_frame(crash, 0, 0x1300, "price_nif");
    add_crash_frame(crash, 1, 0x2f00, "");
    crash.mutable_thread(0)->set_native_whole(true);
    append_crash(builder, crash);
    records::Crash others;
    for (const auto& [id, name] : {std::pair{4711, "beam.smp"}, std::pair{4714, "async_1"}}) {
        auto& thread = *others.add_thread();
        thread.set_thread_id(id);
        thread.set_name(name);
        thread.set_instruction_address(kLibcAt + 0x300);
        thread.set_in_system_call(true);
    }
    append_crash(builder, others);
}

}  // namespace beamdump::test
