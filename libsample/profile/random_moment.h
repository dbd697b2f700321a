#pragma once

#include <chrono>
#include <random>

namespace beamdump::sampler {

/// Sleeps to a random moment from `begin` to `latest`; not at all if that is not later. What begins
/// at equal distances can fall into step with what the node does.
void sleep_to_random_moment(std::chrono::steady_clock::time_point begin,
                            std::chrono::steady_clock::time_point latest, std::minstd_rand& random);

}  // namespace beamdump::sampler
