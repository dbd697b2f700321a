// Reads arbitrary text as a thread's /proc/PID/task/ID/schedstat: what is found is the number that
// it begins with, and another one follows.

#include <libsample/counts/node_load.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(data, data + size);
    const auto ran = beamdump::sampler::processor_ns(text);
    if (!ran) {
        return 0;
    }
    std::string_view rest = text;
    // Zeros may come before it.
    rest.remove_prefix(std::min(rest.find_first_not_of('0'), rest.size()));
    const auto number = *ran == 0 ? std::string() : std::to_string(*ran);
    if (!rest.starts_with(number)) {
        std::abort();
    }
    rest.remove_prefix(number.size());
    const auto is_digit = [](char one) { return one >= '0' && one <= '9'; };
    const bool follows =
        rest.size() >= 2 && (rest[0] == ' ' || rest[0] == '\n') && is_digit(rest[1]);
    if (!is_digit(text.front()) || !follows) {
        std::abort();
    }
    return 0;
}
