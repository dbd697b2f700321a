#include <libsample/profile/random_moment.h>

#include <cstdint>
#include <thread>

namespace beamdump::sampler {

void sleep_to_random_moment(std::chrono::steady_clock::time_point begin,
                            std::chrono::steady_clock::time_point latest,
                            std::minstd_rand& random) {
    const std::chrono::nanoseconds room = latest - begin;
    if (room > std::chrono::nanoseconds{0}) {
        std::uniform_int_distribution<std::int64_t> moment(0, room.count());
        std::this_thread::sleep_until(begin + std::chrono::nanoseconds(moment(random)));
    }
}

}  // namespace beamdump::sampler
