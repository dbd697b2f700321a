#include "query/exported/exported_things.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <unordered_map>

namespace beamdump::query {

namespace {

ProcessLine exported_process(const ExportLine& line) {
    return process_of([&line](const Column& column) { return line.cell(column); });
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
        auto table = ets_table_of([&line](const Column& column) { return line.cell(column); });
        table.index = tables.size();
        tables.push_back(std::move(table));
    }));
    return tables;
}

Result<std::vector<ModuleLine>> exported_modules(const ExportFile& file) {
    std::vector<ModuleLine> modules;
    RETURN_IF_ERROR(file.visit(module_kind(), [&modules](const ExportLine& line) {
        modules.push_back(module_of([&line](const Column& column) { return line.cell(column); }));
        if (modules.back().name.empty()) {
            modules.back().name = "(unknown)";
        }
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
