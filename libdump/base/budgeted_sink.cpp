#include <libdump/base/byte_sink.h>

#include <utility>

namespace beamdump {
namespace {

class BudgetedSink final : public ByteSink {
  public:
    BudgetedSink(std::unique_ptr<ByteSink> sink, Budget& budget)
        : sink_(std::move(sink)), budget_(budget) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        auto room = budget_.take_temporary(bytes.size());
        return room ? sink_->write(bytes) : room;
    }
    Result<void> commit() override { return sink_->commit(); }

  private:
    std::unique_ptr<ByteSink> sink_;
    Budget& budget_;
};

}  // namespace

std::unique_ptr<ByteSink> budgeted_sink(std::unique_ptr<ByteSink> sink, Budget& budget) {
    return std::make_unique<BudgetedSink>(std::move(sink), budget);
}

}  // namespace beamdump
