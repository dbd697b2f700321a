#include "query/message_text.h"

namespace beamdump::query {

MessagePrinter::MessagePrinter(Dump& dump, OpenedProcess& process)
    : dump_(dump),
      context_(process.context),
      printer_(process.context, process.scheme),
      names_(dump),
      external_(names_, process.scheme) {}

Result<TermText> MessagePrinter::text(const records::Message& entry, std::size_t max_bytes) {
    if (entry.kind() == records::MESSAGE_KIND_EXTERNAL) {
        auto message = ExternalMessage::open(dump_, entry.external());
        if (!message) {
            return std::unexpected(message.error());
        }
        external_.start((*message)->term());
        return drain_text(external_, max_bytes);
    }
    context_.set_message(&entry);
    // Fragments of different messages may have lain at the same place.
    printer_.forget();
    auto text = term_text(printer_, entry.term_word(), max_bytes);
    context_.set_message(nullptr);
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
