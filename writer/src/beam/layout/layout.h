#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump::beam {

/// Where a field is in a structure of the runtime. Walkers resolve their fields by name once.
struct Field {
    std::uint32_t offset = 0;  ///< bytes from the structure's start
    std::uint32_t bytes = 0;   ///< of the field
};

/// Bytes from a structure's start to the end of the last of some fields: for structures with a
/// variable part, of which only these fields may be read.
std::uint32_t end_of(std::initializer_list<Field> fields);

/// One structure of the runtime, as one release lays it out.
struct StructLayout {
    std::string name;
    std::uint32_t bytes = 0;
    std::map<std::string, Field, std::less<>> fields;
};

/// All that the writer knows of one release's structures: data read from schemas/layouts.
class Layout {
  public:
    /// Checked: the shape of the JSON, that every field lies inside its structure, sizes below
    /// 1 MiB. Not checked: whether it fits any node (see check_layout).
    static Result<Layout> parse(std::string_view json);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& release() const { return release_; }
    [[nodiscard]] const std::string& json() const { return json_; }

    [[nodiscard]] const std::map<std::string, StructLayout, std::less<>>& structures() const {
        return structs_;
    }
    [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& constants() const {
        return constants_;
    }
    /// The same with one field moved by `bytes`, to test whether the checks notice.
    [[nodiscard]] Layout moved(const std::string& structure, const std::string& field,
                               std::uint32_t bytes) const;

    [[nodiscard]] Result<const StructLayout*> structure(std::string_view name) const;
    [[nodiscard]] Result<Field> field(std::string_view structure, std::string_view name) const;
    [[nodiscard]] Result<std::uint64_t> constant(std::string_view name) const;

  private:
    std::string name_;
    std::string release_;
    std::string json_;
    std::map<std::string, StructLayout, std::less<>> structs_;
    std::map<std::string, std::uint64_t, std::less<>> constants_;
};

/// Resolves many names and remembers the first that is missing, so that a walker can ask for all
/// of its fields and look at the outcome once.
class LayoutNames {
  public:
    explicit LayoutNames(const Layout& layout) : layout_(layout) {}

    /// structure, field
    using Name = std::pair<std::string_view, std::string_view>;

    Field field(std::string_view structure, std::string_view name);
    /// The first of these that the layout has: what one release calls so, another otherwise.
    Field field(std::initializer_list<Name> names);
    /// Nothing where the release has no such field.
    std::optional<Field> field_if_any(std::string_view structure, std::string_view name);
    std::uint32_t bytes(std::string_view structure);
    std::uint64_t constant(std::string_view name);
    /// The first of these that the layout has.
    std::uint64_t constant(std::initializer_list<std::string_view> names);
    /// Nothing where the release has no such constant.
    [[nodiscard]] std::optional<std::uint64_t> constant_if_any(std::string_view name) const;
    [[nodiscard]] bool has_structure(std::string_view name) const;

    /// An error that names the first missing one, or nothing.
    [[nodiscard]] Result<void> outcome() const;

  private:
    template <typename T>
    T keep(Result<T> result);

    const Layout& layout_;
    std::optional<Error> missing_;
};

}  // namespace beamdump::beam
