#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_style.h>

#include <optional>
#include <string>

namespace beamdump::query {

/// Elixir's where the node has Elixir's own module `elixir` loaded, as every node that runs an
/// application in Elixir has; else Erlang's, also where the dump has no modules. Modules `Elixir.*`
/// decide nothing: RabbitMQ's plugins bring some for its command line. Reads the index of modules,
/// and the pages of atoms with their names.
Result<TermSyntax> syntax_of_node(Dump& dump);

/// Names of modules, processes, tables and functions as the node's language has them, for texts;
/// what other programs read has them as Erlang prints them. The dump must outlive it.
class NodeNames {
  public:
    NodeNames() = default;
    explicit NodeNames(Dump& dump) : dump_(&dump) {}

    /// elixir_name() where terms are asked for in Elixir's syntax, or the node runs Elixir. Looks
    /// at the node for the first name that would differ.
    [[nodiscard]] std::string shown(const std::string& name) const;
    /// A sentence with each name in it shown so.
    [[nodiscard]] std::string sentence(const std::string& text) const;

  private:
    [[nodiscard]] bool elixir() const;

    Dump* dump_ = nullptr;  ///< non-owning; null: names are shown as they are
    mutable std::optional<bool> elixir_;
};

}  // namespace beamdump::query
