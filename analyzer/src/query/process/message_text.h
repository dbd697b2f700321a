#pragma once

#include "query/process/opened_process.h"
#include "query/term/term_text.h"

#include <libdump/model/external_message.h>
#include <libdump/term/external_term.h>
#include <libdump/term/term_printer.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace beamdump::query {

/// Messages of one process as text, decoded or not. Non-owning: dump and process must outlive it.
class MessagePrinter {
  public:
    MessagePrinter(Dump& dump, OpenedProcess& process);

    /// The first `max_bytes` of a message's text (0: all of it). Fails if the dump is inconsistent.
    Result<TermText> text(const records::Message& entry, std::size_t max_bytes);
    /// The same in pieces, for drain_in_pieces(); the entry must live until then.
    Result<TermText> text_in_pieces(const records::Message& entry, std::size_t max_bytes);

    /// Placeholders in all texts so far.
    [[nodiscard]] std::uint64_t placeholders() const;

  private:
    template <typename Drain>
    Result<TermText> drain(const records::Message& entry, Drain drain);

    Dump& dump_;
    ProcessContext& context_;
    TermPrinter printer_;
    DumpNames names_;
    ExternalTermPrinter external_;
    std::unique_ptr<ExternalMessage> undecoded_;  ///< what external_ reads
};

/// Which of a process's queues holds an entry.
std::string queue_text(records::QueueKind kind);

}  // namespace beamdump::query
