#pragma once

#include <libdump/model/atom_table.h>
#include <libdump/redact/policy.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::query {

/// What the lists of a redaction policy say of a term.
enum class Choice : std::uint8_t { kNone, kKept, kHidden };

/// Of two lists that both say something: what is hidden by one is hidden.
inline Choice both(Choice one, Choice other) {
    return one > other ? one : other;
}

/// A policy's lists by module, record, struct and key, for the atoms of one dump. An atom whose
/// text cannot be read is hidden wherever there is a list that might have it.
class TermLists {
  public:
    /// Non-owning.
    TermLists(const redact::Policy& policy, AtomTable& atoms)
        : atoms_(atoms),
          modules_{&policy.modules, true, {}},
          records_{&policy.records, false, {}},
          structs_{&policy.structs, true, {}},
          keys_{&policy.keys, false, {}} {}

    Choice module(std::uint64_t atom) { return of_atom(modules_, atom); }
    Choice record(std::uint64_t tag) { return of_atom(records_, tag); }
    Choice structure(std::uint64_t atom) { return of_atom(structs_, atom); }
    /// A key that is an atom, a binary or a list of characters. Others are in no list.
    Choice key(const TagScheme& scheme, WordReader& words, std::uint64_t word);

    [[nodiscard]] bool has_structs() const { return !structs_.names->empty(); }
    /// Whether an atom is `__struct__`.
    bool is_struct_key(std::uint64_t atom);

  private:
    struct List {
        const redact::NameLists* names;
        bool elixir;  ///< module names: also without `Elixir.`
        std::unordered_map<std::uint64_t, Choice> known;
    };
    Choice of_atom(List& list, std::uint64_t atom);
    static Choice of_text(const List& list, std::string_view text);

    AtomTable& atoms_;
    List modules_;
    List records_;
    List structs_;
    List keys_;
    std::uint64_t struct_key_ = ~std::uint64_t{0};  ///< once it is known
};

/// A part of an object that a list names, and where it is.
struct ChosenPart {
    std::uint64_t slot = 0;
    std::uint64_t word = 0;
    Choice choice = Choice::kNone;
};

/// The parts of an object that the lists name: elements of a tuple by its tag, values of a map by
/// its struct or their keys, the second element of a pair by the first. With what is kept also its
/// keys. Words that cannot be read are none.
std::vector<ChosenPart> chosen_parts(TermLists& lists, const TagScheme& scheme, WordReader& words,
                                     const HeapObject& object);

}  // namespace beamdump::query
