// Asks arbitrary bytes as the text of a crash dump, and the dump that is made of them, the same:
// the answers must be equal, with the same exit status and messages.

#include "run_commands.h"
#include "support/memory_file.h"
#include "support/memory_sink.h"

#include <libdump/crash/import/convert.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace beamdump;

struct Answer {
    cli::Ended ended;
    std::string out;
    std::string err;
};

/// What the answer says of its own file differs.
bool of_the_file(std::string_view line) {
    return line.starts_with("dump  ") || line.contains("\"file\": ") ||
           line.contains("\"file_bytes\": ");
}

std::string without_file(std::string_view text, const std::string& path) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const auto line = text.substr(at, end - at);
        at = end;
        if (!of_the_file(line)) {
            kept += line;
        }
    }
    for (auto at = kept.find(path); at != std::string::npos; at = kept.find(path, at)) {
        kept.replace(at, path.size(), "DUMP");
    }
    return kept;
}

Answer ask(const std::vector<std::string>& question, const std::string& path) {
    auto arguments = question;
    arguments.insert(arguments.begin() + 1, path);
    test::ShortOutput out;
    test::ShortOutput err;
    const auto ended = cli::run_to_end(arguments, out, err);
    return {ended, without_file(out.text(), path), without_file(err.text(), path)};
}

/// Whether both are the same, as far as both were taken: their reader goes away after some text.
bool same(const std::string& one, const std::string& other, bool cut) {
    const auto length = cut ? std::min(one.size(), other.size()) : std::string::npos;
    return one.substr(0, length) == other.substr(0, length);
}

void compare(const std::vector<std::string>& question, const std::string& text,
             const std::string& converted) {
    const Answer one = ask(question, text);
    const Answer other = ask(question, converted);
    const bool cut =
        one.ended.error == ErrorCode::kClosedPipe || other.ended.error == ErrorCode::kClosedPipe;
    if (same(one.out, other.out, cut) &&
        (cut || (one.ended.status == other.ended.status && one.err == other.err))) {
        return;
    }
    for (const auto& word : question) {
        std::fprintf(stderr, "%s ", word.c_str());
    }
    std::fprintf(stderr, "\nof the text: status %d\n%s%s\nof its conversion: status %d\n%s%s\n",
                 static_cast<int>(one.ended.status), one.out.c_str(), one.err.c_str(),
                 static_cast<int>(other.ended.status), other.out.c_str(), other.err.c_str());
    std::abort();
}

/// The pids that the text lists first.
std::vector<std::string> pids_of(const crash::CrashDump& dump) {
    constexpr std::size_t kMost = 2;
    std::vector<std::string> pids;
    for (const auto& process : dump.processes()) {
        if (pids.size() == kMost) {
            break;
        }
        if (process.heap || pids.empty()) {
            pids.push_back(
                fmt::format("<0.{}.{}>", process.owner_id & 0xFFFF'FFFFU, process.owner_id >> 32U));
        }
    }
    return pids;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const test::MemoryFile file(std::as_bytes(std::span(data, size)));
    const auto text = crash::CrashDump::open(file.path(), {});
    if (!text) {
        return 0;
    }
    const auto content = std::make_shared<test::SinkContent>();
    if (!crash::convert(*text, std::make_unique<test::MemorySink>(content), {})) {
        std::abort();  // any text can be converted, as far as it makes sense
    }
    const test::MemoryFile made(content->bytes);
    const auto same_of = [&](const std::vector<std::string>& question) {
        compare(question, file.path().string(), made.path().string());
    };
    same_of({"summary", "--json"});
    same_of({"processes", "--limit", "0", "--json"});
    same_of({"sections"});
    same_of({"crash-dump"});
    for (const auto& pid : pids_of(*text)) {
        same_of({"process", pid, "--json", "--sensitive"});
        same_of({"backtrace", pid, "--sensitive"});
        same_of({"messages", pid, "--sensitive"});
        same_of({"messages", pid, "--by", "sender", "--json", "--sensitive"});
        same_of({"dictionary", pid, "--sensitive"});
        same_of({"term", pid, "--json", "--sensitive"});
        same_of({"heap", pid, "--terms", "--retained", "--json", "--sensitive"});
    }
    return 0;
}
