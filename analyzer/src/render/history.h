#pragma once

#include "query/activity/history.h"
#include "render/shared/json.h"
#include "render/shared/output.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace beamdump::render {

/// A plot of values over time in one line: a character for each of `width` equal parts of the time
/// from `begin` to `end`, higher for the largest value in it; a space where there is none.
std::string sparkline(
    std::span<const std::pair<std::uint64_t, std::optional<std::uint64_t>>> values,
    std::pair<std::uint64_t, std::uint64_t> time, std::size_t width);

/// How the history ended, in sentences.
std::string history_end_text(const query::History& history);

/// Tables of the quantities, of the processes that grew and of the functions that ran, `most` of
/// each.
void history_tables(Output& output, const query::History& history, std::size_t most);
/// The members "readings", "processes" and, where there are any, "profiles" of an object.
void write_history(JsonWriter& json, const query::History& history);

/// `most`: processes of a table at most.
void history_text(Output& output, const query::History& history, std::size_t most);
/// schemas/json/activity/history.schema.json
void history_json(Output& output, const query::History& history);
/// A line of JSON for each reading, each process in a reading of all, each function in a profile,
/// and the end.
void history_lines(Output& output, const query::History& history);

}  // namespace beamdump::render
