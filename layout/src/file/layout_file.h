#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::layout {

/// Offset and size of a field, in bytes.
struct Field {
    std::uint64_t offset = 0;  ///< from the structure's start
    std::uint64_t bytes = 0;

    bool operator==(const Field&) const = default;
};

/// Pairs by name, in the order of the file, since layouts are read and compared line by line.
template <typename Value>
using Named = std::vector<std::pair<std::string, Value>>;

/// The value of that name, or nullptr.
template <typename Value>
const Value* find(const Named<Value>& values, std::string_view name) {
    for (const auto& [key, value] : values) {
        if (key == name) {
            return &value;
        }
    }
    return nullptr;
}

struct Structure {
    std::uint64_t bytes = 0;
    Named<Field> fields;
};

/// One file of schemas/layouts, by schemas/layouts/layout.schema.json.
struct LayoutFile {
    std::string name;
    std::string otp_release;
    std::uint64_t word_bytes = 8;
    std::string source;  ///< sources, configuration and build of the numbers
    Named<std::string> constants_source;
    Named<std::uint64_t> constants;
    Named<Structure> structs;
    std::string architecture = "x86-64";  ///< as older files that do not say it
};

/// Checked: the shape of the JSON, and that every field lies inside its structure.
Result<LayoutFile> parse_layout(std::string_view json);
Result<LayoutFile> read_layout(const std::string& path);

/// As JSON text, one field a line.
std::string layout_json(const LayoutFile& layout);

}  // namespace beamdump::layout
