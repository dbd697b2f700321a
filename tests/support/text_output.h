#pragma once

#include <libdump/text/output.h>

#include <string>
#include <string_view>

namespace beamdump::test {

/// Keeps what is written to it.
class TextOutput final : public Output {
  public:
    explicit TextOutput(bool is_terminal = false) : is_terminal_(is_terminal) {}

    [[nodiscard]] bool is_terminal() const override { return is_terminal_; }
    [[nodiscard]] const std::string& text() const { return text_; }

  protected:
    Result<void> put(std::string_view text) override {
        text_ += text;
        return {};
    }

  private:
    bool is_terminal_;
    std::string text_;
};

}  // namespace beamdump::test
