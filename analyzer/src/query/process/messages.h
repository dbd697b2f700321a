#pragma once

#include "query/process/message_senders.h"
#include "query/process/opened_process.h"
#include "query/process/process_details.h"
#include "query/rows/column.h"
#include "query/rows/row_filter.h"
#include "query/term/term_text.h"

#include <libdump/model/external_message.h>
#include <libdump/model/messages.h>
#include <libdump/term/external_term.h>
#include <libdump/term/term_printer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// Messages of one process as text, decoded or not. Non-owning: dump and process must outlive it.
class MessagePrinter {
  public:
    MessagePrinter(Dump& dump, OpenedProcess& process);

    /// The first `max_bytes` of a message's text (0: all of it). Fails if the dump is inconsistent.
    Result<TermText> text(const records::Message& entry, std::size_t max_bytes);
    /// A message's text in pieces, for drain_in_pieces(); the entry must live until then.
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

/// What all messages are counted by.
enum class MessagesBy : std::uint8_t { kShape, kSender };

/// shape or sender. kUsage.
Result<MessagesBy> parse_messages_by(std::string_view name);

/// What --filter knows of a message: index, queue, shape, term (the first 4,096 bytes of its text).
std::span<const Column> message_columns();

struct MessagesOptions {
    std::uint64_t from = 0;        ///< index of the first entry, counting all of the queues
    std::uint64_t limit = 20;      ///< messages; 0: all
    std::size_t term_bytes = 200;  ///< of each message's text; 0: all
    bool histogram = true;
    bool sensitive = false;  ///< show the messages of a process flagged sensitive
    MessagesBy by = MessagesBy::kShape;
    std::vector<std::string> filters = {};  ///< of message_columns(); all must match
};

struct ShapeCount {
    std::string shape;
    std::uint64_t count = 0;
};

/// All of a process's messages by shape, the most frequent first.
struct MessageHistogram {
    /// Limit of distinct shapes, in the order of first occurrence; later ones are counted as
    /// `other`.
    static constexpr std::size_t kMaxShapes = 1000;

    std::vector<ShapeCount> shapes;
    std::uint64_t messages = 0;
    std::uint64_t other = 0;
    std::uint64_t other_signals = 0;
};

/// Counts the messages of all of a process's queues by their shapes. Reads all of them.
/// `records_read`: of its records of messages.
Result<MessageHistogram> message_histogram(Dump& dump, OpenedProcess& process,
                                           std::uint64_t* records_read = nullptr);

/// One process's messages, a page of them or all, one at a time. Memory does not depend on the
/// queue: one record of messages, and the shapes.
class MessageListing {
  public:
    static Result<std::unique_ptr<MessageListing>> open(Dump& dump, const std::string& file,
                                                        std::string_view name,
                                                        const MessagesOptions& options);

    [[nodiscard]] const DumpFacts& dump_facts() const { return facts_; }
    [[nodiscard]] const ProcessLine& line() const { return process_->line; }
    [[nodiscard]] Withheld withheld() const { return withheld_; }
    [[nodiscard]] const MessagesOptions& options() const { return options_; }
    /// The entries of all queues: messages and other signals.
    [[nodiscard]] std::uint64_t entries() const { return entries_; }

    /// Counts the messages of all queues by their shapes. Reads all of them.
    Result<MessageHistogram> histogram();
    /// ... by who sent them. Reads all of them too.
    Result<SenderHistogram> senders();

    /// The next message that passes the filters; nullopt after the last of the page. Reads only the
    /// records up to it.
    Result<std::optional<MessageLine>> next();

    [[nodiscard]] std::uint64_t placeholders() const { return printer_.placeholders(); }
    /// Number of the process's records of messages, and of those read so far.
    struct Reading {
        std::uint64_t records = 0;
        std::uint64_t for_histogram = 0;
        std::uint64_t for_page = 0;
    };
    [[nodiscard]] Reading reading() const;

  private:
    MessageListing(Dump& dump, const std::string& file, std::unique_ptr<OpenedProcess> process,
                   const MessagesOptions& options, std::vector<RowFilter> filters);
    Result<bool> passes(const records::Message& entry);

    Dump& dump_;
    DumpFacts facts_;
    std::unique_ptr<OpenedProcess> process_;
    MessagesOptions options_;
    std::vector<RowFilter> filters_;
    MessagePrinter printer_;
    MessageWalker walker_;
    Withheld withheld_ = Withheld::kNo;
    std::uint64_t entries_ = 0;
    std::uint64_t given_ = 0;
    std::uint64_t histogram_records_ = 0;
};

}  // namespace beamdump::query
