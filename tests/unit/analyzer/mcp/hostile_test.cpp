#include "cli/mcp/dump_answers.h"
#include "program.h"
#include "support/hostile_messages.h"
#include "support/text_output.h"

#include <mcp/session.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace beamdump::test {
namespace {

using cli::DumpAnswers;
using cli::Writing;
using mcp::Session;

constexpr int kMessages = 10'000;

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
    HostileMessages hostile({dump}, (root / "touched").string());
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
