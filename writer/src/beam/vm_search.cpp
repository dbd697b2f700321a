// The file-static tables: no symbol table names them on any release, so they are searched for in
// the image's data by the name string that each hash table points to, or by their shape.

#include "beam/struct_view.h"
#include "beam/vm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

std::string list(const std::vector<Address>& addresses) {
    std::string text;
    for (const auto address : addresses) {
        text += fmt::format("{}{:#x}", text.empty() ? "" : ", ", address);
    }
    return text.empty() ? "nowhere" : text;
}

}  // namespace

Result<Address> Vm::find_hash(const ImageSearch& search, const char* what,
                              std::string_view name_string) {
    LayoutNames names(layout_);
    const auto name = names.field("Hash", "name");
    const auto bucket = names.field("Hash", "bucket");
    const auto bytes = names.bytes("Hash");
    if (auto known = names.outcome(); !known) {
        return std::unexpected(known.error());
    }
    std::vector<Address> candidates;
    for (const auto pointer : search.pointers_to_string(name_string)) {
        const auto start = pointer - name.offset;
        const auto table = search.at(start, bytes);
        if (table && plausible(StructView(*table).get(bucket), sizeof(Address))) {
            candidates.push_back(start);
        }
    }
    if (candidates.size() != 1) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{}: expected one hash table named \"{}\", found it at {}", what,
                                name_string, list(candidates)));
    }
    found_.push_back({what, candidates.front(), "name string"});
    return candidates.front();
}

Result<Address> Vm::find_index_tables(const ImageSearch& search, const char* what,
                                      std::string_view name_string) {
    LayoutNames names(layout_);
    const auto name = names.field("IndexTable", "htable.name");
    const auto segments = names.field("IndexTable", "seg_table");
    const auto entries = names.field("IndexTable", "entries");
    const auto size = names.field("IndexTable", "size");
    const auto bytes = names.bytes("IndexTable");
    if (auto known = names.outcome(); !known) {
        return std::unexpected(known.error());
    }
    std::vector<Address> candidates;
    for (const auto pointer : search.pointers_to_string(name_string)) {
        const auto start = pointer - name.offset;
        const auto table = search.at(start, bytes);
        if (table && plausible(StructView(*table).get(segments), sizeof(Address)) &&
            StructView(*table).u32(entries) <= StructView(*table).u32(size)) {
            candidates.push_back(start);
        }
    }
    std::ranges::sort(candidates);
    const bool in_a_row = candidates.size() == kCodeIndexes &&
                          candidates[1] - candidates[0] == bytes &&
                          candidates[2] - candidates[1] == bytes;
    if (!in_a_row) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{}: expected three index tables named \"{}\", {} bytes apart, "
                                "found {}",
                                what, name_string, bytes, list(candidates)));
    }
    found_.push_back({what, candidates.front(), "name string"});
    return candidates.front();
}

Result<Address> Vm::find_catch_pools(const ImageSearch& search) {
    LayoutNames names(layout_);
    const auto free_list = names.field("CatchPool", "free_list");
    const auto high_mark = names.field("CatchPool", "high_mark");
    const auto tabsize = names.field("CatchPool", "tabsize");
    const auto vector = names.field("CatchPool", "beam_catches");
    const auto pool_bytes = names.bytes("CatchPool");
    const auto entry_bytes = names.bytes("BeamCatch");
    const auto cp = names.field("BeamCatch", "cp");
    if (auto known = names.outcome(); !known) {
        return std::unexpected(known.error());
    }
    // beam_catches.c: the table starts with 1024 entries and doubles; all pools share entries that
    // are in use; a kernel's worth of modules has more than 300 catches.
    const auto is_pool = [&](StructView pool) {
        const auto size = pool.u32(tabsize);
        const auto used = pool.u32(high_mark);
        const auto free_index = static_cast<std::int32_t>(pool.u32(free_list));
        return size >= 1024 && size <= (1U << 26U) && (size & (size - 1)) == 0 && used > 0 &&
               used <= size && free_index >= -1 && free_index < static_cast<std::int64_t>(used) &&
               plausible(pool.get(vector), std::uint64_t{size} * entry_bytes);
    };
    const auto leads_to_code = [&](StructView pool) {
        for (std::uint32_t index = 0; index < std::min(pool.u32(high_mark), 16U); ++index) {
            const auto code = target_->memory().word(
                pool.get(vector) + std::uint64_t{index} * entry_bytes + cp.offset);
            const auto* mapping = code ? target_->mappings().find(*code) : nullptr;
            if (!code || (*code != 0 && (mapping == nullptr || !mapping->readable))) {
                return false;
            }
        }
        return true;
    };
    const auto candidates =
        search.matching(pool_bytes * kCodeIndexes, [&](Address, std::span<const std::byte> bytes) {
            for (std::size_t index = 0; index < kCodeIndexes; ++index) {
                if (!is_pool(StructView(bytes.subspan(index * pool_bytes, pool_bytes)))) {
                    return false;
                }
            }
            return leads_to_code(StructView(bytes.first(pool_bytes)));
        });
    if (candidates.size() != 1) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("catch table: expected one place with its shape, found {}",
                                list(candidates)));
    }
    found_.push_back({"bccix", candidates.front(), "shape"});
    return candidates.front();
}

}  // namespace beamdump::beam
