#include "query/findings/start_failure.h"

#include "query/process/opened_process.h"
#include "query/term/term_text.h"
#include "query/term/term_view.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/atom_text.h>
#include <libdump/term/frame_cursor.h>
#include <libdump/term/heap_object.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/word_reader.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace beamdump::query {

namespace {

constexpr std::size_t kShownBytes = 240;
/// Reasons of supervisors within each other; more would be a text that was made for it.
constexpr int kMostLevels = 16;

/// The elements of a tuple or list in text.
struct Elements {
    std::vector<std::string_view> texts;  ///< the last one may be cut off, unless `whole`
    bool whole = false;                   ///< the closing bracket is there
};

bool opens(char character) {
    return character == '{' || character == '[' || character == '(';
}
bool closes(char character) {
    return character == '}' || character == ']' || character == ')';
}

/// The place behind a quoted text that begins at `at`; the end where it is cut off.
std::size_t behind_quoted(std::string_view text, std::size_t at) {
    const char quote = text[at];
    for (++at; at < text.size() && text[at] != quote; ++at) {
        at += text[at] == '\\' ? 1 : 0;
    }
    return std::min(at + 1, text.size());
}

/// nullopt: the text begins with another character.
std::optional<Elements> elements_of(std::string_view text, char bracket) {
    if (!text.starts_with(bracket)) {
        return std::nullopt;
    }
    Elements elements;
    std::size_t begin = 1;
    int depth = 0;
    std::size_t at = 1;
    const auto end_element = [&] {
        if (at > begin || !elements.texts.empty() || (at < text.size() && text[at] == ',')) {
            elements.texts.push_back(text.substr(begin, at - begin));
        }
        begin = at + 1;
    };
    while (at < text.size()) {
        const char character = text[at];
        if (character == '"' || character == '\'') {
            at = behind_quoted(text, at);
            continue;
        }
        if (depth == 0 && closes(character)) {
            end_element();
            elements.whole = true;
            return elements;
        }
        if (depth == 0 && character == ',') {
            end_element();
        }
        depth += opens(character) ? 1 : closes(character) ? -1 : 0;
        ++at;
    }
    end_element();
    return elements;
}

/// The VM escapes quotes and control characters, and no backslash: those stay as they are.
std::string unquoted(std::string_view text) {
    std::string plain;
    for (std::size_t at = 1; at < text.size() && text[at] != '"'; ++at) {
        at += text.substr(at).starts_with("\\\"") ? 1 : 0;
        plain += text[at];
    }
    return plain;
}

/// A slogan of init has nothing in place of a map, a fun or a reference (init.erl, to_string(), OTP
/// 22): `_` stands there, as it does for what init leaves out of lists and tuples.
std::string with_gaps_filled(std::string_view text) {
    std::string filled;
    for (std::size_t at = 0; at < text.size();) {
        const bool quoted = text[at] == '"' || text[at] == '\'';
        const auto end = quoted ? behind_quoted(text, at) : at + 1;
        const bool before = text[at] == ',' || text[at] == '{';
        const bool behind = end < text.size() && (text[end] == ',' || text[end] == '}' ||
                                                  (text[at] == ',' && text[end] == ']'));
        const bool empty_tuple = text[at] == '{' && end < text.size() && text[end] == '}';
        filled += text.substr(at, end - at);
        filled += before && behind && !empty_tuple ? "_" : "";
        at = end;
    }
    return filled;
}

std::string shown(std::string_view text) {
    std::string beginning = with_gaps_filled(text.substr(0, kShownBytes));
    if (text.size() <= kShownBytes) {
        return beginning;
    }
    beginning.resize(whole_characters(beginning));
    return beginning + "...";
}

/// An atom, which slogans have without quotes, as the VM prints it.
std::string atom_shown(std::string_view text) {
    return quoted_atom(unquoted_atom(text));
}

/// The name of a child or an application: Elixir's are modules.
std::string name_shown(std::string_view text) {
    return text.starts_with("Elixir.") ? atom_shown(text) : std::string(text);
}

/// The text of a binary that is printed as numbers, `42,42,32>>`; of one that is cut off without
/// its last number, which may be.
std::string text_of_bytes(std::string_view numbers) {
    std::string text;
    for (std::size_t at = 0; at < numbers.size();) {
        const auto end = numbers.find_first_not_of("0123456789", at);
        const auto byte = decimal_number(numbers.substr(at, end - at));
        if (end == std::string_view::npos || !byte || *byte > 0xFF) {
            break;
        }
        text += static_cast<char>(*byte);
        at = numbers[end] == ',' ? end + 1 : numbers.size();
    }
    return text;
}

/// As within a string; empty where the text has control characters that no text for people has.
std::string escaped(std::string_view bytes) {
    constexpr std::string_view kControls = "\n\r\t\x1B";
    constexpr std::string_view kNames = "nrte";
    constexpr char kFirstVisible = ' ';
    std::string text;
    for (const char character : bytes) {
        const auto control = kControls.find(character);
        if (control != std::string_view::npos) {
            text += {'\\', kNames[control]};
        } else if (static_cast<unsigned char>(character) < kFirstVisible) {
            return {};
        } else {
            text += character == '"' || character == '\\' ? "\\" : "";
            text += character;
        }
    }
    return text;
}

/// What a function of io was to write, of its arguments: the first binary in them. Elixir's command
/// line writes there why it fails.
std::string text_to_write(std::string_view arguments) {
    constexpr std::string_view kBinary = "<<";
    const auto at = arguments.find(kBinary);
    if (at == std::string_view::npos) {
        return {};
    }
    const auto binary = arguments.substr(at + kBinary.size());
    std::string text;
    if (binary.starts_with('"')) {
        const auto end = behind_quoted(binary, 0);
        text = binary.substr(1, end - (end < binary.size() ? 2 : 1));
    } else {
        text = escaped(text_of_bytes(binary));
    }
    const bool whole = binary.find(">>") != std::string_view::npos && text.size() <= kShownBytes;
    text.resize(std::min(text.size(), kShownBytes));
    text.resize(whole_characters(text));
    return text.empty() ? text
                        : fmt::format("; it was to write \"{}{}\"", text, whole ? "" : "...");
}

/// A function of a stack trace: `{lists,reverse,[eof],[{file,"lists.erl"},{line,147}]}`.
struct TracedFunction {
    std::string_view module;
    std::string name;            ///< lists:reverse/1
    std::string place;           ///< " (lists.erl, line 147)"
    std::string_view arguments;  ///< or the arity, in text
};

std::optional<std::string_view> told_of(const Elements& place, std::string_view key) {
    for (const auto text : place.texts) {
        const auto pair = elements_of(text, '{');
        if (pair && pair->whole && pair->texts.size() == 2 && pair->texts[0] == key) {
            return pair->texts[1];
        }
    }
    return std::nullopt;
}

std::optional<TracedFunction> traced(std::string_view text) {
    const auto parts = elements_of(text, '{');
    constexpr std::size_t kWithArguments = 3;
    if (!parts || parts->texts.size() < kWithArguments) {
        return std::nullopt;
    }
    const auto& texts = parts->texts;
    const auto is_name = [](std::string_view word) {
        return !word.empty() && !opens(word.front()) && word.front() != '"';
    };
    if (!is_name(texts[0]) || !is_name(texts[1])) {
        return std::nullopt;
    }
    TracedFunction function{
        .module = texts[0],
        .name = fmt::format("{}:{}", atom_shown(texts[0]), atom_shown(texts[1])),
        .place = {},
        .arguments = texts[2]};
    const bool digits = !texts[2].empty() && std::ranges::all_of(texts[2], [](char character) {
        return character >= '0' && character <= '9';
    });
    const auto arguments = elements_of(texts[2], '[');
    const bool cut = !parts->whole && texts.size() == kWithArguments;
    if (digits && !cut) {
        function.name += fmt::format("/{}", texts[2]);
    } else if (arguments && arguments->whole) {
        function.name += fmt::format("/{}", arguments->texts.size());
    }
    const auto place =
        texts.size() > kWithArguments ? elements_of(texts[kWithArguments], '[') : std::nullopt;
    if (place) {
        const auto file = told_of(*place, "file");
        const auto line = told_of(*place, "line");
        if (file && file->starts_with('"') && line) {
            function.place = fmt::format(" ({}, line {})", unquoted(*file), *line);
        }
    }
    return function;
}

/// An error and its stack trace: `{badarg,[{io,format,...},...]}`.
std::optional<std::string> error_in_words(std::string_view error, const Elements& trace) {
    const auto innermost = trace.texts.empty() ? std::nullopt : traced(trace.texts.front());
    if (!innermost) {
        return std::nullopt;
    }
    const auto caller = trace.texts.size() > 1 ? traced(trace.texts[1]) : std::nullopt;
    // init and erl_eval call what the command line asks for.
    const bool has_caller =
        caller && caller->module != "init" && caller->module != "erl_eval" &&
        (trace.whole || trace.texts.size() > 2 || caller->name.find('/') != std::string::npos);
    const std::string called =
        has_caller ? fmt::format(", called by {}{}", caller->name, caller->place) : std::string();
    if (error == "undef" && innermost->module == "init") {
        return std::string(
            "a module that the command line names (-s, -run) could not be loaded (undef)");
    }
    if (error == "undef") {
        return fmt::format("{}{} does not exist, or its module could not be loaded (undef)",
                           innermost->name, called.empty() ? called : called + ",");
    }
    return fmt::format("{} in {}{}{}{}", shown(error), innermost->name, innermost->place, called,
                       innermost->module == "io" ? text_to_write(innermost->arguments) : "");
}

bool is_start_call(std::string_view text) {
    const auto call = elements_of(text, '{');
    return call && call->texts.size() >= 2 && call->texts[1].starts_with("start");
}

/// Whether a reason stands beside the call of an application's start, `{kernel,start,[normal,[]]}`,
/// or is the first part of one that is cut off.
bool is_start(const Elements& reason) {
    const auto& texts = reason.texts;
    if (texts.size() == 2 && is_start_call(texts[1])) {
        return true;
    }
    return !reason.whole && texts[0].starts_with('{') &&
           (texts.size() == 1 || (texts.size() == 2 && !texts[1].starts_with('[')));
}

/// The next reason within one of a supervisor or an application, and the children on the way.
std::optional<std::string_view> reason_within(const Elements& reason,
                                              std::vector<std::string_view>& children) {
    const auto& texts = reason.texts;
    constexpr std::size_t kOfChild = 3;
    if (texts.empty()) {
        return std::nullopt;
    }
    if (is_start(reason)) {
        return texts[0];
    }
    if (texts.size() < 2) {
        return std::nullopt;
    }
    if (texts[0] == "failed_to_start_child" && texts.size() >= kOfChild) {
        children.push_back(texts[1]);
        return texts[2];
    }
    if (texts[0] == "bad_return") {
        const auto returned = elements_of(texts[1], '{');
        return returned && returned->texts.size() >= 2 ? std::optional(returned->texts[1])
                                                       : std::nullopt;
    }
    const bool wraps = texts[0] == "shutdown" || texts[0] == "'EXIT'" || texts[0] == "EXIT";
    return wraps ? std::optional(texts[1]) : std::nullopt;
}

std::optional<std::string> innermost_in_words(std::string_view reason) {
    if (reason.empty() || reason == "terminating" || reason == "shutdown" ||
        is_start_call(reason)) {
        return std::nullopt;
    }
    if (reason == "nodistribution") {
        return std::string(
            "the node's distribution (nodistribution), as where its name is in use or not valid, "
            "or epmd does not answer");
    }
    const auto parts = elements_of(reason, '{');
    if (parts && parts->texts.size() >= 2) {
        if (const auto trace = elements_of(parts->texts[1], '[')) {
            if (auto words = error_in_words(parts->texts[0], *trace)) {
                return words;
            }
        }
    }
    auto text = shown(reason);
    if (parts && !parts->whole && !text.ends_with("...")) {
        text += "...";
    }
    return text;
}

}  // namespace

std::string reason_of_slogan(std::string_view slogan) {
    constexpr std::string_view kBehindName = ") (";
    const auto name = slogan.find(" pid") == std::string_view::npos ? std::string_view::npos
                                                                    : slogan.find(kBehindName);
    const auto begin =
        name == std::string_view::npos ? slogan.find(" (") : name + kBehindName.size() - 2;
    if (begin == std::string_view::npos) {
        return {};
    }
    auto reason = slogan.substr(begin + 2);
    if (reason.ends_with(')')) {
        reason.remove_suffix(1);
    }
    if (reason == "terminating") {
        return {};
    }
    return reason.starts_with('"') ? unquoted(reason) : std::string(reason);
}

std::optional<std::string> reason_in_words(std::string_view reason) {
    std::vector<std::string_view> children;
    for (int level = 0; level < kMostLevels; ++level) {
        const auto parts = elements_of(reason, '{');
        const auto within = parts ? reason_within(*parts, children) : std::nullopt;
        if (!within) {
            break;
        }
        reason = *within;
    }
    auto innermost = innermost_in_words(reason);
    if (children.empty()) {
        return innermost;
    }
    auto failed = fmt::format("its child {} did not start", name_shown(children.back()));
    if (children.size() > 1) {
        failed = fmt::format("{}, a child of {}, did not start", name_shown(children.back()),
                             name_shown(children[children.size() - 2]));
    }
    return innermost ? fmt::format("{}: {}", failed, *innermost) : failed;
}

std::optional<ApplicationFailure> start_failure_of(std::string_view reason) {
    const auto parts = elements_of(reason, '{');
    if (!parts || parts->texts.size() < 2 || parts->texts[0] != "application_start_failure") {
        return std::nullopt;
    }
    return ApplicationFailure{
        .application = std::string(parts->texts[1]),
        .words = parts->texts.size() > 2 ? reason_in_words(parts->texts[2]) : std::nullopt};
}

namespace {

/// The registers of a process's frames, the innermost ones first, until one is what is looked for.
template <typename Wanted>
void look_at_registers(OpenedProcess& process, const Wanted& wanted) {
    constexpr std::uint64_t kMostFrames = 64;
    FrameCursor frames(process.context(), process.scheme, process.stack());
    for (auto frame = frames.next(); frame && frame->index < kMostFrames; frame = frames.next()) {
        for (const auto& shown_register : frame->registers) {
            if (!shown_register.is_catch && wanted(shown_register.word)) {
                return;
            }
        }
    }
}

/// Null where the dump has no such process, or not its stack.
Result<std::unique_ptr<OpenedProcess>> process_if_any(Dump& dump, std::string_view name) {
    auto process = open_process(dump, name);
    if (!process && (process.error().code == ErrorCode::kNotFound ||
                     process.error().code == ErrorCode::kAbsent)) {
        return nullptr;
    }
    return process;
}

class LogKeeper {
  public:
    explicit LogKeeper(OpenedProcess& process)
        : context_(process.context()), scheme_(process.scheme), view_(context_, scheme_) {}

    /// `{handler,error_logger,Id,{Most,Lost,[{Time,Event}]},Supervised}` in a list of handlers.
    std::optional<std::uint64_t> event_of_handler(std::uint64_t handlers) {
        constexpr std::uint64_t kHandler = 5;
        constexpr std::uint64_t kState = 4;
        constexpr std::uint64_t kKept = 3;
        const auto first = view_.cell(handlers);
        if (!first || view_.arity(first->first) != kHandler ||
            !names(view_.element(first->first, 2), "error_logger")) {
            return std::nullopt;
        }
        const auto state = view_.element(first->first, kState);
        if (!state || view_.arity(*state) != kKept) {
            return std::nullopt;
        }
        const auto events = view_.element(*state, kKept);
        const auto kept = events ? last_of(*events) : std::nullopt;
        return kept && view_.arity(*kept) == 2 ? view_.element(*kept, 2) : std::nullopt;
    }

    /// What the first event says: `msg` of the last one of `buffer`, which has the newest first.
    std::optional<std::uint64_t> event_of_simple_handler(std::uint64_t state) {
        const auto events = value_of(state, "buffer");
        const auto event = events ? last_of(*events) : std::nullopt;
        return event ? value_of(*event, "msg") : std::nullopt;
    }

    std::string text(std::uint64_t word) {
        TermPrinter printer(context_, scheme_);
        const auto beginning = term_text(printer, word, kShownBytes);
        return beginning.text + (beginning.cut ? "..." : "");
    }

  private:
    bool names(std::optional<std::uint64_t> word, std::string_view name) {
        const auto atom = word ? view_.atom(*word) : std::nullopt;
        return atom && atom_text(context_, *atom) == name;
    }

    std::optional<std::uint64_t> last_of(std::uint64_t list) {
        std::optional<std::uint64_t> last;
        for (std::uint64_t cells = view_.most_cells(); cells > 0; --cells) {
            const auto cell = view_.cell(list);
            if (!cell) {
                break;
            }
            last = cell->first;
            list = cell->second;
        }
        return last;
    }

    /// Of a small map whose keys are atoms: its first slot has the tuple of its keys (erl_map.h,
    /// flatmap_t).
    std::optional<std::uint64_t> value_of(std::uint64_t map, std::string_view key) {
        WordReader reader(context_);
        const auto object =
            leads_to_object(scheme_, map) ? heap_object(scheme_, reader, map) : std::nullopt;
        if (!object || object->kind != BoxedKind::kFlatMap) {
            return std::nullopt;
        }
        const auto keys = context_.word(object->terms_address());
        for (std::uint64_t number = 1; keys && number <= view_.arity(*keys); ++number) {
            if (names(view_.element(*keys, number), key)) {
                const auto value = context_.word(object->terms_address() + number * kWordBytes);
                return value ? std::optional(*value) : std::nullopt;
            }
        }
        return std::nullopt;
    }

    TermContext& context_;
    const TagScheme& scheme_;
    TermView view_;
};

}  // namespace

Result<std::optional<std::string>> reason_of_controller(Dump& dump) {
    constexpr std::string_view kFailure = "{application_start_failure,";
    constexpr std::size_t kMostBytes = 4096;
    ASSIGN_OR_RETURN(const auto process, process_if_any(dump, "application_controller"));
    std::optional<std::string> found;
    if (!process) {
        return found;
    }
    auto scheme = process->scheme;
    scheme.style = {};  // Erlang's syntax, in which the reason is
    TermPrinter printer(process->context(), scheme);
    look_at_registers(*process, [&](std::uint64_t word) {
        const auto text = term_text(printer, word, kMostBytes).text;
        // A text, or a tuple (OTP 19 and earlier).
        const auto failure = text.starts_with('"') ? unquoted(text) : text;
        if (failure.starts_with(kFailure)) {
            found = failure;
        }
        return found.has_value();
    });
    return found;
}

Result<std::optional<KeptEvent>> first_kept_event(Dump& dump) {
    for (const std::string name : {"error_logger", "logger_simple_h"}) {
        ASSIGN_OR_RETURN(const auto process, process_if_any(dump, name));
        if (!process) {
            continue;
        }
        LogKeeper keeper(*process);
        std::optional<std::uint64_t> event;
        look_at_registers(*process, [&](std::uint64_t word) {
            event = name == "error_logger" ? keeper.event_of_handler(word)
                                           : keeper.event_of_simple_handler(word);
            return event.has_value();
        });
        if (event) {
            return KeptEvent{.process = name, .text = keeper.text(*event)};
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::query
