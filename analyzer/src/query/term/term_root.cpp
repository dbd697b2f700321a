#include "query/term/term_root.h"

#include "query/term/behaviour_state.h"
#include "query/term/term_text.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace beamdump::query {

namespace {

/// A dictionary's key in what `heap` shows, by default.
constexpr PathFinder::Cut kShownKey{.bytes = 80, .ending = ""};
constexpr std::string_view kState = "state";
constexpr std::string_view kMessage = "message ";

bool begins_with_root(std::string_view path, std::string_view root) {
    return path.starts_with(root) && PathFinder::is_boundary(path.substr(root.size()));
}

/// Cuts off a root, and the function that `heap` shows behind a frame.
void cut_root(std::string_view& path, std::size_t length, bool with_function) {
    path.remove_prefix(length);
    if (with_function && path.starts_with(", ")) {
        path.remove_prefix(std::min({path.find(" ->"), path.size()}));
    }
}

std::vector<std::string> names_of(const HeapRoot& root, PathFinder& finder, std::string_view path) {
    if (root.kind == RootKind::kDictionary) {
        auto names = finder.texts_of(root.key_word, path.size(), kShownKey);
        for (auto& name : names) {
            name.insert(0, "dictionary ");
        }
        return names;
    }
    std::vector<std::string> names = {root_name(root, finder)};
    if (root.kind == RootKind::kStack && root.frame == 0) {
        names.push_back(fmt::format("y({})", root.index));
    }
    return names;
}

/// A message by its index. nullopt: the path does not begin with one.
Result<std::optional<NamedRoot>> message_root(Dump& dump, OpenedProcess& process,
                                              std::string_view& path) {
    if (!path.starts_with(kMessage)) {
        return std::nullopt;
    }
    const auto digits = path.substr(kMessage.size());
    std::uint64_t index = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const auto length = static_cast<std::size_t>(parsed.ptr - path.data());
    if (parsed.ec != std::errc() || !PathFinder::is_boundary(path.substr(length))) {
        return std::nullopt;
    }
    NamedRoot root{0, std::string(path.substr(0, length)),
                   std::make_unique<MessageWalker>(dump.reader(), process.run)};
    root.walker->seek(index);
    auto entry = root.walker->next();
    if (!entry) {
        return wrap("reading the messages", std::move(entry.error()));
    }
    if (*entry == nullptr || root.walker->index() != index || !is_message(**entry)) {
        return fail(ErrorCode::kNotFound, fmt::format("{} has no {}", process.line.pid, root.text));
    }
    if ((*entry)->kind() == records::MESSAGE_KIND_EXTERNAL) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("{} is from another node and not decoded yet: messages shows it "
                                "as a whole",
                                root.text));
    }
    process.context().set_message(*entry);
    root.word = (*entry)->term_word();
    path.remove_prefix(length);
    return root;
}

}  // namespace

std::string root_name(const HeapRoot& root, PathFinder& finder) {
    switch (root.kind) {
        case RootKind::kStack:
            return fmt::format("y({}) of frame {}", root.index, root.frame);
        case RootKind::kArgument:
            return fmt::format("x({})", root.index);
        case RootKind::kDictionary:
            return "dictionary " +
                   finder.texts_of(root.key_word, kShownKey.bytes, kShownKey).front();
        case RootKind::kMessage:
            return fmt::format("message {}", root.index);
        case RootKind::kOther:
            break;
    }
    return root.name;
}

Result<NamedRoot> find_root(Dump& dump, OpenedProcess& process, PathFinder& finder,
                            std::string_view& path) {
    ASSIGN_OR_RETURN(auto message, message_root(dump, process, path));
    if (message) {
        return std::move(*message);
    }
    if (begins_with_root(path, kState)) {
        ASSIGN_OR_RETURN(auto state, behaviour_state(dump, process));
        if (!state) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("the state of {} is unknown: its top frame is not that of a "
                                    "gen_server which waits for a message, as OTP 25 to 29 "
                                    "compile it; heap names its roots",
                                    process.line.pid));
        }
        cut_root(path, kState.size(), false);
        return NamedRoot{state->word, std::move(state->place)};
    }
    std::optional<NamedRoot> found;
    std::size_t longest = 0;
    Nearest nearest(path.substr(0, path.find(" -> ")));
    const auto look = [&](const HeapRoot& root) -> Result<void> {
        const bool stack = root.kind == RootKind::kStack;
        for (const auto& name : names_of(root, finder, path)) {
            nearest.add(name);
            const bool fits =
                begins_with_root(path, name) ||
                (stack && path.starts_with(name) && path.substr(name.size()).starts_with(", "));
            if (fits && name.size() > longest) {
                longest = name.size();
                found = NamedRoot{root.word, root_name(root, finder)};
            }
        }
        return {};
    };
    RETURN_IF_ERROR(visit_roots(dump, process, look, RootWords::kAll, RootMessages::kLeftOut));
    if (!found) {
        return fail(
            ErrorCode::kNotFound,
            fmt::format("{} has no root \"{}\"{}; heap names its roots", process.line.pid, path,
                        nearest.best().empty()
                            ? std::string()
                            : fmt::format("; did you mean \"{}\"?", nearest.best())));
    }
    cut_root(path, longest, found->text.starts_with("y("));
    return std::move(*found);
}

}  // namespace beamdump::query
