#pragma once

#include "capture/secrets/secret_texts.h"

#include <libvm/beam/tables/atoms.h>

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace beamdump::capture {

/// What is in a dump instead of the node's cookie.
inline constexpr std::string_view kCookiePlaceholder = "<cookie>";

/// The node's distribution cookies and where they must not appear: a dump leaves the machine, and
/// who has the cookie commands the node. Known from the command line (-setcookie), the environment,
/// and from the process registered as `auth`: its state (lib/kernel/src/auth.erl: {state, Cookie,
/// OtherCookies}) and its table of other nodes' cookies.
class Cookies {
  public:
    /// Atoms that every node has. A cookie of the same text is no secret that could be kept: it
    /// stays in the dump. To be said before any cookie is taken.
    void set_ordinary(std::set<std::string, std::less<>> texts) { ordinary_ = std::move(texts); }

    /// Remembers the values of -setcookie in `arguments`, in all of its forms: a cookie, or a node
    /// and the cookie for it.
    void take_arguments(std::span<const std::string> arguments);

    /// Remembers the cookies in the environment's variables, NAME=VALUE: RELEASE_COOKIE and others
    /// of such names, and -setcookie in the variables with flags for erl.
    void take_environment(std::span<const std::string> variables);

    /// Looks for auth's state in the words of its heap; `atom_text` resolves an index. Whether
    /// there was any.
    bool take_auth_heap(std::span<const std::uint64_t> words, const beam::AtomWords& atoms,
                        const std::function<std::optional<std::string>(std::uint32_t)>& atom_text);

    /// A cookie that was found elsewhere. Empty texts and `nocookie` do not count.
    void add(std::string value);

    [[nodiscard]] bool is_cookie(std::string_view text) const { return values_.contains(text); }

    /// `arguments` as they are to be in a dump.
    [[nodiscard]] std::vector<std::string> without_cookies(
        std::vector<std::string> arguments) const;

    /// An atom's text as it is to be in a dump.
    [[nodiscard]] std::string atom_without_cookies(std::string text) const;

    [[nodiscard]] const SecretTexts& texts() const { return texts_; }
    /// Whether one of them is too short or too ordinary to be overwritten everywhere.
    [[nodiscard]] bool any_weak() const { return any_weak_; }
    [[nodiscard]] bool empty() const { return values_.empty(); }

  private:
    void take_flags(std::string_view flags);

    std::set<std::string, std::less<>> ordinary_;
    std::set<std::string, std::less<>> values_;
    SecretTexts texts_;
    bool any_weak_ = false;
};

}  // namespace beamdump::capture
