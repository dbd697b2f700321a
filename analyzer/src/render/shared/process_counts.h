#pragma once

#include "query/process/every_process.h"
#include "render/shared/json.h"

#include <string_view>

namespace beamdump::render {

inline void write_processes_read_members(JsonWriter& json, const query::ProcessesRead& counts) {
    json.member("read", counts.read);
    json.member("inconsistent", counts.inconsistent);
    json.member("sensitive", counts.sensitive);
}

/// Member "processes": how many were read, and how many were not.
inline void write_processes_read(JsonWriter& json, const query::ProcessesRead& counts) {
    json.begin_object("processes");
    write_processes_read_members(json, counts);
    json.end_object();
}

}  // namespace beamdump::render
