#include "query/node/layout_sources.h"

#include "query/node/layout_source_table.h"

#include <algorithm>

namespace beamdump::query {

namespace {

template <typename Visit>
bool any_source(std::string_view sources, Visit visit) {
    while (!sources.empty()) {
        const auto end = std::min(sources.find(' '), sources.size());
        if (visit(sources.substr(0, end))) {
            return true;
        }
        sources.remove_prefix(std::min(end + 1, sources.size()));
    }
    return false;
}

const SourceEntry* find_entry(std::string_view name) {
    const auto* group = std::ranges::find(kSourceGroups, name, &SourceEntry::name);
    if (group != kSourceGroups.end()) {
        return group;
    }
    const auto* value = std::ranges::find(kSourceValues, name, &SourceEntry::name);
    return value == kSourceValues.end() ? nullptr : value;
}

bool read_through(const SourceEntry& entry, std::string_view field) {
    return any_source(entry.sources, [field](std::string_view source) {
        if (source.starts_with('@')) {
            const SourceEntry* other = find_entry(source.substr(1));
            return other != nullptr && read_through(*other, field);
        }
        return source.ends_with('.') ? field.starts_with(source) : field == source;
    });
}

/// `path`: the entries that led here.
void look_for_faults(const SourceEntry& entry, std::vector<std::string_view>& path,
                     std::vector<std::string>& faults) {
    if (std::ranges::find(path, entry.name) != path.end()) {
        faults.push_back(std::string(entry.name) + " contains itself");
        return;
    }
    path.push_back(entry.name);
    any_source(entry.sources, [&](std::string_view source) {
        if (source.starts_with('@')) {
            if (const SourceEntry* other = find_entry(source.substr(1))) {
                look_for_faults(*other, path, faults);
            } else {
                faults.push_back(std::string(source) + " is not in the tables");
            }
        }
        return false;
    });
    path.pop_back();
}

}  // namespace

std::vector<std::string> values_read_through(std::span<const std::string> fields) {
    std::vector<std::string> values;
    for (const SourceEntry& value : kSourceValues) {
        if (std::ranges::any_of(fields, [&value](const std::string& field) {
                return read_through(value, field);
            })) {
            values.emplace_back(value.name);
        }
    }
    std::ranges::sort(values);
    return values;
}

std::vector<std::string> source_faults() {
    std::vector<std::string> faults;
    std::vector<std::string_view> path;
    for (const SourceEntry& value : kSourceValues) {
        look_for_faults(value, path, faults);
    }
    return faults;
}

}  // namespace beamdump::query
