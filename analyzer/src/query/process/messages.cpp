#include "query/process/messages.h"

#include "query/process/opened_process.h"
#include "query/rows/choice.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/external_message.h>
#include <libdump/term/atom_text.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace beamdump::query {

namespace {

/// The shape of a message, to count similar ones: {timeout,_,_}, ping, integer().
///
///  - an atom, the empty list, the empty tuple and the empty map as themselves;
///  - a tuple by its first element, if that is an atom, else by its kind, and its size:
///    {reference(),_}. Beyond 8 elements: {tag,... 12 elements};
///  - a message wrapped by an OTP behaviour with the shape of its contents: {'$gen_cast',{add,_}},
///    {'$gen_call',_,{get,_}}, {notify,{log,_}};
///  - a map by its key '__struct__', which Elixir names a struct by: #{'__struct__'=>'Elixir.Job'};
///  - a native record by its module and name: #m:job{};
///  - everything else by its kind: list(), binary(), map(), pid()...
///
/// An unreadable message is "unreadable".
class MessageShapes {
  public:
    MessageShapes(Dump& dump, OpenedProcess& process);

    /// Reads only the words or bytes needed, not the whole message.
    Result<std::string> shape(const records::Message& entry);

  private:
    std::string of_word(std::uint64_t word, bool look_inside);
    std::string of_boxed(std::uint64_t address, bool look_inside);
    std::string of_tuple(std::uint64_t address, std::uint64_t arity, bool look_inside);
    std::string of_map(std::uint64_t address);
    std::string of_record(std::uint64_t address);
    std::string atom(std::uint64_t word);
    std::string of_external(std::uint64_t at, bool look_inside);
    std::string of_external_tuple(const ExternalItem& tuple, bool look_inside);
    std::string of_external_map(const ExternalItem& map);

    Dump& dump_;
    ProcessContext& context_;
    const TagScheme& scheme_;
    DumpNames names_;
    ExternalReader reader_;
    ExternalAtoms atoms_;
};

enum MessagePlace : std::uint8_t { kIndex, kQueue, kShape, kTerm, kPlaces };

constexpr std::array<Column, kPlaces> kMessageColumns = {
    {{.name = "index", .kind = ColumnKind::kSpan},
     {.name = "queue", .one_of = "inner middle outer buffer"},
     {.name = "shape"},
     {.name = "term"}}};
constexpr std::size_t kFilteredBytes = 4096;

constexpr const char* kUnreadable = "unreadable";
constexpr std::uint64_t kMaxShownElements = 8;
/// Limit of items skipped in search of a wrapped message.
constexpr std::uint64_t kMaxSkipped = 10'000;
constexpr std::string_view kStruct = "'__struct__'";

/// Which element of a behaviour's own tuple holds the user's message, counted from 1; 0: none.
std::uint64_t wrapped_element(std::string_view tag, std::uint64_t arity) {
    struct Wrapper {
        std::string_view tag;
        std::uint64_t arity;
        std::uint64_t element;
    };
    // gen.erl, gen_server.erl, gen_event.erl, gen_fsm.erl of OTP 25.
    static constexpr std::array<Wrapper, 6> kWrappers = {{{"'$gen_cast'", 2, 2},
                                                          {"'$gen_call'", 3, 3},
                                                          {"'$gen_event'", 2, 2},
                                                          {"'$gen_sync_event'", 3, 3},
                                                          {"notify", 2, 2},
                                                          {"sync_notify", 3, 3}}};
    for (const auto& wrapper : kWrappers) {
        if (wrapper.tag == tag && wrapper.arity == arity) {
            return wrapper.element;
        }
    }
    return 0;
}

/// {first,_,_}, with one element replaced by its shape.
std::string tuple_text(const std::string& first, std::uint64_t arity, std::uint64_t shown_element,
                       const std::string& shown) {
    if (arity > kMaxShownElements) {
        return fmt::format("{{{},... {} elements}}", first, arity);
    }
    std::string text = "{" + first;
    for (std::uint64_t element = 2; element <= arity; ++element) {
        text += ',';
        text += element == shown_element ? shown : "_";
    }
    return text + "}";
}

const char* kind_text(BoxedKind kind) {
    switch (kind) {
        case BoxedKind::kTuple:
            return "tuple()";
        case BoxedKind::kPositiveBig:
        case BoxedKind::kNegativeBig:
            return "integer()";
        case BoxedKind::kReference:
        case BoxedKind::kExternalReference:
            return "reference()";
        case BoxedKind::kFun:
            return "fun()";
        case BoxedKind::kFloat:
            return "float()";
        case BoxedKind::kRefcBinary:
        case BoxedKind::kHeapBinary:
        case BoxedKind::kSubBinary:
        case BoxedKind::kSubBits:
            return "binary()";
        case BoxedKind::kExternalPid:
            return "pid()";
        case BoxedKind::kExternalPort:
            return "port()";
        case BoxedKind::kFlatMap:
        case BoxedKind::kHashMapNode:
        case BoxedKind::kHashMapHead:
            return "map()";
        case BoxedKind::kRecord:
            return "record()";
        case BoxedKind::kMatchContext:
        case BoxedKind::kFunRef:
        case BoxedKind::kUnknown:
            break;
    }
    return kUnreadable;
}

const char* kind_text(ExternalKind kind) {
    switch (kind) {
        case ExternalKind::kInteger:
        case ExternalKind::kBig:
            return "integer()";
        case ExternalKind::kFloat:
            return "float()";
        case ExternalKind::kReference:
            return "reference()";
        case ExternalKind::kFun:
        case ExternalKind::kExport:
            return "fun()";
        case ExternalKind::kPort:
            return "port()";
        case ExternalKind::kPid:
            return "pid()";
        case ExternalKind::kTuple:
            return "tuple()";
        case ExternalKind::kRecord:
            return "record()";
        case ExternalKind::kMap:
            return "map()";
        case ExternalKind::kNil:
            return "[]";
        case ExternalKind::kList:
        case ExternalKind::kString:
            return "list()";
        case ExternalKind::kBinary:
            return "binary()";
        case ExternalKind::kAtom:
            break;
    }
    return kUnreadable;
}

MessageShapes::MessageShapes(Dump& dump, OpenedProcess& process)
    : dump_(dump),
      context_(process.context()),
      scheme_(process.scheme),
      names_(dump),
      atoms_(reader_, names_) {}

Result<std::string> MessageShapes::shape(const records::Message& entry) {
    if (entry.kind() == records::MESSAGE_KIND_EXTERNAL) {
        ASSIGN_OR_RETURN(auto message, ExternalMessage::open(dump_, entry.external()));
        const auto term = message->term();
        reader_.open(*message);
        atoms_.open(term.cached_atoms);
        return of_external(term.version_byte ? 1 : 0, true);
    }
    context_.set_message(&entry);
    auto text = of_word(entry.term_word(), true);
    context_.set_message(nullptr);
    return text;
}

std::string MessageShapes::atom(std::uint64_t word) {
    return atom_text(context_, static_cast<std::uint32_t>(table_index(word)));
}

std::string MessageShapes::of_word(std::uint64_t word, bool look_inside) {
    switch (word_kind(scheme_, word)) {
        case WordKind::kSmall:
            return "integer()";
        case WordKind::kAtom:
            return atom(word);
        case WordKind::kNil:
            return "[]";
        case WordKind::kList:
            return "list()";
        case WordKind::kPid:
            return "pid()";
        case WordKind::kPort:
            return "port()";
        case WordKind::kBoxed:
            return of_boxed(pointer_of(word), look_inside);
        case WordKind::kHeader:
        case WordKind::kCatch:
        case WordKind::kUnknown:
            break;
    }
    return kUnreadable;
}

std::string MessageShapes::of_boxed(std::uint64_t address, bool look_inside) {
    const auto header = context_.word(address);
    if (!header) {
        return kUnreadable;
    }
    const auto kind = boxed_kind(scheme_, *header);
    if (kind == BoxedKind::kTuple) {
        return of_tuple(address, header_arity(*header), look_inside);
    }
    if (kind == BoxedKind::kRecord) {
        return of_record(address);
    }
    return kind == BoxedKind::kFlatMap ? of_map(address) : kind_text(kind);
}

std::string MessageShapes::of_tuple(std::uint64_t address, std::uint64_t arity, bool look_inside) {
    if (arity == 0) {
        return "{}";
    }
    const auto first = context_.word(address + kWordBytes);
    if (!first || arity > scheme_.max_tuple_arity) {
        return kUnreadable;
    }
    std::string tag;
    if (word_kind(scheme_, *first) == WordKind::kBoxed) {
        const auto header = context_.word(pointer_of(*first));
        tag = header ? kind_text(boxed_kind(scheme_, *header)) : kUnreadable;
    } else {
        tag = of_word(*first, false);
    }
    const auto element = look_inside ? wrapped_element(tag, arity) : 0;
    std::string shown;
    if (element != 0) {
        const auto word = context_.word(address + element * kWordBytes);
        shown = word ? of_word(*word, false) : kUnreadable;
    }
    return tuple_text(tag, arity, element, shown);
}

std::string MessageShapes::of_map(std::uint64_t address) {
    std::array<std::uint64_t, otp25::kFlatMapValues> head{};
    const auto got = context_.words(address, head);
    if (!got || *got < head.size()) {
        return kUnreadable;
    }
    const auto size = head[otp25::kFlatMapSize];
    if (size > otp25::kMaxFlatMapSize) {
        return kUnreadable;
    }
    if (size == 0) {
        return "#{}";
    }
    const auto keys = pointer_of(head[otp25::kFlatMapKeys]) + kWordBytes;
    const auto values = address + otp25::kFlatMapValues * kWordBytes;
    for (std::uint64_t i = 0; i < size; ++i) {
        const auto key = context_.word(keys + i * kWordBytes);
        if (!key || word_kind(scheme_, *key) != WordKind::kAtom || atom(*key) != kStruct) {
            continue;
        }
        const auto value = context_.word(values + i * kWordBytes);
        if (value && word_kind(scheme_, *value) == WordKind::kAtom) {
            return fmt::format("#{{{}=>{}}}", kStruct, atom(*value));
        }
    }
    return "map()";
}

std::string MessageShapes::of_record(std::uint64_t address) {
    const auto definition = context_.word(address + otp29::kRecordDefinition * kWordBytes);
    if (!definition || word_kind(scheme_, *definition) != WordKind::kBoxed) {
        return kUnreadable;
    }
    const auto part = [&](std::uint64_t at) {
        const auto word = context_.word(pointer_of(*definition) + at * kWordBytes);
        return word && word_kind(scheme_, *word) == WordKind::kAtom ? atom(*word) : kUnreadable;
    };
    return fmt::format("#{}:{}{{}}", part(otp29::kDefinitionModule), part(otp29::kDefinitionName));
}

std::string MessageShapes::of_external(std::uint64_t at, bool look_inside) {
    const auto item = read_external_item(reader_, at);
    if (item.status != ExternalStatus::kHere) {
        return kUnreadable;
    }
    switch (item.kind) {
        case ExternalKind::kAtom:
            return atoms_.quoted(item.atom).value_or(kUnreadable);
        case ExternalKind::kTuple:
            return of_external_tuple(item, look_inside);
        case ExternalKind::kMap:
            return of_external_map(item);
        case ExternalKind::kRecord:
            return fmt::format("#{}:{}{{}}", atoms_.quoted(item.atom).value_or(kUnreadable),
                               atoms_.quoted(item.name).value_or(kUnreadable));
        default:
            return kind_text(item.kind);
    }
}

std::string MessageShapes::of_external_tuple(const ExternalItem& tuple, bool look_inside) {
    if (tuple.count == 0) {
        return "{}";
    }
    const auto first = read_external_item(reader_, tuple.next);
    if (first.status != ExternalStatus::kHere) {
        return kUnreadable;
    }
    const std::string tag = first.kind == ExternalKind::kAtom
                                ? atoms_.quoted(first.atom).value_or(kUnreadable)
                                : kind_text(first.kind);
    const auto element = look_inside ? wrapped_element(tag, tuple.count) : 0;
    std::string shown;
    if (element != 0) {
        auto at = tuple.next;
        std::uint64_t budget = kMaxSkipped;
        auto status = ExternalStatus::kHere;
        for (std::uint64_t i = 1; i < element && status == ExternalStatus::kHere; ++i) {
            status = skip_external(reader_, at, budget);
        }
        shown = status == ExternalStatus::kHere ? of_external(at, false) : kUnreadable;
    }
    return tuple_text(tag, tuple.count, element, shown);
}

std::string MessageShapes::of_external_map(const ExternalItem& map) {
    if (map.count == 0) {
        return "#{}";
    }
    if (map.count > otp25::kMaxFlatMapSize) {
        return "map()";
    }
    auto at = map.next;
    std::uint64_t budget = kMaxSkipped;
    for (std::uint64_t part = 0; part < map.parts; ++part) {
        const auto key = read_external_item(reader_, at);
        const bool names_struct = part % 2 == 0 && key.status == ExternalStatus::kHere &&
                                  key.kind == ExternalKind::kAtom &&
                                  atoms_.quoted(key.atom) == std::string(kStruct);
        if (names_struct) {
            const auto value = read_external_item(reader_, key.next);
            if (value.status == ExternalStatus::kHere && value.kind == ExternalKind::kAtom) {
                return fmt::format("#{{{}=>{}}}", kStruct,
                                   atoms_.quoted(value.atom).value_or(kUnreadable));
            }
        }
        if (skip_external(reader_, at, budget) != ExternalStatus::kHere) {
            break;
        }
    }
    return "map()";
}

constexpr std::array<Named<MessagesBy>, 2> kMessagesBy = {
    {{"shape", MessagesBy::kShape}, {"sender", MessagesBy::kSender}}};

}  // namespace

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

std::span<const Column> message_columns() {
    return kMessageColumns;
}

Result<MessagesBy> parse_messages_by(std::string_view name) {
    return parse_choice("way to count messages", name, kMessagesBy);
}

Result<std::unique_ptr<MessageListing>> MessageListing::open(Dump& dump, const std::string& file,
                                                             std::string_view name,
                                                             const MessagesOptions& options) {
    std::vector<RowFilter> filters;
    for (const std::string& text : options.filters) {
        ASSIGN_OR_RETURN(filters.emplace_back(), RowFilter::parse(kMessageColumns, text));
    }
    ASSIGN_OR_RETURN(auto process, open_process(dump, name));
    return std::unique_ptr<MessageListing>(
        new MessageListing(dump, file, std::move(process), options, std::move(filters)));
}

MessageListing::MessageListing(Dump& dump, const std::string& file,
                               std::unique_ptr<OpenedProcess> process,
                               const MessagesOptions& options, std::vector<RowFilter> filters)
    : dump_(dump),
      facts_(query::dump_facts(dump, file)),
      process_(std::move(process)),
      options_(options),
      filters_(std::move(filters)),
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

Result<bool> MessageListing::passes(const records::Message& entry) {
    Row row = {walker_.index(), queue_text(entry.queue()), Cell(), Cell()};
    const auto asks_for = [this](std::size_t column) {
        return std::ranges::any_of(filters_, [column](const RowFilter& filter) {
            return filter.column().value_or(column) == column;
        });
    };
    if (asks_for(kShape)) {
        ASSIGN_OR_RETURN(row[kShape], MessageShapes(dump_, *process_).shape(entry));
    }
    if (asks_for(kTerm)) {
        ASSIGN_OR_RETURN(auto text, printer_.text(entry, kFilteredBytes));
        row[kTerm] = std::move(text.text);
    }
    return std::ranges::all_of(
        filters_, [&row](const RowFilter& filter) { return filter.passes(row, Case::kMatters); });
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
        ASSIGN_OR_RETURN(const auto wanted, passes(*entry));
        if (!wanted) {
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
