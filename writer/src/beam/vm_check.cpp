#include "beam/vm_check.h"

#include "beam/node_tables.h"
#include "beam/process_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kSample = 200;  // processes judged
/// Slots looked at for that: where none holds a process, a million would be no surer.
constexpr std::uint32_t kMostSlots = 4000;
constexpr std::uint32_t kFunctionsEach = 4;
constexpr std::chrono::milliseconds kBetweenTries{3};

/// erts/emulator/beam/atom.names begins with these: atom n is the n-th of them.
constexpr std::array kFirstAtoms = {"false", "true", "_", "nonode@nohost", "$end_of_table", ""};

std::unexpected<Error> refuse(const Vm& vm, std::string_view what) {
    return fail(
        ErrorCode::kImplausible,
        fmt::format("layout {} does not fit this node (OTP {}, ERTS {}): {}", vm.layout().name(),
                    vm.facts().otp_release, vm.facts().erts_version, what));
}

/// A structure that cannot be read where the layout says it is.
std::unexpected<Error> refuse(const Vm& vm, const Error& error) {
    return refuse(vm, error.code == ErrorCode::kUnmapped
                          ? fmt::format("expected a structure, found no memory: {}", error.message)
                          : error.message);
}

Result<void> check_atoms(Vm& vm, CheckReport& report) {
    auto atoms = AtomReader::open(vm);
    if (!atoms) {
        return refuse(vm, atoms.error());
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
        return refuse(vm, "expected loaded modules, found none");
    }
    const auto& modules = code.modules();
    const std::size_t step = std::max<std::size_t>(modules.size() / kSample, 1);
    for (std::size_t index = 0; index < modules.size(); index += step) {
        const auto& module = modules[index];
        auto functions = reader->functions(module, 0, kFunctionsEach);
        if (!functions) {
            return refuse(vm, functions.error());
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

/// The tables that every dump holds: each must be readable as what the layout says it is.
Result<void> check_tables(Vm& vm) {
    auto exports = ExportReader::open(vm);
    if (!exports) {
        return refuse(vm, exports.error());
    }
    if (auto page = exports->page(0, kSample); !page) {
        return refuse(vm, page.error());
    }
    if (auto funs = read_fun_entries(vm, kSample); !funs) {
        return refuse(vm, funs.error());
    }
    if (auto nodes = read_node_entries(vm, kSample); !nodes) {
        return refuse(vm, nodes.error());
    }
    if (auto catches = read_catches(vm, kSample); !catches) {
        return refuse(vm, catches.error());
    }
    return {};
}

Result<void> check_processes(Vm& vm, CodeLookup& code, CheckReport& report) {
    // A busy node maps and unmaps heaps all the time: what is mapped must be as young as they are.
    vm.forget();
    if (auto mapped = vm.target().refresh_mappings(); !mapped) {
        return mapped;
    }
    auto table = ProcessTable::open(vm);
    auto reader = ProcessReader::open(vm, code);
    auto check = ProcessCheck::open(vm, code);
    if (!table || !reader || !check) {
        return refuse(vm, !table    ? table.error().message
                          : !reader ? reader.error().message
                                    : check.error().message);
    }
    Checks checks;
    std::uint64_t registered = 0;
    constexpr std::uint32_t kSlots = 4096;
    std::uint32_t looked_at = 0;
    const auto enough = [&] { return report.processes >= kSample || looked_at >= kMostSlots; };
    for (std::uint32_t first = 0; first < table->slots() && !enough(); first += kSlots) {
        auto used = table->used(first, kSlots);
        if (!used) {
            return refuse(vm, used.error());
        }
        for (const auto& slot : *used) {
            if (enough()) {
                break;
            }
            ++looked_at;
            auto raw = OwnedStruct::read(vm.memory(), slot.process, reader->bytes());
            auto process = raw ? reader->decode(slot, raw->view().bytes())
                               : Result<ProcessView>(std::unexpected(raw.error()));
            checks.expect("pids lead back to their slots", process.has_value(),
                          [&] { return process.error().message; });
            if (!process || !check->check(*process, raw->view(), checks)) {
                continue;
            }
            registered += process->facts.has_registered_name_atom() ? 1 : 0;
            ++report.processes;
        }
    }
    if (const auto verdict = checks.verdict()) {
        return refuse(vm, *verdict);
    }
    if (report.processes == 0) {
        return refuse(vm, "no process could be checked");
    }
    // init, the first process of every node, is registered and lives as long as the node.
    if (registered == 0) {
        return refuse(vm,
                      fmt::format("none of {} processes has a registered name", report.processes));
    }
    const auto& tallies = checks.tallies();
    const auto made = [&](const std::string& name) {
        const auto found = tallies.find(name);
        return found == tallies.end() ? 0 : found->second.made;
    };
    report.heap_bounds = made("heap bounds");
    report.return_addresses = made("return addresses");
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
    if (auto done = check_tables(vm); !done) {
        return std::unexpected(done.error());
    }
    if (auto done = check_processes(vm, code, report); !done) {
        return std::unexpected(done.error());
    }
    return report;
}

Result<CheckReport> check_steadily(Vm& vm, int tries) {
    for (int attempt = 1;; ++attempt) {
        auto code = CodeLookup::read(vm);
        auto checked =
            code ? check_vm(vm, *code) : Result<CheckReport>(std::unexpected(code.error()));
        if (checked || attempt == tries) {
            return checked;
        }
        std::this_thread::sleep_for(kBetweenTries * attempt);
        if (auto again = vm.refresh(); !again) {
            return std::unexpected(again.error());
        }
    }
}

}  // namespace beamdump::beam
