#include <libdump/base/return_if_error.h>
#include <libvm/beam/checks/process_check.h>
#include <libvm/beam/checks/process_sample.h>
#include <libvm/beam/checks/relation_check.h>
#include <libvm/beam/checks/term_check.h>
#include <libvm/beam/checks/vm_check.h>
#include <libvm/beam/tables/node_tables.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace beamdump::beam {
namespace {

constexpr std::uint32_t kSample = 200;  // of a table's entries
constexpr std::uint32_t kFunctionsEach = 4;
constexpr int kLooksAtAModule = 4;
constexpr std::chrono::milliseconds kBetweenTries{3};

/// erts/emulator/beam/atom.names begins with these: atom n is the n-th of them.
constexpr std::array kFirstAtoms = {"false", "true", "_", "nonode@nohost", "$end_of_table", ""};

std::unexpected<Error> refuse(const Vm& vm, std::string_view what) {
    const auto& facts = vm.facts();
    // The built-in layouts are for runtimes with the JIT; the interpreter's differ.
    const std::string_view flavour =
        facts.jit ? "" : ", interpreter: it needs its own layout, see docs/layouts.md";
    return fail(
        ErrorCode::kImplausible,
        fmt::format("layout {} does not fit this node (OTP {}, ERTS {}{}): {}", vm.layout().name(),
                    facts.otp_release, facts.erts_version, flavour, what));
}

/// An error for a structure that cannot be read at the layout's place.
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

/// Examines one module and adds what it has. Errors: what does not fit.
Result<void> check_module(ModuleReader& reader, const ModuleCode& module, CheckReport& report) {
    ASSIGN_OR_RETURN(const auto functions, reader.functions(module, 0, kFunctionsEach));
    ASSIGN_OR_RETURN(const auto parts, reader.check_header(module));
    for (const auto start : functions.start_address()) {
        if (start < module.header || start >= module.end()) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("module at {:#x}: expected functions inside {} bytes, found "
                                    "one at {:#x}",
                                    module.header, module.bytes, start));
        }
    }
    report.functions += static_cast<std::uint64_t>(functions.start_address_size());
    report.with_md5 += parts.md5 ? 1 : 0;
    report.with_lines += parts.lines ? 1 : 0;
    report.with_literals += parts.literals ? 1 : 0;
    ++report.modules;
    return {};
}

/// The same of a module that may be purged meanwhile: only what does not fit twice, while it is
/// loaded and no other code index becomes active, is an error. True if the module counts.
Result<bool> check_moving_module(Vm& vm, ModuleReader& reader, const ModuleCode& module,
                                 CheckReport& report) {
    std::optional<std::uint32_t> before;
    for (int looks = 0; looks < kLooksAtAModule; ++looks) {
        auto checked = check_module(reader, module, report);
        if (checked) {
            return true;
        }
        const auto after = loaded_now(vm, module);
        if (before && before == after) {
            return std::unexpected(checked.error());
        }
        if (!after) {
            return false;
        }
        before = after;
        vm.forget();
    }
    return false;
}

Result<void> check_modules(Vm& vm, const CodeLookup& code, CheckReport& report) {
    ASSIGN_OR_RETURN(auto reader, ModuleReader::open(vm));
    if (code.modules().empty()) {
        return refuse(vm, "expected loaded modules, found none");
    }
    const auto& modules = code.modules();
    const std::size_t step = std::max<std::size_t>(modules.size() / kSample, 1);
    for (std::size_t index = 0; index < modules.size(); index += step) {
        const auto counts = check_moving_module(vm, reader, modules[index], report);
        if (!counts) {
            return refuse(vm, counts.error());
        }
    }
    return report.modules != 0
               ? Result<void>()
               : refuse(vm, fmt::format("none of {} modules could be checked: each was unloaded",
                                        modules.size()));
}

Result<void> check_exports(Vm& vm) {
    auto exports = ExportReader::open(vm);
    if (!exports) {
        return refuse(vm, exports.error());
    }
    auto page = exports->page(0, kSample);
    return page ? Result<void>() : refuse(vm, page.error());
}

template <typename Entries>
Result<void> check_entries(Vm& vm, const Result<Entries>& entries) {
    return entries ? Result<void>() : refuse(vm, entries.error());
}

Result<void> check_processes(Vm& vm, CodeLookup& code, CheckReport& report) {
    auto check = ProcessCheck::open(vm, code);
    if (!check) {
        return refuse(vm, check.error());
    }
    Checks checks;
    const auto judged = check_processes_at_rest(
        vm, code, {},
        [&](const ProcessView& process, const StructView& structure, Checks& found) {
            return check->check(process, structure, found);
        },
        checks);
    if (!judged) {
        return refuse(vm, judged.error());
    }
    report.processes = *judged;
    if (const auto verdict = checks.verdict()) {
        return refuse(vm, *verdict);
    }
    if (report.processes == 0) {
        return refuse(vm, "no process could be checked");
    }
    // init, the first process of every node, is registered and lives as long as the node.
    const auto registered = checks.made("registered name");
    if (registered == 0) {
        return refuse(vm,
                      fmt::format("none of {} processes has a registered name", report.processes));
    }
    report.registered = registered;
    report.dictionary_slots = checks.made("dictionary slots");
    report.heap_bounds = checks.made("heap bounds");
    report.return_addresses = checks.made("return addresses");
    return {};
}

Result<void> check_funs(Vm& vm, const CodeLookup& code, CheckReport& report) {
    constexpr std::uint64_t kMaxArity = 255;
    constexpr std::uint64_t kMaxIndex = 1U << 20U;  // funs of one module
    const auto pages = read_fun_entries(vm, kSample);
    if (!pages) {
        return refuse(vm, pages.error());
    }
    const auto& points = vm.tables().code_points;
    Checks checks;
    for (const auto& page : *pages) {
        for (const auto& entry : page.entry()) {
            ++report.fun_entries;
            checks.expect("funs' numbers", entry.arity() <= kMaxArity && entry.index() < kMaxIndex,
                          [&] {
                              return fmt::format(
                                  "expected a small arity and index at {:#x}, found "
                                  "{} and {}",
                                  entry.address(), entry.arity(), entry.index());
                          });
            const auto address = entry.code_address();
            checks.expect("funs' code",
                          code.in_code(address) ||
                              std::ranges::find(points, address, &Found::address) != points.end(),
                          [&] {
                              return fmt::format(
                                  "expected an address in loaded code for the fun "
                                  "at {:#x}, found {:#x}",
                                  entry.address(), address);
                          });
        }
    }
    const auto verdict = checks.verdict();
    return verdict ? refuse(vm, *verdict) : Result<void>();
}

/// Relations and terms of processes, each examined by its own check.
template <typename Check>
Result<Checks> check_beside(Vm& vm, CodeLookup& code) {
    auto check = Check::open(vm);
    if (!check) {
        return refuse(vm, check.error());
    }
    Checks checks;
    const auto judged = check_processes_at_rest(
        vm, code, {},
        [&](const ProcessView& process, const StructView& /*structure*/, Checks& found) {
            return check->check(process, found);
        },
        checks);
    if (!judged) {
        return refuse(vm, judged.error());
    }
    if (const auto verdict = checks.verdict()) {
        return refuse(vm, *verdict);
    }
    return checks;
}

Result<void> check_relations(Vm& vm, CodeLookup& code, CheckReport& report) {
    ASSIGN_OR_RETURN(const auto checks, check_beside<RelationCheck>(vm, code));
    report.links = checks.made("links");
    report.monitors = checks.made("monitors");
    report.monitor_halves = checks.made("halves of monitors");
    return {};
}

Result<void> check_terms(Vm& vm, CodeLookup& code, CheckReport& report) {
    ASSIGN_OR_RETURN(const auto checks, check_beside<TermCheck>(vm, code));
    report.terms = checks.made("terms");
    report.binaries = checks.made("binaries");
    report.funs = checks.made("funs");
    return {};
}

}  // namespace

Result<void> check_stage(Vm& vm, CodeLookup& code, CheckStage stage, CheckReport& report) {
    switch (stage) {
        case CheckStage::kAtoms:
            return check_atoms(vm, report);
        case CheckStage::kModules:
            return check_modules(vm, code, report);
        case CheckStage::kExports:
            return check_exports(vm);
        case CheckStage::kFuns:
            return check_funs(vm, code, report);
        case CheckStage::kNodes:
            return check_entries(vm, read_node_entries(vm, kSample));
        case CheckStage::kCatches:
            return check_entries(vm, read_catches(vm, kSample));
        case CheckStage::kProcesses:
            return check_processes(vm, code, report);
        case CheckStage::kRelations:
            return check_relations(vm, code, report);
        case CheckStage::kTerms:
            return check_terms(vm, code, report);
    }
    return {};
}

std::optional<std::string_view> missing_kind(CheckStage stage, const CheckReport& report) {
    struct Kind {
        CheckStage stage;
        std::uint64_t count;
        std::string_view name;
    };
    const std::array kinds = {
        Kind{CheckStage::kModules, report.with_md5, "a module's MD5 sum"},
        Kind{CheckStage::kModules, report.with_lines, "a module's lines"},
        Kind{CheckStage::kModules, report.with_literals, "a module's literals"},
        Kind{CheckStage::kFuns, report.fun_entries, "a fun's entry"},
        Kind{CheckStage::kProcesses, report.registered, "a registered process"},
        Kind{CheckStage::kProcesses, report.return_addresses, "a return address"},
        Kind{CheckStage::kProcesses, report.dictionary_slots, "a process's dictionary"},
        Kind{CheckStage::kRelations, report.links, "a link"},
        Kind{CheckStage::kRelations, report.monitor_halves, "a monitor"},
        Kind{CheckStage::kTerms, report.binaries, "an off-heap binary"},
        Kind{CheckStage::kTerms, report.funs, "a fun"},
    };
    const auto missing = std::ranges::find_if(
        kinds, [&](const Kind& kind) { return kind.stage == stage && kind.count == 0; });
    return missing == kinds.end() ? std::nullopt : std::optional(missing->name);
}

Result<CheckReport> check_steadily(Vm& vm, int tries) {
    CheckReport report;
    auto code = CodeLookup::read(vm);
    for (const auto stage : kCheckStages) {
        for (int attempt = 1;; ++attempt) {
            auto examined = report;
            const auto checked = code ? check_stage(vm, *code, stage, examined)
                                      : Result<void>(std::unexpected(code.error()));
            if (checked) {
                report = examined;
                break;
            }
            if (attempt == tries) {
                return std::unexpected(checked.error());
            }
            std::this_thread::sleep_for(kBetweenTries * attempt);
            RETURN_IF_ERROR(vm.refresh());
            code = CodeLookup::read(vm);
        }
    }
    return report;
}

}  // namespace beamdump::beam
