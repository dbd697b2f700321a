#pragma once

#include "query/process/every_process.h"
#include "render/shared/json.h"

namespace beamdump::render {

/// Member "processes": how many were read, and how many were not.
inline void write_processes_read(JsonWriter& json, const query::ProcessesRead& counts) {
    json.begin_object("processes");
    json.member("read", counts.read);
    json.member("inconsistent", counts.inconsistent);
    json.member("sensitive", counts.sensitive);
    json.end_object();
}

}  // namespace beamdump::render
