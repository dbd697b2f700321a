#include <libvm/arch/aarch64/frame_records.h>

#include <array>
#include <utility>
#include <vector>

namespace beamdump::arch::aarch64 {
namespace {

constexpr std::size_t kFramePointer = 29;
constexpr std::size_t kReturnAddress = 30;
constexpr std::size_t kMostRecords = 128;
constexpr std::uint64_t kRecordBytes = 16;

using Record = std::array<std::uint64_t, 2>;

}  // namespace

std::optional<NativeReturns> native_returns(const ThreadRegisters& thread, std::uint64_t registers,
                                            memory::MemorySource& memory) {
    const auto of_fragment = registers - kRecordBytes;
    NativeReturns found;
    std::vector<std::uint64_t> returns;
    auto at = thread.general()[kFramePointer];
    while (at != registers && at != of_fragment) {
        Record record{};
        if (at % kRecordBytes != 0 || at < thread.stack_pointer || at > of_fragment ||
            returns.size() == kMostRecords ||
            !memory.read(at, std::as_writable_bytes(std::span(record))) || record[0] <= at) {
            return std::nullopt;
        }
        returns.push_back(without_signature(record[1]));
        at = record[0];
    }
    if (at == of_fragment) {
        Record record{};
        if (!memory.read(of_fragment, std::as_writable_bytes(std::span(record))) ||
            record[0] != registers) {
            return std::nullopt;
        }
        found.caller = without_signature(record[1]);
    }
    if (returns.empty()) {
        returns.push_back(without_signature(thread.general()[kReturnAddress]));
    }
    found.to_code = returns.back();
    returns.pop_back();
    found.to_native = std::move(returns);
    return found;
}

}  // namespace beamdump::arch::aarch64
