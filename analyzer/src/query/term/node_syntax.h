#pragma once

#include <libdump/base/error.h>
#include <libdump/model/dump.h>
#include <libdump/term/term_style.h>

namespace beamdump::query {

/// Elixir's where the node has Elixir's own module `elixir` loaded, as every node that runs an
/// application in Elixir has; else Erlang's, also where the dump has no modules. Modules `Elixir.*`
/// decide nothing: RabbitMQ's plugins bring some for its command line. Reads the index of modules,
/// and the pages of atoms with their names.
Result<TermSyntax> syntax_of_node(Dump& dump);

}  // namespace beamdump::query
