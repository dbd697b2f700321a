#pragma once

#include "waits/collect_waits.h"

#include <libdump/profile/profile_files.h>
#include <libdump/text/output.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace beamdump::sampler {

/// Tables of places and stacks at which processes wait. `most`: rows of a table, at most.
void waits_text(Output& output, const WaitsReport& report, std::size_t most);

/// All of it as JSON (schemas/json/sampler/off-cpu.schema.json).
void waits_json(Output& output, const WaitsReport& report);

/// What the weights of its stacks are, for profile_files.h.
ProfileTerms waits_terms(const WaitsReport& report, std::string exporter);

/// Places or stacks with the most processes first.
template <typename Key>
std::vector<std::pair<Key, WaitCount>> sorted_waits(const std::map<Key, WaitCount>& counts) {
    std::vector<std::pair<Key, WaitCount>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, [](const auto& one, const auto& other) {
        return one.second.waiting > other.second.waiting;
    });
    return sorted;
}

}  // namespace beamdump::sampler
