// Reads arbitrary bytes as a sample of the kernel (perf_event_open(2)): its registers and stack lie
// within what was given.

#include <libsample/events/sample.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::uint16_t misc = 0;
    if (size < sizeof(misc)) {
        return 0;
    }
    std::memcpy(&misc, data, sizeof(misc));
    const auto body = std::as_bytes(std::span(data, size)).subspan(sizeof(misc));
    const auto sample = beamdump::sampler::parse_sample(body, misc);
    if (!sample || !*sample) {
        return 0;
    }
    const auto stack = (*sample)->stack;
    const bool inside = stack.empty() || (stack.data() >= body.data() &&
                                          stack.data() + stack.size() <= body.data() + body.size());
    if (!inside) {
        std::abort();
    }
    return 0;
}
