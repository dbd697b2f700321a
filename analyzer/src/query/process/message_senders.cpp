#include "query/process/message_senders.h"

#include "query/process/process_names.h"
#include "query/term/term_view.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/messages.h>
#include <libdump/model/owner_id.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace beamdump::query {

namespace {

/// Messages that name their sender, and in which element, counted from 1.
struct Protocol {
    std::string_view tag;
    std::uint64_t arity;
    std::uint64_t element;
    bool in_tuple;  ///< the first of a tuple there, as {Pid, Tag}
};
// gen.erl, sys.erl, io.erl, prim_inet.erl and the exit and monitor signals of OTP 25.2.3.
constexpr std::array kProtocols = {
    Protocol{"'$gen_call'", 3, 2, true}, Protocol{"'$gen_sync_event'", 3, 2, true},
    Protocol{"system", 3, 2, true},      Protocol{"'EXIT'", 3, 2, false},
    Protocol{"'DOWN'", 5, 4, false},     Protocol{"io_request", 4, 2, false},
    Protocol{"tcp", 3, 2, false},        Protocol{"tcp_closed", 2, 2, false},
    Protocol{"tcp_error", 3, 2, false},  Protocol{"tcp_passive", 2, 2, false},
    Protocol{"udp", 5, 2, false},        Protocol{"udp_passive", 2, 2, false}};

/// Larger tuples are data, and are not looked through for pids.
constexpr std::uint64_t kMaxGuessedArity = 16;

}  // namespace

std::string_view sender_source_text(SenderSource source) {
    constexpr std::array<std::string_view, 4> kTexts = {"vm", "node", "message", "guess"};
    return kTexts.at(static_cast<std::size_t>(source));
}

MessageSenders::MessageSenders(OpenedProcess& process)
    : context_(process.context()), scheme_(process.scheme) {}

std::optional<MessageSender> MessageSenders::sender(const records::Message& entry) {
    auto told = entry.has_from_word() ? noted(entry.from_word()) : std::nullopt;
    if (told || entry.kind() == records::MESSAGE_KIND_EXTERNAL) {
        return told;
    }
    context_.set_message(&entry);
    told = of_term(entry.term_word());
    context_.set_message(nullptr);
    return told;
}

/// The VM also notes `undefined`, `system` and the empty list.
std::optional<MessageSender> MessageSenders::noted(std::uint64_t from) {
    if (auto name = identifier(from)) {
        return MessageSender{std::move(*name), SenderSource::kVm};
    }
    if (word_kind(scheme_, from) != WordKind::kAtom) {
        return std::nullopt;
    }
    auto node = atom_text(context_, static_cast<std::uint32_t>(table_index(from)));
    return node.contains('@') ? std::optional(MessageSender{std::move(node), SenderSource::kNode})
                              : std::nullopt;
}

std::optional<std::string> MessageSenders::identifier(std::uint64_t word) {
    switch (word_kind(scheme_, word)) {
        case WordKind::kPid:
            return pid_text(pid_serial(scheme_, word) << 32U | pid_number(scheme_, word));
        case WordKind::kPort:
            return port_text(port_number(scheme_, word));
        default:
            return std::nullopt;
    }
}

std::optional<MessageSender> MessageSenders::of_term(std::uint64_t word) {
    const TermView view(context_, scheme_);
    const std::uint64_t arity = view.arity(word);
    const auto first = arity == 0 ? std::nullopt : view.element(word, 1);
    if (!first || arity > kMaxGuessedArity) {
        return std::nullopt;
    }
    const auto as = [this](std::optional<std::uint64_t> at,
                           SenderSource source) -> std::optional<MessageSender> {
        auto name = at ? identifier(*at) : std::nullopt;
        return name ? std::optional(MessageSender{std::move(*name), source}) : std::nullopt;
    };
    if (arity == 2 && word_kind(scheme_, *first) == WordKind::kPort) {
        return as(first, SenderSource::kMessage);
    }
    if (word_kind(scheme_, *first) == WordKind::kAtom) {
        const auto tag = atom_text(context_, static_cast<std::uint32_t>(table_index(*first)));
        for (const Protocol& protocol : kProtocols) {
            if (protocol.tag != tag || protocol.arity != arity) {
                continue;
            }
            auto at = view.element(word, protocol.element);
            if (protocol.in_tuple && at) {
                at = view.arity(*at) == 2 ? view.element(*at, 1) : std::nullopt;
            }
            if (auto told = as(at, SenderSource::kMessage)) {
                return told;
            }
        }
    }
    std::optional<std::uint64_t> only;
    for (std::uint64_t i = 1; i <= arity; ++i) {
        const auto item = view.element(word, i);
        if (item && word_kind(scheme_, *item) == WordKind::kPid) {
            if (only) {
                return std::nullopt;
            }
            only = item;
        }
    }
    return as(only, SenderSource::kGuess);
}

namespace {

Result<void> name_senders(Dump& dump, std::vector<SenderCount>& senders) {
    std::map<std::string_view, std::vector<SenderCount*>> by_pid;
    for (SenderCount& sender : senders) {
        by_pid[sender.name].push_back(&sender);
    }
    constexpr std::array kColumns = {records::PROCESS_COLUMN_OWNER_ID,
                                     records::PROCESS_COLUMN_REGISTERED_NAME};
    std::set<std::uint64_t> owners;
    RETURN_IF_ERROR(
        dump.processes().visit(kColumns, [&](std::uint64_t, ProcessIndex::Values values) {
            const auto known = values[0] ? by_pid.find(pid_text(*values[0])) : by_pid.end();
            if (known != by_pid.end()) {
                owners.insert(*values[0]);
                for (SenderCount* sender : known->second) {
                    if (values[1]) {
                        sender->registered_name =
                            atom_text(dump, static_cast<std::uint32_t>(*values[1]));
                    }
                }
            }
            return true;
        }));
    ASSIGN_OR_RETURN(const auto names, ProcessNames(dump).of(owners));
    for (const auto& [owner, name] : names) {
        for (SenderCount* sender : by_pid.at(pid_text(owner))) {
            sender->display_name = name;
        }
    }
    return {};
}

}  // namespace

Result<SenderHistogram> count_senders(Dump& dump, OpenedProcess& process,
                                      std::uint64_t& records_read) {
    SenderHistogram histogram;
    std::map<std::pair<std::string, SenderSource>, std::uint64_t> counts;
    MessageSenders senders(process);
    MessageWalker walker(dump.reader(), process.run);
    for (;;) {
        ASSIGN_OR_RETURN(const auto* entry, walker.next());
        if (entry == nullptr) {
            break;
        }
        if (!is_message(*entry)) {
            ++histogram.other_signals;
            continue;
        }
        ++histogram.messages;
        auto sender = senders.sender(*entry);
        if (!sender) {
            ++histogram.not_told;
            continue;
        }
        const std::pair key(std::move(sender->name), sender->source);
        if (const auto known = counts.find(key); known != counts.end()) {
            ++known->second;
        } else if (counts.size() < SenderHistogram::kMaxSenders) {
            counts.emplace(key, 1);
        } else {
            ++histogram.other;
        }
    }
    records_read = walker.packs_read();
    for (const auto& [key, count] : counts) {
        histogram.senders.push_back({.name = key.first, .source = key.second, .count = count});
    }
    std::ranges::stable_sort(histogram.senders, std::greater(), &SenderCount::count);
    RETURN_IF_ERROR(name_senders(dump, histogram.senders));
    return histogram;
}

}  // namespace beamdump::query
