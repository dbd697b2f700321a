#pragma once

#include <libdump/term/pointer_text.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// A place in a term's text that matters when it is laid out in lines.
enum class LayoutMark : std::uint8_t {
    kOpen,        ///< behind an opening bracket
    kClose,       ///< before a closing bracket
    kBreak,       ///< between two parts: a line may end here
    kSpaceBreak,  ///< the same; the space that follows is only for one line
    kFill,        ///< between two short parts, as many of which go into a line as fit
    kSpaceFill,   ///< the same, before a space
};

/// A mark and its position: bytes of text before it.
struct PlacedMark {
    std::uint64_t at = 0;
    LayoutMark mark = LayoutMark::kOpen;
};

/// A buffer between a step-wise producer of text and a consumer that takes pieces of any size. The
/// producer writes while has_room(); one piece may exceed the room (the digits of a big integer)
/// and is then kept separately until taken.
class TextBuffer {
  public:
    /// Bytes that a producer may write between two checks of has_room() without spilling.
    static constexpr std::size_t kStepBytes = 4096;

    [[nodiscard]] bool has_room() const { return limit_ == kBytes && end_ + kStepBytes <= kBytes; }
    [[nodiscard]] std::size_t size() const { return end_ - begin_ + spill_.size() - spill_begin_; }

    void put(char c) {
        if (end_ < limit_) {
            bytes_[end_++] = c;
        } else {
            spill(std::string_view(&c, 1));
        }
    }
    void put(std::string_view text) {
        if (end_ + text.size() <= limit_) {
            copy(bytes_.data() + end_, text);
            end_ += text.size();
        } else {
            spill(text);
        }
    }
    void put_unsigned(std::uint64_t value, int base = 10) { put_number(value, base); }
    void put_signed(std::int64_t value) { put_number(value, 10); }
    /// As the VM prints pointers: 0x and 16 digits.
    /// An address in the dump, as the node had it.
    void put_pointer(const TagScheme& scheme, std::uint64_t address) {
        put(pointer_text(scheme, address_in_node(scheme, address)).view());
    }

    /// From here on marks are noted, until the next clear() without.
    void note_marks() { noted_ = true; }
    [[nodiscard]] bool notes_marks() const { return noted_; }
    /// Notes a mark behind what was written so far, where marks are noted.
    void mark(LayoutMark mark) {
        if (noted_) {
            marks_.push_back({taken_ + size(), mark});
        }
    }
    /// The marks noted since the last call.
    void take_marks(std::vector<PlacedMark>& out) {
        out.insert(out.end(), marks_.begin(), marks_.end());
        marks_.clear();
    }

    /// Moves at most `max_bytes` to the end of `out`; gives how many.
    std::size_t take(std::size_t max_bytes, std::string& out) {
        std::size_t taken = std::min(max_bytes, end_ - begin_);
        out.append(bytes_.data() + begin_, taken);
        begin_ += taken;
        if (begin_ == end_) {
            begin_ = end_ = 0;
            const std::size_t spilled = std::min(max_bytes - taken, spill_.size() - spill_begin_);
            out.append(spill_, spill_begin_, spilled);
            spill_begin_ += spilled;
            taken += spilled;
            if (spill_begin_ == spill_.size()) {
                spill_begin_ = 0;
                // A long number's memory is not kept for the short ones after it.
                std::string().swap(spill_);
                limit_ = kBytes;
            }
        }
        taken_ += taken;
        return taken;
    }

    /// Appends a producer's next `max_bytes` at most to `out`: calls `step`, which writes here,
    /// until there are enough or `finished` is true. Returns how many bytes; 0 only at the end (or
    /// for max_bytes 0).
    template <typename Step>
    std::size_t next(std::size_t max_bytes, std::string& out, const bool& finished,
                     const Step& step) {
        std::size_t total = 0;
        while (total < max_bytes) {
            total += take(max_bytes - total, out);
            if (finished && size() == 0) {
                break;
            }
            while (!finished && has_room() && size() < max_bytes - total) {
                step();
            }
        }
        return total;
    }

    void clear() {
        begin_ = end_ = spill_begin_ = 0;
        spill_.clear();
        limit_ = kBytes;
        taken_ = 0;
        noted_ = false;
        marks_.clear();
    }

  private:
    static constexpr std::size_t kBytes = 32U << 10U;
    /// Digits and sign of any 64-bit number, in bases from 10 on.
    static constexpr std::size_t kNumberBytes = 24;

    /// Most pieces are a few bytes long: a call of memcpy would cost more than they do.
    static void copy(char* to, std::string_view text) {
        const auto word = [&]<typename Word>(Word value, std::size_t at) {
            std::memcpy(&value, text.data() + at, sizeof(value));
            std::memcpy(to + at, &value, sizeof(value));
        };
        const std::size_t size = text.size();
        if (size > 16) {
            std::memcpy(to, text.data(), size);
        } else if (size >= 8) {
            word(std::uint64_t{}, 0);
            word(std::uint64_t{}, size - 8);
        } else if (size >= 4) {
            word(std::uint32_t{}, 0);
            word(std::uint32_t{}, size - 4);
        } else {
            for (std::size_t i = 0; i < size; ++i) {
                to[i] = text[i];
            }
        }
    }

    template <typename Number>
    void put_number(Number value, int base) {
        if (end_ + kNumberBytes <= limit_) {
            char* const begin = bytes_.data() + end_;
            end_ += static_cast<std::size_t>(
                std::to_chars(begin, begin + kNumberBytes, value, base).ptr - begin);
            return;
        }
        std::array<char, kNumberBytes> digits{};
        const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), value, base);
        put(std::string_view(digits.data(), done.ptr));
    }

    /// From here on everything goes behind the spilled piece, until that is taken.
    void spill(std::string_view text) {
        spill_.append(text);
        limit_ = 0;
    }

    std::array<char, kBytes> bytes_{};
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t limit_ = kBytes;  ///< end_ may grow to; 0 while anything is spilled
    std::string spill_;
    std::size_t spill_begin_ = 0;
    std::uint64_t taken_ = 0;  ///< bytes since clear()
    bool noted_ = false;
    std::vector<PlacedMark> marks_;
};

}  // namespace beamdump
