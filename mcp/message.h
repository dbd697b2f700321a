#pragma once

#include <simdjson.h>

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::mcp {

/// Codes of JSON-RPC 2.0 and of the Model Context Protocol.
enum class RpcCode : int {
    kParse = -32700,
    kInvalidRequest = -32600,
    kNoMethod = -32601,
    kInvalidParams = -32602,
    kInternal = -32603,
    kNoResource = -32002,          ///< up to revision 2025-11-25
    kUnsupportedVersion = -32022,  ///< since revision 2026-07-28
};

/// A fault of the protocol, not of a tool.
struct RpcError {
    RpcCode code = RpcCode::kInternal;
    std::string message;
    std::string data = {};  ///< JSON; empty: none
};

/// A request or a notification. Its params are valid until the next message is parsed.
struct Message {
    std::optional<std::string> id;  ///< as JSON; none: a notification
    std::string method;             ///< empty: a response, which nobody waits for
    std::optional<simdjson::dom::object> params;
};

/// A line that is no message, and the request that it may have been.
struct Fault {
    std::optional<std::string> id;  ///< as JSON, if it could be read
    RpcError error;
};

/// Parses the lines of a client. Memory: some times the bytes of the largest message.
class MessageParser {
  public:
    static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
    static constexpr std::size_t kMostDepth = 64;
    static constexpr std::size_t kMostIdBytes = 256;

    std::expected<Message, Fault> parse(std::string_view line);

  private:
    simdjson::dom::parser parser_;
};

/// A text as a JSON string.
std::string json_string(std::string_view text);

}  // namespace beamdump::mcp
