#include <libdump/base/return_if_error.h>
#include <libdump/model/process_dictionary.h>

#include <algorithm>
#include <array>
#include <vector>

namespace beamdump {

namespace {

/// Called with an entry's word, key and value; returns whether to continue.
using VisitEntry = std::function<bool(std::uint64_t entry, std::uint64_t key, std::uint64_t value)>;
using VisitLost = std::function<bool(std::uint64_t word)>;

/// Walks the slots of one dictionary.
class DictionaryWalk {
  public:
    DictionaryWalk(ProcessContext& context, const TagScheme& scheme, const VisitEntry& visit,
                   const VisitLost& lost)
        : context_(context), scheme_(scheme), visit_(visit), lost_(lost) {}

    void slot(std::uint64_t word) {
        if (word == scheme_.nil || word == scheme_.non_value) {
            return;
        }
        if (word_kind(scheme_, word) == WordKind::kList) {
            bucket(word);
        } else {
            pair(word);
        }
    }

    [[nodiscard]] bool stopped() const { return stopped_; }
    [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

  private:
    /// A word that leads to no entry.
    void lose(std::uint64_t word) {
        ++malformed_;
        stopped_ = lost_ && !lost_(word);
    }

    /// A {Key, Value} tuple.
    void pair(std::uint64_t word) {
        std::array<std::uint64_t, 3> tuple{};
        const bool boxed = word_kind(scheme_, word) == WordKind::kBoxed;
        const auto got = boxed ? context_.words(pointer_of(word), tuple) : Result<std::size_t>(0);
        if (!got || *got != tuple.size() || boxed_kind(scheme_, tuple[0]) != BoxedKind::kTuple ||
            header_arity(tuple[0]) != 2) {
            lose(word);
            return;
        }
        stopped_ = !visit_(word, tuple[1], tuple[2]);
    }

    /// A hash bucket with several entries.
    void bucket(std::uint64_t word) {
        // A list cannot have more cells than half its region's words; a longer one is a cycle.
        std::uint64_t cells_left = context_.region_bytes_bound() / sizeof(std::uint64_t) / 2;
        while (word != scheme_.nil) {
            std::array<std::uint64_t, 2> cell{};
            const bool list = word_kind(scheme_, word) == WordKind::kList && cells_left-- > 0;
            const auto got = list ? context_.words(pointer_of(word), cell) : Result<std::size_t>(0);
            if (!got || *got != cell.size()) {
                lose(word);
                return;
            }
            pair(cell[0]);
            if (stopped_) {
                return;
            }
            word = cell[1];
        }
    }

    ProcessContext& context_;
    const TagScheme& scheme_;
    const VisitEntry& visit_;
    const VisitLost& lost_;
    std::uint64_t malformed_ = 0;
    bool stopped_ = false;
};

Result<std::uint64_t> walk(ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
                           const VisitEntry& visit, const VisitLost& lost = {}) {
    constexpr std::uint64_t kSlotsAtOnce = 1024;
    DictionaryWalk dictionary(context, scheme, visit, lost);
    const Region* region = run.region(format::RegionKind::kDictionary);
    const std::uint64_t slots_here = region == nullptr ? 0 : region->here;
    std::vector<std::uint64_t> slots;
    for (std::uint64_t slot = 0; slot < slots_here && !dictionary.stopped(); slot += slots.size()) {
        slots.resize(std::min(kSlotsAtOnce, slots_here - slot));
        ASSIGN_OR_RETURN(auto got,
                         context.words(region->address + slot * sizeof(std::uint64_t), slots));
        slots.resize(got);
        for (std::size_t i = 0; i < slots.size() && !dictionary.stopped(); ++i) {
            dictionary.slot(slots[i]);
        }
    }
    return dictionary.malformed();
}

}  // namespace

Result<std::uint64_t> walk_dictionary(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<bool(std::uint64_t key, std::uint64_t value)>& visit,
    const std::function<bool(std::uint64_t word)>& lost) {
    return walk(
        context, run, scheme,
        [&](std::uint64_t /*entry*/, std::uint64_t key, std::uint64_t value) {
            return visit(key, value);
        },
        lost);
}

Result<std::uint64_t> visit_dictionary_entries(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<bool(std::uint64_t entry)>& visit) {
    return walk(context, run, scheme,
                [&](std::uint64_t entry, std::uint64_t /*key*/, std::uint64_t /*value*/) {
                    return visit(entry);
                });
}

Result<std::uint64_t> visit_dictionary(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<void(std::uint64_t key, std::uint64_t value)>& visit) {
    return walk_dictionary(context, run, scheme, [&](std::uint64_t key, std::uint64_t value) {
        visit(key, value);
        return true;
    });
}

}  // namespace beamdump
