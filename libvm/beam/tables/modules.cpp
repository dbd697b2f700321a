#include <libdump/base/return_if_error.h>
#include <libdump/term/external_tags.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/tables/index_table.h>
#include <libvm/beam/tables/modules.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxModuleCode = std::uint64_t{1} << 31U;  // code_length is an int
/// How often the table is read because another code index became the active one meanwhile.
constexpr int kTableReadings = 8;

/// The members of the module table (module.h).
struct ModuleTableFields {
    static Result<ModuleTableFields> resolve(const Layout& layout);

    std::uint32_t table_bytes = 0, module_bytes = 0, instance_bytes = 0;
    Field module, curr, old, on_load;
    Field header, length, catches;
    std::optional<Field> breakpoints, traced_exports;
};

Result<ModuleTableFields> ModuleTableFields::resolve(const Layout& layout) {
    LayoutNames names(layout);
    ModuleTableFields fields;
    fields.table_bytes = names.bytes(runtime::IndexTable::kName);
    fields.module_bytes = names.bytes(runtime::Module::kName);
    fields.module = names.field(runtime::Module::module);
    fields.curr = names.field(runtime::Module::curr);
    fields.old = names.field(runtime::Module::old);
    fields.on_load = names.field(runtime::Module::on_load);
    fields.instance_bytes = names.bytes(runtime::ModuleInstance::kName);
    fields.header = names.field(runtime::ModuleInstance::code_hdr);
    fields.length = names.field(runtime::ModuleInstance::code_length);
    fields.catches = names.field(runtime::ModuleInstance::catches);
    fields.breakpoints = names.field_if_any(runtime::ModuleInstance::num_breakpoints);
    fields.traced_exports = names.field_if_any(runtime::ModuleInstance::num_traced_exports);
    RETURN_IF_ERROR(names.outcome());
    // An inferred layout has the two structures from different releases.
    for (const auto field : {fields.curr, fields.old}) {
        if (std::uint64_t{field.offset} + fields.instance_bytes > fields.module_bytes) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("layout: expected ModuleInstance ({} bytes) inside of Module "
                                    "({} bytes), found it at {}",
                                    fields.instance_bytes, fields.module_bytes, field.offset));
        }
    }
    return fields;
}

/// Calls `visit` with each instance of a module: its kind and structure.
template <typename Visit>
void for_each_instance(memory::MemorySource& source, const ModuleTableFields& fields,
                       StructView module, Visit&& visit) {
    const auto part = [&](Field field) {
        return StructView(module.bytes().subspan(field.offset, fields.instance_bytes));
    };
    visit(records::MODULE_INSTANCE_CURRENT, part(fields.curr));
    visit(records::MODULE_INSTANCE_OLD, part(fields.old));
    if (const auto pending = module.get(fields.on_load); pending != 0) {
        if (auto loading = OwnedStruct::read(source, pending, fields.instance_bytes)) {
            visit(records::MODULE_INSTANCE_ON_LOAD, loading->view());
        }
    }
}

/// The table of the code index that was active when the index was read last.
Result<std::vector<ModuleCode>> read_table(Vm& vm, const ModuleTableFields& fields) {
    auto table = IndexTableWalker::open(
        vm, vm.tables().modules + std::uint64_t{vm.facts().active_code_index} * fields.table_bytes);
    auto objects = table ? table->objects(0, table->entries())
                         : Result<std::vector<Address>>(std::unexpected(table.error()));
    if (!objects) {
        return wrap("module table", objects.error());
    }
    std::vector<ModuleCode> result;
    std::size_t without_length = 0;
    for (std::uint32_t entry = 0; entry < objects->size(); ++entry) {
        auto read = OwnedStruct::read(vm.memory(), (*objects)[entry], fields.module_bytes);
        if (!read) {
            return wrap("module table", read.error());
        }
        const auto name = static_cast<std::uint32_t>(read->view().get(fields.module));
        for_each_instance(
            vm.memory(), fields, read->view(),
            [&](records::ModuleInstance kind, StructView instance) {
                const auto counted = [&](const std::optional<Field>& field) {
                    return field ? std::optional(instance.u32(*field)) : std::nullopt;
                };
                const ModuleCode code{name,
                                      kind,
                                      instance.get(fields.header),
                                      instance.get(fields.length),
                                      instance.u32(fields.catches),
                                      entry,
                                      counted(fields.breakpoints),
                                      counted(fields.traced_exports)};
                if (code.header != 0 && code.bytes != 0 && code.bytes < kMaxModuleCode) {
                    result.push_back(code);
                } else if (code.header != 0) {
                    ++without_length;
                }
            });
    }
    // In a running node a module may be in the middle of being loaded.
    if (without_length * 10 > result.size()) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("module table: expected code of some length, found none for {} of "
                                "{} instances",
                                without_length, without_length + result.size()));
    }
    return result;
}

}  // namespace

Result<std::vector<ModuleCode>> read_modules(Vm& vm) {
    ASSIGN_OR_RETURN(const auto fields, ModuleTableFields::resolve(vm.layout()));
    for (int tries = 1;; ++tries) {
        auto modules = read_table(vm, fields);
        const auto now = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
        // The table of an index that is no longer active may be being written.
        if (!now || *now == vm.facts().active_code_index || tries == kTableReadings) {
            return modules;
        }
        vm.forget();
        RETURN_IF_ERROR(vm.refresh_code_index());
    }
}

std::optional<std::uint32_t> loaded_now(Vm& vm, const ModuleCode& code) {
    const auto fields = ModuleTableFields::resolve(vm.layout());
    const auto index = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
    if (!fields || !index || *index >= kCodeIndexes) {
        return std::nullopt;
    }
    const auto table = vm.tables().modules + std::uint64_t{*index} * fields->table_bytes;
    const auto object = index_object(vm, table, code.entry);
    const auto module = object ? OwnedStruct::read(vm.bulk(), *object, fields->module_bytes)
                               : Result<OwnedStruct>(std::unexpected(object.error()));
    if (!module) {
        return std::nullopt;
    }
    bool same = false;
    for_each_instance(
        vm.bulk(), *fields, module->view(), [&](records::ModuleInstance kind, StructView instance) {
            same = same || (kind == code.instance && instance.get(fields->header) == code.header &&
                            instance.get(fields->length) == code.bytes);
        });
    const auto after = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
    return same && after && *after == *index ? std::optional(*index) : std::nullopt;
}

namespace {

constexpr std::uint64_t kMaxFunctions = 1U << 24U;
constexpr std::uint64_t kMaxLines = 1U << 26U;
constexpr std::uint64_t kMaxFiles = 255;  // beam_code.h: a file number has 8 bits
constexpr std::uint64_t kMaxArity = 255;
constexpr std::uint64_t kMaxAttributeBytes = 128U << 10U;  // erl_parse of OTP 29: 73 KiB

}  // namespace

Result<ModuleReader> ModuleReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    LayoutNames names(vm.layout());
    ModuleReader reader(vm, atoms, names);
    reader.fname_ = names.field(runtime::BeamCodeLineTab::fname_ptr);
    reader.loc_size_ = names.field(runtime::BeamCodeLineTab::loc_size);
    reader.loc_tab_ = names.field(runtime::BeamCodeLineTab::loc_tab);
    reader.func_tab_ = names.field(runtime::BeamCodeLineTab::func_tab);
    reader.line_bytes_ = names.bytes(runtime::BeamCodeLineTab::kName);
    reader.info_mfa_ = names.field(runtime::ErtsCodeInfo::mfa);
    reader.nil_ = names.constant(runtime::constant::nil);
    RETURN_IF_ERROR(names.outcome());
    LayoutNames more(vm.layout());
    if (const CodeAttributeFields attributes(more); more.outcome()) {
        reader.attributes_ = attributes;
    }
    return reader;
}

Result<CodeMfa> ModuleReader::mfa_at(Address address) {
    auto read = OwnedStruct::read(vm_->memory(), address, mfa_.bytes);
    if (!read) {
        return wrap("reading a function's name", read.error());
    }
    const auto view = read->view();
    const auto module = atoms_.index(view.get(mfa_.module));
    const auto function = atoms_.index(view.get(mfa_.function));
    const auto arity = view.get(mfa_.arity);
    if (!module || !function || arity > kMaxArity) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected module, function and arity at {:#x}, found {:#x}, {:#x}, "
                                "{}",
                                address, view.get(mfa_.module), view.get(mfa_.function), arity));
    }
    return CodeMfa{*module, *function, static_cast<std::uint32_t>(arity)};
}

Result<std::uint32_t> ModuleReader::function_count(const ModuleCode& code) {
    ASSIGN_OR_RETURN(auto count, vm_->memory().word(code.header + header_.num_functions.offset));
    if (count > kMaxFunctions || count * sizeof(Address) > code.bytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("code header at {:#x}: expected functions inside the module's "
                                "code, found {} in {} bytes",
                                code.header, count, code.bytes));
    }
    return static_cast<std::uint32_t>(count);
}

Result<std::optional<ModuleReader::LineTable>> ModuleReader::line_table(const ModuleCode& code) {
    ASSIGN_OR_RETURN(auto address, vm_->memory().word(code.header + header_.line_table.offset));
    ASSIGN_OR_RETURN(auto count, function_count(code));
    if (address == 0) {
        return std::nullopt;
    }
    auto read = OwnedStruct::read(vm_->memory(), address, line_bytes_);
    auto first = vm_->memory().word(address + func_tab_.offset);
    auto last = vm_->memory().word(address + func_tab_.offset + count * sizeof(Address));
    if (!read || !first || !last) {
        return fail(ErrorCode::kUnmapped, fmt::format("line table at {:#x}", address));
    }
    LineTable table;
    table.start = *first;
    const auto lines = (*last - *first) / sizeof(Address);
    table.location_bytes = read->view().u32(loc_size_);
    table.locations = read->view().get(loc_tab_);
    table.file_names = read->view().get(fname_);
    if (*last < *first || lines > kMaxLines ||
        (table.location_bytes != 2 && table.location_bytes != 4)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("line table at {:#x}: {} lines, {} bytes each", address, lines,
                                table.location_bytes));
    }
    table.count = static_cast<std::uint32_t>(lines);
    return table;
}

// Anything that does not look like attributes is skipped: they are optional in a dump.
void ModuleReader::add_attributes(const ModuleCode& code, const OwnedStruct& header,
                                  records::Module& module) {
    if (!attributes_) {
        return;
    }
    const auto address = header.view().get(attributes_->address);
    const auto size = header.view().get(attributes_->size);
    if (size == 0 || size > kMaxAttributeBytes || address <= code.header || address >= code.end() ||
        size > code.end() - address) {
        return;
    }
    std::string bytes(size, '\0');
    if (vm_->memory().read(address, std::as_writable_bytes(std::span(bytes))) &&
        static_cast<std::uint8_t>(bytes.front()) == kExternalVersion) {
        module.set_attributes(std::move(bytes));
    }
}

Result<records::Module> ModuleReader::module(const ModuleCode& code) {
    ASSIGN_OR_RETURN(auto header, OwnedStruct::read(vm_->memory(), code.header, header_.bytes));
    ASSIGN_OR_RETURN(auto count, function_count(code));
    ASSIGN_OR_RETURN(auto lines, line_table(code));
    records::Module module;
    module.set_name_atom(code.name_atom);
    module.set_instance(code.instance);
    module.set_header_address(code.header);
    module.set_code_start(code.header);
    module.set_code_end(code.end());
    module.set_code_bytes(code.bytes);
    module.set_function_count(count);
    module.set_first_catch(code.first_catch);
    if (const auto md5 = header.view().get(header_.md5); md5 != 0) {
        std::string sum(16, '\0');
        if (vm_->memory().read(md5, std::as_writable_bytes(std::span(sum)))) {
            module.set_md5(std::move(sum));
        }
    }
    add_attributes(code, header, module);
    if (const auto area = header.view().get(header_.literal_area); area != 0) {
        if (auto end = vm_->memory().word(area + area_.end.offset)) {
            module.set_literal_area_address(area + area_.start.offset);
            module.set_literal_area_end(*end);
        }
    }
    if (lines) {
        module.set_line_count(lines->count);
        module.set_location_bytes(lines->location_bytes);
        // The file name table ends where the location table begins (asm_load.c, finish_line_table).
        const auto names_end = lines->locations;
        const auto names =
            names_end > lines->file_names ? (names_end - lines->file_names) / sizeof(Address) : 0;
        if (names != 0 && names <= kMaxFiles) {
            if (auto words = read_words(vm_->memory(), lines->file_names, names)) {
                // Up to OTP 24 they are atoms, and the module's own is not among them
                // (beam_ranges.c, erts_lookup_function_info()).
                if (atoms_.index(words->front())) {
                    module.add_file_name_words(nil_);
                }
                module.mutable_file_name_words()->Add(words->begin(), words->end());
            }
        }
    }
    return module;
}

// asm_load.c: an MD5 sum, where there is one, and the lines lie behind the code, in the same block.
// A literal area holds its own bounds, and its terms follow (beam_load.c, erl_global_literals.c).
Result<ModuleReader::HeaderParts> ModuleReader::check_header(const ModuleCode& code) {
    ASSIGN_OR_RETURN(auto header, OwnedStruct::read(vm_->memory(), code.header, header_.bytes));
    ASSIGN_OR_RETURN(auto lines, line_table(code));
    const auto& facts = vm_->facts();
    const Address literals_end = facts.literals_start + facts.literals_bytes;
    const auto md5 = header.view().get(header_.md5);
    const auto area = header.view().get(header_.literal_area);
    struct Part {
        std::string_view what;
        Address address;
        Address begin, end;
    };
    // The table of functions has one entry more than there are: where the last one ends.
    const auto last =
        vm_->memory().word(code.header + header_.functions.offset +
                           header.view().get(header_.num_functions) * sizeof(Address));
    std::vector<Part> parts = {
        {"end of functions", last.value_or(~Address{0}), code.header + 1, code.end() + 1},
        {"MD5 sum", md5, code.header, code.end()},
        {"literals", area, facts.literals_start, literals_end}};
    if (area != 0) {
        const auto end = vm_->memory().word(area + area_.end.offset);
        parts.push_back({"literals' end", end.value_or(~Address{0}), area + area_.start.offset,
                         literals_end + 1});
    }
    if (lines) {
        const auto& table = *lines;
        parts.push_back({"lines", table.start, code.header, code.end()});
        parts.push_back({"lines' places", table.locations, table.start, code.end()});
        // File names precede the lines that refer to them.
        parts.push_back({"files", table.file_names, table.start, table.locations + 1});
        const auto first = vm_->memory().word(table.start);
        parts.push_back({"first line", table.count == 0 ? 0 : first.value_or(~Address{0}),
                         code.header, code.end()});
    }
    for (const auto& part : parts) {
        if (part.address != 0 && (part.address < part.begin || part.address >= part.end)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("module at {:#x}: expected its {} between {:#x} and {:#x}, "
                                    "found {:#x}",
                                    code.header, part.what, part.begin, part.end, part.address));
        }
    }
    return HeaderParts{md5 != 0, lines.has_value() && lines->count != 0, area != 0};
}

Result<records::Functions> ModuleReader::functions(const ModuleCode& code, std::uint32_t first,
                                                   std::uint32_t most) {
    ASSIGN_OR_RETURN(auto count, function_count(code));
    const auto take = first < count ? std::min(most, count - first) : 0;
    ASSIGN_OR_RETURN(
        auto starts,
        read_words(vm_->memory(), code.header + header_.functions.offset + std::uint64_t{first} * 8,
                   take));
    records::Functions page;
    page.set_first(first);
    for (const auto start : starts) {
        ASSIGN_OR_RETURN(auto mfa, mfa_at(start + info_mfa_.offset));
        page.add_start_address(start);
        page.add_name_atom(mfa.function_atom);
        page.add_arity(mfa.arity);
    }
    return page;
}

Result<records::Lines> ModuleReader::lines(const ModuleCode& code, std::uint32_t first,
                                           std::uint32_t most) {
    ASSIGN_OR_RETURN(auto table, line_table(code));
    records::Lines page;
    page.set_first(first);
    if (!table || first >= table->count) {
        return page;
    }
    const auto take = std::min(most, table->count - first);
    auto addresses = read_words(vm_->memory(), table->start + std::uint64_t{first} * 8, take);
    const auto width = table->location_bytes;
    std::vector<std::byte> locations(std::size_t{take} * width);
    auto done = vm_->memory().read(table->locations + std::uint64_t{first} * width, locations);
    if (!addresses || !done) {
        return std::unexpected(!addresses ? addresses.error() : done.error());
    }
    const StructView view(locations);
    for (std::uint32_t index = 0; index < take; ++index) {
        page.add_address((*addresses)[index]);
        page.add_location(view.u32(Field{index * width, width}));
    }
    return page;
}

// The table's last entry is where the jumps end. asmjit makes each six bytes long: a jump to a near
// place with a prefix that has no effect, or one by way of a table of addresses.
Result<Address> ModuleReader::functions_end(const ModuleCode& code) {
    constexpr std::array<std::array<std::byte, 2>, 2> kJumps = {
        {{std::byte{0x40}, std::byte{0xe9}}, {std::byte{0xff}, std::byte{0x25}}}};
    constexpr std::size_t kJumpBytes = 6;
    constexpr std::uint64_t kMostJumps = 512;
    ASSIGN_OR_RETURN(const auto count, function_count(code));
    const auto table = code.header + header_.functions.offset;
    ASSIGN_OR_RETURN(auto end, vm_->memory().word(table + count * sizeof(Address)));
    if (count == 0 || end < code.header || end > code.end()) {
        return end;
    }
    ASSIGN_OR_RETURN(const auto last, vm_->memory().word(table + (count - 1) * sizeof(Address)));
    const auto bytes = end > last ? std::min(end - last, kMostJumps * kJumpBytes) : 0;
    std::vector<std::byte> before(bytes);
    RETURN_IF_ERROR(vm_->memory().read(end - bytes, before));
    for (auto rest = std::span(before); rest.size() >= kJumpBytes;
         rest = rest.first(rest.size() - kJumpBytes), end -= kJumpBytes) {
        const auto jump = rest.last(kJumpBytes).first<2>();
        if (std::ranges::none_of(
                kJumps, [&](const auto& kind) { return std::ranges::equal(jump, kind); })) {
            break;
        }
    }
    return end;
}

Result<std::optional<CodeMfa>> ModuleReader::function_at(const ModuleCode& code, Address pc) {
    ASSIGN_OR_RETURN(auto count, function_count(code));
    const auto start_of = [&](std::uint64_t index) {
        return vm_->memory().word(code.header + header_.functions.offset + index * sizeof(Address));
    };
    // The last function whose start is at or below pc; the table has one entry more than functions.
    std::uint64_t low = 0;
    std::uint64_t high = count;
    while (low < high) {
        const auto middle = low + (high - low) / 2;
        ASSIGN_OR_RETURN(auto next, start_of(middle + 1));
        if (next <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low >= count) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(auto start, start_of(low));
    if (pc < start) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const auto end, low + 1 == count ? functions_end(code) : start_of(low + 1));
    if (pc >= end) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(auto mfa, mfa_at(start + info_mfa_.offset));
    mfa.start = start;
    mfa.end = end;
    return mfa;
}

namespace {

constexpr std::size_t kKnownAtMost = 8192;

}  // namespace

Result<CodeLookup> CodeLookup::read(Vm& vm) {
    ASSIGN_OR_RETURN(auto modules, read_modules(vm));
    return build(vm, std::move(modules));
}

Result<CodeLookup> CodeLookup::build(Vm& vm, std::vector<ModuleCode> modules) {
    ASSIGN_OR_RETURN(auto reader, ModuleReader::open(vm));
    std::ranges::sort(modules, {}, &ModuleCode::header);
    return CodeLookup(reader, std::move(modules));
}

const ModuleCode* CodeLookup::module_of(Address pc) const {
    auto after = std::ranges::upper_bound(modules_, pc, {}, &ModuleCode::header);
    if (after == modules_.begin()) {
        return nullptr;
    }
    const auto& module = *std::prev(after);
    return pc < module.end() ? &module : nullptr;
}

std::optional<CodeMfa> CodeLookup::function_at(Address pc) {
    if (const auto known = known_.find(pc); known != known_.end()) {
        return known->second;
    }
    std::optional<CodeMfa> answer;
    if (const auto* module = module_of(pc)) {
        if (auto found = reader_.function_at(*module, pc)) {
            answer = *found;
        }
    }
    if (known_.size() >= kKnownAtMost) {
        known_.clear();
    }
    known_.emplace(pc, answer);
    return answer;
}

std::optional<CodeMfa> CodeLookup::mfa_at(Address address) {
    auto found = reader_.mfa_at(address);
    return found ? std::optional(*found) : std::nullopt;
}

}  // namespace beamdump::beam
