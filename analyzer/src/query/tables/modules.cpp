#include "query/tables/modules.h"

#include "query/facts/dump_facts.h"
#include "query/tables/applications.h"
#include "query/tables/module_version.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/process_stack.h>

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>
#include <utility>

namespace beamdump::query {

namespace {

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
    if (module.has_code_start()) {
        line.code_start = module.code_start();
    }
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

/// As its directory is named: kernel-8.5.4.
Cell application_directory(const ModuleLine& line) {
    if (!line.application || !line.application_version) {
        return cell(line.application);
    }
    return fmt::format("{}-{}", *line.application, *line.application_version);
}

constexpr auto kModuleFields = std::to_array<Field<ModuleLine>>({
    field<&ModuleLine::name>({.name = "name",
                              .title = "MODULE",
                              .kind = ColumnKind::kTextOfAll,
                              .shrinks = true,
                              .also = "module"}),
    field<&ModuleLine::instance>({.name = "instance",
                                  .title = "INSTANCE",
                                  .kind = ColumnKind::kTextOfAll,
                                  .one_of = "current old on_load"}),
    field<&ModuleLine::code_start>({.name = "code_start", .kind = ColumnKind::kAddress}),
    field<&ModuleLine::code_bytes>({.name = "code_bytes",
                                    .title = "CODE",
                                    .kind = ColumnKind::kBytes,
                                    .also = "code",
                                    .sentence = "As the VM counts it"}),
    field<&ModuleLine::literal_bytes>({.name = "literal_bytes",
                                       .title = "LITERALS",
                                       .kind = ColumnKind::kBytes,
                                       .also = "literals",
                                       .sentence = "Size of the literal area"}),
    field<&ModuleLine::functions>(
        {.name = "functions", .title = "FUNCTIONS", .kind = ColumnKind::kCount}),
    field<&ModuleLine::md5>({.name = "md5",
                             .title = "MD5",
                             .kind = ColumnKind::kTextOfAll,
                             .sentence = "As module_info(md5), in hexadecimal digits"}),
    field<&ModuleLine::version>({.name = "vsn",
                                 .title = "VSN",
                                 .kind = ColumnKind::kTextOfAll,
                                 .shrinks = true,
                                 .sentence = "Its attribute vsn, the element of a list of one, as "
                                             "Erlang prints it; cut behind 200 bytes, with ..."}),
    field<&ModuleLine::application>({.name = "application",
                                     .sentence = "The loaded application whose resource file names "
                                                 "the module, an atom as Erlang prints it"}),
    field<&ModuleLine::application_version>({.name = "application_vsn", .sentence = "Its version"}),
    computed<ModuleLine>({.name = "application_directory",
                          .title = "APPLICATION",
                          .shrinks = true,
                          .exported = false,
                          .in_json = false},
                         application_directory),
});
constexpr auto kModuleColumns = columns_of(kModuleFields);

}  // namespace

std::span<const Column> module_columns() {
    return kModuleColumns;
}

ModuleLine module_of(const CellOf& cell_of) {
    return thing_of(kModuleFields, cell_of);
}

Result<ModuleLines> module_lines(Dump& dump, const ModulesOptions& options) {
    ModuleLines found;
    const auto versions = ModuleVersions::open(dump);
    auto* const known_versions = versions ? versions->get() : nullptr;
    for (const auto offset : dump.trailer().loaded_modules_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::LoadedModules>(
                                              offset, format::RecordKind::kLoadedModules));
        for (const auto& module : page.module()) {
            found.lines.push_back(line_of(dump, module, known_versions, {}));
        }
    }
    if (!found.lines.empty()) {
        return found;
    }
    // Those that stacks name are no list: how many are met depends on what is read.
    if (!form_of(dump).code_instances) {
        return not_in_dump(dump, "modules");
    }
    ASSIGN_OR_RETURN(const auto* instances, dump.code().instances());
    // The last of several records of one instance is valid.
    std::map<std::pair<std::uint64_t, records::ModuleInstance>, const CodeIndex::Instance*> valid;
    for (const auto& instance : *instances) {
        auto& known = valid[{instance.code_start, instance.instance}];
        known = known == nullptr || known->offset < instance.offset ? &instance : known;
    }
    ModuleApplications applications;
    if (options.applications) {
        if (auto read = module_applications(dump)) {
            applications = std::move(*read);
        } else if (read.error().code != ErrorCode::kNotFound) {
            found.no_applications = std::move(read.error());
        }
    }
    std::map<std::uint64_t, OldCode> old_code;
    for (const auto& [key, instance] : valid) {
        auto module = dump.reader().message_at<records::Module>(instance->offset,
                                                                format::RecordKind::kModule);
        if (!module) {
            return wrap("reading a module", std::move(module.error()));
        }
        found.lines.push_back(line_of(dump, *module, known_versions, applications));
        if (instance->instance == records::MODULE_INSTANCE_OLD) {
            old_code[instance->code_start] = {instance->code_start, instance->code_end, 0, {}};
        }
    }
    if (options.users) {
        ASSIGN_OR_RETURN(found.read, find_users(dump, options, old_code));
        for (ModuleLine& line : found.lines) {
            if (const auto code = old_code.find(line.code_start.value_or(0));
                code != old_code.end() && line.instance == "old") {
                line.user_count = code->second.count;
                line.users = code->second.pids;
            }
        }
    }
    return found;
}

Result<ModuleList> list_modules(Dump& dump, const RowQuery& query, const ModulesOptions& options) {
    ASSIGN_OR_RETURN(auto list, RowList::make(kModuleColumns, query));
    ASSIGN_OR_RETURN(auto found, module_lines(dump, options));
    ModuleList answer{std::move(list), 0, {}, std::move(found.no_applications), found.read};
    for (ModuleLine& line : found.lines) {
        answer.old += line.instance == "old" ? 1 : 0;
        Row row = row_of(kModuleFields, line);
        if (line.user_count && answer.list.passes(row)) {
            answer.used.push_back(std::move(line));
        }
        answer.list.add(std::move(row));
    }
    return answer;
}

Result<RowList> list_all_modules(Dump& dump, const RowQuery& query) {
    ASSIGN_OR_RETURN(auto modules, list_modules(dump, query, {}));
    if (modules.no_applications) {
        return std::unexpected(std::move(*modules.no_applications));
    }
    return std::move(modules.list);
}

}  // namespace beamdump::query
