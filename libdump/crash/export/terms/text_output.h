#pragma once

#include <libdump/base/base64.h>
#include <libdump/base/error.h>
#include <libdump/term/pointer_text.h>
// A text export is a file that is written with the same care as a dump.
#include <libdump/base/byte_sink.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace beamdump::crash {

/// Writes the text of a crash dump to a sink through a buffer of 64 KiB. After the first failure
/// everything further is dropped and ok() is false, which long sections must check.
class TextOutput {
  public:
    /// Non-owning: must outlive the text.
    explicit TextOutput(ByteSink& sink);
    TextOutput(const TextOutput&) = delete;
    TextOutput& operator=(const TextOutput&) = delete;
    ~TextOutput() = default;

    void put(char character) {
        if (used_ == kBytes) {
            flush();
        }
        buffer_[used_++] = character;
    }
    void put(std::string_view text);
    /// As the VM prints addresses and sizes in a heap: upper-case hexadecimal without leading
    /// zeros.
    void hex(std::uint64_t value);
    void number(std::uint64_t value);
    void signed_number(std::int64_t value);
    /// 0x and 16 digits.
    void pointer(std::uint64_t address) { put(pointer_text(address).view()); }

    /// Flushes the buffer.
    void flush();

    [[nodiscard]] bool ok() const { return !error_; }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    /// Bytes put so far.
    [[nodiscard]] std::uint64_t bytes() const { return passed_on_ + used_; }

  private:
    static constexpr std::size_t kBytes = std::size_t{64} << 10U;

    ByteSink& sink_;
    std::vector<char> buffer_;
    std::size_t used_ = 0;
    std::uint64_t passed_on_ = 0;
    std::optional<Error> error_;
};

}  // namespace beamdump::crash
