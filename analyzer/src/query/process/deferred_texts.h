#pragma once

#include "query/process/messages.h"
#include "query/process/opened_process.h"
#include "query/term/term_text.h"

#include <libdump/model/messages.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace beamdump::query {

/// The texts of one process's terms for an answer that lists them before it is written. Long ones
/// are held to their beginning only; what follows is printed when it is written. Memory:
/// kHeldBytes, and kLeastHeld for each text beyond.
class DeferredTexts : public std::enable_shared_from_this<DeferredTexts> {
  public:
    static constexpr std::size_t kHeldBytes = 16U << 20U;
    static constexpr std::size_t kLeastHeld = 256;

    /// `max_bytes`: of each text; 0: all. The dump must outlive the texts.
    static std::shared_ptr<DeferredTexts> make(Dump& dump, std::shared_ptr<OpenedProcess> process,
                                               std::size_t max_bytes);

    /// A term's text. `message`: the index of the one at hand in the process's context, where the
    /// term may be a part of it.
    TermText word(std::uint64_t word, std::optional<std::uint64_t> message = std::nullopt);
    /// A message's, decoded or not. Fails where the dump is inconsistent.
    Result<TermText> message(const records::Message& entry, std::uint64_t index);

    /// Drops the words held: what the context holds at an address may be another's from here on.
    void forget() { printer_.forget(); }
    /// For short texts beside those.
    [[nodiscard]] TermPrinter& printer() { return printer_; }
    /// In what was printed so far.
    [[nodiscard]] std::uint64_t placeholders() const;

  private:
    /// What is printed again, when the answer is written.
    struct Source {
        std::optional<std::uint64_t> message;
        std::optional<std::uint64_t> word;  ///< nothing: the message itself
    };

    DeferredTexts(Dump& dump, std::shared_ptr<OpenedProcess> process, std::size_t max_bytes);

    [[nodiscard]] std::size_t held() const;
    /// Notes what a text takes, and lets it go on where it was held to its beginning.
    TermText with_rest(TermText text, Source source, std::uint64_t placeholders_before);
    /// Gives the text of `source` from byte `from` on; says whether it is cut.
    Result<bool> give_rest(Source source, std::size_t from, const TextSink& sink);

    std::shared_ptr<OpenedProcess> process_;
    std::size_t max_bytes_;
    TermPrinter printer_;
    MessagePrinter messages_;
    MessageWalker walker_;  ///< to messages that are printed again
    std::size_t left_ = kHeldBytes;
    std::uint64_t counted_twice_ = 0;  ///< placeholders of beginnings that were printed again
    std::uint64_t failed_ = 0;         ///< texts whose rest could not be read
};

}  // namespace beamdump::query
