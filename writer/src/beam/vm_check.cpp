#include "beam/vm_check.h"

#include "beam/node_tables.h"
#include "beam/process.h"

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kSample = 200;  // processes looked at
constexpr std::uint32_t kFunctionsEach = 4;
constexpr std::uint32_t kStackWords = 64;

/// erts/emulator/beam/atom.names begins with these: atom n is the n-th of them.
constexpr std::array kFirstAtoms = {"false", "true", "_", "nonode@nohost", "$end_of_table", ""};

std::unexpected<Error> refuse(const Vm& vm, std::string_view what) {
    return fail(
        ErrorCode::kImplausible,
        fmt::format("layout {} does not fit this node (OTP {}, ERTS {}): {}", vm.layout().name(),
                    vm.facts().otp_release, vm.facts().erts_version, what));
}

Result<void> check_atoms(Vm& vm, CheckReport& report) {
    auto atoms = AtomReader::open(vm);
    if (!atoms) {
        return refuse(vm, atoms.error().message);
    }
    for (std::uint32_t index = 0; index < kFirstAtoms.size(); ++index) {
        auto text = atoms->text(index);
        if (!text || *text != kFirstAtoms.at(index)) {
            return refuse(
                vm, fmt::format("atom {}: expected {}, found {}", index, kFirstAtoms.at(index),
                                text ? *text : text.error().message));
        }
    }
    report.atoms = atoms->count();
    auto name = read_node_name(vm);
    auto text = name ? atoms->text(name->atom) : Result<std::string>(std::unexpected(name.error()));
    if (!text || !text->contains('@')) {
        return refuse(vm, fmt::format("the node's own name: expected NAME@HOST, found {}",
                                      text ? *text : text.error().message));
    }
    return {};
}

Result<void> check_modules(Vm& vm, const CodeLookup& code, CheckReport& report) {
    auto reader = ModuleReader::open(vm);
    if (!reader) {
        return std::unexpected(reader.error());
    }
    if (code.modules().empty()) {
        return refuse(vm, "no module is loaded");
    }
    const auto& modules = code.modules();
    const std::size_t step = std::max<std::size_t>(modules.size() / kSample, 1);
    for (std::size_t index = 0; index < modules.size(); index += step) {
        const auto& module = modules[index];
        auto functions = reader->functions(module, 0, kFunctionsEach);
        if (!functions) {
            return refuse(vm, functions.error().message);
        }
        for (const auto start : functions->start_address()) {
            if (start < module.header || start >= module.end()) {
                return refuse(vm,
                              fmt::format("module at {:#x}: expected functions inside {} bytes, "
                                          "found one at {:#x}",
                                          module.header, module.bytes, start));
            }
            ++report.functions;
        }
        ++report.modules;
    }
    return {};
}

/// Judges one process: true if it fits, false if it does not, nothing if it cannot be told.
std::optional<bool> check_process(Vm& vm, CodeLookup& code, const ProcessView& process,
                                  CheckReport& report, std::string& why) {
    if (process.void_reason == records::VOID_REASON_IMPLAUSIBLE) {
        why = process.void_detail;
        return false;
    }
    if (process.void_reason != records::VOID_REASON_NONE) {
        return std::nullopt;
    }
    if (!vm.plausible(process.heap.begin, process.stack.end - process.heap.begin)) {
        why = fmt::format("heap of process at {:#x}: expected mapped memory from {:#x} to {:#x}",
                          process.address, process.heap.begin, process.stack.end);
        return false;
    }
    const auto heap_words = (process.stack.end - process.heap.begin) / 8;
    if (process.abandoned_heap.begin == 0 && process.facts.heap_words() != heap_words) {
        why =
            fmt::format("heap of process at {:#x}: expected {} words between its bounds, found {}",
                        process.address, process.facts.heap_words(), heap_words);
        return false;
    }
    ++report.heap_bounds;
    const auto take = std::min<std::uint64_t>(process.stack.words(), kStackWords);
    auto words = read_words(vm.memory(), process.stack.begin, take);
    if (!words) {
        why = words.error().message;
        return false;
    }
    const auto& points = vm.tables().code_points;
    for (const auto word : *words) {
        // erl_term.h: on a stack a word with primary tag 00 is a return address.
        if ((word & 3U) != 0 || word == 0 || word == vm.facts().non_value) {
            continue;
        }
        if (!code.in_code(word) &&
            std::ranges::find(points, word, &Found::address) == points.end()) {
            why = fmt::format(
                "stack of process at {:#x}: expected a return address into loaded "
                "code, found {:#x}",
                process.address, word);
            return false;
        }
        ++report.return_addresses;
    }
    return true;
}

Result<void> check_processes(Vm& vm, CodeLookup& code, CheckReport& report) {
    auto table = ProcessTable::open(vm);
    auto reader = ProcessReader::open(vm, code);
    if (!table || !reader) {
        return refuse(vm, !table ? table.error().message : reader.error().message);
    }
    std::uint32_t judged = 0;
    std::uint32_t bad = 0;
    std::string why;
    constexpr std::uint32_t kSlots = 4096;
    for (std::uint32_t first = 0; first < table->slots() && judged < kSample; first += kSlots) {
        auto used = table->used(first, kSlots);
        if (!used) {
            return refuse(vm, used.error().message);
        }
        for (const auto& slot : *used) {
            if (judged >= kSample) {
                break;
            }
            auto raw = OwnedStruct::read(vm.memory(), slot.process, reader->bytes());
            auto process = raw ? reader->decode(slot, raw->view().bytes())
                               : Result<ProcessView>(std::unexpected(raw.error()));
            std::optional<bool> fits = false;
            if (process) {
                fits = check_process(vm, code, *process, report, why);
            } else {
                why = process.error().message;
            }
            judged += fits ? 1 : 0;
            bad += fits == false ? 1 : 0;
        }
    }
    report.processes = judged;
    if (judged == 0) {
        return refuse(vm, "no process could be checked");
    }
    if (bad * 10 > judged) {
        return refuse(vm, fmt::format("{} of {} processes: {}", bad, judged, why));
    }
    return {};
}

}  // namespace

Result<CheckReport> check_vm(Vm& vm, CodeLookup& code) {
    CheckReport report;
    if (auto done = check_atoms(vm, report); !done) {
        return std::unexpected(done.error());
    }
    if (auto done = check_modules(vm, code, report); !done) {
        return std::unexpected(done.error());
    }
    if (auto done = check_processes(vm, code, report); !done) {
        return std::unexpected(done.error());
    }
    return report;
}

}  // namespace beamdump::beam
