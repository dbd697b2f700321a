#include "render/messages.h"
#include "render/shared/json.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::render {

namespace {

void write_histogram(JsonWriter& json, const query::MessageHistogram& histogram) {
    json.begin_object("histogram");
    json.member("messages", histogram.messages);
    json.member("other_signals", histogram.other_signals);
    json.begin_array("shapes");
    for (const auto& shape : histogram.shapes) {
        json.begin_object();
        json.member("shape", shape.shape);
        json.member("count", shape.count);
        json.end_object();
    }
    json.end_array();
    json.member("other", histogram.other);
    json.end_object();
}

void write_senders(JsonWriter& json, const query::SenderHistogram& histogram) {
    json.begin_object("sender_histogram");
    json.member("messages", histogram.messages);
    json.member("other_signals", histogram.other_signals);
    write_objects(json, "senders", histogram.senders, [&json](const query::SenderCount& sender) {
        json.member("sender", sender.name);
        json.member("registered_name", sender.registered_name);
        json.member("display_name", sender.display_name);
        json.member("told_by", query::sender_source_text(sender.source));
        json.member("count", sender.count);
    });
    json.member("other", histogram.other);
    json.member("not_told", histogram.not_told);
    json.end_object();
}

Result<void> write_messages(JsonWriter& json, const Output& output,
                            query::MessageListing& listing) {
    while (output.ok()) {
        ASSIGN_OR_RETURN(auto message, listing.next());
        if (!message) {
            break;
        }
        json.begin_object();
        write_message_members(json, *message);
        json.end_object();
    }
    return {};
}

}  // namespace

Result<void> messages_json(Output& output, query::MessageListing& listing) {
    JsonWriter json(output, "beamdump.messages/1");
    write_dump(json, "dump", listing.dump_facts());
    write_process(json, listing.line(), listing.withheld());
    if (listing.withheld() == Withheld::kNo) {
        json.member("entries", listing.entries());
        json.member("from", listing.options().from);
        if (listing.options().histogram && listing.options().by == query::MessagesBy::kSender) {
            ASSIGN_OR_RETURN(const auto senders, listing.senders());
            write_senders(json, senders);
        } else if (listing.options().histogram) {
            ASSIGN_OR_RETURN(auto histogram, listing.histogram());
            write_histogram(json, histogram);
        }
        json.begin_array("messages");
        RETURN_IF_ERROR(write_messages(json, output, listing));
        json.end_array();
        const auto reading = listing.reading();
        json.begin_object("records");
        json.member("total", reading.records);
        json.member("read_for_histogram", reading.for_histogram);
        json.member("read_for_page", reading.for_page);
        json.end_object();
    }
    json.member("placeholders", listing.placeholders());
    json.finish();
    return {};
}

Result<void> dictionary_json(Output& output, query::DictionaryListing& listing) {
    JsonWriter json(output, "beamdump.dictionary/1");
    write_dump(json, "dump", listing.dump_facts());
    write_process(json, listing.line(), listing.withheld());
    if (listing.withheld() == Withheld::kNo) {
        json.member("entries", listing.entries());
        json.member("from", listing.options().from);
        json.begin_array("dictionary");
        auto done = listing.each([&](std::uint64_t index, const query::DictionaryLine& entry) {
            json.begin_object();
            json.member("index", index);
            write_term(json, "key", entry.key);
            write_term(json, "value", entry.value);
            json.end_object();
        });
        if (!done) {
            return done;
        }
        json.end_array();
    }
    json.member("placeholders", listing.placeholders());
    json.finish();
    return {};
}

}  // namespace beamdump::render
