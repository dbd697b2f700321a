#include "query/heap/heap_roots.h"

#include "query/process/behaviour_state.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/messages.h>
#include <libdump/model/process_dictionary.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/heap_object.h>

#include <fmt/format.h>

#include <vector>

namespace beamdump::query {

namespace {

using VisitRoot = std::function<Result<void>(const HeapRoot&)>;

/// Whether a word is a root of those asked for.
bool is_wanted(const OpenedProcess& process, std::uint64_t word, RootWords which) {
    return which == RootWords::kAll || leads_to_object(process.scheme, word);
}

std::string frame_name(Dump& dump, const StackFrame& frame) {
    if (frame.location && frame.location->function) {
        return function_text(dump, *frame.location->function);
    }
    if (frame.location && frame.location->code_point) {
        return *frame.location->code_point;
    }
    return fmt::format("{:#x}", frame.code_address);
}

Result<void> visit_stack(Dump& dump, OpenedProcess& process, const VisitRoot& visit,
                         RootWords which, RootVisits& visits) {
    ASSIGN_OR_RETURN(const auto state, behaviour_state(dump, process));
    FrameCursor frames(process.context(), process.scheme, process.stack());
    std::string innermost;
    while (const auto frame = frames.next()) {
        visits.malformed += frame->cut_short ? 1 : 0;
        if (state && frame->index == 0) {
            innermost = frame_name(dump, *frame);
        }
        HeapRoot root;
        root.kind = RootKind::kStack;
        root.frame = frame->index;
        std::string name;
        for (const FrameRegister& y : frame->registers) {
            if (y.is_catch || !is_wanted(process, y.word, which)) {
                continue;
            }
            root.index = y.index;
            root.word = y.word;
            root.is_state = state && frame->index == state->frame && y.index == state->y;
            if (name.empty() && !root.is_state) {
                name = frame_name(dump, *frame);
            }
            root.name = root.is_state ? innermost : name;
            RETURN_IF_ERROR(visit(root));
        }
    }
    return {};
}

Result<void> visit_arguments(OpenedProcess& process, const VisitRoot& visit, RootWords which) {
    ASSIGN_OR_RETURN(const auto words, process.arguments());
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (is_wanted(process, (words)[i], which)) {
            HeapRoot root;
            root.kind = RootKind::kArgument;
            root.index = i;
            root.word = (words)[i];
            RETURN_IF_ERROR(visit(root));
        }
    }
    return {};
}

Result<void> visit_entries(OpenedProcess& process, const VisitRoot& visit, RootVisits& visits) {
    Result<void> visited;
    auto malformed = walk_dictionary(process.context(), process.run, process.scheme,
                                     [&](std::uint64_t key, std::uint64_t value) {
                                         HeapRoot root;
                                         root.kind = RootKind::kDictionary;
                                         root.key_word = key;
                                         root.word = value;
                                         visited = visit(root);
                                         return visited.has_value();
                                     });
    RETURN_IF_ERROR(std::move(visited));
    if (!malformed) {
        return wrap("reading the dictionary", std::move(malformed.error()));
    }
    visits.malformed += *malformed;
    return {};
}

Result<void> visit_fields(OpenedProcess& process, const VisitRoot& visit, RootWords which) {
    const records::Process& facts = process.run.process;
    const std::pair<std::string_view, std::uint64_t> fields[] = {
        {"group_leader", facts.group_leader_word()},
        {"parent", facts.parent_word()},
        {"exception_value", facts.exception_value_word()},
        {"exception_trace", facts.exception_trace_word()},
        {"sequential_trace_token", facts.sequential_trace_token_word()},
    };
    for (const auto& [name, word] : fields) {
        if (word != 0 && is_wanted(process, word, which)) {
            HeapRoot root;
            root.kind = RootKind::kOther;
            root.name = name;
            root.word = word;
            RETURN_IF_ERROR(visit(root));
        }
    }
    return {};
}

Result<void> visit_messages(Dump& dump, OpenedProcess& process, const VisitRoot& visit,
                            RootVisits& visits) {
    MessageWalker walker(dump.reader(), process.run);
    for (;;) {
        auto entry = walker.next();
        if (!entry) {
            return wrap("reading the messages", std::move(entry.error()));
        }
        if (*entry == nullptr) {
            return {};
        }
        if (!is_message(**entry)) {
            continue;
        }
        if ((*entry)->kind() == records::MESSAGE_KIND_EXTERNAL) {
            ++visits.undecoded_messages;
            continue;
        }
        HeapRoot root;
        root.kind = RootKind::kMessage;
        root.index = walker.index();
        root.word = (*entry)->term_word();
        process.context().set_message(*entry);
        auto visited = visit(root);
        process.context().set_message(nullptr);
        RETURN_IF_ERROR(std::move(visited));
    }
}

}  // namespace

std::string_view root_kind_text(RootKind kind) {
    switch (kind) {
        case RootKind::kStack:
            return "stack";
        case RootKind::kArgument:
            return "argument";
        case RootKind::kDictionary:
            return "dictionary";
        case RootKind::kMessage:
            return "message";
        case RootKind::kOther:
            break;
    }
    return "other";
}

Result<RootVisits> visit_roots(Dump& dump, OpenedProcess& process, const VisitRoot& visit,
                               RootWords which, RootMessages messages) {
    RootVisits visits;
    RETURN_IF_ERROR(visit_stack(dump, process, visit, which, visits));
    RETURN_IF_ERROR(visit_arguments(process, visit, which));
    RETURN_IF_ERROR(visit_entries(process, visit, visits));
    RETURN_IF_ERROR(visit_fields(process, visit, which));
    if (messages == RootMessages::kTold) {
        RETURN_IF_ERROR(visit_messages(dump, process, visit, visits));
    }
    return visits;
}

}  // namespace beamdump::query
