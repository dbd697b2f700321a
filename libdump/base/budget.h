#pragma once

#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <stop_token>

namespace beamdump {

/// How much memory and temporary space an input may take. Inputs are not trusted: these limits
/// hold whatever sizes the input states.
struct InputLimits {
    static constexpr std::uint64_t kDefaultMemory = std::uint64_t{1} << 30U;
    static constexpr std::uint64_t kMaxDefaultTemporary = std::uint64_t{64} << 30U;

    /// Bytes of tables that grow with the input, without buffers and caches of a fixed size.
    std::uint64_t memory = kDefaultMemory;
    /// Bytes in temporary files; default: half of the free space of their directory, at most 64
    /// GiB, and 16 MiB where it is full.
    std::optional<std::uint64_t> temporary = std::nullopt;
    /// Who asked may give up: what is read after that fails with kLimit.
    std::stop_token stop = {};

    /// `temporary`, or the default now.
    [[nodiscard]] std::uint64_t temporary_bytes() const;
};

/// kLimit after a stop was requested.
Result<void> check_stop(const std::stop_token& stop);

/// Counts the memory and temporary space that an input takes against its limits. Not thread-safe.
class Budget {
  public:
    explicit Budget(const InputLimits& limits = {})
        : most_memory_(limits.memory),
          most_temporary_(limits.temporary_bytes()),
          stop_(limits.stop) {}

    /// Counts bytes; check_memory() fails from then on if they exceed the limit.
    void use_memory(std::uint64_t bytes) {
        memory_ += bytes;
        exceeded_ = exceeded_ || memory_ > most_memory_;
    }
    void give_memory(std::uint64_t bytes) { memory_ -= bytes; }
    [[nodiscard]] bool memory_exceeded() const { return exceeded_; }
    /// kLimit, also after InputLimits::stop.
    [[nodiscard]] Result<void> check_memory() const {
        return exceeded_ ? memory_error() : check_stop(stop_);
    }

    /// To be called before bytes are written: kLimit, and nothing is counted, if they exceed the
    /// limit, and after InputLimits::stop.
    Result<void> take_temporary(std::uint64_t bytes);
    void give_temporary(std::uint64_t bytes) { temporary_ -= bytes; }

    [[nodiscard]] const std::stop_token& stop() const { return stop_; }
    [[nodiscard]] std::uint64_t memory() const { return memory_; }
    [[nodiscard]] std::uint64_t temporary() const { return temporary_; }
    [[nodiscard]] std::uint64_t temporary_left() const { return most_temporary_ - temporary_; }

  private:
    [[nodiscard]] Result<void> memory_error() const;

    std::uint64_t most_memory_;
    std::uint64_t most_temporary_;
    std::stop_token stop_;
    std::uint64_t memory_ = 0;
    std::uint64_t temporary_ = 0;
    bool exceeded_ = false;
};

}  // namespace beamdump
