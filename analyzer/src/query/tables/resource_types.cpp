#include "query/tables/resource_types.h"

#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::query {

Result<std::map<std::uint64_t, std::string>> resource_type_names(Dump& dump) {
    std::map<std::uint64_t, std::string> names;
    for (const auto offset : dump.trailer().resource_types_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::ResourceTypes>(
                                              offset, format::RecordKind::kResourceTypes));
        for (const auto& type : page.type()) {
            names.emplace(type.struct_address(),
                          fmt::format("{}:{}", atom_text(dump, type.module_atom()),
                                      atom_text(dump, type.name_atom())));
        }
    }
    return names;
}

}  // namespace beamdump::query
