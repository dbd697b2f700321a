#include "query/exported/exported_things.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace beamdump::query {

namespace {

ProcessLine exported_process(const ExportLine& line) {
    ProcessLine process;
    process.pid = line.text("pid").value_or("");
    process.registered_name = line.text("registered_name");
    process.initial_call = line.text("initial_call");
    process.translated_initial_call = line.text("translated_initial_call");
    process.current_function = line.text("current_function");
    process.status = line.text("status");
    process.memory_bytes = line.number("memory");
    process.message_queue_length = line.number("message_queue_len");
    return process;
}

/// "0x7f0012345678".
std::optional<std::uint64_t> address_of(const std::optional<std::string>& text) {
    if (!text || !text->starts_with("0x")) {
        return std::nullopt;
    }
    std::uint64_t address = 0;
    const char* end = text->data() + text->size();
    constexpr int kHexadecimal = 16;
    const auto read = std::from_chars(text->data() + 2, end, address, kHexadecimal);
    return read.ec == std::errc() && read.ptr == end ? std::optional(address) : std::nullopt;
}

}  // namespace

Result<void> each_exported_process(
    const ExportFile& file,
    const std::function<void(std::uint64_t place, const ProcessLine& line)>& visit) {
    std::uint64_t place = 0;
    return file.visit(process_kind(),
                      [&](const ExportLine& line) { visit(place++, exported_process(line)); });
}

Result<std::vector<ProcessLine>> exported_processes_at(const ExportFile& file,
                                                       std::span<const std::uint64_t> places) {
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> wanted;
    for (std::size_t i = 0; i < places.size(); ++i) {
        wanted[places[i]].push_back(i);
    }
    std::vector<ProcessLine> found(places.size());
    RETURN_IF_ERROR(each_exported_process(file, [&](std::uint64_t place, const ProcessLine& line) {
        if (const auto here = wanted.find(place); here != wanted.end()) {
            for (const std::size_t i : here->second) {
                found[i] = line;
            }
        }
    }));
    return found;
}

Result<std::vector<EtsTableLine>> exported_tables(const ExportFile& file) {
    std::vector<EtsTableLine> tables;
    RETURN_IF_ERROR(file.visit(ets_table_kind(), [&tables](const ExportLine& line) {
        EtsTableLine table;
        table.index = tables.size();
        table.id = line.text("id");
        table.name = line.text("name");
        table.named_table = line.flag("named_table");
        table.type = line.text("type");
        table.owner = line.text("owner");
        table.owner_name = line.text("owner_name");
        table.size = line.number("size");
        table.memory_bytes = line.number("memory_bytes");
        tables.push_back(std::move(table));
    }));
    return tables;
}

Result<std::vector<ModuleLine>> exported_modules(const ExportFile& file) {
    std::vector<ModuleLine> modules;
    RETURN_IF_ERROR(file.visit(module_kind(), [&modules](const ExportLine& line) {
        ModuleLine module;
        module.name = line.text("name").value_or("(unknown)");
        module.instance = line.text("instance");
        module.code_start = address_of(line.text("code_start"));
        module.code_bytes = line.number("code_bytes");
        module.literal_bytes = line.number("literal_bytes");
        module.md5 = line.text("md5");
        module.version = line.text("vsn");
        modules.push_back(std::move(module));
    }));
    return modules;
}

Result<std::vector<std::pair<std::string, std::uint64_t>>> exported_memory(const ExportFile& file) {
    std::vector<std::pair<std::string, std::uint64_t>> categories;
    RETURN_IF_ERROR(file.visit(memory_kind(), [&categories](const ExportLine& line) {
        const auto category = line.text("category");
        const auto bytes = line.number("bytes");
        if (category && bytes) {
            categories.emplace_back(*category, *bytes);
        }
    }));
    return categories;
}

Result<std::map<std::string, ExportedShapes>> exported_shapes(const ExportFile& file,
                                                              std::span<const std::string> pids) {
    std::map<std::string, ExportedShapes> shapes;
    RETURN_IF_ERROR(file.visit(message_shape_kind(), [&](const ExportLine& line) {
        const auto pid = line.text("pid");
        const auto count = line.number("count");
        if (pid && count && std::ranges::find(pids, *pid) != pids.end()) {
            shapes[*pid].emplace_back(line.text("shape"), *count);
        }
    }));
    return shapes;
}

}  // namespace beamdump::query
