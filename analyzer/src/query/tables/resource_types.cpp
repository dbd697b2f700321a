#include "query/tables/resource_types.h"

#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

Result<std::vector<records::ResourceType>> resource_types(Dump& dump) {
    std::vector<records::ResourceType> types;
    for (const auto offset : dump.trailer().resource_types_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::ResourceTypes>(
                                              offset, format::RecordKind::kResourceTypes));
        types.insert(types.end(), page.type().begin(), page.type().end());
    }
    return types;
}

std::string resource_type_name(Dump& dump, const records::ResourceType& type) {
    return fmt::format("{}:{}", atom_text(dump, type.module_atom()),
                       atom_text(dump, type.name_atom()));
}

Result<ResourceTypeNames> resource_type_names(Dump& dump) {
    ResourceTypeNames names;
    ASSIGN_OR_RETURN(const auto types, resource_types(dump));
    for (const auto& type : types) {
        names.emplace(type.struct_address(), resource_type_name(dump, type));
    }
    return names;
}

}  // namespace beamdump::query
