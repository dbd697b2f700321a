#include "query/tables/modules.h"

#include "query/node/choice.h"
#include "query/tables/applications.h"
#include "query/tables/first_items.h"
#include "query/tables/module_sections.h"
#include "query/tables/module_version.h"

#include <libdump/base/return_if_error.h>
#include <libdump/term/process_stack.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array<Named<ModuleSort>, 4> kModuleSorts = {{{"code", ModuleSort::kCode},
                                                            {"literals", ModuleSort::kLiterals},
                                                            {"functions", ModuleSort::kFunctions},
                                                            {"name", ModuleSort::kName}}};

std::optional<std::string> instance_text(records::ModuleInstance instance) {
    switch (instance) {
        case records::MODULE_INSTANCE_CURRENT:
            return "current";
        case records::MODULE_INSTANCE_OLD:
            return "old";
        case records::MODULE_INSTANCE_ON_LOAD:
            return "on_load";
        default:
            return std::nullopt;
    }
}

std::string hex_text(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
}

/// An instance's code, and the processes that have it on their stack.
struct OldCode {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t count = 0;
    std::vector<std::string> pids;
};

ModuleLine line_of(Dump& dump, const records::Module& module, ModuleVersions* versions,
                   const ModuleApplications& applications) {
    ModuleLine line;
    line.name = atom_text(dump, module.name_atom());
    line.instance = instance_text(module.instance());
    line.code_start = module.code_start();
    if (module.has_code_bytes()) {
        line.code_bytes = module.code_bytes();
    }
    if (module.has_literal_area_address() && module.has_literal_area_end() &&
        module.literal_area_end() >= module.literal_area_address()) {
        line.literal_bytes = module.literal_area_end() - module.literal_area_address();
    } else if (module.has_header_address() && !module.has_literal_area_address()) {
        // A capture notes the area of every module that has one.
        line.literal_bytes = 0;
    }
    if (module.has_function_count()) {
        line.functions = module.function_count();
    }
    // Redaction leaves zeros.
    if (module.md5().find_first_not_of('\0') != std::string::npos) {
        line.md5 = hex_text(module.md5());
    }
    if (const auto* application = applications.of(module.name_atom())) {
        line.application = application->name;
        line.application_version = application->version;
    }
    if (versions != nullptr && module.has_attributes()) {
        line.version = versions->version(module.attributes());
    }
    return line;
}

bool module_before(ModuleSort sort, const ModuleLine& a, const ModuleLine& b) {
    const auto by = [&](const auto& of_a, const auto& of_b) {
        return of_a != of_b ? of_a > of_b
                            : std::tie(a.name, a.code_start) < std::tie(b.name, b.code_start);
    };
    switch (sort) {
        case ModuleSort::kCode:
            return by(a.code_bytes, b.code_bytes);
        case ModuleSort::kLiterals:
            return by(a.literal_bytes, b.literal_bytes);
        case ModuleSort::kFunctions:
            return by(a.functions, b.functions);
        case ModuleSort::kName:
            break;
    }
    return std::tie(a.name, a.code_start) < std::tie(b.name, b.code_start);
}

void add_to(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& part) {
    sum = sum && part ? std::optional(*sum + *part) : std::nullopt;
}

/// Looks for the code of old instances on all stacks.
Result<ProcessesRead> find_users(Dump& dump, const ModulesOptions& options,
                                 std::map<std::uint64_t, OldCode>& old_code) {
    const auto of = [&old_code](std::uint64_t address) -> OldCode* {
        const auto after = old_code.upper_bound(address);
        if (after == old_code.begin()) {
            return nullptr;
        }
        OldCode& code = std::prev(after)->second;
        return address < code.end ? &code : nullptr;
    };
    return visit_processes(
        dump, {.sensitive = options.sensitive, .progress = options.progress, .rows = options.rows},
        [&](OpenedProcess& process) -> Result<void> {
            std::set<OldCode*> used;
            used.insert(of(process.run.process.instruction_address()));
            StackWalk walk(process.context(), process.scheme, process.stack());
            while (const auto entry = walk.next()) {
                if (entry->kind == StackEntry::Kind::kReturnAddress) {
                    used.insert(of(entry->word));
                }
            }
            used.erase(nullptr);
            for (OldCode* code : used) {
                ++code->count;
                if (code->pids.size() < kMaxListedUsers) {
                    code->pids.push_back(process.line.pid);
                }
            }
            return {};
        });
}

}  // namespace

Result<ModuleSort> parse_module_sort(std::string_view name) {
    return parse_choice("sort order", name, kModuleSorts);
}

Result<ModuleReport> module_report(Dump& dump, const std::string& file,
                                   const ModulesOptions& options) {
    ModuleReport report;
    report.dump = dump_facts(dump, file);
    report.code_bytes = report.literal_bytes = 0;
    FirstItems<ModuleLine, std::function<bool(const ModuleLine&, const ModuleLine&)>> first(
        options.limit, [sort = options.sort](const ModuleLine& a, const ModuleLine& b) {
            return module_before(sort, a, b);
        });
    bool sort_told = options.sort == ModuleSort::kName;
    const auto cannot_sort = [&]() -> Result<void> {
        if (sort_told || report.matching == 0 || options.sort == ModuleSort::kCode) {
            return {};
        }
        return fail(ErrorCode::kNotFound,
                    fmt::format("modules cannot be sorted by {}: the dump does not tell it of any "
                                "of them",
                                options.sort == ModuleSort::kLiterals ? "literals" : "functions"));
    };
    const auto add = [&](ModuleLine line) {
        if (contains_all(line.name, options.filters)) {
            ++report.matching;
            sort_told = sort_told || (options.sort == ModuleSort::kLiterals ? line.literal_bytes
                                                                            : line.functions)
                                         .has_value();
            add_to(report.code_bytes, line.code_bytes);
            add_to(report.literal_bytes, line.literal_bytes);
            first.add(std::move(line));
            return true;
        }
        return false;
    };
    const auto versions = ModuleVersions::open(dump);
    if (is_of_crash_dump(dump)) {
        ASSIGN_OR_RETURN(auto lines,
                         modules_of_sections(dump, file, versions ? versions->get() : nullptr));
        for (ModuleLine& line : lines) {
            const bool is_old = line.instance == "old";
            ++report.total;
            report.old += is_old ? 1 : 0;
            if (is_old || !options.old) {
                add(std::move(line));
            }
        }
        // Those that stacks name are no list: how many are met depends on what is read.
        if (lines.empty()) {
            return fail(ErrorCode::kNotFound,
                        dump.capture().has_cut_off()
                            ? "the crash dump breaks off before its sections of modules"
                            : "the crash dump has no sections of modules");
        }
        RETURN_IF_ERROR(cannot_sort());
        report.modules = first.take();
        return report;
    }
    ASSIGN_OR_RETURN(const auto* instances, dump.code().instances());
    // Of several records of one instance the last is valid.
    std::map<std::pair<std::uint64_t, records::ModuleInstance>, const CodeIndex::Instance*> valid;
    for (const auto& instance : *instances) {
        auto& known = valid[{instance.code_start, instance.instance}];
        known = known == nullptr || known->offset < instance.offset ? &instance : known;
    }
    ModuleApplications applications;
    if (options.applications) {
        if (auto found = module_applications(dump)) {
            applications = std::move(*found);
        } else if (found.error().code != ErrorCode::kNotFound) {
            report.no_applications = std::move(found.error());
        }
    }
    std::map<std::uint64_t, OldCode> old_code;
    for (const auto& [key, instance] : valid) {
        const bool is_old = instance->instance == records::MODULE_INSTANCE_OLD;
        ++report.total;
        report.old += is_old ? 1 : 0;
        if (options.old && !is_old) {
            continue;
        }
        auto module = dump.reader().message_at<records::Module>(instance->offset,
                                                                format::RecordKind::kModule);
        if (!module) {
            return wrap("reading a module", std::move(module.error()));
        }
        ModuleLine line =
            line_of(dump, *module, versions ? versions->get() : nullptr, applications);
        if (add(std::move(line)) && is_old) {
            old_code[instance->code_start] = {instance->code_start, instance->code_end, 0, {}};
        }
    }
    RETURN_IF_ERROR(cannot_sort());
    report.modules = first.take();
    if (options.users) {
        ASSIGN_OR_RETURN(report.read, find_users(dump, options, old_code));
        for (ModuleLine& line : report.modules) {
            if (const auto code = old_code.find(line.code_start.value_or(0));
                code != old_code.end() && line.instance == "old") {
                line.user_count = code->second.count;
                line.users = code->second.pids;
            }
        }
    }
    return report;
}

}  // namespace beamdump::query
