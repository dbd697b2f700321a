#include "query/process/message_text.h"

#include <libdump/base/return_if_error.h>

#include <utility>

namespace beamdump::query {

MessagePrinter::MessagePrinter(Dump& dump, OpenedProcess& process)
    : dump_(dump),
      context_(process.context()),
      printer_(process.context(), process.scheme),
      names_(dump),
      external_(names_, process.scheme) {}

template <typename Drain>
Result<TermText> MessagePrinter::drain(const records::Message& entry, Drain drain) {
    context_.set_message(nullptr);
    if (entry.kind() == records::MESSAGE_KIND_EXTERNAL) {
        ASSIGN_OR_RETURN(auto message, ExternalMessage::open(dump_, entry.external()));
        undecoded_ = std::move(message);
        external_.start(undecoded_->term());
        return drain(external_);
    }
    context_.set_message(&entry);
    // Fragments of different messages may have been at the same addresses.
    printer_.forget();
    printer_.start(entry.term_word());
    return drain(printer_);
}

Result<TermText> MessagePrinter::text(const records::Message& entry, std::size_t max_bytes) {
    auto text = drain(entry, [&](auto& printer) { return drain_text(printer, max_bytes); });
    context_.set_message(nullptr);
    return text;
}

Result<TermText> MessagePrinter::text_in_pieces(const records::Message& entry,
                                                std::size_t max_bytes) {
    auto text = drain(entry, [&](auto& printer) { return drain_in_pieces(printer, max_bytes); });
    if (!text || !text->more) {
        context_.set_message(nullptr);
        return text;
    }
    text->more = [this, rest = std::move(text->more)](const TextSink& sink) {
        const bool cut = rest(sink);
        context_.set_message(nullptr);
        return cut;
    };
    return text;
}

std::uint64_t MessagePrinter::placeholders() const {
    return query::placeholders(printer_.statistics()) + query::placeholders(external_.statistics());
}

std::string queue_text(records::QueueKind kind) {
    switch (kind) {
        case records::QUEUE_KIND_INNER:
            return "inner";
        case records::QUEUE_KIND_MIDDLE:
            return "middle";
        case records::QUEUE_KIND_OUTER:
            return "outer";
        case records::QUEUE_KIND_BUFFER:
            return "buffer";
        default:
            return "unknown";
    }
}

}  // namespace beamdump::query
