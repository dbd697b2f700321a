#pragma once

#include "query/facts/layout_facts.h"
#include "render/shared/output.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::render {

/// Puts `~` before values read through unverified fields of the layout. The facts must outlive it;
/// without facts it marks nothing.
class Marks {
  public:
    explicit Marks(const std::optional<query::LayoutFacts>& facts)
        : facts_(facts ? &*facts : nullptr) {}

    /// Marks `text`, the value of this name (query/facts/layout_sources.h) or one computed from all
    /// of these. An empty text and "?" get no mark.
    [[nodiscard]] std::string operator()(std::string_view value, std::string text) const;
    [[nodiscard]] std::string operator()(std::initializer_list<std::string_view> values,
                                         std::string text) const;
    /// "~" or "".
    [[nodiscard]] std::string_view mark(std::initializer_list<std::string_view> values) const;

  private:
    const query::LayoutFacts* facts_;
};

/// Parts of terms, before which no mark can be.
inline constexpr std::array<std::string_view, 8> kPartsOfTerms = {
    "term.atom", "term.binary", "term.external_fun", "term.external_identifier",
    "term.fun",  "term.record", "term.reference",    "term.undecoded_message"};

/// The first lines of an answer: that the layout is not the release's own, the meaning of the
/// marks, which of the `unmarked` values are unverified too, and what the dump lacks; then an empty
/// line. Empty without facts. `what` begins the first line: "Layout", or the dump's name for it.
void print_layout_notice(Output& output, const std::optional<query::LayoutFacts>& facts,
                         std::span<const std::string_view> unmarked = {},
                         std::string_view what = "Layout");

}  // namespace beamdump::render
