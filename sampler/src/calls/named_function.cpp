#include "calls/named_function.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/tables/node_tables.h>

#include <fmt/format.h>

#include <cstring>

namespace beamdump::sampler {
namespace {

constexpr std::uint32_t kEntriesOfAPage = 4096;
constexpr std::uint64_t kMostCodeBytes = std::uint64_t{1} << 20U;
constexpr std::byte kJump{0xe9};
constexpr std::byte kShortJump{0xeb};

/// A function of a module's table, and where the next one begins.
struct TableEntry {
    beam::CodeMfa function{};
    Address start = 0, end = 0;
};

/// "m:f/a" with and without quotes.
bool is_named(ObservedNode& node, const beam::CodeMfa& function, const std::string& text) {
    if (node.function_text(function) == text) {
        return true;
    }
    const auto module = node.atom_name(function.module_atom);
    const auto name = node.atom_name(function.function_atom);
    return module && name && fmt::format("{}:{}/{}", *module, *name, function.arity) == text;
}

Result<std::optional<TableEntry>> find_in(ObservedNode& node, beam::ModuleReader& reader,
                                          const beam::ModuleCode& code, const std::string& text) {
    std::optional<TableEntry> found;
    for (std::uint32_t first = 0;; first += kEntriesOfAPage) {
        ASSIGN_OR_RETURN(const auto page, reader.functions(code, first, kEntriesOfAPage));
        for (int at = 0; at < page.start_address_size(); ++at) {
            if (found) {
                found->end = page.start_address(at);
                return found;
            }
            const beam::CodeMfa function{.module_atom = code.name_atom,
                                         .function_atom = page.name_atom(at),
                                         .arity = page.arity(at)};
            if (is_named(node, function, text)) {
                found = TableEntry{function, page.start_address(at)};
            }
        }
        if (page.start_address_size() < static_cast<int>(kEntriesOfAPage)) {
            break;
        }
    }
    if (found) {
        ASSIGN_OR_RETURN(found->end, reader.functions_end(code));
    }
    return found;
}

/// Whether the export table has it as a BIF. A BIF is called directly, not by the code that its
/// module has for it (bif_number in Export, export.h, OTP 25 to 29). Nothing: the layout does not
/// say where that is.
Result<std::optional<bool>> is_bif(ObservedNode& node, const beam::CodeMfa& function) {
    beam::LayoutNames names(node.vm().layout());
    const auto number = names.field(beam::runtime::BifExport::bif_number);
    if (!names.outcome()) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(auto exports, beam::ExportReader::open(node.vm()));
    for (std::uint32_t first = 0; first < exports.count(); first += kEntriesOfAPage) {
        ASSIGN_OR_RETURN(const auto page, exports.page(first, kEntriesOfAPage));
        for (int at = 0; at < page.address_size(); ++at) {
            if (page.module_atom(at) == function.module_atom &&
                page.function_atom(at) == function.function_atom &&
                page.arity(at) == function.arity) {
                std::int32_t value = -1;
                RETURN_IF_ERROR(
                    node.vm().memory().read(page.address(at) + number.offset,
                                            std::as_writable_bytes(std::span(&value, 1))));
                return value >= 0;
            }
        }
    }
    return false;
}

/// Whether a module's name, quoted or not, is the beginning of the text.
bool begins_with_module(ObservedNode& node, std::uint32_t module, const std::string& text) {
    const auto name = node.atom_name(module);
    const auto quoted = node.atom(module);
    return name && quoted && (text.starts_with(*name + ":") || text.starts_with(*quoted + ":"));
}

}  // namespace

bool is_function_text(const std::string& text) {
    const auto slash = text.rfind('/');
    const auto colon = text.find(':');
    return slash != std::string::npos && colon != std::string::npos && colon != 0 &&
           colon + 1 < slash &&
           decimal_number(std::string_view(text).substr(slash + 1)).has_value();
}

bool jumps_to_begin(std::span<const std::byte> code) {
    for (std::size_t at = 0; at < code.size(); ++at) {
        if (code[at] == kJump && at + 5 <= code.size()) {
            std::int32_t distance = 0;
            std::memcpy(&distance, code.data() + at + 1, sizeof(distance));
            if (static_cast<std::int64_t>(at) + 5 + distance == 0) {
                return true;
            }
        } else if (code[at] == kShortJump && at + 2 <= code.size()) {
            const auto distance = static_cast<std::int8_t>(code[at + 1]);
            if (static_cast<std::int64_t>(at) + 2 + distance == 0) {
                return true;
            }
        }
    }
    return false;
}

Result<LoadedFunction> find_loaded_function(ObservedNode& node, const std::string& text) {
    beam::LayoutNames names(node.vm().layout());
    const auto info_bytes = names.bytes(beam::runtime::ErtsCodeInfo::kName);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(auto reader, beam::ModuleReader::open(node.vm()));
    bool module_is_loaded = false;
    std::optional<TableEntry> found;
    bool old_code = false;
    for (const auto& code : node.code().modules()) {
        if (!begins_with_module(node, code.name_atom, text)) {
            continue;
        }
        if (code.instance == records::MODULE_INSTANCE_OLD) {
            old_code = true;
        }
        if (code.instance != records::MODULE_INSTANCE_CURRENT) {
            continue;
        }
        module_is_loaded = true;
        ASSIGN_OR_RETURN(auto in_module, find_in(node, reader, code, text));
        if (in_module) {
            found = in_module;
        }
    }
    if (!found) {
        return fail(ErrorCode::kNotFound,
                    module_is_loaded
                        ? fmt::format("{}: the module has no such function", one_line(text))
                        : fmt::format("{}: the module is not loaded", one_line(text)));
    }
    LoadedFunction function{.name = node.function_text(found->function),
                            .entry = found->start + info_bytes,
                            .end = found->end,
                            .has_old_code = old_code};
    ASSIGN_OR_RETURN(const auto bif, is_bif(node, found->function));
    function.may_be_bif = !bif;
    if (bif.value_or(false)) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} is a BIF: its calls do not go by code of the module (blame "
                                "--native shows who calls it)",
                                one_line(function.name)));
    }
    if (function.end <= function.entry || function.end - function.entry > kMostCodeBytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{} is said to be from {:#x} to {:#x}", one_line(function.name),
                                function.entry, function.end));
    }
    std::vector<std::byte> code(function.end - function.entry);
    RETURN_IF_ERROR(node.vm().memory().read(function.entry, code));
    function.calls_itself = jumps_to_begin(code);
    return function;
}

}  // namespace beamdump::sampler
