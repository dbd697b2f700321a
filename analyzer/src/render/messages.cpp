#include "render/messages.h"

#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/table.h"
#include "render/shared/term_line.h"
#include "render/shared/units.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace beamdump::render {

namespace {

constexpr std::size_t kShownShapes = 20;

template <typename Listing>
void print_heading(Output& output, const Listing& listing) {
    print_layout_notice(output, listing.dump_facts().layout);
    output.print("{}  {}\n", listing.line().pid, process_name(listing.line()));
}

std::string share_text(std::uint64_t count, std::uint64_t total) {
    return fmt::format("{:.1f}%", 100.0 * static_cast<double>(count) / static_cast<double>(total));
}

std::string all_messages(std::uint64_t count) {
    return (count == 1 ? "" : "all ") + counted(count, "message");
}

void print_histogram(Output& output, const query::MessageHistogram& histogram) {
    print_title(output, "Shapes of " + all_messages(histogram.messages));
    Table table({{"COUNT", Align::kRight}, {"SHARE", Align::kRight}, {"SHAPE"}});
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < histogram.shapes.size(); ++i) {
        const auto& shape = histogram.shapes[i];
        if (i < kShownShapes) {
            table.add({count_text(shape.count), share_text(shape.count, histogram.messages),
                       one_line(shape.shape)});
        } else {
            rest += shape.count;
        }
    }
    table.print(output, "  ");
    if (rest > 0) {
        output.print("  and {} of {}; --json lists them\n", counted(rest, "message"),
                     counted(histogram.shapes.size() - kShownShapes, "rarer shape"));
    }
    if (histogram.other > 0) {
        output.print("  and {} of other shapes: at most {} shapes are counted\n",
                     counted(histogram.other, "message"),
                     count_text(query::MessageHistogram::kMaxShapes));
    }
}

void print_senders(Output& output, const query::SenderHistogram& histogram) {
    print_title(output, "Senders of " + all_messages(histogram.messages));
    Table table({{"COUNT", Align::kRight}, {"SHARE", Align::kRight}, {"SENDER"}, {"TOLD BY"}});
    const auto add = [&](std::uint64_t count, std::string name, std::string told_by) {
        table.add({count_text(count), share_text(count, histogram.messages), std::move(name),
                   std::move(told_by)});
    };
    std::uint64_t rest = histogram.other;
    for (std::size_t i = 0; i < histogram.senders.size(); ++i) {
        const auto& sender = histogram.senders[i];
        if (i >= kShownShapes) {
            rest += sender.count;
            continue;
        }
        const std::string name = sender.display_name ? " " + one_line(*sender.display_name) : "";
        add(sender.count, one_line(sender.name) + name,
            std::string(query::sender_source_text(sender.source)));
    }
    if (rest > 0) {
        add(rest, "others", "");
    }
    if (histogram.not_told > 0) {
        add(histogram.not_told, "not told", "");
    }
    table.print(output, "  ");
}

template <typename Histogram>
void print_total(Output& output, const Histogram& histogram) {
    output.print("{}, {}\n", counted(histogram.messages, "message"),
                 counted(histogram.other_signals, "other signal"));
}

/// The width of the column of entry numbers: that of the largest possible number.
std::size_t number_width(std::uint64_t from, std::uint64_t limit, std::uint64_t entries) {
    const auto last = limit == 0 ? entries : std::min(entries, from + std::min(limit, entries));
    return count_text(last > 0 ? last - 1 : 0).size();
}

}  // namespace

Result<void> messages_text(Output& output, query::MessageListing& listing) {
    print_heading(output, listing);
    if (listing.withheld() != Withheld::kNo) {
        return {};
    }
    const auto& options = listing.options();
    if (options.histogram && options.by == query::MessagesBy::kSender) {
        ASSIGN_OR_RETURN(const auto histogram, listing.senders());
        print_total(output, histogram);
        if (histogram.messages > 0) {
            print_senders(output, histogram);
        }
    } else if (options.histogram) {
        ASSIGN_OR_RETURN(auto histogram, listing.histogram());
        print_total(output, histogram);
        if (histogram.messages > 0) {
            print_histogram(output, histogram);
        }
    } else {
        output.print(
            "{} in its queues: messages and other signals\n",
            listing.entries() == 1 ? "1 entry" : count_text(listing.entries()) + " entries");
    }
    const auto width = number_width(options.from, options.limit, listing.entries());
    std::uint64_t shown = 0;
    while (output.ok()) {
        ASSIGN_OR_RETURN(auto message, listing.next());
        if (!message) {
            break;
        }
        if (shown++ == 0) {
            print_title(output, "Messages");
        }
        if (output.line_width() || !message->term.more) {
            print_line(output, fmt::format("  {:>{}}  {:<6}  {}", count_text(message->index), width,
                                           message->queue, term_line(message->term)));
        } else {
            output.print("  {:>{}}  {:<6}  ", count_text(message->index), width, message->queue);
            put_term_line(output, message->term);
            output.write("\n");
        }
    }
    if (shown == 0 && !options.filters.empty()) {
        output.write("no message matches\n");
    }
    const auto reading = listing.reading();
    output.print(
        "\n{} shown. Records of messages in the dump: {}; read for the {}: {}, for "
        "this page: {}\n",
        counted(shown, "message"), count_text(reading.records),
        options.by == query::MessagesBy::kSender ? "senders" : "shapes",
        count_text(reading.for_histogram), count_text(reading.for_page));
    return {};
}

Result<void> dictionary_text(Output& output, query::DictionaryListing& listing) {
    print_heading(output, listing);
    if (listing.withheld() != Withheld::kNo) {
        return {};
    }
    const auto& options = listing.options();
    if (listing.entries() == 0U) {
        output.write("the dictionary is empty\n");
        return {};
    }
    if (const auto entries = listing.entries()) {
        output.print("{}\n\n", *entries == 1 ? "1 entry" : count_text(*entries) + " entries");
    }
    const auto width = number_width(options.from, options.limit, listing.entries().value_or(0));
    bool any = false;
    RETURN_IF_ERROR(listing.each([&](std::uint64_t index, const query::DictionaryLine& entry) {
        any = true;
        if (output.line_width() || (!entry.key.more && !entry.value.more)) {
            print_line(output, fmt::format("  {:>{}}  {} => {}", count_text(index), width,
                                           term_line(entry.key), term_line(entry.value)));
        } else {
            output.print("  {:>{}}  ", count_text(index), width);
            put_term_line(output, entry.key);
            output.write(" => ");
            put_term_line(output, entry.value);
            output.write("\n");
        }
    }));
    // A crash dump does not count entries, and has no section for a dictionary without any.
    if (!any && !listing.entries() && options.from == 0 && !listing.line().void_reason) {
        output.write(query::may_lack_some(listing.dump_facts(), "proc_dictionary")
                         ? "no entries before the place where the crash dump breaks off\n"
                         : "the dictionary is empty\n");
    }
    return {};
}

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
