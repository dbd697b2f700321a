#include <libvm/memory/memory_source.h>

#include <fmt/format.h>

namespace beamdump::memory {

Result<void> MemorySource::read(Address address, std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        auto some = read_some(address + done, into.subspan(done));
        if (!some) {
            if (some.error().code == ErrorCode::kTargetDied) {
                return std::unexpected(some.error());
            }
            return fail(some.error().code, fmt::format("cannot read {} bytes at {:#x}: {}",
                                                       into.size(), address, some.error().message));
        }
        if (*some == 0 || *some > into.size() - done) {
            return fail(ErrorCode::kIo,
                        fmt::format("cannot read {} bytes at {:#x}: the memory source returned {} "
                                    "bytes, expected 1 to {}",
                                    into.size(), address, *some, into.size() - done));
        }
        done += *some;
    }
    return {};
}

Result<void> MemorySource::read_batch(std::span<BatchRead> reads) {
    for (auto& one : reads) {
        auto done = read(one.address, one.into);
        if (!done && done.error().code == ErrorCode::kTargetDied) {
            return std::unexpected(done.error());
        }
        one.done = done.has_value();
    }
    return {};
}

}  // namespace beamdump::memory
