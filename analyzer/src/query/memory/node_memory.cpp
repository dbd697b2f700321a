#include "query/memory/node_memory.h"

#include "query/facts/dump_facts.h"
#include "query/facts/sections.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <charconv>

namespace beamdump::query {
namespace {

/// The first of the numbers in a value: "3 47 47" is now, and at its highest twice.
std::optional<std::uint64_t> first_number(std::string_view value) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    return parsed.ec == std::errc() && parsed.ptr != value.data() ? std::optional(number)
                                                                  : std::nullopt;
}

Result<void> read_sections(Dump& dump, NodeMemory& memory) {
    ASSIGN_OR_RETURN(auto listing, SectionListing::open(dump, "", {"allocator", 0}));
    AllocatorSections sections;
    auto shown = listing->show({
        .begin = [&sections](std::string_view argument) { sections.begin(argument); },
        .line =
            [&sections](const SectionLine& line) {
                if (line.name) {
                    sections.line(*line.name, line.value);
                }
            },
        .end = [] {},
    });
    if (!shown) {
        return std::unexpected(shown.error());
    }
    sections.finish(memory);
    return {};
}

Result<void> read_records(Dump& dump, NodeMemory& memory) {
    for (const auto offset : dump.trailer().allocator_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Allocators>(
                                              offset, format::RecordKind::kAllocator));
        memory.allocators.insert(memory.allocators.end(), page.instance().begin(),
                                 page.instance().end());
    }
    if (dump.trailer().has_system_memory_offset()) {
        ASSIGN_OR_RETURN(memory.system, dump.reader().message_at<records::SystemMemory>(
                                            dump.trailer().system_memory_offset(),
                                            format::RecordKind::kSystemMemory));
    }
    return {};
}

std::vector<std::pair<std::string, std::uint64_t>> categories_of(
    const Dump& dump, const records::SystemMemory& system) {
    std::vector<std::pair<std::string, std::uint64_t>> categories;
    for (const auto& category : system.category()) {
        categories.emplace_back(category.name(), category.bytes());
    }
    for (const auto& category : dump.node().memory()) {
        categories.emplace_back(category.name(), category.bytes());
    }
    return categories;
}

}  // namespace

Result<NodeMemory> node_memory(Dump& dump) {
    NodeMemory memory;
    RETURN_IF_ERROR(is_of_crash_dump(dump) ? read_sections(dump, memory)
                                           : read_records(dump, memory));
    memory.categories = categories_of(dump, memory.system);
    return memory;
}

Result<std::vector<std::pair<std::string, std::uint64_t>>> memory_categories(Dump& dump) {
    records::SystemMemory system;
    if (dump.trailer().has_system_memory_offset()) {
        ASSIGN_OR_RETURN(
            system, dump.reader().message_at<records::SystemMemory>(
                        dump.trailer().system_memory_offset(), format::RecordKind::kSystemMemory));
    }
    return categories_of(dump, system);
}

void AllocatorSections::begin(std::string_view argument) {
    const auto bracket = argument.find('[');
    const auto name = argument.substr(0, bracket);
    subject_ = name == "mseg_alloc"               ? Subject::kSegments
               : name == "erts_mmap.default_mmap" ? Subject::kMapper
               : name.ends_with("_alloc")         ? Subject::kAllocator
                                                  : Subject::kNone;
    if (subject_ != Subject::kAllocator) {
        return;
    }
    const auto number =
        numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(numbers_.size() + 1));
    auto& instance = instances_.emplace_back();
    instance.set_number(number.first->second);
    instance.set_name(std::string(name));
    const auto index = bracket == std::string_view::npos
                           ? std::nullopt
                           : first_number(argument.substr(bracket + 1));
    instance.set_index(static_cast<std::uint32_t>(index.value_or(0)));
    instance.set_thread_specific(index.has_value());
}

void AllocatorSections::line(std::string_view name, std::string_view value) {
    if (subject_ == Subject::kAllocator) {
        allocator_line(name, value);
    } else if (subject_ == Subject::kSegments && name == "cached_segments") {
        if (const auto number = first_number(value)) {
            cached_segments_ = cached_segments_.value_or(0) + *number;
        }
    } else if (subject_ == Subject::kMapper && name == "os mmap size used") {
        os_bytes_ = first_number(value);
    }
}

void AllocatorSections::allocator_line(std::string_view name, std::string_view value) {
    auto& instance = instances_.back();
    if (name == "fix type") {
        // "link 0 0": allocated and used bytes.
        const auto space = value.find(' ');
        const auto numbers = space == std::string_view::npos ? "" : value.substr(space + 1);
        const auto second = numbers.find(' ');
        const auto allocated = first_number(numbers);
        const auto used = second == std::string_view::npos
                              ? std::nullopt
                              : first_number(numbers.substr(second + 1));
        if (allocated && used) {
            auto& type = *instance.add_fixed_size();
            type.set_name(std::string(value.substr(0, space)));
            type.set_allocated_bytes(static_cast<std::int64_t>(*allocated));
            type.set_used_bytes(static_cast<std::int64_t>(*used));
        }
        return;
    }
    const auto space = name.find(' ');
    const auto number = first_number(value);
    if (space == std::string_view::npos || !number) {
        return;
    }
    const auto kind = name.substr(0, space);
    const auto what = name.substr(space + 1);
    if (kind != "mbcs" && kind != "sbcs" && kind != "mbcs_pool") {
        return;
    }
    auto& carriers = *(kind == "mbcs"   ? instance.mutable_multi_block()
                       : kind == "sbcs" ? instance.mutable_single_block()
                                        : instance.mutable_pool());
    if (what == "carriers") {
        carriers.set_carriers(*number);
    } else if (what == "carriers size") {
        carriers.set_carrier_bytes(*number);
    } else if (what == "mseg carriers") {
        carriers.set_mseg_carriers(*number);
    } else if (what == "mseg carriers size") {
        carriers.set_mseg_bytes(*number);
    } else if (what.starts_with("blocks")) {
        // "blocks[eheap_alloc] size", and before OTP 24 "blocks size" and "blocks".
        const bool bytes = what.ends_with("size");
        const auto end = what.find(']');
        const auto requested =
            end == std::string_view::npos ? instance.name() : std::string(what.substr(7, end - 7));
        const auto its =
            numbers_.try_emplace(requested, static_cast<std::uint32_t>(numbers_.size() + 1));
        const auto asked = its.first->second;
        auto& all = *carriers.mutable_blocks();
        auto blocks = std::ranges::find(all, asked, &records::AllocatorBlocks::allocator);
        auto& entry = blocks == all.end() ? *carriers.add_blocks() : *blocks;
        entry.set_allocator(asked);
        bytes ? entry.set_bytes(*number) : entry.set_count(*number);
    }
}

void AllocatorSections::finish(NodeMemory& memory) {
    for (auto& instance : instances_) {
        // sys_alloc is malloc, and counts nothing; another may be switched off.
        if (instance.has_multi_block() || instance.has_single_block()) {
            memory.allocators.push_back(std::move(instance));
        }
    }
    if (cached_segments_) {
        memory.system.mutable_segment_cache()->set_segments(*cached_segments_);
    }
    if (os_bytes_) {
        memory.system.mutable_default_mapper()->set_os_bytes(*os_bytes_);
    }
}

}  // namespace beamdump::query
