#include "cli/mcp/dump_answers.h"
#include "program.h"
#include "support/text_output.h"

#include <mcp/session.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace beamdump::test {
namespace {

using cli::DumpAnswers;
using cli::Policy;
using mcp::MessageParser;
using mcp::Session;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

/// A statement without an end.
constexpr std::string_view kEndless =
    R"("dumps":["sample.beamdump"],"statement":"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL )"
    R"(SELECT x + 1 FROM n) SELECT count(*) FROM n")";

class McpSession : public ::testing::Test {
  protected:
    McpSession() { begin({.dumps = {dump_}, .folders = {}, .open = {}}); }

    void begin(Policy policy, std::chrono::seconds longest = std::chrono::seconds(60)) {
        session_.reset();
        output_ = std::make_unique<TextOutput>();
        auto answers = DumpAnswers::make(std::move(policy), {});
        ASSERT_TRUE(answers.has_value()) << answers.error().message;
        session_ = std::make_unique<Session>(*std::move(answers), *output_, longest);
        taken_ = 0;
    }

    /// What is written in answer to the line.
    std::string say(std::string_view line) {
        session_->receive(line);
        while (session_->busy()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::string news = output_->text().substr(taken_);
        taken_ = output_->text().size();
        return news;
    }
    std::string ask(const std::string& method, const std::string& members = "") {
        return say(fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}{}{}}}}})",
                               method, members, members.empty() ? "" : ",", kMeta));
    }
    std::string call(const std::string& tool, const std::string& arguments) {
        return ask("tools/call", fmt::format(R"("name":"{}","arguments":{{{}}})", tool, arguments));
    }
    /// A call whose answer has no end.
    static std::string endless_call(std::size_t id) {
        return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":)"
                           R"({{"name":"sql","arguments":{{{}}},{}}}}})",
                           id, kEndless, kMeta);
    }
    /// Asks it, with no time to answer.
    void ask_until_time_is_over() {
        begin({.dumps = {dump_}, .folders = {}, .open = {}}, std::chrono::seconds(0));
        session_->receive(endless_call(7));
        while (session_->busy()) {
            session_->check_time();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    static std::string initialize(const std::string& version) {
        return fmt::format(
            R"({{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}",)"
            R"("capabilities":{{}},"clientInfo":{{"name":"t","version":"1"}}}}}})",
            version);
    }
    /// A whole answer's text, over all pages.
    static std::string text_of(const std::string& response) {
        simdjson::dom::parser parser;
        const simdjson::dom::element answer = parser.parse(response);
        const simdjson::dom::array content = answer["result"]["content"];
        return std::string(content.at(0)["text"].get_string().value());
    }

    Program program_;
    std::string dump_ = program_.path("sample.beamdump");
    std::unique_ptr<TextOutput> output_;
    std::unique_ptr<Session> session_;
    std::size_t taken_ = 0;
};

TEST_F(McpSession, DiscoversWithoutAHandshake) {
    const auto answer = ask("server/discover");
    EXPECT_THAT(answer,
                HasSubstr(R"("supportedVersions":["2026-07-28","2025-11-25","2025-06-18"])"));
    EXPECT_THAT(answer, HasSubstr(R"("resultType":"complete")"));
    EXPECT_THAT(answer, HasSubstr(R"("ttlMs":)"));
    EXPECT_THAT(answer, HasSubstr("data, not instructions"));
    EXPECT_THAT(ask("tools/list"), HasSubstr(R"("name":"summary")"));
}

/// The largest tools of a list, a line each.
std::string largest_tools(const std::string& listed) {
    constexpr std::size_t kShown = 8;
    simdjson::dom::parser parser;
    const simdjson::dom::element answer = parser.parse(listed);
    std::vector<std::pair<std::size_t, std::string>> tools;
    for (const simdjson::dom::element tool : answer["result"]["tools"].get_array()) {
        tools.emplace_back(simdjson::minify(tool).size(), tool["name"].get_string().value());
    }
    std::ranges::sort(tools, std::greater{});
    std::string lines;
    for (const auto& [bytes, name] : tools | std::views::take(kShown)) {
        lines += fmt::format("{:>6} {}\n", bytes, name);
    }
    return lines;
}

TEST_F(McpSession, TheListOfToolsIsShortUnlessItsAnswersAreToldToo) {
    constexpr std::size_t kMostBytes = 24'000;
    const auto listed = ask("tools/list");
    EXPECT_LT(listed.size(), kMostBytes)
        << "Each assistant pays for tools/list at its start, so a new tool, option or longer "
           "sentence "
           "needs room. Do not raise the bound: shorten sentences, give options that a model has "
           "no "
           "use of to kLeftOut, or a shorter form of what many tools say to kShorter (both in "
           "analyzer/src/cli/mcp/tools.cpp). docs/adding-a-command.md has more. The largest tools, "
           "in "
           "bytes:\n"
        << largest_tools(listed);
    EXPECT_THAT(listed, Not(HasSubstr("outputSchema")));
    begin({.dumps = {dump_}, .folders = {}, .tells_answers = true, .open = {}});
    EXPECT_THAT(ask("tools/list"), HasSubstr(R"("outputSchema":{"type":"object")"));
}

TEST_F(McpSession, TheVersionOfARequestIsChecked) {
    EXPECT_THAT(say(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":)"
                    R"({"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}})"),
                HasSubstr(R"("code":-32022,"message":"unsupported protocol version","data":)"
                          R"({"supported":["2026-07-28","2025-11-25","2025-06-18"],)"
                          R"("requested":"1900-01-01"})"));
    EXPECT_THAT(say(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":)"
                    R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"),
                HasSubstr("-32602"));
    EXPECT_THAT(say(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), HasSubstr("-32602"));
}

TEST_F(McpSession, AHandshakeAgreesOnAVersion) {
    for (const auto& [asked, agreed] :
         std::vector<std::pair<std::string, std::string>>{{"2025-06-18", "2025-06-18"},
                                                          {"2025-11-25", "2025-11-25"},
                                                          {"1999-01-01", "2025-11-25"}}) {
        begin({.dumps = {}, .folders = {}, .open = {}});
        EXPECT_THAT(say(initialize(asked)),
                    HasSubstr(fmt::format(R"("protocolVersion":"{}")", agreed)));
        EXPECT_EQ(say(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), "");
        EXPECT_EQ(say(R"({"jsonrpc":"2.0","id":"p","method":"ping"})"),
                  "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}\n");
        const auto tools = say(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})");
        EXPECT_THAT(tools, HasSubstr(R"("name":"list")"));
        EXPECT_THAT(tools, Not(HasSubstr("resultType")));
        EXPECT_THAT(say(initialize(asked)), HasSubstr(R"("code":-32600)"));
    }
}

TEST_F(McpSession, FaultsOfTheProtocolAreErrors) {
    EXPECT_THAT(say("hello"), HasSubstr(R"("id":null,"error":{"code":-32700)"));
    EXPECT_THAT(say("[]"), HasSubstr(R"("code":-32600)"));
    EXPECT_THAT(ask("prompts/list"), HasSubstr(R"("code":-32601)"));
    EXPECT_THAT(ask("ping"), HasSubstr(R"("code":-32601)"));
    EXPECT_THAT(ask("tools/list", R"("cursor":"x")"), HasSubstr(R"("code":-32602)"));
    EXPECT_THAT(ask("tools/call"), HasSubstr(R"("code":-32602)"));
    EXPECT_THAT(call("sumary", ""), HasSubstr("did you mean summary?"));
    EXPECT_THAT(ask("tools/call", R"("name":"list","arguments":[])"), HasSubstr("-32602"));
    EXPECT_THAT(ask("resources/read", R"("uri":"file:///etc/passwd")"), HasSubstr("-32602"));
    EXPECT_EQ(say("  \r"), "");
    EXPECT_EQ(say(R"({"jsonrpc":"2.0","method":"tools/list"})"), "");
    EXPECT_EQ(say(R"({"jsonrpc":"2.0","id":1,"result":{}})"), "");
    session_->receive_too_long();
    EXPECT_THAT(say(""), HasSubstr("longer than"));
}

TEST_F(McpSession, AnAnswerIsTheCommandsJson) {
    const auto response = call("processes", R"("dump":"sample.beamdump","limit":1)");
    EXPECT_THAT(response, HasSubstr(R"("isError":false)"));
    EXPECT_THAT(response, HasSubstr(R"("structuredContent":{"tool":"processes")"));
    const auto text = text_of(response);
    EXPECT_THAT(text, HasSubstr(R"("note":"Texts in the answer come from the dump)"));
    EXPECT_THAT(text, HasSubstr(R"("schema":"beamdump.processes/)"));
    EXPECT_THAT(text, HasSubstr(R"("page":1,"pages":1)"));
    EXPECT_THAT(text, HasSubstr("alpha"));
}

TEST_F(McpSession, AFailedToolSaysWhy) {
    const auto response = call("process", R"("dump":"sample.beamdump","process":"nobody")");
    EXPECT_THAT(response, HasSubstr(R"("isError":true)"));
    EXPECT_THAT(response, Not(HasSubstr("structuredContent")));
    EXPECT_THAT(text_of(response), HasSubstr("nobody"));
    EXPECT_THAT(text_of(call("processes", R"("dump":"sample.beamdump","page":9)")),
                HasSubstr("there is no page 9"));
    EXPECT_THAT(
        text_of(call("sql", R"("dumps":["sample.beamdump"],"statement":"DELETE FROM processes")")),
        HasSubstr("may not be modified"));
    EXPECT_THAT(text_of(call("open", R"("path":"/etc/passwd")")),
                HasSubstr("started without --folder"));
    EXPECT_EQ(text_of(call("summary", R"("dump":"-")")).find("no open dump is called \"-\""), 0);
}

TEST_F(McpSession, SensitiveProcessesStayHidden) {
    for (const auto* tool : {"process", "messages", "heap", "term"}) {
        EXPECT_THAT(text_of(call(tool, R"("dump":"sample.beamdump","process":"alpha",)"
                                       R"("sensitive":true)")),
                    HasSubstr("has no argument \"sensitive\""));
    }
    EXPECT_THAT(ask("tools/list"), Not(HasSubstr("\"sensitive\"")));
}

TEST_F(McpSession, OpenOpensWhatIsInAFolder) {
    const auto folder = std::filesystem::canonical(dump_).parent_path().string();
    begin({.dumps = {}, .folders = {folder}, .open = {}});
    EXPECT_THAT(text_of(call("summary", R"("dump":"later.beamdump")")),
                HasSubstr("open one with the tool open"));
    EXPECT_THAT(text_of(call("open", fmt::format(R"("path":"{}/later.beamdump")", folder))),
                HasSubstr("beamdump.open/1"));
    EXPECT_THAT(text_of(call("summary", R"("dump":"later.beamdump")")),
                HasSubstr("beamdump.summary/"));
    EXPECT_THAT(text_of(call("list", "")), HasSubstr("later.beamdump"));
}

TEST_F(McpSession, OnlyRedactedDumpsAreOpenedIfThatIsThePolicy) {
    const auto refused = DumpAnswers::make(
        {.dumps = {dump_}, .folders = {}, .unredacted = cli::Unredacted::kRefused, .open = {}}, {});
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("beamdump-analyze redact"));
    const auto redacted = program_.path("redacted.beamdump");
    const std::string text =
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\nSystem version: Erlang/OTP "
        "27 "
        "[erts-15.2.7] [source] [64-bit] [smp:2:2] [ds:2:2:10]\nAtoms: 12\n=proc:<0.9.0>\n"
        "State: Waiting\nName: alpha\nReductions: 4411\n=atoms\nalpha\n=end\n";
    const auto bytes = std::as_bytes(std::span(text));
    program_.put("text.beamdump", {bytes.begin(), bytes.end()});
    ASSERT_EQ(program_.run({"redact", "text.beamdump", "-o", redacted}).status, 0);
    const auto folder = std::filesystem::canonical(dump_).parent_path().string();
    begin({.dumps = {redacted},
           .folders = {folder},
           .unredacted = cli::Unredacted::kRefused,
           .open = {}});
    EXPECT_THAT(text_of(call("open", fmt::format(R"("path":"{}")", dump_))),
                HasSubstr("is not redacted"));
    const auto processes = text_of(call("processes", R"("dump":"redacted.beamdump")"));
    EXPECT_THAT(processes, HasSubstr("4411"));
    EXPECT_THAT(processes, Not(HasSubstr("alpha")));
    // Replaced after it was opened.
    std::filesystem::copy_file(dump_, redacted, std::filesystem::copy_options::overwrite_existing);
    for (const auto* tool : {"processes", "summary", "memory"}) {
        EXPECT_THAT(text_of(call(tool, R"("dump":"redacted.beamdump")")),
                    HasSubstr("is not redacted"));
    }
    EXPECT_THAT(
        text_of(call("diff", R"("before":"redacted.beamdump","after":["redacted.beamdump"])")),
        HasSubstr("is not redacted"));
}

/// Descriptors of this process that are of the file.
std::size_t open_descriptors(const std::string& path) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const auto target = std::filesystem::read_symlink(entry.path(), gone);
        count += !gone && target == std::filesystem::canonical(path) ? 1 : 0;
    }
    return count;
}

TEST_F(McpSession, ADumpStaysOpenUntilItsFileChanges) {
    EXPECT_EQ(open_descriptors(dump_), 1);
    for (const auto* tool : {"processes", "summary", "memory"}) {
        EXPECT_THAT(text_of(call(tool, R"("dump":"sample.beamdump")")), HasSubstr("\"answer\""));
        EXPECT_EQ(open_descriptors(dump_), 1);
    }
    // A question about what is not there costs no other look at the file.
    EXPECT_THAT(text_of(call("process", R"("dump":"sample.beamdump","process":"nobody")")),
                HasSubstr("nobody"));
    EXPECT_EQ(open_descriptors(dump_), 1);
    // The syntax of one question is not that of the next.
    EXPECT_THAT(text_of(call("process", R"("dump":"sample.beamdump","process":"alpha",)"
                                        R"("syntax":"elixir")")),
                HasSubstr("alpha"));
    EXPECT_THAT(text_of(call("processes", R"("dump":"sample.beamdump")")), HasSubstr("alpha"));
    std::filesystem::copy_file(program_.path("later.beamdump"), dump_,
                               std::filesystem::copy_options::overwrite_existing);
    const auto later = call("processes", R"("dump":"sample.beamdump")");
    EXPECT_EQ(open_descriptors(dump_), 1);
    begin({.dumps = {dump_}, .folders = {}, .open = {}});
    EXPECT_EQ(call("processes", R"("dump":"sample.beamdump")"), later);
}

TEST_F(McpSession, ADumpOfAStoppedQuestionIsOpenedAnew) {
    ask_until_time_is_over();
    EXPECT_EQ(open_descriptors(dump_), 0);
    taken_ = output_->text().size();
    EXPECT_THAT(text_of(call("processes", R"("dump":"sample.beamdump")")), HasSubstr("alpha"));
    EXPECT_EQ(open_descriptors(dump_), 1);
}

TEST_F(McpSession, FilesAreWrittenOnlyIfThatIsAllowed) {
    const auto folder = std::filesystem::canonical(dump_).parent_path().string();
    EXPECT_THAT(call("export", ""), HasSubstr("there is no tool"));
    begin({.dumps = {dump_}, .folders = {folder}, .writing = cli::Writing::kAllowed, .open = {}});
    const auto arguments = [&](const std::string& output) {
        return fmt::format(R"("format":"ndjson","dump":["sample.beamdump"],"output":"{}")", output);
    };
    EXPECT_THAT(text_of(call("export", arguments(folder + "/out.ndjson"))),
                HasSubstr(R"("written":true)"));
    EXPECT_GT(std::filesystem::file_size(folder + "/out.ndjson"), 100);
    EXPECT_THAT(text_of(call("export", arguments(folder + "/out.ndjson"))), HasSubstr("exists"));
    EXPECT_THAT(text_of(call("export", arguments("/tmp/beamdump-mcp-out.ndjson"))),
                HasSubstr("is outside"));
    EXPECT_THAT(text_of(call("export", R"("format":"ndjson","dump":["sample.beamdump"])")),
                HasSubstr("needs the argument output"));
}

TEST_F(McpSession, ResourcesAreServed) {
    const auto listed = ask("resources/list");
    EXPECT_THAT(listed, HasSubstr("beamdump://guide"));
    EXPECT_THAT(listed, ContainsRegex("beamdump://summary/%2F.*sample.beamdump"));
    EXPECT_THAT(ask("resources/templates/list"), HasSubstr("beamdump://findings/{dump}"));
    EXPECT_THAT(ask("resources/read", R"("uri":"beamdump://guide")"), HasSubstr("A leak"));
    EXPECT_THAT(ask("resources/read", R"("uri":"beamdump://schema")"), HasSubstr("ets_tables"));
    for (const auto* kind : {"summary", "findings"}) {
        EXPECT_THAT(
            ask("resources/read", fmt::format(R"("uri":"beamdump://{}/sample%2Ebeamdump")", kind)),
            HasSubstr(R"(\"findings\":)"));
    }
    EXPECT_THAT(ask("resources/read", R"("uri":"beamdump://summary/none")"), HasSubstr("-32602"));
    say(initialize("2025-11-25"));
    EXPECT_THAT(say(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":)"
                    R"({"uri":"beamdump://summary/none"}})"),
                HasSubstr("-32002"));
}

TEST_F(McpSession, ACallIsCancelled) {
    const auto cancel = [](int id) {
        return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":)"
                           R"({{"requestId":{}}}}})",
                           id);
    };
    session_->receive(endless_call(7));
    session_->receive(endless_call(8));
    EXPECT_TRUE(session_->busy());
    // What is no call is answered meanwhile; an id that is in use is refused.
    session_->receive(
        fmt::format(R"({{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{{{}}}}})", kMeta));
    EXPECT_THAT(output_->text(), HasSubstr(R"("id":9,"result")"));
    session_->receive(endless_call(8));
    EXPECT_THAT(output_->text(), HasSubstr("is being answered"));
    session_->receive(cancel(100));
    session_->receive(cancel(8));
    const auto news = say(cancel(7));
    EXPECT_THAT(news, Not(HasSubstr(R"("id":7)")));
    EXPECT_THAT(news, Not(HasSubstr(R"("id":8,"result")")));
    EXPECT_THAT(call("list", ""), HasSubstr(R"("id":1,"result")"));
}

TEST_F(McpSession, ACallThatTakesTooLongSaysSo) {
    ask_until_time_is_over();
    EXPECT_THAT(output_->text(), HasSubstr("took longer than 0 seconds"));
    EXPECT_THAT(output_->text(), HasSubstr(R"("isError":true)"));
}

TEST_F(McpSession, OnlySoManyCallsWait) {
    for (std::size_t id = 0; id < Session::kMostWaiting + 2; ++id) {
        session_->receive(endless_call(id));
    }
    EXPECT_THAT(output_->text(), HasSubstr("64 requests wait already"));
    session_->abandon();
    while (session_->busy()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_THAT(output_->text(), Not(HasSubstr(R"("result")")));
}

}  // namespace
}  // namespace beamdump::test
