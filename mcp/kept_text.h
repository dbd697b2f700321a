#pragma once

#include <libdump/text/output.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace beamdump::mcp {

/// Keeps what is written, up to a number of bytes; beyond it kLimit, with `why`.
class KeptText final : public Output {
  public:
    explicit KeptText(std::size_t most = std::string::npos, std::string why = {})
        : most_(most), why_(std::move(why)) {}

    /// All that was written.
    [[nodiscard]] std::string take() {
        flush();
        return std::exchange(text_, {});
    }

  protected:
    Result<void> put(std::string_view text) override {
        if (text.size() > most_ - text_.size()) {
            return fail(ErrorCode::kLimit, why_);
        }
        text_ += text;
        return {};
    }

  private:
    std::size_t most_;
    std::string why_;
    std::string text_;
};

}  // namespace beamdump::mcp
