// Reads arbitrary text as a thread's /proc/PID/task/ID/syscall: what is found are the two numbers
// that it ends with.

#include <libsample/native/thread_image.h>

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string text(data, data + size);
    const auto found = beamdump::sampler::parse_call_place(text);
    if (!found || !*found) {
        return 0;
    }
    // The same text with its numbers as the kernel writes them means the same.
    text.erase(text.rfind(' '));
    text.erase(text.rfind(' '));
    const auto again = beamdump::sampler::parse_call_place(
        fmt::format("{} {:#x} {:#x}\n", text, (*found)->stack_pointer, (*found)->instruction));
    if (!again || *again != *found) {
        std::abort();
    }
    return 0;
}
