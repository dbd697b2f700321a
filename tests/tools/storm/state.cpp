#include "storm/state.h"

#include <libdump/base/return_if_error.h>
#include <libdump/term/binary_content.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace beamdump::storm {

namespace {

constexpr std::uint64_t kMostItems = 1U << 28U;  // torn indexes must not take all memory

std::uint64_t big_endian(std::span<const std::uint8_t> bytes) {
    std::uint64_t number = 0;
    for (const auto byte : bytes) {
        number = number << 8U | byte;
    }
    return number;
}

}  // namespace

State::State(const TagScheme& scheme, ProcessContext& context, std::uint64_t tag)
    : scheme_(scheme), reader_(context), reader_of_items_(scheme, reader_, tag) {}

Result<void> State::add(const query::HeapRoot& root) {
    const auto kind = query::root_kind_text(root.kind);
    ++roots[std::string(kind)];
    place_ = fmt::format("{} {} {} {}", kind, root.name, root.frame, root.index);
    if (root.kind == query::RootKind::kMessage) {
        // The words of the last message's fragments are no more.
        reader_.forget();
    }
    RETURN_IF_ERROR(visit(root.word, 0));
    while (!ranges_.empty()) {
        Range& top = ranges_.back();
        const std::uint64_t slot = top.slot;
        top.slot += kWordBytes;
        // Before what it leads to: a list must not be as deep as it is long.
        if (--top.left == 0) {
            ranges_.pop_back();
        }
        std::uint64_t word = 0;
        if (reader_.read(slot, word) != WordStatus::kHere) {
            note(slot, 0, "is not in the dump");
            continue;
        }
        RETURN_IF_ERROR(visit(word, slot));
    }
    return {};
}

Result<void> State::visit(std::uint64_t word, std::uint64_t slot) {
    if (!leads_to_object(scheme_, word)) {
        const WordKind kind = word_kind(scheme_, word);
        if (kind == WordKind::kHeader || kind == WordKind::kUnknown) {
            note(slot, word, "is no term");
        } else if (const auto index = cell_index(scheme_, word)) {
            met(*index);
        }
        return {};
    }
    const auto object = heap_object(scheme_, reader_, word);
    if (!object) {
        std::uint64_t first = 0;
        const auto status = reader_.read(pointer_of(word), first);
        note(slot, word,
             status == WordStatus::kHere
                 ? fmt::format("leads to no object, but to {:#x}", first)
                 : std::string(status == WordStatus::kAbsent ? "leads to what is absent"
                                                             : "leads to an address in no region"));
        return {};
    }
    ASSIGN_OR_RETURN(const bool is_new, marks_.add(object->address));
    if (!is_new) {
        return {};
    }
    if (const auto item = reader_of_items_.read(*object)) {
        if (item->fault.empty()) {
            lowest_version = std::min(lowest_version, item->version);
            highest_version = std::max(highest_version, item->version);
            met(item->index);
            return {};
        }
        ++fault_count;
        if (faults.size() < kFaultsTold) {
            faults.push_back(fmt::format("{:#x} (from {:#x}, {}): {}", object->address, slot,
                                         place_, item->fault));
        }
    }
    words_ += object->words;
    check_bytes(*object);
    if (object->terms.count != 0) {
        ranges_.push_back({object->terms_address(), object->terms.count});
    }
    return {};
}

void State::met(std::uint64_t index) {
    ++items;
    if (index >= kMostItems) {
        return;
    }
    if (index >= indexes_.size()) {
        indexes_.resize(std::max<std::size_t>(index + 1, indexes_.size() * 2));
    }
    distinct += indexes_[index] ? 0 : 1;
    indexes_[index] = true;
    highest = std::max(highest, index);
}

/// A binary that is not of an item: numbers and their complements, if it begins as these do.
void State::check_bytes(const HeapObject& object) {
    // From OTP 27 on a reference to a binary is no term by itself: only parts lead to it.
    const bool has_bytes = object.kind == BoxedKind::kSubBinary ||
                           object.kind == BoxedKind::kSubBits ||
                           (object.kind == BoxedKind::kRefcBinary && !scheme_.heap_binary_in_bits);
    if (object.is_cell || !has_bytes) {
        return;
    }
    constexpr std::size_t kNumberBytes = 8;
    BinaryContent content;
    std::vector<std::uint8_t> piece(64U << 10U);
    if (BinaryContent::resolve(scheme_, reader_, object.address, content) !=
        BinaryContent::Status::kFound) {
        note(object.address, object.header, "is a binary that contradicts itself");
        return;
    }
    std::uint64_t number = 0;
    for (;;) {
        const std::size_t got = content.octets(reader_, number * kNumberBytes, piece);
        for (std::size_t at = 0; at + kNumberBytes <= got; at += kNumberBytes, ++number) {
            const auto bytes = std::span(piece).subspan(at, kNumberBytes);
            if (big_endian(bytes) != (number << 32U | (~number & 0xFFFF'FFFFU))) {
                if (number != 0) {
                    ++fault_count;
                    faults.push_back(fmt::format("{:#x}: number {} of {} appended bytes is {:#x}",
                                                 object.address, number, content.whole_bytes(),
                                                 big_endian(bytes)));
                }
                return;
            }
        }
        if (got < piece.size()) {
            appended = std::max(appended, number);
            return;
        }
    }
}

void State::note(std::uint64_t slot, std::uint64_t word, std::string_view what) {
    ++unreadable;
    if (faults.size() < kFaultsTold) {
        faults.push_back(fmt::format("word {:#x} at {:#x} ({}) {}", word, slot, place_, what));
    }
}

std::vector<std::uint64_t> State::missing(std::uint64_t items_expected) const {
    std::vector<std::uint64_t> indexes;
    for (std::uint64_t i = 1; i <= items_expected && indexes.size() < kFaultsTold; ++i) {
        if (i >= indexes_.size() || !indexes_[i]) {
            indexes.push_back(i);
        }
    }
    return indexes;
}

}  // namespace beamdump::storm
