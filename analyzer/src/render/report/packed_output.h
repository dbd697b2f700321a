#pragma once

#include "render/shared/output.h"

#include <memory>

namespace beamdump::render {

/// Text into a page, compressed by zlib and as base 64, non-owning. Memory does not depend on its
/// length.
class PackedOutput final : public Output {
  public:
    explicit PackedOutput(Output& page);
    PackedOutput(const PackedOutput&) = delete;
    PackedOutput& operator=(const PackedOutput&) = delete;
    ~PackedOutput() override;

    /// Writes what is held. Nothing may follow.
    void finish();

  protected:
    Result<void> put(std::string_view text) override;

  private:
    class Stream;
    std::unique_ptr<Stream> stream_;
};

}  // namespace beamdump::render
