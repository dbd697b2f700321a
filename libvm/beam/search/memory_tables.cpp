#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/search/image_search.h>
#include <libvm/beam/search/memory_tables.h>
#include <libvm/beam/tables/modules.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

namespace beamdump::beam {
namespace {

/// At least this many of a node's allocators have one instance a scheduler.
constexpr int kFewestAllocators = 5;
constexpr std::uint64_t kMostInstances = 4096;
constexpr std::size_t kOfTen = 10;
constexpr int kReadingsAtMost = 8;  // of what changes while it is read
constexpr std::uint64_t kInstanceAlignment = 64;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 47U;

struct SpecFields {
    explicit SpecFields(LayoutNames& names)
        : enabled(names.field(runtime::ErtsAllocatorThrSpec::enabled)),
          size(names.field(runtime::ErtsAllocatorThrSpec::size)),
          instances(names.field(runtime::ErtsAllocatorThrSpec::allctr)),
          number(names.field(runtime::Allctr::alloc_no)),
          bytes(names.bytes(runtime::ErtsAllocatorThrSpec::kName)),
          count(static_cast<std::uint32_t>(names.constant(runtime::constant::allocator_last)) + 1) {
    }
    Field enabled, size, instances, number;
    std::uint32_t bytes, count;
};

/// Whether the first instance that is there numbers itself so.
bool has_instances(Vm& vm, const SpecFields& fields, Address array, std::uint64_t size,
                   std::uint32_t number) {
    if (!vm.plausible(array, sizeof(Address))) {
        return false;
    }
    for (std::uint64_t index = 0; index < size; ++index) {
        const auto instance = vm.memory().word(array + index * sizeof(Address));
        if (!instance || *instance != 0) {
            const bool there = instance && vm.plausible(*instance, sizeof(Address));
            const auto own =
                there ? vm.memory().value<std::uint32_t>(*instance + fields.number.offset)
                      : Result<std::uint32_t>(0);
            return own && *own == number;
        }
    }
    return false;
}

bool is_thread_allocators(Vm& vm, const SpecFields& fields, std::span<const std::byte> bytes) {
    int known = 0;
    for (std::uint32_t number = 0; number < fields.count; ++number) {
        const StructView spec(bytes.subspan(std::size_t{number} * fields.bytes, fields.bytes));
        const auto enabled = spec.get(fields.enabled);
        const auto size = spec.get(fields.size);
        const bool idle = enabled == 0 && spec.get(fields.instances) == 0;
        // erl_alloc_types.h: there is no allocator 0, and 1 is malloc itself.
        if (enabled > 1 || (enabled == 0 && !idle) || (number < 2 && !idle)) {
            return false;
        }
        if (enabled == 1) {
            if (size == 0 || size > kMostInstances ||
                !has_instances(vm, fields, spec.get(fields.instances), size, number)) {
                return false;
            }
            ++known;
        }
    }
    return known >= kFewestAllocators;
}

/// Whether an array's members are instances of mseg_alloc that number themselves.
bool is_segment_allocators(Vm& vm, Address array, std::uint32_t count, Field index,
                           Field initialised, std::uint64_t stride) {
    for (std::uint32_t member = 0; member < count; ++member) {
        const auto at = array + member * stride;
        const auto own = vm.plausible(at, stride)
                             ? vm.memory().value<std::uint32_t>(at + index.offset)
                             : Result<std::uint32_t>(~0U);
        const auto done = vm.memory().value<std::uint32_t>(at + initialised.offset);
        if (!own || *own != member || !done || *done != 1) {
            return false;
        }
    }
    return true;
}

}  // namespace

Result<Address> find_thread_allocators(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const SpecFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    return only_one("erts_allctr_thr_spec", "one row of allocators that number themselves",
                    search.matching(std::size_t{fields.count} * fields.bytes,
                                    [&](Address, std::span<const std::byte> bytes) {
                                        return is_thread_allocators(vm, fields, bytes);
                                    }));
}

Result<Address> find_allocators(Vm& vm, const ImageSearch& search, Address thread_allocators) {
    LayoutNames names(vm.layout());
    const SpecFields specs(names);
    const auto is_util = names.field(runtime::ErtsAllocatorInfo::alloc_util);
    const auto enabled = names.field(runtime::ErtsAllocatorInfo::enabled);
    const auto extra = names.field(runtime::ErtsAllocatorInfo::extra);
    const auto each = names.bytes(runtime::ErtsAllocatorInfo::kName);
    RETURN_IF_ERROR(names.outcome());
    const auto matches = [&](Address, std::span<const std::byte> bytes) {
        int known = 0;
        for (std::uint32_t number = 0; number < specs.count; ++number) {
            const StructView info(bytes.subspan(std::size_t{number} * each, each));
            if (info.get(is_util) > 1 || info.get(enabled) > 1 ||
                (number < 2 && info.get(is_util) != 0)) {
                return false;
            }
            known +=
                info.get(extra) == thread_allocators + std::uint64_t{number} * specs.bytes ? 1 : 0;
        }
        return known >= kFewestAllocators;
    };
    return only_one("erts_allctrs_info", "one row of entries that point to erts_allctr_thr_spec",
                    search.matching(std::size_t{specs.count} * each, matches));
}

Result<Address> find_segment_allocators(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const auto index = names.field(runtime::ErtsMsegAllctr::ix);
    const auto initialised = names.field(runtime::ErtsMsegAllctr::is_init_done);
    const auto stride = names.bytes(runtime::AlignedMsegAllctr::kName);
    RETURN_IF_ERROR(names.outcome());
    const auto count = vm.facts().schedulers + 1;
    const auto matches = [&](Address, std::span<const std::byte> word) {
        const auto array = StructView(word).word({}, 0);
        return array % kInstanceAlignment == 0 && vm.plausible(array, stride) &&
               is_segment_allocators(vm, array, count, index, initialised, stride);
    };
    ASSIGN_OR_RETURN(const auto pointer,
                     only_one("aligned_mseg_allctr", "one pointer to mseg_alloc's instances",
                              search.matching(sizeof(Address), matches)));
    return vm.memory().word(pointer);
}

Result<Address> find_default_mapper(Vm& vm, const ImageSearch& search, Address literal_mapper) {
    LayoutNames names(vm.layout());
    const auto super_carrier = names.field(runtime::ErtsMemMapper::supercarrier);
    const auto no_os = names.field(runtime::ErtsMemMapper::no_os_mmap);
    const auto total = names.field(runtime::ErtsMemMapper::size_supercarrier_total);
    const auto used = names.field(runtime::ErtsMemMapper::size_supercarrier_used_total);
    const auto aligned = names.field(runtime::ErtsMemMapper::size_supercarrier_used_sa);
    const auto unaligned = names.field(runtime::ErtsMemMapper::size_supercarrier_used_sua);
    const auto os = names.field(runtime::ErtsMemMapper::size_os_used);
    const auto bytes = names.bytes(runtime::ErtsMemMapper::kName);
    RETURN_IF_ERROR(names.outcome());
    // What holds however it changes. erl_mmap.h: it begins with two functions, to reserve memory
    // and to release it.
    const auto can_be_mapper = [&](StructView mapper) {
        const auto sizes = mapper.get(total) | mapper.get(used) | mapper.get(os);
        return mapper.get(super_carrier) <= 1 && mapper.get(no_os) <= 1 &&
               sizes % kLeastPageBytes == 0 && sizes < kLargest &&
               (mapper.get(super_carrier) == 1) == (mapper.get(total) != 0) &&
               is_code(vm, mapper.word({}, 0)) && is_code(vm, mapper.word({}, 1));
    };
    const auto sizes_fit = [&](StructView mapper) {
        return (mapper.get(total) != 0 || mapper.get(os) != 0) &&
               mapper.get(used) == mapper.get(aligned) + mapper.get(unaligned);
    };
    // Its sizes may have changed while they were copied.
    const auto matches = [&](Address at, std::span<const std::byte> content) {
        if (at == literal_mapper || !can_be_mapper(StructView(content))) {
            return false;
        }
        for (int tries = 0; tries < kReadingsAtMost; ++tries) {
            const auto now = OwnedStruct::read(vm.bulk(), at, bytes);
            if (now && can_be_mapper(now->view()) && sizes_fit(now->view())) {
                return true;
            }
        }
        return false;
    };
    return only_one("erts_dflt_mmapper", "one memory mapper beside that of literals",
                    search.matching(bytes, matches));
}

Result<Address> find_code_ranges(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const auto modules = names.field(runtime::CodeRanges::modules);
    const auto count = names.field(runtime::CodeRanges::n);
    const auto allocated = names.field(runtime::CodeRanges::allocated);
    const auto each = names.bytes(runtime::CodeRanges::kName);
    RETURN_IF_ERROR(names.outcome());
    ASSIGN_OR_RETURN(const auto loaded, read_modules(vm));
    std::set<Address> headers;
    for (const auto& module : loaded) {
        headers.insert(module.header);
    }
    const auto has_shape = [&](StructView ranges) {
        const auto size = ranges.get(allocated);
        // beam_ranges.c: until the boot loads code through an index it has no array.
        if (size == 0 && ranges.get(count) == 0 && ranges.get(modules) == 0) {
            return true;
        }
        return size != 0 && ranges.get(count) <= size &&
               size <= 2 * headers.size() + kMostInstances &&
               vm.plausible(ranges.get(modules), size * 2 * sizeof(Address));
    };
    // Nearly all of the ranges that are active now are those of modules, which were read earlier.
    const auto leads_to_modules = [&](StructView active) {
        const auto words = read_words(vm.bulk(), active.get(modules), active.get(count) * 2)
                               .value_or(std::vector<std::uint64_t>());
        std::size_t known = 0;
        for (std::size_t index = 0; index + 1 < words.size(); index += 2) {
            known += headers.contains(words[index]) ? 1 : 0;
        }
        return !words.empty() && known * 2 * kOfTen >= words.size() * (kOfTen - 1);
    };
    const auto matches = [&](Address at, std::span<const std::byte> bytes) {
        bool empty = true;
        for (std::size_t index = 0; index < kCodeIndexes; ++index) {
            const StructView ranges(bytes.subspan(index * each, each));
            if (!has_shape(ranges)) {
                return false;
            }
            empty = empty && ranges.get(allocated) == 0;
        }
        // One of them is active, and modules are loaded. Most words of the image are 0.
        if (empty) {
            return false;
        }
        for (int tries = 0; tries < kReadingsAtMost; ++tries) {
            const auto active = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
            const auto ranges =
                active && *active < kCodeIndexes
                    ? OwnedStruct::read(vm.bulk(), at + std::uint64_t{*active} * each, each)
                    : fail(ErrorCode::kImplausible, "no code index");
            if (!ranges) {
                return false;
            }
            if (has_shape(ranges->view()) && leads_to_modules(ranges->view())) {
                return true;
            }
            const auto after = vm.bulk().value<std::uint32_t>(vm.tables().active_code_index);
            if (after && *after == *active) {
                return false;
            }
        }
        return false;
    };
    auto candidates = search.matching(kCodeIndexes * std::size_t{each}, matches);
    // Words that are 0 behind it look like an index without an array: then what begins within it
    // has fewer arrays.
    const auto arrays_at = [&](Address at) {
        std::size_t arrays = 0;
        for (std::size_t index = 0; index < kCodeIndexes; ++index) {
            const auto size = vm.bulk().word(at + index * each + allocated.offset);
            arrays += size && *size != 0 ? 1 : 0;
        }
        return arrays;
    };
    if (candidates.size() > 1) {
        std::map<Address, std::size_t> arrays;
        for (const auto at : candidates) {
            arrays.emplace(at, arrays_at(at));
        }
        const auto most = std::ranges::max(arrays | std::views::values);
        std::erase_if(candidates, [&](Address at) { return arrays.at(at) < most; });
    }
    return only_one("r", "one row of arrays of code ranges", candidates);
}

}  // namespace beamdump::beam
