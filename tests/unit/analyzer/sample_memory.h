#pragma once

#include "sample_dump.h"

namespace beamdump::test {

inline constexpr std::uint64_t kSampleMebibyte = 1U << 20U;

/// Adds to a sample dump what a capture says of the node's memory: two allocators, of which one has
/// two instances, one of these with a pool; 40 MiB resident.
inline void add_node_memory(SampleDump& dump, bool resident = true) {
    auto& builder = dump.builder();
    const auto carriers = [](records::AllocatorCarriers& into, std::uint64_t count,
                             std::uint64_t bytes, std::uint32_t allocator, std::uint64_t blocks,
                             std::uint64_t block_bytes) {
        into.set_carriers(count);
        into.set_carrier_bytes(bytes);
        into.set_mseg_carriers(count);
        into.set_mseg_bytes(bytes);
        auto& of = *into.add_blocks();
        of.set_allocator(allocator);
        of.set_count(blocks);
        of.set_bytes(block_bytes);
    };
    records::Allocators page;
    const auto instance = [&page](std::uint32_t number, const char* name, std::uint32_t index) {
        auto& added = *page.add_instance();
        added.set_number(number);
        added.set_name(name);
        added.set_index(index);
        added.set_thread_specific(true);
        added.mutable_single_block()->set_carriers(0);
        return &added;
    };
    auto* eheap = instance(6, "eheap_alloc", 0);
    carriers(*eheap->mutable_multi_block(), 1, kSampleMebibyte, 6, 3, kSampleMebibyte / 4);
    eheap = instance(6, "eheap_alloc", 1);
    carriers(*eheap->mutable_multi_block(), 2, 8 * kSampleMebibyte, 6, 100, 4 * kSampleMebibyte);
    carriers(*eheap->mutable_single_block(), 1, 4 * kSampleMebibyte, 6, 1, 3 * kSampleMebibyte);
    carriers(*eheap->mutable_pool(), 1, kSampleMebibyte, 6, 2, kSampleMebibyte / 8);
    auto* fix = instance(8, "fix_alloc", 0);
    carriers(*fix->mutable_multi_block(), 1, kSampleMebibyte, 8, 10, kSampleMebibyte / 2);
    auto& type = *fix->add_fixed_size();
    type.set_name("proc");
    type.set_allocated_bytes(4656);
    type.set_used_bytes(3880);
    builder.trailer().add_allocator_offset(builder.append(format::RecordKind::kAllocator, page));

    records::Carriers carriers_page;
    const auto carrier = [&carriers_page](std::uint32_t allocator, std::uint32_t owner,
                                          std::uint64_t address, std::uint64_t bytes,
                                          std::uint64_t blocks, std::uint64_t block_bytes) {
        auto& added = *carriers_page.add_carrier();
        added.set_allocator(allocator);
        added.set_instance(owner);
        added.set_address(address);
        added.set_bytes(bytes);
        added.set_mseg(true);
        added.set_blocks(blocks);
        added.set_block_bytes(block_bytes);
        return &added;
    };
    auto* walked = carrier(6, 0, 0x100000, kSampleMebibyte, 3, kSampleMebibyte / 4);
    walked->set_free_blocks(2);
    walked->set_largest_free_bytes(kSampleMebibyte / 2);
    carrier(6, 1, 0x400000, 4 * kSampleMebibyte, 1, 3 * kSampleMebibyte)->set_single_block(true);
    carrier(6, 1, 0x900000, kSampleMebibyte, 2, kSampleMebibyte / 8)->set_pooled(true);
    walked = carrier(8, 0, 0x200000, kSampleMebibyte, 10, kSampleMebibyte / 2);
    walked->set_free_blocks(1);
    walked->set_largest_free_bytes(600);
    builder.trailer().add_carriers_offset(
        builder.append(format::RecordKind::kCarriers, carriers_page));

    records::SystemMemory system;
    const auto free_blocks = [&system](std::uint32_t allocator, std::uint64_t of_carriers,
                                       std::uint64_t largest) {
        auto& added = *system.add_free_blocks();
        added.set_allocator(allocator);
        added.set_carriers(of_carriers);
        added.set_carrier_bytes(of_carriers * kSampleMebibyte);
        added.set_read_carriers(1);
        added.set_read_carrier_bytes(kSampleMebibyte);
        added.set_changed_carriers(of_carriers - 1);
        added.set_largest_bytes(largest);
        return &added;
    };
    const auto sizes = [](records::FreeBlocks* of, std::uint64_t from, std::uint64_t count,
                          std::uint64_t bytes) {
        auto& added = *of->add_sizes();
        added.set_from_bytes(from);
        added.set_count(count);
        added.set_bytes(bytes);
    };
    auto* found = free_blocks(6, 2, kSampleMebibyte / 2);
    sizes(found, 512, 1, 600);
    sizes(found, kSampleMebibyte / 2, 1, kSampleMebibyte / 2);
    sizes(free_blocks(8, 1, 600), 512, 1, 600);
    const auto category = [&system](const char* name, std::uint64_t bytes) {
        auto& amount = *system.add_category();
        amount.set_name(name);
        amount.set_bytes(bytes);
    };
    category("total", 20 * kSampleMebibyte);
    category("processes", 8 * kSampleMebibyte);
    category("binary", 4096);
    const auto group = [&](const char* kind, std::uint64_t bytes, std::uint64_t in_carriers,
                           std::uint64_t in_cache) {
        auto& added = *system.add_group();
        added.set_kind(kind);
        added.set_mappings(1);
        added.set_bytes(2 * bytes);
        if (resident) {
            added.set_resident_bytes(bytes);
            added.set_swapped_bytes(0);
            added.set_carrier_resident_bytes(in_carriers);
            added.set_cache_resident_bytes(in_cache);
            system.set_resident_bytes(system.resident_bytes() + bytes);
        }
    };
    group("vm_file", 4 * kSampleMebibyte, 0, 0);
    group("heap", 3 * kSampleMebibyte, kSampleMebibyte, 0);
    group("malloc_arena", kSampleMebibyte, 0, 0);
    group("jit_code", 8 * kSampleMebibyte, 0, 0);
    group("anonymous", 24 * kSampleMebibyte, 11 * kSampleMebibyte, 12 * kSampleMebibyte);
    const auto pages = [&](std::uint32_t number, std::uint64_t bytes) {
        auto& added = *system.add_carriers();
        added.set_allocator(number);
        added.set_carriers(1);
        added.set_bytes(bytes);
        if (resident) {
            added.set_resident_bytes(bytes - 2 * kSampleMebibyte);
        }
    };
    pages(6, 13 * kSampleMebibyte);
    pages(8, 3 * kSampleMebibyte);
    auto& cache = *system.mutable_segment_cache();
    cache.set_segments(7);
    cache.set_bytes(14 * kSampleMebibyte);
    if (resident) {
        cache.set_resident_bytes(12 * kSampleMebibyte);
    }
    system.mutable_default_mapper()->set_os_bytes(30 * kSampleMebibyte);
    builder.trailer().set_system_memory_offset(
        builder.append(format::RecordKind::kSystemMemory, system));
}

/// Three binaries of a driver (atom 3) of which a term refers to one, and one in a carrier that
/// changed while it was read.
inline void add_blocks(SampleDump& dump, bool moving) {
    constexpr std::uint32_t kBinaryAllocator = 10;
    constexpr std::uint64_t kReached = 0x7000;
    constexpr std::uint64_t kBytes = 20'480;
    auto& builder = dump.builder();
    records::Allocators allocators;
    auto& instance = *allocators.add_instance();
    instance.set_number(kBinaryAllocator);
    instance.set_name("binary_alloc");
    instance.set_index(0);
    auto& counted = *instance.mutable_multi_block()->add_blocks();
    counted.set_allocator(kBinaryAllocator);
    counted.set_count(4);
    counted.set_bytes(4 * kBytes);
    builder.trailer().add_allocator_offset(
        builder.append(format::RecordKind::kAllocator, allocators));
    records::Binaries binaries;
    binaries.add_binary()->set_address(kReached);
    const auto offset = builder.append(format::RecordKind::kBinaries, binaries);
    records::BinaryIndexPage index;
    index.add_address(kReached);
    index.add_record_offset(offset);
    auto& ref = *builder.trailer().add_binary_pages();
    ref.set_lowest_address(kReached);
    ref.set_highest_address(kReached);
    ref.set_count(1);
    ref.set_offset(builder.append(format::RecordKind::kBinaryIndexPage, index));
    for (const std::uint64_t pass : {0U, 1U}) {
        records::Blocks page;
        page.set_allocator(kBinaryAllocator);
        page.set_pass(pass);
        for (std::uint64_t number = 0; number < (pass == 0 ? 3U : 1U); ++number) {
            auto& block = *page.add_block();
            block.set_address(kReached + number * kBytes);
            block.set_bytes(kBytes);
            block.set_tag_atom(3);
            block.set_references(1 + number);
            block.set_size_bytes(kBytes - 100);
            block.set_flags(2);
            block.set_first_bytes("LL\x01");
        }
        builder.trailer().add_blocks_offset(builder.append(format::RecordKind::kBlocks, page));
    }
    records::SystemMemory system;
    auto& sums = *system.add_block_sums();
    sums.set_allocator(kBinaryAllocator);
    sums.set_carriers(2);
    sums.set_read_carriers(1);
    sums.set_changed_carriers(1);
    sums.add_left_out_pass(1);
    sums.set_blocks(3);
    sums.set_bytes(3 * kBytes);
    sums.set_moving(moving);
    builder.trailer().set_system_memory_offset(
        builder.append(format::RecordKind::kSystemMemory, system));
}

}  // namespace beamdump::test
