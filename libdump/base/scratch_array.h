#pragma once

#include <libdump/base/scratch_space.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace beamdump {

/// An array of plain values in a ScratchBlock. Growing it moves them. A failure to grow is that of
/// ScratchBlock::grow() and leaves the array as it is.
template <typename Value>
class ScratchArray {
    static_assert(std::is_trivially_copyable_v<Value> && std::is_trivially_destructible_v<Value>);

  public:
    explicit ScratchArray(ScratchSpace* space = nullptr) : block_(space) {}

    [[nodiscard]] Result<void> push_back(const Value& value) {
        const Value copy = value;
        if (auto grown = block_.grow((size_ + 1) * sizeof(Value)); !grown) {
            return grown;
        }
        begin()[size_++] = copy;
        return {};
    }
    /// Resizes the array to `size` copies of `value`.
    [[nodiscard]] Result<void> assign(std::size_t size, const Value& value) {
        if (auto grown = block_.grow(size * sizeof(Value)); !grown) {
            return grown;
        }
        size_ = size;
        std::fill(begin(), end(), value);
        return {};
    }
    /// Frees its memory.
    void release() {
        block_.release();
        size_ = 0;
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] Value& operator[](std::size_t i) { return begin()[i]; }
    [[nodiscard]] const Value& operator[](std::size_t i) const { return begin()[i]; }
    [[nodiscard]] Value* begin() { return reinterpret_cast<Value*>(block_.data()); }
    [[nodiscard]] Value* end() { return begin() + size_; }
    [[nodiscard]] const Value* begin() const {
        return reinterpret_cast<const Value*>(block_.data());
    }
    [[nodiscard]] const Value* end() const { return begin() + size_; }
    [[nodiscard]] bool in_file() const { return block_.in_file(); }

  private:
    ScratchBlock block_;
    std::size_t size_ = 0;
};

}  // namespace beamdump
