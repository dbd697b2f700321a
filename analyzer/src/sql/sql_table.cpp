#include "sql/sql_table.h"

#include "query/activity/history.h"
#include "query/activity/nodes.h"
#include "query/activity/ports.h"
#include "query/activity/schedulers.h"
#include "query/activity/sockets.h"
#include "query/activity/timers.h"
#include "query/holders/node_binaries.h"
#include "query/memory/allocators.h"
#include "query/memory/carriers.h"
#include "query/process/backtrace.h"
#include "query/process/dictionary.h"
#include "query/process/message_senders.h"
#include "query/process/messages.h"
#include "query/processes/processes.h"
#include "query/rows/cells.h"
#include "query/tables/ets_rows.h"
#include "query/tables/ets_tables.h"
#include "query/tables/modules.h"
#include "query/tables/persistent_terms.h"
#include "sql/sql_hang.h"
#include "sql/sql_holders.h"
#include "sql/sql_rows.h"
#include "sql/sql_samples.h"
#include "sql/sql_terms.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace beamdump::sql {

namespace {

using query::cell;
using query::Column;
using query::ColumnKind;
using query::Row;

using namespace std::string_view_literals;
using List = Result<query::RowList> (*)(Dump& dump, const query::RowQuery& query);

template <List kList, const std::string_view& kSort>
Result<std::unique_ptr<Rows>> open_list(const Source& source, const Request& request) {
    const query::RowQuery query{.sort = request.sort.empty() ? std::string(kSort) : request.sort,
                                .filters = request.filters,
                                .limit = request.limit,
                                .derived = false,
                                .memory = source.memory};
    ASSIGN_OR_RETURN(auto list, kList(*source.dump, query));
    RETURN_IF_ERROR(check_room(*source.memory));
    Room room(*source.memory, list.memory());
    return std::make_unique<HeldRows>(list.take(), std::move(room));
}

Result<query::RowList> carrier_list(Dump& dump, const query::RowQuery& query) {
    query::AllocatorsQuery asked{.instances = false, .carriers = true, .rows = query};
    ASSIGN_OR_RETURN(auto answer, query::allocators(dump, asked));
    return std::move(*answer.carriers);
}

Result<query::RowList> persistent_term_list(Dump& dump, const query::RowQuery& query) {
    ASSIGN_OR_RETURN(auto answer, query::list_persistent_terms(dump, query, kTermBytes));
    return std::move(answer.list);
}

/// Processes in batches, the first ones small: a statement may end with a few rows.
class ProcessRows final : public Rows {
  public:
    explicit ProcessRows(query::ProcessListing listing) : listing_(std::move(listing)) {}

    Result<bool> next(Row& row) override {
        if (given_ == lines_.size()) {
            ASSIGN_OR_RETURN(lines_, listing_.next(batch_));
            batch_ *= 2;
            given_ = 0;
        }
        if (lines_.empty()) {
            return false;
        }
        row = query::process_cells(lines_[given_++]);
        return true;
    }

  private:
    query::ProcessListing listing_;
    std::size_t batch_ = 64;
    std::vector<query::ProcessLine> lines_;
    std::size_t given_ = 0;
};

/// The column of lists of processes that has the values of one here, where the index has it.
std::optional<query::ProcessColumn> index_column(std::string_view name, const Source& source) {
    const auto column = query::find_process_column(name);
    return column && query::is_indexed(*column, form_of(*source.dump)) &&
                   !query::listed_column(*column).in_words
               ? column
               : std::nullopt;
}

/// What of each process is read for columns that are filled late.
void read_late(const Request& request, query::ProcessQuery& query) {
    using query::ProcessColumn;
    constexpr std::array kRead = {std::pair{"binary_references"sv, ProcessColumn::kBinaries},
                                  std::pair{"binary_bytes"sv, ProcessColumn::kBinaries},
                                  std::pair{"ets_tables"sv, ProcessColumn::kEts},
                                  std::pair{"ets_bytes"sv, ProcessColumn::kEts},
                                  std::pair{"heap_size"sv, ProcessColumn::kHeap},
                                  std::pair{"old_heap_size"sv, ProcessColumn::kOldHeap},
                                  std::pair{"application"sv, ProcessColumn::kApplication}};
    for (const auto& [name, column] : kRead) {
        if (request.asks_late(name)) {
            query.columns.add(column);
        }
    }
    query.names = request.asks_late("label") || request.asks_late("process_name");
}

Result<std::unique_ptr<Rows>> open_processes(const Source& source, const Request& request) {
    query::ProcessQuery query;
    read_late(request, query);
    query.limit = request.limit;
    using query::ProcessColumn;
    constexpr query::ProcessOrder kAnyOrder{.by = ProcessColumn::kPid};
    query.sort = {kAnyOrder};
    if (const auto sort = index_column(request.sort, source);
        sort && query::listed_column(*sort).amount != nullptr) {
        query.sort = {{.by = *sort}};
    } else if (!request.sort.empty()) {
        query.limit = 0;
    }
    for (std::string text : request.filters) {
        // A name is found without a look at all processes.
        if (const auto named = query::split_filter(text); named.column == "registered_name") {
            if (const auto row = source.dump->find_process(named.value)) {
                text = fmt::format("pid={}", pid_text(row->owner_id()));
            }
        }
        const auto column = index_column(query::split_filter(text).column, source);
        // Others are left to the statement.
        if (column && *column != ProcessColumn::kStatus) {
            ASSIGN_OR_RETURN(auto filter, query::parse_filter(text));
            query.filters.push_back(std::move(filter));
        } else {
            query.limit = 0;
        }
    }
    auto listing = query::ProcessListing::select(*source.dump, query);
    if (!listing && listing.error().code == ErrorCode::kNotFound &&
        query.columns.has(ProcessColumn::kEts)) {
        // The dump has no tables.
        query.columns.remove(ProcessColumn::kEts);
        listing = query::ProcessListing::select(*source.dump, query);
    }
    if (!listing && listing.error().code == ErrorCode::kNotFound && !request.sort.empty()) {
        // The dump does not tell it of any process.
        query.limit = 0;
        query.sort = {kAnyOrder};
        listing = query::ProcessListing::select(*source.dump, query);
    }
    if (!listing) {
        return std::unexpected(std::move(listing.error()));
    }
    return std::make_unique<ProcessRows>(std::move(*listing));
}

constexpr std::array<std::string_view, 1> kOfProcess = {"process"};
constexpr std::array<std::string_view, 2> kOfTerm = {"process", "path"};
constexpr std::array<std::string_view, 1> kOfTarget = {"target"};
constexpr std::array<std::string_view, 1> kOfTable = {"ets_table"};

std::string text_of(const Request& request) {
    return query::cell_text(request.arguments.front());
}

constexpr std::array kMessageColumns = {
    Column{.name = "number",
           .kind = ColumnKind::kCount,
           .sentence = "Its place among the entries of all queues"},
    Column{.name = "queue", .sentence = "inner, middle, outer or buffer"},
    Column{.name = "term", .sentence = "The first 4,096 bytes of its text"},
    Column{.name = "cut", .kind = ColumnKind::kFlag, .sentence = "Whether the text goes on"},
    Column{.name = "sender",
           .sentence = "The pid or port that sent it; of another node the node's name",
           .late = true},
    Column{.name = "sender_source",
           .sentence = "By what the sender is known: the VM noted it; so that it is of that node; "
                       "the message is one of OTP that says so; it is the only pid of a tuple",
           .one_of = "vm node message guess",
           .late = true}};

class MessageRows final : public Rows {
  public:
    MessageRows(Dump& dump, std::unique_ptr<query::OpenedProcess> process, const Request& request)
        : process_(std::move(process)),
          printer_(dump, *process_),
          senders_(*process_),
          walker_(dump.reader(), process_->run),
          limit_(request.limit),
          names_senders_(!request.late.empty()) {}

    Result<bool> next(Row& row) override {
        entry_ = nullptr;
        process_->context().set_message(nullptr);
        if (limit_ != 0 && given_ == limit_) {
            return false;
        }
        do {
            ASSIGN_OR_RETURN(entry_, walker_.next());
        } while (entry_ != nullptr && !is_message(*entry_));
        if (entry_ == nullptr) {
            return false;
        }
        ++given_;
        ASSIGN_OR_RETURN(const auto text, printer_.text(*entry_, kTermBytes));
        row = {cell(walker_.index()), cell(query::queue_text(entry_->queue())),
               cell(text.text),       cell(text.cut),
               query::Cell(),         query::Cell()};
        if (const auto sender = names_senders_ ? senders_.sender(*entry_) : std::nullopt) {
            row[row.size() - 2] = cell(sender->name);
            row.back() = cell(std::string(query::sender_source_text(sender->source)));
        }
        return true;
    }
    [[nodiscard]] std::uint64_t place() const override { return walker_.index(); }
    Result<TermAtHand> term_at(std::uint64_t place) override {
        process_->context().set_message(nullptr);
        if (entry_ == nullptr || place < walker_.index() || place - walker_.index() > kNear) {
            walker_.seek(place);
            ASSIGN_OR_RETURN(entry_, walker_.next());
        }
        while (entry_ != nullptr && walker_.index() < place) {
            ASSIGN_OR_RETURN(entry_, walker_.next());
        }
        if (entry_ == nullptr || walker_.index() != place || !is_message(*entry_)) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("{} has no message {}", process_->line.pid, place));
        }
        if (entry_->kind() == records::MESSAGE_KIND_EXTERNAL) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("message {} of {} is from another node and not decoded yet: "
                                    "its text alone is known",
                                    place, process_->line.pid));
        }
        process_->context().set_message(entry_);
        return TermAtHand{&process_->context(), process_->scheme, entry_->term_word()};
    }

  private:
    /// Messages that are passed over rather than found by their record.
    static constexpr std::uint64_t kNear = 1000;

    std::unique_ptr<query::OpenedProcess> process_;
    query::MessagePrinter printer_;
    query::MessageSenders senders_;
    MessageWalker walker_;
    const records::Message* entry_ = nullptr;  ///< of the last row; the walker's
    std::uint64_t limit_;
    bool names_senders_;
    std::uint64_t given_ = 0;
};

Result<std::unique_ptr<Rows>> open_messages(const Source& source, const Request& request) {
    ASSIGN_OR_RETURN(auto process, query::open_process(*source.dump, text_of(request)));
    RETURN_IF_ERROR(check_shown(terms_withheld(process->run, source.sensitive), process->line));
    return std::make_unique<MessageRows>(*source.dump, std::move(process), request);
}

constexpr std::array kFrameColumns = {
    Column{.name = "frame", .kind = ColumnKind::kCount, .sentence = "0: the current function"},
    Column{.name = "function", .sentence = "module:function/arity"}, Column{.name = "file"},
    Column{.name = "line", .kind = ColumnKind::kCount}};

class FrameRows final : public Rows {
  public:
    explicit FrameRows(std::unique_ptr<query::Backtrace> backtrace)
        : backtrace_(std::move(backtrace)) {}

    Result<bool> next(Row& row) override {
        const auto frame = backtrace_->next_frame();
        if (frame) {
            row = {cell(frame->index), cell(frame->function), cell(frame->file), cell(frame->line)};
        }
        return frame.has_value();
    }

  private:
    std::unique_ptr<query::Backtrace> backtrace_;
};

Result<std::unique_ptr<Rows>> open_stack(const Source& source, const Request& request) {
    ASSIGN_OR_RETURN(auto backtrace,
                     query::Backtrace::open(*source.dump, source.file, text_of(request),
                                            {.sensitive = source.sensitive}));
    RETURN_IF_ERROR(check_shown(backtrace->withheld(), backtrace->line()));
    return std::make_unique<FrameRows>(std::move(backtrace));
}

constexpr std::array kDictionaryColumns = {
    Column{.name = "key", .sentence = "The first 4,096 bytes of its text"},
    Column{.name = "value", .sentence = "The first 4,096 bytes of its text"},
    Column{.name = "cut", .kind = ColumnKind::kFlag, .sentence = "Whether the value goes on"}};

Result<std::unique_ptr<Rows>> open_dictionary(const Source& source, const Request& request) {
    query::DictionaryOptions options;
    options.limit = request.limit;
    options.term_bytes = kTermBytes;
    options.sensitive = source.sensitive;
    ASSIGN_OR_RETURN(auto listing, query::DictionaryListing::open(*source.dump, source.file,
                                                                  text_of(request), options));
    RETURN_IF_ERROR(check_shown(listing->withheld(), listing->line()));
    std::vector<Row> rows;
    Room room(*source.memory);
    Result<void> held;
    RETURN_IF_ERROR(listing->each([&](std::uint64_t /*index*/, const query::DictionaryLine& entry) {
        if (held) {
            rows.push_back({cell(entry.key.text), cell(entry.value.text), cell(entry.value.cut)});
            held = room.take(rows.back());
        }
    }));
    RETURN_IF_ERROR(held);
    return std::make_unique<HeldRows>(std::move(rows), std::move(room));
}

constexpr std::uint64_t kBoxedTag = 2;  // erl_term.h

constexpr std::array kEtsRowColumns = {
    Column{.name = "words",
           .kind = ColumnKind::kCount,
           .sentence = "Of the row in memory, from its tuple on"},
    Column{.name = "key", .sentence = "The first 4,096 bytes of its key's text"},
    Column{.name = "term", .sentence = "The first 4,096 bytes of its text"},
    Column{.name = "cut", .kind = ColumnKind::kFlag, .sentence = "Whether the text goes on"}};

/// Rows of a table at any place, some of them held.
class EtsRowTerms {
  public:
    /// Non-owning.
    EtsRowTerms(Dump& dump, query::EtsRowListing& listing, const TagScheme& scheme)
        : dump_(dump), listing_(listing), scheme_(scheme) {}

    Result<TermAtHand> at(std::uint64_t place) {
        if (!held_.has(place)) {
            RETURN_IF_ERROR(hold(place));
        }
        if (!held_.has(place)) {
            return fail(ErrorCode::kNotFound, "the row is not in the dump");
        }
        return TermAtHand{held_.record->context.get(), scheme_, held_.tuples[place - held_.first]};
    }

  private:
    /// Rows of one record from `first` on.
    struct Held {
        std::unique_ptr<query::EtsRowRecord> record;
        std::uint64_t offset = 0;
        std::uint64_t first = 0;
        std::vector<std::uint64_t> tuples;

        [[nodiscard]] bool has(std::uint64_t place) const {
            return place >= first && place - first < tuples.size();
        }
    };

    Result<void> hold(std::uint64_t place) {
        constexpr std::uint64_t kMostHeld = 4096;
        held_.tuples.clear();
        held_.first = place;
        ASSIGN_OR_RETURN(const auto record, listing_.record_at(place));
        if (!record) {
            return {};
        }
        if (!held_.record || held_.offset != record->offset) {
            ASSIGN_OR_RETURN(held_.record, query::open_ets_rows(dump_, record->offset));
            held_.offset = record->offset;
        }
        const auto row = place - record->first_row;
        std::vector<std::uint64_t> places(
            std::min({query::rows_at_hand(*held_.record, row), record->rows - row, kMostHeld}));
        std::iota(places.begin(), places.end(), row);
        ASSIGN_OR_RETURN(
            [[maybe_unused]] const bool whole,
            query::visit_ets_rows_at(dump_, *held_.record, places, [this](query::EtsRowPlace at) {
                held_.tuples.push_back(at.address | kBoxedTag);
                return true;
            }));
        return {};
    }

    Dump& dump_;
    query::EtsRowListing& listing_;
    TagScheme scheme_;
    Held held_;
};

/// Rows of a table, some at a time.
class EtsRows final : public Rows {
  public:
    EtsRows(Dump& dump, std::unique_ptr<query::EtsRowListing> listing, const TagScheme& scheme)
        : listing_(std::move(listing)), terms_(dump, *listing_, scheme) {}

    Result<bool> next(Row& row) override {
        while (given_ == rows_.size()) {
            rows_.clear();
            given_ = 0;
            ASSIGN_OR_RETURN(const auto more,
                             listing_->next_rows([this](const query::EtsRowLine& line) {
                                 rows_.push_back({cell(line.words), cell(line.key),
                                                  cell(line.row.text), cell(line.row.cut)});
                             }));
            if (!more) {
                return false;
            }
        }
        row = std::move(rows_[given_++]);
        ++count_;
        return true;
    }
    [[nodiscard]] std::uint64_t place() const override { return count_ - 1; }
    Result<TermAtHand> term_at(std::uint64_t place) override {
        if (listing_->table().compressed.value_or(true)) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("rows of {} are compressed: their keys alone are terms",
                                    listing_->table().name.value_or("a table")));
        }
        return terms_.at(place);
    }
    [[nodiscard]] std::string missing() const override {
        return listing_->counts().is_whole()
                   ? std::string()
                   : fmt::format("rows of {} are missing from the dump",
                                 listing_->table().name.value_or("a table"));
    }

  private:
    std::unique_ptr<query::EtsRowListing> listing_;
    EtsRowTerms terms_;
    std::vector<Row> rows_;
    std::size_t given_ = 0;
    std::uint64_t count_ = 0;  ///< of all rows so far
};

Result<std::unique_ptr<Rows>> open_ets_rows(const Source& source, const Request& request) {
    query::EtsRowsOptions options;
    options.limit = request.limit;
    options.term_bytes = kTermBytes;
    options.keys = true;
    options.in_pieces = true;
    ASSIGN_OR_RETURN(auto listing,
                     query::EtsRowListing::open(*source.dump, text_of(request), options));
    ASSIGN_OR_RETURN(const auto scheme, node_scheme(*source.dump));
    return std::make_unique<EtsRows>(*source.dump, std::move(listing), scheme);
}

constexpr std::string_view kByQueue = "queue";
constexpr std::string_view kByReceiveQueue = "receive_queue";
constexpr std::string_view kByTimeLeft = "left_ms";
constexpr std::string_view kByTimeRead = "at_us";
constexpr std::string_view kByMemory = "memory";
constexpr std::string_view kEtsSort = query::kEtsSort;
constexpr std::string_view kModuleSort = query::kModuleSort;
constexpr std::string_view kAllocatorSort = query::kAllocatorSort;
constexpr std::string_view kCarrierSort = query::kCarrierSort;

}  // namespace

std::vector<std::string> withheld_sentences(const query::ProcessesRead& read) {
    std::vector<std::string> sentences;
    if (read.inconsistent != 0) {
        sentences.push_back(fmt::format("the terms of {}, which the dump lacks",
                                        counted(read.inconsistent, "process", "processes")));
    }
    if (read.sensitive != 0) {
        sentences.push_back(fmt::format("the terms of {} flagged sensitive (--sensitive)",
                                        counted(read.sensitive, "process", "processes")));
    }
    return sentences;
}

Result<void> check_shown(Withheld withheld, const query::ProcessLine& line) {
    switch (withheld) {
        case Withheld::kSensitive:
            return fail(ErrorCode::kNotFound,
                        fmt::format("{} is flagged sensitive, so its terms are withheld: "
                                    "--sensitive shows them",
                                    line.pid));
        case Withheld::kVoid:
            return fail(ErrorCode::kNotFound,
                        fmt::format("{}: its terms are not in the dump", line.pid));
        default:
            return {};
    }
}

std::span<const Table> tables() {
    static const std::array kTables = {
        Table{"allocators",
              "An allocator of the runtime: sums of its instances",
              query::allocator_columns(),
              {},
              false,
              open_list<query::list_allocators, kAllocatorSort>,
              false,
              true},
        Table{"binaries",
              "A reference-counted binary",
              query::node_binary_columns(),
              {},
              true,
              open_binaries,
              false,
              true},
        Table{"carriers",
              "A carrier of an allocator",
              query::carrier_columns(),
              {},
              false,
              open_list<carrier_list, kCarrierSort>,
              false,
              true},
        Table{"dictionary", "An entry of a process's dictionary", kDictionaryColumns, kOfProcess,
              true, open_dictionary},
        Table{"ets_rows", "A row of an ETS table", kEtsRowColumns, kOfTable, true, open_ets_rows,
              true},
        Table{"ets_tables",
              "An ETS table",
              query::ets_columns(),
              {},
              false,
              open_list<query::list_ets_tables, kEtsSort>,
              false,
              true},
        Table{"hang",
              "What a process, permission, scheduler... waits for, across kinds",
              hang_columns(),
              {},
              true,
              open_hang},
        Table{"heap_roots", "A root of a process's terms: y registers, messages, dictionary...",
              term_part_columns(), kOfProcess, true, open_terms},
        Table{"history",
              "What beamdump-watch read at one moment",
              query::history_columns(),
              {},
              false,
              open_list<query::list_history, kByTimeRead>,
              false,
              true},
        Table{"history_functions",
              "A function in one of the profiles of a recording",
              query::history_function_columns(),
              {},
              false,
              open_list<query::list_history_functions, kByTimeRead>,
              false,
              true},
        Table{"history_processes",
              "A process in one of its readings of all processes, if it was among the first",
              query::history_process_columns(),
              {},
              false,
              open_list<query::list_history_processes, kByTimeRead>,
              false,
              true},
        Table{"holders", "What refers to a binary (its address), pid, port or reference",
              holder_columns(), kOfTarget, true, open_holders},
        Table{"messages", "A message of a process", kMessageColumns, kOfProcess, true,
              open_messages, true},
        Table{"modules",
              "A loaded instance of a module",
              query::module_columns(),
              {},
              false,
              open_list<query::list_all_modules, kModuleSort>,
              false,
              true},
        Table{"nodes",
              "Another node",
              query::node_columns(),
              {},
              false,
              open_list<query::list_nodes, kByQueue>,
              false,
              true},
        Table{"persistent_terms",
              "A persistent term",
              query::persistent_term_columns(),
              {},
              true,
              open_list<persistent_term_list, kByMemory>,
              false,
              true},
        Table{"ports",
              "A port",
              query::port_columns(),
              {},
              false,
              open_list<query::list_ports, kByQueue>,
              false,
              true},
        Table{"processes",
              "A process",
              query::process_columns(),
              {},
              false,
              open_processes,
              false,
              true},
        Table{"samples",
              "What a thread did, of the samples before the capture (--profile)",
              sample_columns(),
              {},
              false,
              open_samples},
        Table{"schedulers",
              "A scheduler, or a run queue of dirty ones",
              query::scheduler_columns(),
              {},
              false,
              open_list<query::list_schedulers, kByQueue>,
              false,
              true},
        Table{"sockets",
              "A socket of the operating-system process",
              query::socket_columns(),
              {},
              false,
              open_list<query::list_sockets, kByReceiveQueue>,
              false,
              true},
        Table{"stack", "A frame of a process's stack", kFrameColumns, kOfProcess, true, open_stack},
        Table{"terms", "A part of a process's term", term_part_columns(), kOfTerm, true,
              open_terms},
        Table{"timers",
              "A timer",
              query::timer_columns(),
              {},
              false,
              open_list<query::list_timers, kByTimeLeft>,
              false,
              true}};
    return kTables;
}

}  // namespace beamdump::sql
