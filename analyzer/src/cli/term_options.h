#pragma once

#include "cli/invocation.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/record_names.h>
#include <libdump/term/term_style.h>

#include <CLI/App.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::cli {

/// How a command prints terms: --syntax and --beam. Lives as long as the dump that it is applied
/// to.
class TermOptions {
  public:
    void add(CLI::App& app);

    /// Whether references to NIF resources have their type beside them.
    enum class Resources : std::uint8_t { kPlain, kWithType };

    /// Sets the style of a dump's terms. Says what of the .beam files could not be used.
    Result<void> apply(Invocation& invocation, Dump& dump, Resources resources = Resources::kPlain);
    /// Sets the style for an answer that must be in Erlang's syntax; kUsage if another was asked
    /// for.
    Result<void> apply_erlang(Dump& dump, std::string_view why) const;

  private:
    [[nodiscard]] TermSyntax syntax(Dump& dump) const;
    Result<void> read_records(Invocation& invocation);

    std::string syntax_;
    std::vector<std::string> beam_;
    RecordNames records_;
    ResourceTypeNames resources_;
};

}  // namespace beamdump::cli
