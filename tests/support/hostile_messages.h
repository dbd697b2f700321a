#pragma once

#include "cli/mcp/tools.h"

#include <mcp/message.h>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::test {

/// Makes messages that a client should not send, the same ones in each run: of every tool with any
/// of its arguments, of every method, broken ones, and bytes.
class HostileMessages {
  public:
    /// `outside`: a file that no message may touch.
    HostileMessages(std::vector<std::string> dumps, std::string outside, unsigned seed = 39)
        : dumps_(std::move(dumps)), outside_(std::move(outside)), chance_(seed) {}

    /// A line; it may be a request of this id.
    std::string message(int id) {
        switch (below(16)) {
            case 0:
            case 1:
                return bytes();
            case 2:
            case 3:
                return broken(call(id));
            case 4:
                return broken(other(id));
            case 5:
            case 6:
                return other(id);
            case 7:
                return odd(id);
            case 8:
                // Of a request that has not begun, or is not there yet.
                return fmt::format(
                    R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{)"
                    R"("requestId":{},"reason":{}}}}})",
                    id + static_cast<int>(below(6)) - 3, value());
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
    const std::string& dump() { return dumps_[below(dumps_.size())]; }

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
            switch (below(6)) {
                case 0:
                    message.erase(at, 1 + below(20));
                    break;
                case 1:
                    message.insert(at, std::string(1 + below(300), "[{\"\\,0"[below(6)]));
                    break;
                case 2:
                    message[at] = static_cast<char>(32 + below(90));
                    break;
                case 3:
                    message.resize(at);
                    break;
                case 4:
                    message.insert(at, one_of<4>({"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90"}));
                    break;
                default:
                    message.insert(at, message.substr(below(message.size()), below(40)));
                    break;
            }
        }
        return message;
    }

    std::string value() {
        switch (below(14)) {
            case 0:
                return "-1";
            case 1:
                // No parser of JSON takes it: a message with it is refused as a whole.
                return below(10) == 0 ? "1e400" : "1.5e300";
            case 2:
                return "18446744073709551615";
            case 3:
                return "null";
            case 4:
                return R"([{"a":[]},[],"x"])";
            case 5:
                return one_of<3>({"true", "false", "{}"});
            case 6:
                return fmt::format("\"{}\"", outside_);
            case 7:
                return fmt::format("\"{}\"", std::string(below(3000), "x*[%"[below(4)]));
            case 8:
                return fmt::format("\"{}\"", dump());
            default:
                return "\"" +
                       one_of<12>({"--output=touched", "-o", "../../etc/passwd", "/dev/zero", "-",
                                   "alpha", "<0.1.0>", "code_server", "{_, _}", "\\u0000\\u001b[2J",
                                   "%n%s{}{0}", "'; ATTACH 'touched' AS x; --"}) +
                       "\"";
        }
    }

    /// A call of any tool, with what it needs and any of its other arguments, in any type.
    std::string call(int id) {
        const auto& tool = tools_[below(tools_.size())];
        std::string arguments;
        const auto give = [&arguments](std::string_view name, std::string_view json) {
            arguments += fmt::format(R"({}"{}":{})", arguments.empty() ? "" : ",", name, json);
        };
        for (const auto& parameter : tool.parameters) {
            const bool names_dump = parameter.role == mcp::Parameter::Role::kDump;
            if (names_dump && below(8) != 0) {
                const bool list = parameter.kind == mcp::Parameter::Kind::kTexts;
                give(parameter.name,
                     fmt::format(R"({}"{}"{})", list ? "[" : "", dump(), list ? "]" : ""));
            } else if (below(parameter.required ? 2 : 6) == 0) {
                const bool chosen = !parameter.choices.empty() && below(3) != 0;
                give(parameter.name,
                     chosen ? fmt::format(R"("{}")",
                                          parameter.choices[below(parameter.choices.size())])
                            : value());
            }
        }
        if (below(6) == 0) {
            give(one_of<6>({"sensitive", "output", "file", "page", "dump", "json"}), value());
        }
        const auto name = below(20) == 0 ? one_of<4>({"mcp", "watch", "", "../sql"}) : tool.name;
        return fmt::format(
            R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}",)"
            R"("arguments":{{{}}},"_meta":{{"progressToken":{},)"
            R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
            R"("io.modelcontextprotocol/clientCapabilities":{{}}}}}}}})",
            id, name, arguments, value());
    }

    std::string other(int id) {
        return fmt::format(
            R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{"uri":{},"cursor":{},)"
            R"("requestId":{},"protocolVersion":{}}}}})",
            below(5) == 0 ? value() : fmt::to_string(id),
            one_of<12>({"initialize", "ping", "tools/list", "tools/call", "resources/list",
                        "resources/read", "resources/templates/list", "server/discover",
                        "notifications/cancelled", "logging/setLevel", "prompts/get", ""}),
            below(3) == 0 ? fmt::format("\"beamdump://{}/{}\"",
                                        below(2) == 0 ? "summary" : "findings", "%2e%2E%2fx%zz")
                          : value(),
            value(), value(), value());
    }

    /// JSON that is no message, or one twice.
    std::string odd(int id) {
        const auto one = call(id);
        switch (below(7)) {
            case 0:
                return fmt::format("[{},{}]", one, other(id));
            case 1:
                return std::string(1 + below(5000), '[') + one;
            case 2:
                return fmt::format(R"({{"id":{},{})", value(), one.substr(1));
            case 3:
                return fmt::format(R"({{"jsonrpc":{},"id":{},"method":{}}})", value(), value(),
                                   value());
            case 4:
                return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", value(), value());
            case 5:
                return one + one;
            default:
                return fmt::format(R"({{"jsonrpc":"2.0","id":{}{},"method":"ping"}})", id,
                                   std::string(below(400), '9'));
        }
    }

    std::vector<std::string> dumps_;
    std::string outside_;
    std::mt19937 chance_;
    std::vector<mcp::Tool> tools_ = cli::make_tools(cli::Writing::kAllowed);
};

}  // namespace beamdump::test
