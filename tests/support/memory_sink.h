#pragma once

#include <libdump/base/byte_sink.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace beamdump::test {

/// What a MemorySink got; outlives the sink.
struct SinkContent {
    std::vector<std::byte> bytes;
    bool committed = false;
};

/// Keeps a dump in memory.
class MemorySink final : public ByteSink {
  public:
    explicit MemorySink(std::shared_ptr<SinkContent> content) : content_(std::move(content)) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        content_->bytes.insert(content_->bytes.end(), bytes.begin(), bytes.end());
        return {};
    }

    Result<void> commit() override {
        content_->committed = true;
        return {};
    }

  private:
    std::shared_ptr<SinkContent> content_;
};

}  // namespace beamdump::test
