#pragma once

#include "query/facts/process_starts.h"
#include "render/shared/json.h"

#include <cmath>
#include <cstdint>

namespace beamdump::render {

/// The member "processes_started" of an object.
inline void write_starts(JsonWriter& json, const query::ProcessStarts& starts) {
    json.begin_object("processes_started");
    json.member("count", starts.count);
    json.member("span_us", static_cast<std::uint64_t>(std::llround(starts.seconds * 1e6)));
    if (starts.at_least) {
        json.member("at_least", true);
    }
    json.end_object();
}

}  // namespace beamdump::render
