#include "query/activity/registered_names.h"

#include "query/node/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <array>

namespace beamdump::query {

Result<std::unordered_map<std::string, std::string>> registered_names(Dump& dump) {
    constexpr std::array kAsked = {records::PROCESS_COLUMN_OWNER_ID,
                                   records::PROCESS_COLUMN_REGISTERED_NAME};
    std::unordered_map<std::string, std::string> names;
    RETURN_IF_ERROR(dump.processes().visit(kAsked, [&](std::uint64_t, ProcessIndex::Values values) {
        if (values[0] && values[1]) {
            names.emplace(pid_text(*values[0]),
                          atom_text(dump, static_cast<std::uint32_t>(*values[1])));
        }
        return true;
    }));
    return names;
}

}  // namespace beamdump::query
