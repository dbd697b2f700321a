#pragma once

#include "beam/atoms.h"
#include "beam/process.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace beamdump::capture {

/// What stands in a dump where the node's cookie stood.
inline constexpr std::string_view kCookiePlaceholder = "<cookie>";

/// The node's distribution cookies and where they must not appear: a dump leaves the machine, and
/// who has the cookie commands the node. Known from the command line (-setcookie), and from the
/// state of the process registered as `auth` (lib/kernel/src/auth.erl: {state, Cookie, ...}).
class Cookies {
  public:
    /// Replaces the values of -setcookie in `arguments` and remembers them.
    void take_arguments(std::vector<std::string>& arguments);

    /// Looks for the state tuple in the words of `auth`'s heap; `atom_text` resolves an index.
    void take_auth_heap(std::span<const std::uint64_t> words, const beam::AtomWords& atoms,
                        const std::function<std::optional<std::string>(std::uint32_t)>& atom_text);

    [[nodiscard]] bool is_cookie(std::string_view text) const;

    /// Overwrites cookies in words of a heap: as the bytes of a binary, and as a string's list
    /// cells, ascending or descending. Cookies of fewer than 4 characters are left: they would
    /// match by chance.
    void scrub(std::span<std::byte> bytes) const;

    /// As scrub(), but of binaries only those that begin at a word, as heap binaries do. At the
    /// speed of memory: for all heaps, however large.
    void scrub_aligned(std::span<std::byte> bytes) const;

    [[nodiscard]] bool empty() const { return values_.empty(); }

  private:
    void add(std::string value);
    std::vector<std::string> values_;
};

}  // namespace beamdump::capture
