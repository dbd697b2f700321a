// The parts of a fake VM that every node has before any Erlang code: empty tables, schedulers, the
// JIT's entries for debuggers, the version.

#include "fake_vm/fake_vm.h"
#include "fake_vm/jit_contents.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace beamdump::test {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kBuckets = 16;
constexpr std::uint64_t kShift = 60;  // hash.h: 2^(64 - shift) slots
constexpr std::size_t kPointersToSegments = 4;
constexpr std::size_t kCatches = 1024;
constexpr std::size_t kPersistentSlots = 8;
constexpr std::uint32_t kSharedBytes = 0x100;

}  // namespace

Address FakeVm::global(std::string name, std::size_t size) {
    const auto address = data.place(size);
    symbols_.emplace(std::move(name), address);
    return address;
}

Address FakeVm::global_word(std::string name, std::uint64_t value) {
    const auto address = global(std::move(name), sizeof value);
    memory.put(address, value);
    return address;
}

void FakeVm::make_version() {
    const auto text = [&](std::string name, std::string_view value) {
        symbols_.emplace(std::move(name), read_only.place_text(value));
    };
    const auto erts = fake_erts(release_);
    read_only.place_text(fmt::format(
        "Erlang/OTP {}%s [erts-{}] [source] [64-bit] [smp:%beu:%beu] [jit:ns%s]", release_, erts));
    text("etp_otp_release", release_);
    text("etp_erts_version", erts);
    symbols_["etp_beamasm"] = read_only.place_words({1});
    symbols_["etp_arch_bits"] = read_only.place_words({64});
}

void FakeVm::fill_hash(Address table, std::string_view name) {
    at("Hash", table)
        .set("name", read_only.place_text(name))
        .set("shift", kShift)
        .set("bucket", heap.place(kBuckets * 8));
}

Address FakeVm::make_hash(std::string_view name) {
    const auto table = data.place(bytes("Hash"), kCacheLine);
    fill_hash(table, name);
    return table;
}

Address FakeVm::make_index(std::string_view name, std::size_t copies) {
    const auto text = read_only.place_text(name);
    const auto segments = heap.place(kPointersToSegments * 8);
    const auto first = data.place(copies * bytes("IndexTable"), kCacheLine);
    for (std::size_t copy = 0; copy < copies; ++copy) {
        const auto table = first + copy * bytes("IndexTable");
        at("Hash", table)
            .set("name", text)
            .set("shift", kShift)
            .set("bucket", heap.place(kBuckets * 8));
        at("IndexTable", table)
            .set("seg_table", segments)
            .set("size", kPointersToSegments << constant("index_page_shift"));
    }
    return first;
}

Address FakeVm::make_id_table(std::uint64_t tag, std::uint32_t slots) {
    const auto address = data.place(bytes("ErtsPTab"), kCacheLine);
    auto invalid = make("Process");
    invalid.set("common.id", tag);
    at("ErtsPTab", address)
        .set("tab", heap.place(std::size_t{slots} * 8, kLeastPageBytes))
        .set("max", slots)
        .set("pix_mask", slots - 1)
        .set("invalid_element", invalid.address());
    return address;
}

void FakeVm::make_catches() {
    globals_.catches = global("bccix", beam::kCodeIndexes * bytes("CatchPool"));
    const auto entries = heap.place(kCatches * bytes("BeamCatch"));
    for (std::size_t index = 0; index < beam::kCodeIndexes; ++index) {
        at("CatchPool", globals_.catches + index * bytes("CatchPool"))
            .set("free_list", 0xffffffff)
            .set("tabsize", kCatches)
            .set("high_mark", 1)
            .set("beam_catches", entries);
    }
}

void FakeVm::add_catch(std::uint32_t index, Address address) {
    for (std::size_t copy = 0; copy < beam::kCodeIndexes; ++copy) {
        auto pool = at("CatchPool", globals_.catches + copy * bytes("CatchPool"));
        pool.set("high_mark", std::max<std::uint64_t>(pool.get("high_mark"), index + 1));
        at("BeamCatch", pool.get("beam_catches") + index * bytes("BeamCatch")).set("cp", address);
    }
}

void FakeVm::make_schedulers() {
    // erl_process.h, ErtsSchedType: normal, dirty CPU, dirty I/O.
    const std::array arrays = {"erts_aligned_scheduler_data",
                               "erts_aligned_dirty_cpu_scheduler_data",
                               "erts_aligned_dirty_io_scheduler_data"};
    const std::array numbers = {"erts_no_schedulers", "erts_no_dirty_cpu_schedulers",
                                "erts_no_dirty_io_schedulers"};
    const auto each = bytes("ErtsAlignedSchedulerData");
    for (std::size_t type = 0; type < arrays.size(); ++type) {
        const auto count = type + 1;
        // The memory after the last member is mapped and empty.
        const auto array = heap.place((count + 1) * each, kCacheLine);
        for (std::size_t member = 0; member < count; ++member) {
            auto scheduler = at("ErtsAlignedSchedulerData", array + member * each);
            auto sleep = make("ErtsSchedulerSleepInfo");
            sleep.set("esdp", scheduler.address());
            scheduler.set("type", type)
                .set(type == 0 ? "no" : "dirty_no", member + 1)
                .set("ssi", sleep.address());
        }
        // A queue for the normal scheduler; the dirty ones of a kind have one, of the first of
        // them.
        const auto queue = make("ErtsRunQueue").set("ix", type).set("scheduler", array).address();
        for (std::size_t member = 0; member < count; ++member) {
            at("ErtsSchedulerData", array + member * each).set("run_queue", queue);
        }
        if (type == 0) {
            auto wheel = make("ErtsTimerWheel");
            wheel.set("w", wheel.at("slots") + 8);
            at("ErtsSchedulerData", array)
                .set("timer_wheel", wheel.address())
                .set("timer_service", make("ErtsHLTimerService").address());
        }
        global_word(arrays.at(type), array);
        globals_.schedulers = type == 0 ? array : globals_.schedulers;
        // Not in a stripped executable's data, where the arrays are searched for.
        symbols_[numbers.at(type)] = heap.place_words({count});
        globals_.scheduler_count =
            type == 0 ? symbols_[numbers.at(type)] : globals_.scheduler_count;
    }
}

/// An empty table, and the arguments of its last updates (ErtsThrPrgrLaterOp), before no next
/// operation and before one whose memory is gone.
void FakeVm::make_persistent_terms() {
    auto table = make("PersistentTerms", (kPersistentSlots - 1) * 8);
    table.set("allocated", kPersistentSlots).set("mask", kPersistentSlots - 1);
    for (std::size_t slot = 0; slot < kPersistentSlots; ++slot) {
        memory.put(table.at("term") + slot * 8, constant("nil"));
    }
    constexpr std::uint64_t kNoPointer = 4;
    data.place_words({normal_exit(), table.address(), 0});
    data.place_words({normal_exit(), table.address(), kNoPointer});
    globals_.persistent_terms = data.place_words({0, table.address(), kNoPointer}) + 8;
}

void FakeVm::make_jit_list() {
    // Code that all modules share: it loads the active code index from its address.
    shared_code_ = code.place(kSharedBytes, kCacheLine);
    memory.put(shared_code_ + 0x13, globals_.active_code_index);
    JitContents shared;
    JitContents emulator;
    const bool is_of_24 = is_otp_24();
    if (is_of_24) {
        const auto normal_exit_at = shared_code_ + kNormalExitOffset;
        shared.put(std::uint64_t{2}).put(shared_code_).put(std::uint64_t{kSharedBytes});
        shared.text("erts_beamasm");
        shared.put(shared_code_).put(normal_exit_at).text("erts_internal:exit/0");
        shared.put(normal_exit_at).put(shared_code_ + kSharedBytes).text("erts_internal:apply/3");
        // A real one has 0 in place of the address; with it nodes without symbols can be tested.
        emulator.put(std::uint64_t{0}).put(normal_exit());
    } else {
        shared.put(std::uint64_t{1}).put(shared_code_).put(2U).put(kSharedBytes);
        shared.name("erts_beamasm", 6);
        shared.put(0U).put(kNormalExitOffset).put(0U).name("erts_beamasm:run_process/3", 2);
        shared.put(kNormalExitOffset).put(kSharedBytes).put(0U);
        shared.name("erts_beamasm:normal_exit/0", 2);
        emulator.put(std::uint64_t{0}).put(std::uint64_t{0}).put(normal_exit());
    }

    const auto place = [&](const JitContents& contents) {
        const auto at = heap.place(contents.bytes().size());
        memory.put_bytes(at, contents.bytes());
        return at;
    };
    // gdb's jit_code_entry: next, previous, contents, bytes. The oldest entry is the last: in OTP
    // 24 the emulator's.
    const auto& first = is_of_24 ? emulator : shared;
    const auto& second = is_of_24 ? shared : emulator;
    const auto oldest = heap.place_words({0, 0, place(first), first.bytes().size()});
    const auto newest = heap.place_words({oldest, 0, place(second), second.bytes().size()});
    memory.put(oldest + 8, newest);
    globals_.jit_descriptor = data.place(24);
    memory.put(globals_.jit_descriptor, std::uint32_t{1});
    memory.put(globals_.jit_descriptor + 16, newest);
    // Globals that hold the addresses of shared code have names, too.
    symbols_["beam_normal_exit"] = heap.place_words({normal_exit()});
}

}  // namespace beamdump::test
