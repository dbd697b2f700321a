#pragma once

#include <libdump/term/term_context.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace beamdump::query {

/// Looks into tuples, lists and atoms. Nothing where a word is not of that kind, or where the dump
/// lacks what it refers to. Non-owning.
class TermView {
  public:
    TermView(TermContext& context, const TagScheme& scheme)
        : context_(&context), scheme_(&scheme) {}

    /// A tuple's arity; 0 of any other term, as of the empty tuple.
    [[nodiscard]] std::uint64_t arity(std::uint64_t word) const {
        if (word_kind(*scheme_, word) != WordKind::kBoxed) {
            return 0;
        }
        const auto header = context_->word(pointer_of(word));
        return header && boxed_kind(*scheme_, *header) == BoxedKind::kTuple ? header_arity(*header)
                                                                            : 0;
    }

    /// A tuple's element, counted from 1; its arity must reach it.
    [[nodiscard]] std::optional<std::uint64_t> element(std::uint64_t tuple,
                                                       std::uint64_t number) const {
        const auto word = context_->word(pointer_of(tuple) + number * kWordBytes);
        return word ? std::optional(*word) : std::nullopt;
    }

    /// An atom's index in the node's atom table.
    [[nodiscard]] std::optional<std::uint32_t> atom(std::uint64_t word) const {
        return word_kind(*scheme_, word) == WordKind::kAtom
                   ? std::optional(static_cast<std::uint32_t>(table_index(word)))
                   : std::nullopt;
    }

    /// Head and tail of a cons cell.
    [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> cell(
        std::uint64_t word) const {
        if (word_kind(*scheme_, word) != WordKind::kList) {
            return std::nullopt;
        }
        const auto head = context_->word(pointer_of(word));
        const auto tail = context_->word(pointer_of(word) + kWordBytes);
        return head && tail ? std::optional(std::pair(*head, *tail)) : std::nullopt;
    }

    /// More cells than a list in one region can have.
    [[nodiscard]] std::uint64_t most_cells() const {
        return context_->region_bytes_bound() / (2 * kWordBytes);
    }

  private:
    TermContext* context_;
    const TagScheme* scheme_;
};

}  // namespace beamdump::query
