#pragma once

#include <libdump/base/architecture.h>
#include <libdump/base/error.h>
#include <libdump/format/erts_version.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::beam {

/// The place of a field in a structure of the runtime. Walkers resolve their fields by name once.
struct Field {
    std::uint32_t offset = 0;  ///< bytes from the structure's start
    std::uint32_t bytes = 0;   ///< of the field
};

/// A name that layouts may have. runtime_names.h, which is made of layout/names.json, has a
/// constant for each.
struct StructName {
    std::string_view text;
};
struct FieldName {
    std::string_view structure;
    std::string_view field;
};
struct ConstantName {
    std::string_view text;
};

/// Bytes from a structure's start to the end of the last of the given fields, for structures with a
/// variable part.
std::uint32_t end_of(std::initializer_list<Field> fields);

/// The layout of one structure of the runtime.
struct StructLayout {
    std::string name;
    std::uint32_t bytes = 0;
    std::map<std::string, Field, std::less<>> fields;
};

using StructLayouts = std::map<std::string, StructLayout, std::less<>>;

using LayoutConstants = std::map<std::string, std::uint64_t, std::less<>>;

/// Whole structures, and constants, that a patch of the release changed.
struct LayoutPatch {
    ErtsVersion erts;  ///< from this version on
    StructLayouts structs;
    LayoutConstants constants;
};

/// The first and the last patch of a release whose structures were compared with its layout, as
/// versions of ERTS.
struct ComparedVersions {
    std::string first, last;

    [[nodiscard]] bool holds(std::string_view version) const;
};

/// The structure layouts of one release, read from schemas/layouts.
class Layout {
  public:
    /// Checked: the shape of the JSON, that every field lies inside its structure, sizes below
    /// 1 MiB. Not checked: whether it fits any node (see check_layout).
    static Result<Layout> parse(std::string_view json);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& release() const { return release_; }
    /// Of the nodes that it is for; x86-64 where the file does not say it.
    [[nodiscard]] Architecture architecture() const { return architecture_; }
    [[nodiscard]] const std::string& json() const { return json_; }

    [[nodiscard]] const StructLayouts& structures() const { return structs_; }
    [[nodiscard]] const LayoutConstants& constants() const { return constants_; }
    /// For nodes of that version of the runtime system: with each structure and constant as the
    /// last patch up to it has it. An unknown version is the release's first.
    [[nodiscard]] Layout at(ErtsVersion version) const;
    /// As its last patch has it.
    [[nodiscard]] Layout newest() const {
        return patches_.empty() ? *this : at(patches_.back().erts);
    }
    /// By version, ascending.
    [[nodiscard]] const std::vector<LayoutPatch>& patches() const { return patches_; }
    /// Nothing: it was made of one build.
    [[nodiscard]] const std::optional<ComparedVersions>& compared() const { return compared_; }
    /// A copy with one field moved by `bytes`, to test the checks.
    [[nodiscard]] Layout moved(const std::string& structure, const std::string& field,
                               std::uint32_t bytes) const;

    [[nodiscard]] Result<const StructLayout*> structure(std::string_view name) const;
    [[nodiscard]] Result<Field> field(std::string_view structure, std::string_view name) const;
    [[nodiscard]] Result<std::uint64_t> constant(std::string_view name) const;
    [[nodiscard]] bool has(StructName name) const { return structs_.contains(name.text); }
    [[nodiscard]] Result<Field> field(FieldName name) const {
        return field(name.structure, name.field);
    }
    [[nodiscard]] Result<std::uint64_t> constant(ConstantName name) const {
        return constant(name.text);
    }

  private:
    std::string name_;
    std::string release_;
    Architecture architecture_ = Architecture::kX86_64;
    std::string json_;
    StructLayouts structs_;
    LayoutConstants constants_;
    std::vector<LayoutPatch> patches_;
    std::optional<ComparedVersions> compared_;
};

/// Resolves names and keeps the first missing one, so that a walker can resolve all of its fields
/// and check once.
class LayoutNames {
  public:
    explicit LayoutNames(const Layout& layout) : layout_(layout) {}

    Field field(FieldName name);
    /// The first of these names that the layout has, for fields whose names differ between
    /// releases.
    Field field(std::initializer_list<FieldName> names);
    /// nullopt if the release has no such field.
    std::optional<Field> field_if_any(FieldName name);
    std::uint32_t bytes(StructName structure);
    std::uint64_t constant(ConstantName name);
    /// The first of these names that the layout has.
    std::uint64_t constant(std::initializer_list<ConstantName> names);
    /// nullopt if the release has no such constant.
    [[nodiscard]] std::optional<std::uint64_t> constant_if_any(ConstantName name) const;
    [[nodiscard]] bool has_structure(StructName name) const { return layout_.has(name); }

    /// An error with the first missing name, if any is missing.
    [[nodiscard]] Result<void> outcome() const;

  private:
    template <typename T>
    T keep(Result<T> result);

    const Layout& layout_;
    std::optional<Error> missing_;
};

}  // namespace beamdump::beam
