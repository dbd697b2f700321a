#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/named_tables.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

// A thread may be adding to a table while it is examined.
constexpr std::uint32_t kMaxEntriesInMotion = 64;

/// The fields of a hash table and of the index table that begins with one.
struct HashTableFields {
    HashFields hash;
    IndexTableFields index;

    static Result<HashTableFields> resolve(const Layout& layout) {
        LayoutNames names(layout);
        const HashTableFields fields{HashFields(names), IndexTableFields(names)};
        RETURN_IF_ERROR(names.outcome());
        if (fields.index.name.offset != fields.hash.name.offset) {
            return fail(ErrorCode::kUnsupported,
                        fmt::format("layout: {}.IndexTable does not begin with its hash table",
                                    layout.name()));
        }
        return fields;
    }
};

bool is_hash(const Vm& vm, const HashTableFields& fields, StructView table) {
    // hash.h: the number of slots is 2^(64 - shift).
    const auto shift = table.u32(fields.hash.shift);
    return shift >= 36 && shift < 64 &&
           vm.plausible(table.get(fields.hash.bucket),
                        (std::uint64_t{1} << (64 - shift)) * sizeof(Address));
}

bool is_index(const Vm& vm, const HashTableFields& fields, StructView table) {
    const auto entries = table.u32(fields.index.entries);
    const auto members = table.u32(fields.hash.count);
    return is_hash(vm, fields, table) && entries <= table.u32(fields.index.size) &&
           std::max(entries, members) - std::min(entries, members) <= kMaxEntriesInMotion &&
           vm.plausible(table.get(fields.index.segments), sizeof(Address));
}

/// The addresses of tables of that name and shape, ascending.
std::vector<Address> tables(const ImageSearch& search, const HashTableFields& fields,
                            std::string_view name, std::uint32_t bytes,
                            const std::function<bool(StructView)>& has_shape) {
    std::vector<Address> candidates;
    for (const auto pointer : search.pointers_to_string(name)) {
        const auto start = pointer - fields.hash.name.offset;
        const auto table = search.at(start, bytes);
        if (table && has_shape(StructView(*table))) {
            candidates.push_back(start);
        }
    }
    std::ranges::sort(candidates);
    return candidates;
}

Result<std::vector<Address>> index_tables(const Vm& vm, const ImageSearch& search,
                                          std::string_view name) {
    ASSIGN_OR_RETURN(const auto fields, HashTableFields::resolve(vm.layout()));
    return tables(search, fields, name, fields.index.bytes,
                  [&](StructView table) { return is_index(vm, fields, table); });
}

}  // namespace

Result<Address> find_hash(const Vm& vm, const ImageSearch& search, std::string_view what,
                          std::string_view name) {
    ASSIGN_OR_RETURN(const auto fields, HashTableFields::resolve(vm.layout()));
    const auto candidates = tables(search, fields, name, fields.hash.bytes,
                                   [&](StructView table) { return is_hash(vm, fields, table); });
    return only_one(what, fmt::format("one hash table named \"{}\"", name), candidates);
}

Result<Address> find_index_table(const Vm& vm, const ImageSearch& search, std::string_view what,
                                 std::string_view name) {
    ASSIGN_OR_RETURN(auto candidates, index_tables(vm, search, name));
    return only_one(what, fmt::format("one index table named \"{}\"", name), candidates);
}

Result<Address> find_staged_tables(const Vm& vm, const ImageSearch& search, std::string_view what,
                                   std::initializer_list<std::string_view> names) {
    ASSIGN_OR_RETURN(const auto table, vm.layout().structure("IndexTable"));
    const std::uint64_t bytes = table->bytes;
    std::vector<Address> all;
    for (const auto name : names) {
        ASSIGN_OR_RETURN(auto candidates, index_tables(vm, search, name));
        all.insert(all.end(), candidates.begin(), candidates.end());
    }
    const bool in_a_row =
        all.size() == kCodeIndexes && all[1] - all[0] == bytes && all[2] - all[1] == bytes;
    if (!in_a_row) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{}: expected three index tables named \"{}\", {} bytes apart, "
                                "found {}",
                                what, fmt::join(names, "\" or \""), bytes, listed(all)));
    }
    return all.front();
}

}  // namespace beamdump::beam
