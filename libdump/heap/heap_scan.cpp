#include <libdump/base/return_if_error.h>
#include <libdump/heap/heap_scan.h>
#include <libdump/heap/largest_terms.h>

#include <optional>

namespace beamdump {

namespace {

/// The object that begins at an address and ends inside the block.
std::optional<HeapObject> object_at(const TagScheme& scheme, WordReader& reader,
                                    const HeapBlock& block, std::uint64_t address) {
    std::uint64_t word = 0;
    if (reader.read(address, word) != WordStatus::kHere) {
        return std::nullopt;
    }
    const bool is_cell = word_kind(scheme, word) != WordKind::kHeader;
    if (is_cell && word_kind(scheme, word) == WordKind::kUnknown) {
        return std::nullopt;
    }
    auto object = heap_object(scheme, reader, word_to(scheme, address, is_cell));
    if (object && object->words > (block.end - address) / kWordBytes) {
        return std::nullopt;
    }
    return object;
}

/// Stops at live objects while the term is dead.
class Reach final : public WalkObserver {
  public:
    explicit Reach(const TopLevelTerms::IsLive& is_live) : is_live_(is_live) {}

    void set_dead(bool dead) { dead_ = dead; }

    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> /*path*/) override {
        const bool passes = !dead_ || !is_live_(object.address);
        return Entered{.go_on = passes, .uncounted = !passes};
    }
    Result<void> again(std::uint64_t /*address*/, std::span<WalkLevel> /*path*/) override {
        return {};
    }
    Result<void> leave(std::span<WalkLevel> /*path*/) override { return {}; }

  private:
    const TopLevelTerms::IsLive& is_live_;
    bool dead_ = false;
};

}  // namespace

Result<void> scan_block(const TagScheme& scheme, WordReader& reader, const HeapBlock& block,
                        const std::function<Result<void>(const HeapObject&)>& object,
                        const std::function<void(const UnreadableStretch&)>& unreadable) {
    UnreadableStretch stretch;
    const auto end_stretch = [&] {
        if (stretch.words > 0) {
            unreadable(stretch);
            stretch.words = 0;
        }
    };
    for (std::uint64_t at = block.begin; at < block.end;) {
        const auto found = object_at(scheme, reader, block, at);
        if (found) {
            end_stretch();
            RETURN_IF_ERROR(object(*found));
            at += found->words * kWordBytes;
            continue;
        }
        std::uint64_t word = 0;
        const bool absent = reader.read(at, word) != WordStatus::kHere;
        if (absent != stretch.absent) {
            end_stretch();
        }
        if (stretch.words == 0) {
            stretch = {.address = at, .absent = absent};
        }
        ++stretch.words;
        at += kWordBytes;
    }
    end_stretch();
    return {};
}

Result<void> TopLevelTerms::add(const HeapBlock& block) {
    return scan_block(
        scheme_, reader_, block,
        [this](const HeapObject& object) -> Result<void> {
            for (std::uint64_t i = 0; i < object.terms.count; ++i) {
                std::uint64_t word = 0;
                if (reader_.read(object.terms_address() + i * kWordBytes, word) !=
                    WordStatus::kHere) {
                    break;
                }
                if (leads_to_object(scheme_, word)) {
                    RETURN_IF_ERROR(referred_.add(pointer_of(word)));
                }
            }
            return {};
        },
        [](const UnreadableStretch&) {});
}

Result<void> TopLevelTerms::visit(const HeapBlock& block,
                                  const std::function<void(const Term&)>& term,
                                  const std::function<void(const UnreadableStretch&)>& unreadable) {
    Reach reach(is_live_);
    return scan_block(
        scheme_, reader_, block,
        [&](const HeapObject& object) -> Result<void> {
            if (!referred_.has(object.address)) {
                const std::uint64_t word = word_to(scheme_, object.address, object.is_cell);
                const bool dead = !is_live_(object.address);
                reach.set_dead(dead);
                ASSIGN_OR_RETURN(const auto outcome,
                                 (dead ? dead_walk_ : live_walk_).walk(word, reach));
                term({word, object.address, dead, outcome.words});
            }
            return {};
        },
        unreadable);
}

}  // namespace beamdump
