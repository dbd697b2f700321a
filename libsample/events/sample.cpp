#include <libdump/base/return_if_error.h>
#include <libsample/events/sample.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <linux/perf_event.h>

namespace beamdump::sampler {
namespace {

/// Takes values from the front of a record.
class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <typename T>
    Result<T> take() {
        T value{};
        if (bytes_.size() < sizeof(T)) {
            return too_short(sizeof(T));
        }
        std::memcpy(&value, bytes_.data(), sizeof(T));
        bytes_ = bytes_.subspan(sizeof(T));
        return value;
    }
    Result<std::span<const std::byte>> take_bytes(std::uint64_t count) {
        if (bytes_.size() < count) {
            return too_short(count);
        }
        const auto taken = bytes_.first(count);
        bytes_ = bytes_.subspan(count);
        return taken;
    }

  private:
    [[nodiscard]] std::unexpected<Error> too_short(std::uint64_t wanted) const {
        return fail(ErrorCode::kImplausible,
                    fmt::format("a sample of the kernel: expected {} more bytes, found {}", wanted,
                                bytes_.size()));
    }
    std::span<const std::byte> bytes_;
};

}  // namespace

Result<std::optional<Sample>> parse_sample(std::span<const std::byte> body, std::uint16_t misc) {
    Reader reader(body);
    Sample sample;
    sample.in_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    ASSIGN_OR_RETURN(sample.place, reader.take<std::uint64_t>());
    RETURN_IF_ERROR(reader.take<std::uint32_t>());  // the process
    ASSIGN_OR_RETURN(const auto thread, reader.take<std::uint32_t>());
    sample.thread = static_cast<pid_t>(thread);
    ASSIGN_OR_RETURN(sample.time_ns, reader.take<std::uint64_t>());
    ASSIGN_OR_RETURN(const auto abi, reader.take<std::uint64_t>());
    if (abi == PERF_SAMPLE_REGS_ABI_NONE) {
        return std::nullopt;
    }
    if (abi != PERF_SAMPLE_REGS_ABI_64) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format("a sample of the kernel: expected 64-bit registers, found {}", abi));
    }
    for (std::size_t name = 0; name < sample.registers.size(); ++name) {
        if (((kSampledRegisters >> name) & 1U) != 0) {
            ASSIGN_OR_RETURN(sample.registers.at(name), reader.take<std::uint64_t>());
        }
    }
    ASSIGN_OR_RETURN(const auto size, reader.take<std::uint64_t>());
    if (size != 0) {
        ASSIGN_OR_RETURN(const auto copied, reader.take_bytes(size));
        ASSIGN_OR_RETURN(const auto used, reader.take<std::uint64_t>());
        sample.stack = copied.first(std::min<std::uint64_t>(used, copied.size()));
    }
    return sample;
}

}  // namespace beamdump::sampler
