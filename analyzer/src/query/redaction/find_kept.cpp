#include "query/redaction/find_kept.h"

#include "query/holders/node_sweep.h"
#include "query/holders/process_sweep.h"
#include "query/redaction/term_lists.h"
#include "query/tables/persistent_terms.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/scratch_space.h>
#include <libdump/heap/address_marks.h>
#include <libdump/heap/largest_terms.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/frame_cursor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace beamdump::query {

namespace {

/// Notes what the lists of a policy keep of the terms that it is shown. All terms that may share
/// objects are to be shown twice: first for what is hidden, then for what is kept.
class ChosenTerms final : public SweepVisitor {
  public:
    enum class Stage : std::uint8_t { kHiding, kKeeping };
    /// Non-owning. `is_literal`: whether an address is among the literals.
    ChosenTerms(TermLists& lists, std::function<bool(std::uint64_t)> is_literal,
                redact::KeptTerms& kept, ScratchSpace& space)
        : lists_(lists),
          is_literal_(std::move(is_literal)),
          kept_(kept),
          space_(space),
          hidden_(&space),
          hidden_literals_(&space),
          literal_keys_(&space),
          kept_marks_(&space) {}

    /// Other terms come: of one process, or all rows; or all literals and persistent terms, after
    /// all others.
    void begin(bool literals) {
        literals_ = literals;
        hidden_.clear();
        kept_marks_.clear();
        walked_.clear();
    }
    /// The terms come that were told by begin(); `all`: what is done with each of them, whatever
    /// it is.
    void begin_stage(Stage stage, Choice all) {
        stage_ = stage;
        all_ = all;
    }

    Result<void> met(const HeapObject& object, std::span<const WalkLevel> path) override;
    Result<void> immediate(std::uint64_t word, std::span<const WalkLevel> path) override;

  private:
    class Named;
    class Hide;
    class Keep;
    Result<void> hide(std::uint64_t word);
    Result<void> keep(std::uint64_t word);
    Result<void> mark_hidden(std::uint64_t address);
    [[nodiscard]] bool is_hidden(std::uint64_t address) const {
        return hidden_.has(address) || hidden_literals_.has(address);
    }
    void keep_object(const HeapObject& object);
    void keep_atoms(const HeapObject& keys);
    void keep_immediate(std::uint64_t slot, std::uint64_t word);

    TermLists& lists_;
    std::function<bool(std::uint64_t)> is_literal_;
    redact::KeptTerms& kept_;
    ScratchSpace& space_;
    AddressMarks hidden_;           ///< objects, and slots of immediates
    AddressMarks hidden_literals_;  ///< the same, from wherever they are hidden
    AddressMarks literal_keys_;     ///< tuples of keys of the maps that were met
    AddressMarks kept_marks_;
    AddressMarks walked_;  ///< by hide()
    bool literals_ = false;
    Stage stage_ = Stage::kHiding;
    Choice all_ = Choice::kNone;
};

/// The address of the word that a walk is at.
std::uint64_t slot_of(std::span<const WalkLevel> path) {
    const WalkLevel& level = path.back();
    const bool tail = level.kind == WalkLevel::Kind::kList && level.index == WalkLevel::kTail;
    return level.slot + (tail ? kWordBytes : 0);
}

/// What was done, without its result.
template <typename Value>
Result<void> done(const Result<Value>& result) {
    return result ? Result<void>() : std::unexpected(result.error());
}

/// Whether a walk is at the tuple of a small map's keys.
bool is_at_keys(std::span<const WalkLevel> path) {
    return !path.empty() && path.back().kind == WalkLevel::Kind::kFlatMap && path.back().index == 0;
}

/// Whether a walk is at a key of a map: in the tuple of keys of a small one, or in a pair.
bool is_in_keys(std::span<const WalkLevel> path) {
    using Kind = WalkLevel::Kind;
    const WalkLevel& level = path.back();
    if (level.kind == Kind::kPair) {
        return level.index == 0;
    }
    return level.kind == Kind::kTuple && is_at_keys(path.first(path.size() - 1));
}

/// Walks what a list names: each object and immediate once.
class ChosenTerms::Named : public WalkObserver {
  public:
    Result<void> again(std::uint64_t /*address*/, std::span<WalkLevel> /*path*/) override {
        return {};
    }
    Result<void> leave(std::span<WalkLevel> /*path*/) override { return {}; }
    [[nodiscard]] bool wants_immediates() const override { return true; }

  protected:
    explicit Named(ChosenTerms& terms) : terms_(terms) {}
    ChosenTerms& terms_;
};

/// Walks what a hide-list names. Maps share their keys with others of the same keys; an atom that
/// is a key is the map's shape.
class ChosenTerms::Hide final : public Named {
  public:
    explicit Hide(ChosenTerms& terms) : Named(terms) {}
    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> /*path*/) override {
        RETURN_IF_ERROR(terms_.mark_hidden(object.address));
        return Entered{};
    }
    Result<void> immediate(std::uint64_t word, std::span<const WalkLevel> path) override {
        const bool atom = word_kind(terms_.scheme(), word) == WordKind::kAtom;
        if (atom && !path.empty() && is_in_keys(path)) {
            return {};
        }
        if (atom) {
            terms_.kept_.hide_atom(table_index(word));
        }
        return path.empty() ? Result<void>() : terms_.mark_hidden(slot_of(path));
    }
};

/// Walks what a keep-list names.
class ChosenTerms::Keep final : public Named {
  public:
    explicit Keep(ChosenTerms& terms) : Named(terms) {}
    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> path) override {
        const bool whose_else = !terms_.literals_ && terms_.is_literal_(object.address);
        if (whose_else && is_at_keys(path)) {
            terms_.keep_atoms(object);
        }
        if (whose_else || object.keeps_only() || object.kind == BoxedKind::kSubBits ||
            terms_.is_hidden(object.address)) {
            return Entered{.go_on = false};
        }
        terms_.keep_object(object);
        return Entered{};
    }
    Result<void> immediate(std::uint64_t word, std::span<const WalkLevel> path) override {
        if (!path.empty()) {
            terms_.keep_immediate(slot_of(path), word);
        }
        return {};
    }
};

Result<void> ChosenTerms::mark_hidden(std::uint64_t address) {
    auto& marks = is_literal_(address) ? hidden_literals_ : hidden_;
    return done(marks.add(address));
}

Result<void> ChosenTerms::hide(std::uint64_t word) {
    Hide observer(*this);
    TermWalk walk(scheme(), words(), walked_, TermWalk::Measure::kHeap, &space_);
    return done(walk.walk(word, observer));
}

Result<void> ChosenTerms::keep(std::uint64_t word) {
    Keep observer(*this);
    TermWalk walk(scheme(), words(), kept_marks_, TermWalk::Measure::kHeap, &space_);
    return done(walk.walk(word, observer));
}

/// Numbers and whole binaries have words of their own; of a binary only those that it fills, and
/// the bytes that it has of the last one.
void ChosenTerms::keep_object(const HeapObject& object) {
    if (object.is_cell) {
        return;
    }
    const auto keep_words = [&](std::uint64_t first, std::uint64_t bytes) {
        for (std::uint64_t at = 0; at < bytes; at += kWordBytes) {
            const auto address = object.address + first * kWordBytes + at;
            std::uint64_t word = 0;
            if (words().read(address, word) != WordStatus::kHere) {
                return;
            }
            kept_.keep_word(address, redact::first_bytes(word, bytes - at));
        }
    };
    switch (object.kind) {
        case BoxedKind::kFloat:
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            keep_words(1, (object.words - 1) * kWordBytes);
            return;
        case BoxedKind::kHeapBinary: {
            std::uint64_t size = 0;
            const auto at = object.address + otp25::kBinarySize * kWordBytes;
            const auto room = (object.words - otp25::kHeapBinaryData) * kWordBytes;
            if (object.words > otp25::kHeapBinaryData &&
                words().read(at, size) == WordStatus::kHere) {
                size = scheme().heap_binary_in_bits ? size / 8 : size;
                keep_words(otp25::kHeapBinaryData, std::min(size, room));
            }
            return;
        }
        default:
            return;
    }
}

/// The keys of a map, which are a literal.
void ChosenTerms::keep_atoms(const HeapObject& keys) {
    for (std::uint64_t i = 0; i < std::min(keys.terms.count, otp25::kMaxFlatMapSize); ++i) {
        const auto slot = keys.terms_address() + i * kWordBytes;
        std::uint64_t word = 0;
        if (words().read(slot, word) == WordStatus::kHere &&
            word_kind(scheme(), word) == WordKind::kAtom) {
            keep_immediate(slot, word);
        }
    }
}

void ChosenTerms::keep_immediate(std::uint64_t slot, std::uint64_t word) {
    if (is_hidden(slot)) {
        return;
    }
    if (word_kind(scheme(), word) == WordKind::kAtom) {
        kept_.keep_atom(table_index(word));
    } else if (word_kind(scheme(), word) == WordKind::kSmall && (literals_ || !is_literal_(slot))) {
        kept_.keep_word(slot, word);
    }
}

Result<void> ChosenTerms::immediate(std::uint64_t word, std::span<const WalkLevel> path) {
    if (path.empty() && all_ == Choice::kHidden && stage_ == Stage::kHiding) {
        return hide(word);
    }
    return {};
}

Result<void> ChosenTerms::met(const HeapObject& object, std::span<const WalkLevel> path) {
    if (path.empty() && all_ != Choice::kNone) {
        const auto word = word_to(scheme(), object.address, object.is_cell);
        if (all_ == Choice::kHidden && stage_ == Stage::kHiding) {
            RETURN_IF_ERROR(hide(word));
        }
        if (all_ == Choice::kKept && stage_ == Stage::kKeeping) {
            RETURN_IF_ERROR(keep(word));
        }
    }
    if (all_ == Choice::kHidden && stage_ == Stage::kKeeping) {
        return {};
    }
    // The keys of a map are no record, and no pair.
    if (is_at_keys(path)) {
        return is_literal_(object.address) ? done(literal_keys_.add(object.address))
                                           : Result<void>();
    }
    if (literal_keys_.has(object.address)) {
        return {};
    }
    const bool hiding = stage_ == Stage::kHiding;
    for (const ChosenPart& part : chosen_parts(lists_, scheme(), words(), object)) {
        if (part.choice != (hiding ? Choice::kHidden : Choice::kKept)) {
            continue;
        }
        const bool leads = leads_to_object(scheme(), part.word);
        if (hiding) {
            RETURN_IF_ERROR(mark_hidden(part.slot));
            RETURN_IF_ERROR(hide(part.word));
        } else if (!leads) {
            keep_immediate(part.slot, part.word);
        } else if (!is_hidden(part.slot)) {
            RETURN_IF_ERROR(keep(part.word));
        }
    }
    return {};
}

using Stage = ChosenTerms::Stage;
constexpr Stage kStages[] = {Stage::kHiding, Stage::kKeeping};

class Finder {
  public:
    Finder(Dump& dump, const redact::Policy& policy, const InputLimits& limits)
        : dump_(dump),
          limits_(limits),
          space_({.max_memory_bytes = limits.memory, .max_file_bytes = limits.temporary_bytes()}),
          lists_(policy, dump.atoms()),
          has_modules_(!policy.modules.empty()),
          terms_(
              lists_, [&dump](std::uint64_t address) { return dump.literals().covers(address); },
              kept_, space_),
          sweep_(limits) {}

    Result<redact::KeptTerms> run(const ReadProgress& progress) {
        RETURN_IF_ERROR(visit_processes(
            dump_, {.sensitive = true, .use = HeapUse::kWhole, .progress = progress},
            [this](OpenedProcess& one) { return process(one); }));
        RETURN_IF_ERROR(rows());
        RETURN_IF_ERROR(literals());
        kept_.seal();
        return std::move(kept_);
    }

  private:
    Result<void> process(OpenedProcess& process) {
        const Choice all = has_modules_ ? choice_of(process) : Choice::kNone;
        terms_.begin(false);
        for (const Stage stage : kStages) {
            terms_.begin_stage(stage, all);
            RETURN_IF_ERROR(sweep_.run(dump_, process, terms_));
            RETURN_IF_ERROR(dictionary(process));
        }
        return {};
    }

    /// Each entry is a tuple of a key and its value, which no other term leads to.
    Result<void> dictionary(OpenedProcess& process) {
        Result<void> seen;
        WordReader words(process.context());
        terms_.look_through(process.context(), process.scheme, words);
        RETURN_IF_ERROR(visit_dictionary_entries(
            process.context(), process.run, process.scheme, [&](std::uint64_t entry) {
                const auto object = heap_object(process.scheme, words, entry);
                seen = object ? terms_.met(*object, {}) : Result<void>();
                return seen.has_value();
            }));
        return seen;
    }

    /// A process is a kept module's by its initial call; a hidden one's also by any function that
    /// it is in.
    Choice choice_of(OpenedProcess& process) {
        Choice choice = Choice::kNone;
        const auto& row = process.run.row;
        for (const auto* mfa : {&row.translated_initial_call(), &row.initial_call()}) {
            if (mfa->has_module_atom()) {
                choice = both(choice, lists_.module(mfa->module_atom()));
            }
        }
        FrameCursor frames(process.context(), process.scheme, process.stack());
        while (const auto frame = frames.next()) {
            if (frame->location && frame->location->function &&
                lists_.module(frame->location->function->module_atom) == Choice::kHidden) {
                return Choice::kHidden;
            }
        }
        return choice;
    }

    Result<void> rows() {
        terms_.begin(false);
        for (const Stage stage : kStages) {
            terms_.begin_stage(stage, Choice::kNone);
            NodeSweep sweep(limits_);
            RETURN_IF_ERROR(sweep.rows(dump_, terms_, [](const TermOwner&) {}));
        }
        return {};
    }

    /// Persistent terms lie among the literals.
    Result<void> literals() {
        terms_.begin(true);
        for (const Stage stage : kStages) {
            NodeSweep sweep(limits_);
            RETURN_IF_ERROR(sweep.literals(dump_, terms_, [&](const TermOwner& owner) {
                terms_.begin_stage(stage, owner.module_atom && has_modules_
                                              ? lists_.module(*owner.module_atom)
                                              : Choice::kNone);
            }));
            terms_.begin_stage(stage, Choice::kNone);
            RETURN_IF_ERROR(sweep.persistent_terms(dump_, terms_, [](const TermOwner&) {}));
        }
        return {};
    }

    Dump& dump_;
    InputLimits limits_;
    redact::KeptTerms kept_;
    ScratchSpace space_;
    TermLists lists_;
    bool has_modules_;
    ChosenTerms terms_;
    ProcessSweep sweep_;
};

}  // namespace

Result<redact::KeptTerms> find_kept_terms(Dump& dump, const redact::Policy& policy,
                                          const InputLimits& limits, const ReadProgress& progress) {
    return Finder(dump, policy, limits).run(progress);
}

}  // namespace beamdump::query
