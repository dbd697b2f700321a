#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/catch_pools.h>

#include <algorithm>

namespace beamdump::beam {

Result<Address> find_catch_pools(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const CatchFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    // beam_catches.c: the table starts with 1024 entries and doubles. The modules that are part of
    // the runtime are loaded through the first pool; another one is empty until the boot loads code
    // through it.
    const auto is_pool = [&](StructView pool) {
        const auto size = pool.u32(fields.size);
        const auto used = pool.u32(fields.high_mark);
        const auto free_index = static_cast<std::int32_t>(pool.u32(fields.free_list));
        return size >= 1024 && size <= (1U << 26U) && (size & (size - 1)) == 0 && used <= size &&
               free_index >= -1 && free_index < static_cast<std::int64_t>(used) &&
               vm.plausible(pool.get(fields.entries), std::uint64_t{size} * fields.entry_bytes);
    };
    const auto leads_to_code = [&](StructView pool) {
        for (std::uint32_t index = 0; index < std::min(pool.u32(fields.high_mark), 16U); ++index) {
            const auto code = vm.target().memory().word(pool.get(fields.entries) +
                                                        std::uint64_t{index} * fields.entry_bytes +
                                                        fields.code.offset);
            const auto* mapping = code ? vm.target().mappings().find(*code) : nullptr;
            if (!code || (*code != 0 && (mapping == nullptr || !mapping->readable))) {
                return false;
            }
        }
        return pool.u32(fields.high_mark) > 0;
    };
    const auto candidates = search.matching(
        fields.pool_bytes * kCodeIndexes, [&](Address, std::span<const std::byte> bytes) {
            bool any_leads_to_code = false;
            for (std::size_t index = 0; index < kCodeIndexes; ++index) {
                const StructView pool(bytes.subspan(index * fields.pool_bytes, fields.pool_bytes));
                if (!is_pool(pool)) {
                    return false;
                }
                any_leads_to_code = any_leads_to_code || leads_to_code(pool);
            }
            return any_leads_to_code;
        });
    return only_one("bccix", "one place with the catch tables' shape", candidates);
}

}  // namespace beamdump::beam
