#pragma once

#include "query/term/term_parts.h"

#include <libdump/base/error.h>
#include <libdump/term/term_printer.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// Follows paths of text through terms:
///
///     y(3) of frame 0 -> key users -> item 1      as `heap` prints them (path_texts())
///     y(3)/key users/item 1                       the same, shorter
///     state.users[3].name                         a key, field or element by its name, a position
///
/// Steps are those of path_texts(), separated by `/` or `->`. `.NAME` is the value of a map's key
/// that is an atom, a native record's field, or an element of a tuple whose record is known
/// (TermStyle). `[N]` is an item or element, counted from 1, and of a map `[KEY]` the value of any
/// key. Keys are compared by their text, in Erlang's and in Elixir's syntax. Where several texts
/// fit, the longest does.
class PathFinder {
  public:
    /// The context must outlive it.
    PathFinder(TermContext& context, const TagScheme& scheme);

    struct Found {
        std::uint64_t word = 0;
        std::vector<std::string> steps;
    };
    /// `from`: the name of the root. kNotFound: no part, or more than one, is meant.
    Result<Found> follow(std::uint64_t root, const std::string& from, std::string_view path);

    /// How long texts are cut where they are shown.
    struct Cut {
        std::size_t bytes = 0;
        std::string_view ending;
    };
    /// The texts that name a term: in the scheme's syntax and in the other one, whole if they are
    /// no longer than `longest`, and as `cut` cuts longer ones.
    std::vector<std::string> texts_of(std::uint64_t word, std::size_t longest,
                                      const std::optional<Cut>& cut = std::nullopt);

    /// A step as text, in the scheme's syntax.
    std::string step_text(const PathStep& step);
    /// The fields of a tuple that is a record whose fields are known (TermStyle); else null.
    const std::vector<std::string>* fields_of(std::uint64_t tuple);
    [[nodiscard]] WordReader& reader() { return reader_; }
    void forget();

    /// Whether a path ends here, or another step follows.
    static bool is_boundary(std::string_view rest);

  private:
    struct Match {
        TermPart part;
        std::size_t length = 0;
        std::uint64_t count = 0;  ///< parts with that length
    };
    enum class Notation : std::uint8_t { kWords, kName, kBracket };

    std::vector<std::string> forms(const TermPart& part, Notation notation, std::uint64_t whole,
                                   std::size_t longest);
    std::vector<std::string> named_forms(const TermPart& part, std::uint64_t whole,
                                         std::size_t longest);
    Result<TermPart> step(std::uint64_t word, const std::string& from, std::string_view& rest);

    TagScheme scheme_;
    WordReader reader_;
    TermPrinter printer_;
    TermPrinter other_;  ///< of the other syntax
};

}  // namespace beamdump::query
