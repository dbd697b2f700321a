#pragma once

#include "query/diff/series.h"
#include "render/shared/json.h"

#include <string_view>

namespace beamdump::render {

/// An object: the values of the dumps that have one, by the dumps' numbers from 1 on, and how they
/// changed.
inline void write_series(JsonWriter& json, std::string_view name, const query::Series& series) {
    json.begin_object(name);
    json.begin_array("values");
    for (std::size_t dump = 0; dump < series.values.size(); ++dump) {
        if (series.values[dump]) {
            json.begin_object();
            json.member("dump", std::uint64_t{dump + 1});
            json.member("value", *series.values[dump]);
            json.end_object();
        }
    }
    json.end_array();
    json.member("change", series.change);
    json.member("change_per_hour", series.change_per_hour);
    json.member("steps", series.steps);
    json.member("rises", series.rises);
    json.member("steady", series.steady);
    json.end_object();
}

}  // namespace beamdump::render
