#pragma once

#include <libdump/base/byte_sink.h>
#include <libdump/text/output.h>

#include <span>

namespace beamdump::render {

using beamdump::DescriptorOutput;
using beamdump::Output;
using beamdump::Style;
using beamdump::write_all;

/// Text into a sink, non-owning. To be flushed before the sink is committed.
class SinkOutput final : public Output {
  public:
    explicit SinkOutput(ByteSink& sink) : sink_(sink) {}

  protected:
    Result<void> put(std::string_view text) override {
        return sink_.write(std::as_bytes(std::span(text)));
    }

  private:
    ByteSink& sink_;
};

}  // namespace beamdump::render
