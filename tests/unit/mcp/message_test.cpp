#include <mcp/message.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace beamdump::test {
namespace {

using mcp::Fault;
using mcp::MessageParser;
using mcp::RpcCode;

RpcCode code_of(const std::string& line) {
    MessageParser parser;
    const auto message = parser.parse(line);
    EXPECT_FALSE(message.has_value()) << line;
    return message ? RpcCode::kInternal : message.error().error.code;
}

TEST(McpMessage, ARequestHasItsIdAsItWasSent) {
    for (const std::string id :
         {"1", "-7", "18446744073709551615", "\"a\"", "\"\"", R"("\"\\ü")", "\"\\u0000\""}) {
        MessageParser parser;
        const auto message =
            parser.parse(fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"m"}})", id));
        ASSERT_TRUE(message.has_value()) << id;
        if (id == "\"\\u0000\"") {
            EXPECT_EQ(message->id, "\"\\u0000\"");
        } else {
            EXPECT_EQ(message->id, id);
        }
        EXPECT_EQ(message->method, "m");
        EXPECT_FALSE(message->params.has_value());
    }
}

TEST(McpMessage, ANotificationHasNoIdAndAResponseNoMethod) {
    MessageParser parser;
    const auto notification = parser.parse(R"({"jsonrpc":"2.0","method":"n","params":{"a":1}})");
    ASSERT_TRUE(notification.has_value());
    EXPECT_FALSE(notification->id.has_value());
    EXPECT_TRUE(notification->params.has_value());
    const auto response = parser.parse(R"({"jsonrpc":"2.0","id":1,"result":{}})");
    ASSERT_TRUE(response.has_value());
    EXPECT_EQ(response->method, "");
}

TEST(McpMessage, EachFaultHasItsCode) {
    EXPECT_EQ(code_of("hello"), RpcCode::kParse);
    EXPECT_EQ(code_of(""), RpcCode::kParse);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"m")"), RpcCode::kParse);
    EXPECT_EQ(code_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}"), RpcCode::kParse);
    EXPECT_EQ(code_of(R"([{"jsonrpc":"2.0","id":1,"method":"m"}])"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of("[]"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of("7"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"id":1,"method":"m"})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"1.0","id":1,"method":"m"})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":""})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":7})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":null,"method":"m"})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1.5,"method":"m"})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":{},"method":"m"})"), RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(fmt::format(R"({{"jsonrpc":"2.0","id":"{}","method":"m"}})",
                                  std::string(MessageParser::kMostIdBytes + 1, 'x'))),
              RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})"),
              RpcCode::kInvalidParams);
}

TEST(McpMessage, AFaultNamesTheRequestIfItsIdCanBeRead) {
    MessageParser parser;
    const auto fault = parser.parse(R"({"id":"x","method":"m"})");
    ASSERT_FALSE(fault.has_value());
    EXPECT_EQ(fault.error().id, "\"x\"");
}

TEST(McpMessage, SizeAndDepthAreBounded) {
    const std::string deep = std::string(MessageParser::kMostDepth * 2, '[') +
                             std::string(MessageParser::kMostDepth * 2, ']');
    EXPECT_EQ(code_of(fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}}}}})",
                                  deep)),
              RpcCode::kInvalidRequest);
    EXPECT_EQ(code_of(std::string(MessageParser::kMostBytes + 1, ' ')), RpcCode::kInvalidRequest);
    MessageParser parser;
    const auto large = parser.parse(fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}"}})",
                                                std::string(MessageParser::kMostBytes - 50, 'm')));
    EXPECT_TRUE(large.has_value());
    EXPECT_TRUE(parser.parse(R"({"jsonrpc":"2.0","id":1,"method":"m"})").has_value());
}

}  // namespace
}  // namespace beamdump::test
