#include "query/process/messages.h"

#include "query/node/choice.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

constexpr std::array<Named<MessagesBy>, 2> kMessagesBy = {
    {{"shape", MessagesBy::kShape}, {"sender", MessagesBy::kSender}}};

}  // namespace

Result<MessagesBy> parse_messages_by(std::string_view name) {
    return parse_choice("way to count messages", name, kMessagesBy);
}

Result<std::unique_ptr<MessageListing>> MessageListing::open(Dump& dump, const std::string& file,
                                                             std::string_view name,
                                                             const MessagesOptions& options) {
    ASSIGN_OR_RETURN(auto process, open_process(dump, name));
    return std::unique_ptr<MessageListing>(
        new MessageListing(dump, file, std::move(process), options));
}

MessageListing::MessageListing(Dump& dump, const std::string& file,
                               std::unique_ptr<OpenedProcess> process,
                               const MessagesOptions& options)
    : dump_(dump),
      facts_(query::dump_facts(dump, file)),
      process_(std::move(process)),
      options_(options),
      printer_(dump, *process_),
      walker_(dump.reader(), process_->run),
      withheld_(terms_withheld(process_->run, options.sensitive)) {
    for (const Pack& pack : process_->run.directory.messages) {
        entries_ += pack.count;
    }
    walker_.seek(options.from);
}

Result<MessageHistogram> MessageListing::histogram() {
    return message_histogram(dump_, *process_, &histogram_records_);
}

Result<MessageHistogram> message_histogram(Dump& dump, OpenedProcess& process,
                                           std::uint64_t* records_read) {
    MessageHistogram histogram;
    std::unordered_map<std::string, std::uint64_t> counts;
    MessageShapes shapes(dump, process);
    MessageWalker walker(dump.reader(), process.run);
    for (;;) {
        ASSIGN_OR_RETURN(auto entry, walker.next());
        if (entry == nullptr) {
            break;
        }
        if (!is_message(*entry)) {
            ++histogram.other_signals;
            continue;
        }
        ++histogram.messages;
        ASSIGN_OR_RETURN(auto shape, shapes.shape(*entry));
        if (const auto known = counts.find(shape); known != counts.end()) {
            ++known->second;
        } else if (counts.size() < MessageHistogram::kMaxShapes) {
            counts.emplace(std::move(shape), 1);
        } else {
            ++histogram.other;
        }
    }
    if (records_read != nullptr) {
        *records_read = walker.packs_read();
    }
    for (auto& [shape, count] : counts) {
        histogram.shapes.push_back({shape, count});
    }
    std::ranges::sort(histogram.shapes, [](const ShapeCount& a, const ShapeCount& b) {
        return std::pair(b.count, a.shape) < std::pair(a.count, b.shape);
    });
    return histogram;
}

Result<SenderHistogram> MessageListing::senders() {
    return count_senders(dump_, *process_, histogram_records_);
}

Result<std::optional<MessageLine>> MessageListing::next() {
    while (options_.limit == 0 || given_ < options_.limit) {
        ASSIGN_OR_RETURN(auto entry, walker_.next());
        if (entry == nullptr) {
            break;
        }
        if (!is_message(*entry)) {
            continue;
        }
        ASSIGN_OR_RETURN(auto text, printer_.text_in_pieces(*entry, options_.term_bytes));
        ++given_;
        return MessageLine{walker_.index(), queue_text(entry->queue()), std::move(text)};
    }
    return std::nullopt;
}

MessageListing::Reading MessageListing::reading() const {
    return {.records = process_->run.directory.messages.size(),
            .for_histogram = histogram_records_,
            .for_page = walker_.packs_read()};
}

}  // namespace beamdump::query
