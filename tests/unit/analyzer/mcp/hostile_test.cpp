#include "cli/mcp/dump_answers.h"
#include "program.h"
#include "support/text_output.h"

#include <mcp/session.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace beamdump::test {
namespace {

using cli::DumpAnswers;
using cli::Writing;
using mcp::Session;

constexpr int kMessages = 10'000;

/// Makes messages that a client should not send, the same ones in each run.
class Hostile {
  public:
    Hostile(std::string dump, std::string outside)
        : dump_(std::move(dump)), outside_(std::move(outside)) {}

    std::string message(int id) {
        switch (below(8)) {
            case 0:
                return bytes();
            case 1:
                return broken(call(id));
            case 2:
                return broken(other(id));
            case 3:
                return other(id);
            default:
                return call(id);
        }
    }

  private:
    std::size_t below(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(chance_);
    }
    template <std::size_t count>
    std::string one_of(const std::array<std::string_view, count>& of) {
        return std::string(of[below(count)]);
    }

    std::string bytes() {
        std::string text(below(200), ' ');
        for (char& c : text) {
            c = static_cast<char>(below(256));
        }
        std::erase(text, '\n');
        return text;
    }

    std::string broken(std::string message) {
        for (std::size_t times = 1 + below(4); times > 0 && !message.empty(); --times) {
            const auto at = below(message.size());
            switch (below(4)) {
                case 0:
                    message.erase(at, 1 + below(20));
                    break;
                case 1:
                    message.insert(at, std::string(1 + below(300), "[{\"\\,0"[below(6)]));
                    break;
                case 2:
                    message[at] = static_cast<char>(32 + below(90));
                    break;
                default:
                    message.insert(at, message.substr(below(message.size()), below(40)));
                    break;
            }
        }
        return message;
    }

    std::string value() {
        switch (below(12)) {
            case 0:
                return "-1";
            case 1:
                return "1e400";
            case 2:
                return "18446744073709551615";
            case 3:
                return "null";
            case 4:
                return R"([{"a":[]},[],"x"])";
            case 5:
                return "true";
            case 6:
                return fmt::format("\"{}\"", outside_);
            case 7:
                return fmt::format("\"{}\"", std::string(below(3000), 'x'));
            default:
                return "\"" +
                       one_of<10>({"--output=touched", "-o", "../../etc/passwd", "/dev/zero", "-",
                                   "alpha", "<0.1.0>", "\\u0000\\u001b[2J", "%n%s{}{0}",
                                   "'; ATTACH 'touched' AS x; --"}) +
                       "\"";
        }
    }

    std::string call(int id) {
        const auto tool = one_of<18>({"summary", "processes", "process", "heap", "term", "sql",
                                      "open", "list", "diff", "export", "redact", "convert",
                                      "report", "crash-dump", "search", "refs", "messages", "mcp"});
        std::string arguments = fmt::format(R"("dump":"{}")", dump_);
        if (tool == "sql") {
            arguments = fmt::format(R"("dumps":["{}"],"statement":{})", dump_, value());
        } else if (tool == "open") {
            arguments = fmt::format(R"("path":{})", value());
        }
        for (std::size_t more = below(4); more > 0; --more) {
            arguments += fmt::format(
                R"(,"{}":{})",
                one_of<14>({"process", "path", "limit", "filter", "sort", "output", "page",
                            "format", "before", "after", "target", "pattern", "text", "sensitive"}),
                value());
        }
        return fmt::format(
            R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}",)"
            R"("arguments":{{{}}},"_meta":{{"progressToken":{},)"
            R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
            R"("io.modelcontextprotocol/clientCapabilities":{{}}}}}}}})",
            id, tool, arguments, value());
    }

    std::string other(int id) {
        return fmt::format(
            R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{"uri":{},"cursor":{},)"
            R"("requestId":{},"protocolVersion":{}}}}})",
            below(5) == 0 ? value() : fmt::to_string(id),
            one_of<9>({"initialize", "ping", "tools/list", "resources/list", "resources/read",
                       "server/discover", "notifications/cancelled", "logging/setLevel", ""}),
            below(3) == 0 ? fmt::format("\"beamdump://{}/{}\"",
                                        below(2) == 0 ? "summary" : "findings", "%2e%2E%2fx%zz")
                          : value(),
            value(), value(), value());
    }

    std::string dump_;
    std::string outside_;
    std::mt19937 chance_{39};
};

std::set<std::string> files_below(const std::filesystem::path& folder) {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        files.insert(fmt::format("{} {}", entry.path().string(),
                                 entry.is_regular_file() ? entry.file_size() : 0));
    }
    return files;
}

TEST(McpHostile, TenThousandMessagesTouchNoFileAndEachAnswerIsOne) {
    Program program;
    const auto dump = program.path("sample.beamdump");
    const auto root = std::filesystem::path(dump).parent_path();
    const auto allowed = root / "allowed";
    const auto there = root / "there";
    std::filesystem::create_directory(allowed);
    std::filesystem::create_directory(there);
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(there);
    const auto files = files_below(root);
    TextOutput output;
    auto answers = DumpAnswers::make(
        {.dumps = {dump}, .folders = {allowed.string()}, .writing = Writing::kAllowed, .open = {}},
        {});
    ASSERT_TRUE(answers.has_value());
    Session session(*std::move(answers), output, std::chrono::seconds(10));
    Hostile hostile(dump, (root / "touched").string());
    for (int id = 0; id < kMessages; ++id) {
        session.receive(hostile.message(id));
        while (session.busy()) {
            session.check_time();
            std::this_thread::yield();
        }
    }
    std::filesystem::current_path(before);
    EXPECT_EQ(files_below(root), files);
    std::size_t lines = 0;
    simdjson::dom::parser parser;
    for (std::string_view rest = output.text(); !rest.empty(); ++lines) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(line.size() + 1);
        simdjson::dom::object message;
        ASSERT_EQ(parser.parse(line.data(), line.size()).get_object().get(message),
                  simdjson::SUCCESS)
            << line;
        EXPECT_EQ(message["jsonrpc"].get_string().value(), "2.0");
        EXPECT_NE(message["result"].error() == simdjson::SUCCESS,
                  message["error"].error() == simdjson::SUCCESS)
            << line;
        EXPECT_LT(line.size(), 80'000) << line.substr(0, 200);
    }
    EXPECT_GT(lines, kMessages * 3 / 4);
    EXPECT_LE(lines, kMessages);
}

}  // namespace
}  // namespace beamdump::test
