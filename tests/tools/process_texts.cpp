// Prints of each process in a dump one line, JSON: pid, name, why it is void, what could not be
// shown of its terms, and the texts of its backtrace, dictionary's values and messages. For tests
// that look at all processes of many dumps: one program run a dump, not one a process.

#include "query/process/backtrace.h"
#include "query/process/dictionary.h"
#include "query/process/messages.h"

#include <libdump/model/dump.h>
#include <libdump/model/owner_id.h>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <iostream>
#include <numeric>
#include <string>

namespace {

using namespace beamdump;

constexpr std::size_t kPiece = 64U << 10U;

using Line = rapidjson::Writer<rapidjson::StringBuffer>;

void member(Line& line, const char* name, std::string_view text) {
    line.Key(name);
    line.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void member(Line& line, const char* name, std::uint64_t number) {
    line.Key(name);
    line.Uint64(number);
}

/// A long text comes in pieces.
void whole_text(Line& line, const query::TermText& term) {
    std::string text = term.text;
    if (term.more) {
        term.more([&text](std::string_view piece) {
            text += piece;
            return true;
        });
    }
    line.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

Result<void> message_texts(Line& line, query::MessageListing& messages) {
    line.Key("messages");
    line.StartArray();
    for (;;) {
        auto message = messages.next();
        if (!message) {
            return std::unexpected(message.error());
        }
        if (!*message) {
            break;
        }
        whole_text(line, (*message)->term);
    }
    line.EndArray();
    member(line, "message_placeholders", messages.placeholders());
    return {};
}

Result<void> texts(Line& line, Dump& dump, const std::string& file, const std::string& pid) {
    auto backtrace = query::Backtrace::open(dump, file, pid, {});
    auto dictionary = query::DictionaryListing::open(dump, file, pid, {0, 0, 0, false});
    auto messages = query::MessageListing::open(dump, file, pid, {0, 0, 0, false, false});
    if (!backtrace || !dictionary || !messages) {
        return std::unexpected(!backtrace    ? backtrace.error()
                               : !dictionary ? dictionary.error()
                                             : messages.error());
    }
    member(line, "name", (*backtrace)->line().registered_name.value_or(""));
    member(line, "void", (*backtrace)->line().void_reason.value_or(""));
    if ((*backtrace)->withheld() != Withheld::kNo) {
        return {};
    }
    std::string text;
    while ((*backtrace)->next_text(kPiece, text) != 0) {
    }
    member(line, "backtrace", text);
    const auto gaps = (*backtrace)->gaps();
    member(line, "malformed", gaps.malformed);
    member(line, "absent", gaps.absent);
    member(line, "cut_short", (*backtrace)->cut_short() ? 1 : 0);
    line.Key("dictionary");
    line.StartArray();
    auto shown = (*dictionary)->each([&](std::uint64_t, const query::DictionaryLine& entry) {
        whole_text(line, entry.value);
    });
    line.EndArray();
    if (!shown) {
        return shown;
    }
    member(line, "placeholders", (*dictionary)->placeholders());
    return message_texts(line, **messages);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: process_texts DUMP\n";
        return 2;
    }
    const std::string file = arguments[1];
    auto dump = Dump::open(file, {});
    if (!dump) {
        std::cerr << dump.error().message << '\n';
        return 1;
    }
    std::vector<std::uint64_t> numbers((*dump)->processes().size());
    std::iota(numbers.begin(), numbers.end(), 0);
    auto rows = (*dump)->processes().rows(numbers);
    if (!rows) {
        std::cerr << rows.error().message << '\n';
        return 1;
    }
    for (const auto& row : *rows) {
        rapidjson::StringBuffer buffer;
        Line line(buffer);
        line.StartObject();
        const auto pid = pid_text(row.owner_id());
        member(line, "pid", pid);
        if (auto done = texts(line, **dump, file, pid); !done) {
            member(line, "error", done.error().message);
        }
        line.EndObject();
        std::cout << buffer.GetString() << '\n';
    }
    return 0;
}
