#pragma once

#include <libdump/term/term_context.h>
#include <libdump/term/term_printer.h>
#include <libsample/node/observed_node.h>

#include <memory>
#include <string>

namespace beamdump::sampler {

/// The text of small terms in a node's memory. Contents of reference-counted binaries and names of
/// funs and other nodes are not looked up: TermPrinter's placeholders stand for them.
class LiveTerms {
  public:
    /// Non-owning.
    static Result<LiveTerms> open(ObservedNode& node);

    /// A term of a process that does not change, cut to `most_bytes`.
    std::string text(std::uint64_t word, std::size_t most_bytes);

  private:
    class Context;
    LiveTerms(std::shared_ptr<Context> context, const TagScheme& scheme);

    std::shared_ptr<Context> context_;  // the printer refers to it
    std::shared_ptr<TermPrinter> printer_;
};

}  // namespace beamdump::sampler
