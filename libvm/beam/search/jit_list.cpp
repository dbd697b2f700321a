#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/search/jit_list.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

namespace beamdump::beam {
namespace {

constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::uint64_t kMaxEntryBytes = 64U << 20U;
constexpr int kListReadings = 16;
constexpr std::chrono::milliseconds kBetweenReadings{2};

// gdb's interface (GDB manual, "JIT Interface"): struct jit_descriptor and jit_code_entry.
constexpr Field kVersion{0, 4};
constexpr Field kAction{4, 4};
constexpr Field kRelevant{8, 8};
constexpr Field kFirst{16, 8};
constexpr std::uint32_t kDescriptorBytes = 24;
constexpr Field kNext{0, 8};
constexpr Field kPrevious{8, 8};
constexpr Field kContents{16, 8};
constexpr Field kBytes{24, 8};
constexpr std::uint32_t kEntryBytes = 32;
constexpr std::uint32_t kMaxAction = 2;  // JIT_UNREGISTER_FN

// beam_jit_metadata.cpp: struct debug_info, erlang_module_info (whose name begins where its fields
// end, inside the padding; what follows counts from behind the padding) and range_info.
constexpr Field kKind{0, 4};
constexpr Field kNormalExit{16, 8};
constexpr std::size_t kEmulatorBytes = 24;
constexpr Field kBase{8, 8};
constexpr Field kRanges{16, 4};
constexpr Field kCodeBytes{20, 4};
constexpr Field kNameBytes{24, 2};
constexpr std::size_t kNameAt = 26;
constexpr std::size_t kModuleBytes = 32;
constexpr Field kRangeBegin{0, 4};
constexpr Field kRangeEnd{4, 4};
constexpr Field kRangeLines{8, 4};
constexpr Field kRangeNameBytes{12, 2};
constexpr std::size_t kRangeNameAt = 14;
constexpr std::size_t kRangeBytes = 16;
constexpr Field kLineNameBytes{8, 2};
constexpr std::size_t kLineBytes = 12;
enum class Kind : std::uint8_t { kEmulator = 0, kModule = 1 };

// Of OTP 24 (jit/x86/beam_asm.cpp, beamasm_init_gdb_jit_info(), update_gdb_jit_info()): the number
// of pieces, none in the emulator's entry, then the value of beam_normal_exit, which is not set
// yet; in a module's, the address and size of its code, and its name. A piece is its begin, its end
// and its name. Names end with a 0.
namespace otp24 {
constexpr std::size_t kEmulatorBytes = 16;
constexpr std::size_t kModuleBytes = 24;
constexpr std::size_t kRangeBytes = 16;
constexpr Field kCount{0, 8};
constexpr Field kNormalExit{8, 8};
constexpr Field kBase{8, 8};
constexpr Field kCodeBytes{16, 8};
constexpr Field kRangeBegin{0, 8};
constexpr Field kRangeEnd{8, 8};
/// The last one that is registered before any Erlang code.
constexpr std::string_view kLastOwn = "erts_beamasm";
}  // namespace otp24

struct Entry {
    Address next = 0, previous = 0, contents = 0;
    std::uint64_t bytes = 0;
};

/// Not cached: a module's entry is freed when it is purged.
Result<Entry> read_entry(Vm& vm, Address address) {
    ASSIGN_OR_RETURN(auto read, OwnedStruct::read(vm.bulk(), address, kEntryBytes));
    const auto view = read.view();
    const Entry entry{view.get(kNext), view.get(kPrevious), view.get(kContents), view.get(kBytes)};
    if (entry.bytes < otp24::kEmulatorBytes || entry.bytes > kMaxEntryBytes ||
        !vm.plausible(entry.contents, entry.bytes)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the JIT's list: expected an entry at {:#x}, found {} bytes at "
                                "{:#x}",
                                address, entry.bytes, entry.contents));
    }
    return entry;
}

/// Whether the list's beginning hangs together. In OTP 25 the first entry's pointer to the one
/// before it is not set (beam_jit_metadata.cpp): it is what malloc left there.
bool is_descriptor(Vm& vm, StructView view) {
    if (view.get(kVersion) != 1 || view.get(kAction) > kMaxAction ||
        !vm.plausible(view.get(kFirst), kEntryBytes)) {
        return false;
    }
    if (view.get(kRelevant) != 0 && !vm.plausible(view.get(kRelevant), kEntryBytes)) {
        return false;
    }
    const auto first = read_entry(vm, view.get(kFirst));
    if (!first || first->next == 0) {
        return first && first->previous == 0;
    }
    const auto second = read_entry(vm, first->next);
    return second && second->previous == view.get(kFirst);
}

/// Whether a descriptor is there now. Its first entry is that of the module that was loaded last:
/// what does not hang together is read again, and is none if the first entry is still the same.
bool is_descriptor_at(Vm& vm, Address address) {
    std::optional<Address> before;
    for (int tries = 0; tries < kListReadings; ++tries) {
        const auto read = OwnedStruct::read(vm.bulk(), address, kDescriptorBytes);
        if (!read) {
            return false;
        }
        if (is_descriptor(vm, read->view())) {
            return true;
        }
        const auto first = read->view().get(kFirst);
        if (before == first) {
            return false;
        }
        before = first;
    }
    return false;
}

std::string text_of(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::string(text.substr(0, text.find('\0')));
}

std::unexpected<Error> cut_off(std::string_view what) {
    return fail(ErrorCode::kImplausible,
                fmt::format("the JIT's list: expected {}, found its entry's end", what));
}

/// All entries, from the first on: the oldest is the last. Their contents are not read.
Result<std::vector<Entry>> read_list(Vm& vm, Address descriptor) {
    ASSIGN_OR_RETURN(auto first, vm.bulk().word(descriptor + kFirst.offset));
    std::vector<Entry> entries;
    Address previous = 0;
    for (Address address = first; address != 0;) {
        ASSIGN_OR_RETURN(auto entry, read_entry(vm, address));
        if ((previous != 0 && entry.previous != previous) || entries.size() >= kMaxEntries) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the JIT's list: entry at {:#x} does not lead back to {:#x}",
                                    address, previous));
        }
        previous = address;
        address = entry.next;
        entries.push_back(entry);
    }
    return entries;
}

Result<std::vector<std::byte>> contents_of(Vm& vm, const Entry& entry) {
    std::vector<std::byte> bytes(entry.bytes);
    RETURN_IF_ERROR(vm.bulk().read(entry.contents, bytes));
    return bytes;
}

/// From the list's end, the oldest entry, up to the emulator's. In OTP 24 that is the oldest one.
Result<JitSelf> read_self(Vm& vm, Address descriptor) {
    ASSIGN_OR_RETURN(auto entries, read_list(vm, descriptor));
    JitSelf self;
    self.descriptor = descriptor;
    bool is_of_24 = false;
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        ASSIGN_OR_RETURN(auto bytes, contents_of(vm, *entry));
        const StructView view(bytes);
        if (entry == entries.rbegin() && bytes.size() == otp24::kEmulatorBytes &&
            view.get(otp24::kCount) == 0) {
            is_of_24 = true;
            self.normal_exit = view.get(otp24::kNormalExit);
            continue;
        }
        if (is_of_24) {
            ASSIGN_OR_RETURN(auto module, parse_jit_module_of_24(bytes));
            self.modules.push_back(std::move(module));
            if (self.modules.back().name == otp24::kLastOwn) {
                return self;
            }
            continue;
        }
        if (const auto normal_exit = parse_jit_emulator(bytes)) {
            self.normal_exit = *normal_exit;
            return self;
        }
        ASSIGN_OR_RETURN(auto module, parse_jit_module(bytes));
        self.modules.push_back(std::move(module));
    }
    return fail(ErrorCode::kImplausible,
                fmt::format("the JIT's list: expected the emulator among {} entries, found none",
                            entries.size()));
}

}  // namespace

std::optional<Address> parse_jit_emulator(std::span<const std::byte> entry) {
    const StructView view(entry);
    if (entry.size() < kEmulatorBytes ||
        view.get(kKind) != static_cast<std::uint64_t>(Kind::kEmulator)) {
        return std::nullopt;
    }
    return view.get(kNormalExit);
}

Result<JitModule> parse_jit_module(std::span<const std::byte> entry) {
    if (entry.size() < kModuleBytes) {
        return cut_off("a module");
    }
    const StructView view(entry);
    const std::size_t name_bytes = view.u32(kNameBytes);
    if (view.get(kKind) != static_cast<std::uint64_t>(Kind::kModule) ||
        name_bytes > entry.size() - kModuleBytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the JIT's list: expected a module, found kind {} with a name of "
                                "{} bytes",
                                view.get(kKind), name_bytes));
    }
    JitModule module{
        text_of(entry.subspan(kNameAt, name_bytes)), view.get(kBase), view.get(kCodeBytes), {}};
    auto rest = entry.subspan(kModuleBytes + name_bytes);
    for (auto left = view.u32(kRanges); left > 0; --left) {
        if (rest.size() < kRangeBytes) {
            return cut_off("a function");
        }
        const StructView range(rest);
        const std::size_t bytes = range.u32(kRangeNameBytes);
        if (bytes > rest.size() - kRangeBytes) {
            return cut_off("a function's name");
        }
        module.ranges.push_back({text_of(rest.subspan(kRangeNameAt, bytes)),
                                 module.begin + range.get(kRangeBegin),
                                 module.begin + range.get(kRangeEnd)});
        auto lines = range.u32(kRangeLines);
        for (rest = rest.subspan(kRangeBytes + bytes); lines > 0; --lines) {
            const std::size_t file_bytes =
                rest.size() < kLineBytes ? rest.size() : StructView(rest).u32(kLineNameBytes);
            if (rest.size() < kLineBytes || file_bytes > rest.size() - kLineBytes) {
                return cut_off("a line");
            }
            rest = rest.subspan(kLineBytes + file_bytes);
        }
    }
    return module;
}

Result<JitModule> parse_jit_module_of_24(std::span<const std::byte> entry) {
    if (entry.size() < otp24::kModuleBytes) {
        return cut_off("a module");
    }
    auto rest = entry.subspan(otp24::kModuleBytes);
    const auto name = [&rest]() -> std::optional<std::string> {
        const auto end = std::ranges::find(rest, std::byte{0});
        if (end == rest.end()) {
            return std::nullopt;
        }
        auto text = text_of(rest);
        rest = rest.subspan(text.size() + 1);
        return text;
    };
    const StructView view(entry);
    JitModule module{{}, view.get(otp24::kBase), view.get(otp24::kCodeBytes), {}};
    auto own = name();
    if (!own) {
        return cut_off("a module's name");
    }
    module.name = std::move(*own);
    for (auto left = view.get(otp24::kCount); left > 0; --left) {
        if (rest.size() < otp24::kRangeBytes) {
            return cut_off("a function");
        }
        const StructView range(rest);
        rest = rest.subspan(otp24::kRangeBytes);
        auto text = name();
        if (!text) {
            return cut_off("a function's name");
        }
        module.ranges.push_back(
            {std::move(*text), range.get(otp24::kRangeBegin), range.get(otp24::kRangeEnd)});
    }
    return module;
}

Result<JitSelf> find_jit_self(Vm& vm, const ImageSearch& search) {
    // The copy of the data is older than the list: it only tells where a descriptor can be.
    const auto find = [&](bool first_time) {
        return search.matching(kDescriptorBytes, [&](Address at, std::span<const std::byte> bytes) {
            const StructView view(bytes);
            return view.get(kVersion) == 1 && view.get(kAction) <= kMaxAction &&
                   view.get(kFirst) != 0 && view.get(kFirst) % sizeof(Address) == 0 &&
                   (!first_time || vm.plausible(view.get(kFirst), kEntryBytes)) &&
                   is_descriptor_at(vm, at);
        });
    };
    // The list changes while modules are loaded and purged.
    for (int attempt = 1;; ++attempt) {
        const auto descriptor =
            only_one("__jit_debug_descriptor", "one place with its shape", find(attempt == 1));
        auto self = descriptor ? read_self(vm, *descriptor)
                               : Result<JitSelf>(std::unexpected(descriptor.error()));
        if (self || attempt == kListReadings) {
            return self;
        }
        std::this_thread::sleep_for(kBetweenReadings);
        // An entry may be where nothing was mapped before.
        RETURN_IF_ERROR(vm.target().refresh_mappings());
        vm.forget();
    }
}

std::optional<Address> code_point(const JitSelf& jit, std::string_view global) {
    if (global == "beam_normal_exit" && jit.normal_exit != 0) {
        return jit.normal_exit;
    }
    // beam_jit_main.cpp, beamasm_init(), and beam_asm.hpp, the global assembler's labels.
    static constexpr std::array kNames = {
        std::pair{"beam_normal_exit", "erts_beamasm:normal_exit/0"},
        std::pair{"beam_exit", "global::process_exit"},
        std::pair{"beam_continue_exit", "erts_beamasm:continue_exit/0"},
        std::pair{"beam_run_process", "erts_beamasm:run_process/3"},
        std::pair{"beam_return_to_trace", "erts_beamasm:return_to_trace/0"},
        std::pair{"beam_return_trace", "erts_beamasm:return_trace/0"},
        std::pair{"beam_exception_trace", "erts_beamasm:exception_trace/0"},
        std::pair{"beam_return_time_trace", "erts_beamasm:return_time_trace/0"},
        std::pair{"beam_call_trace_return", "erts_beamasm:call_trace_return/0"},
        std::pair{"beam_save_calls", "global::dispatch_save_calls"},
        std::pair{"beam_unloaded_fun", "global::unloaded_fun"},
        std::pair{"beam_bif_export_trap", "global::bif_export_trap"},
        std::pair{"beam_export_trampoline", "global::export_trampoline"}};
    const auto* wanted =
        std::ranges::find_if(kNames, [&](const auto& pair) { return pair.first == global; });
    if (wanted == kNames.end()) {
        return std::nullopt;
    }
    for (const auto& module : jit.modules) {
        const auto range = std::ranges::find(module.ranges, wanted->second, &JitRange::name);
        if (range != module.ranges.end()) {
            return range->begin;
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::beam
