#include "query/memory/node_memory.h"

#include "query/facts/dump_facts.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::query {
namespace {

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
    RETURN_IF_ERROR(read_records(dump, memory));
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

}  // namespace beamdump::query
