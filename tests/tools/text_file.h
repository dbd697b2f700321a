#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace beamdump::test {

/// Text on its way into a file. Says on standard error what went wrong, and ends the program.
class Output {
  public:
    explicit Output(const char* path)
        : descriptor_(::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
        if (descriptor_ < 0) {
            fail("cannot create the file");
        }
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    Output(Output&&) = delete;
    Output& operator=(Output&&) = delete;
    ~Output() { ::close(descriptor_); }

    template <typename... Values>
    void put(fmt::format_string<Values...> format, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
        if (text_.size() >= kBlockBytes) {
            flush();
        }
    }

    void flush() {
        std::span<const char> left(text_.data(), text_.size());
        while (!left.empty()) {
            const auto written = ::write(descriptor_, left.data(), left.size());
            if (written < 0 && errno != EINTR) {
                fail("cannot write");
            }
            if (written > 0) {
                left = left.subspan(static_cast<std::size_t>(written));
            }
        }
        bytes_ += text_.size();
        text_.clear();
    }

    [[nodiscard]] std::uint64_t bytes() const { return bytes_ + text_.size(); }

  private:
    static constexpr std::size_t kBlockBytes = 1U << 20U;

    [[noreturn]] static void fail(const char* what) {
        fmt::print(stderr, "generate_crash_dump: {}: {}\n", what,
                   std::error_code(errno, std::generic_category()).message());
        std::exit(1);
    }

    int descriptor_;
    fmt::memory_buffer text_;
    std::uint64_t bytes_ = 0;
};

inline void append_base64(std::string& out, std::string_view bytes) {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const auto part = bytes.substr(i, 3);
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            bits = bits << 8U | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0U);
        }
        for (std::size_t k = 0; k < 4; ++k) {
            out.push_back(k <= part.size() ? kDigits[bits >> (18 - 6 * k) & 63U] : '=');
        }
    }
}

}  // namespace beamdump::test
