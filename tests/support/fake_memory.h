#pragma once

#include <libvm/memory/memory_source.h>
#include <libvm/memory/present_pages.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::test {

/// A target's memory, built in a test from labelled segments. Segments may not overlap; adjacent
/// ones are separate reads. Building mistakes throw.
class FakeMemory final : public memory::MemorySource {
  public:
    using Address = memory::Address;

    /// Adds a segment of zero bytes; gives its address.
    Address add(const std::string& label, Address at, std::size_t bytes) {
        const auto next = segments_.lower_bound(at);
        const bool hits_next = next != segments_.end() && next->first - at < bytes;
        const auto* before = segment_at(at);
        if (hits_next || before != nullptr || labels_.contains(label)) {
            throw std::logic_error(
                fmt::format("segment {} at {:#x} overlaps or is known", label, at));
        }
        segments_.emplace(at, std::vector<std::byte>(bytes));
        labels_.emplace(label, at);
        return at;
    }
    /// Adds a segment of the given words.
    Address add_words(const std::string& label, Address at,
                      const std::vector<std::uint64_t>& words) {
        add(label, at, words.size() * 8);
        for (std::size_t i = 0; i < words.size(); ++i) {
            put(at + i * 8, words[i]);
        }
        return at;
    }
    /// Adds a segment with the characters of `text` and a NUL.
    Address add_text(const std::string& label, Address at, std::string_view text) {
        add(label, at, text.size() + 1);
        put_bytes(at, std::as_bytes(std::span(text.data(), text.size())));
        return at;
    }
    /// The address of a labelled segment.
    [[nodiscard]] Address at(std::string_view label) const {
        const auto found = labels_.find(label);
        if (found == labels_.end()) {
            throw std::logic_error(fmt::format("no segment {}", label));
        }
        return found->second;
    }
    void remove(std::string_view label) {
        segments_.erase(at(label));
        labels_.erase(labels_.find(label));
    }

    /// Overwrites a value inside one segment.
    template <typename T>
    void put(Address address, const T& value) {
        put_bytes(address, std::as_bytes(std::span(&value, 1)));
    }
    void put_bytes(Address address, std::span<const std::byte> bytes) {
        const auto* segment = segment_at(address);
        if (segment == nullptr ||
            bytes.size() > segment->second.size() - (address - segment->first)) {
            throw std::logic_error(
                fmt::format("{} bytes at {:#x} are in no segment", bytes.size(), address));
        }
        std::ranges::copy(bytes, segments_.at(segment->first).data() + (address - segment->first));
    }

    /// Called before each read from here on with its range: a target that changes meanwhile.
    void before_read(std::function<void(memory::AddressRange)> change) {
        change_ = std::move(change);
    }
    /// From here on every read fails: the target has exited.
    void die() { dead_ = true; }
    /// What was asked for, in order: each read's range, cut to its segment.
    [[nodiscard]] const std::vector<memory::AddressRange>& touched() const { return touched_; }

    Result<std::size_t> read_some(Address address, std::span<std::byte> into) override {
        if (dead_) {
            return fail(ErrorCode::kTargetDied, "the fake target has died");
        }
        if (change_) {
            change_({address, address + into.size()});
        }
        const auto* segment = segment_at(address);
        if (segment == nullptr) {
            return fail(ErrorCode::kUnmapped, fmt::format("no segment at {:#x}", address));
        }
        const auto offset = address - segment->first;
        const auto count = std::min<std::size_t>(into.size(), segment->second.size() - offset);
        if (count != 0) {
            std::memcpy(into.data(), segment->second.data() + offset, count);
        }
        touched_.push_back({address, address + count});
        stats_.bytes += count;
        ++stats_.reads;
        return count;
    }
    [[nodiscard]] memory::MemoryStats stats() const override { return stats_; }

    /// From here on there is a second source, which reads the segments as they are then: nothing
    /// may be added or changed meanwhile. Each of its reads fails if `dead`.
    void offer_second_source(bool dead = false) { second_ = dead ? Second::kDead : Second::kReads; }
    std::unique_ptr<memory::MemorySource> second_source() override {
        if (second_ == Second::kNone) {
            return nullptr;
        }
        auto source = std::make_unique<FakeMemory>();
        source->segments_ = segments_;
        source->dead_ = second_ == Second::kDead;
        return source;
    }

  private:
    enum class Second : std::uint8_t { kNone, kReads, kDead };
    using Segments = std::map<Address, std::vector<std::byte>>;

    [[nodiscard]] const Segments::value_type* segment_at(Address address) const {
        auto next = segments_.upper_bound(address);
        if (next == segments_.begin()) {
            return nullptr;
        }
        --next;
        return address - next->first < next->second.size() ? &*next : nullptr;
    }

    Segments segments_;
    std::map<std::string, Address, std::less<>> labels_;
    std::vector<memory::AddressRange> touched_;
    memory::MemoryStats stats_;
    std::function<void(memory::AddressRange)> change_;
    bool dead_ = false;
    Second second_ = Second::kNone;
};

/// Presence as a list of ranges: ascending, apart, whole pages.
class FakePages final : public memory::PresentPages {
  public:
    explicit FakePages(std::vector<memory::AddressRange> here) : here_(std::move(here)) {}

    Result<std::vector<memory::AddressRange>> present(memory::AddressRange range) override {
        std::vector<memory::AddressRange> parts;
        for (const auto& part : here_) {
            const memory::AddressRange cut{std::max(part.begin, range.begin),
                                           std::min(part.end, range.end)};
            if (cut.begin < cut.end) {
                parts.push_back(cut);
            }
        }
        return parts;
    }

  private:
    std::vector<memory::AddressRange> here_;
};

}  // namespace beamdump::test
