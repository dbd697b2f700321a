#include <libdump/base/utf8.h>
#include <libdump/text/json_writer.h>
#include <mcp/message.h>

#include <fmt/format.h>

namespace beamdump::mcp {

namespace {

namespace dom = simdjson::dom;

std::unexpected<Fault> fault(RpcCode code, std::string message,
                             std::optional<std::string> id = std::nullopt) {
    return std::unexpected(Fault{std::move(id), {code, std::move(message)}});
}

/// The JSON of an id: a string or an integer.
std::optional<std::string> id_json(const dom::element& id) {
    std::string_view text;
    if (id.get_string().get(text) == simdjson::SUCCESS) {
        return text.size() <= MessageParser::kMostIdBytes ? std::optional(json_string(text))
                                                          : std::nullopt;
    }
    return id.is_int64() || id.is_uint64() ? std::optional(std::string(simdjson::minify(id)))
                                           : std::nullopt;
}

}  // namespace

std::string json_string(std::string_view text) {
    return fmt::format("\"{}\"", json_escaped(valid_utf8(text)));
}

std::expected<Message, Fault> MessageParser::parse(std::string_view line) {
    if (line.size() > kMostBytes) {
        return fault(RpcCode::kInvalidRequest,
                     fmt::format("the message is longer than {} bytes", kMostBytes));
    }
    if (parser_.capacity() == 0 && parser_.allocate(kMostBytes, kMostDepth) != simdjson::SUCCESS) {
        return fault(RpcCode::kInternal, "no memory for the message");
    }
    dom::element document;
    if (const auto error = parser_.parse(line.data(), line.size()).get(document);
        error != simdjson::SUCCESS) {
        return error == simdjson::DEPTH_ERROR
                   ? fault(RpcCode::kInvalidRequest,
                           fmt::format("the message is nested deeper than {} levels", kMostDepth))
                   : fault(RpcCode::kParse, fmt::format("the message is not JSON: {}",
                                                        simdjson::error_message(error)));
    }
    if (document.is_array()) {
        return fault(RpcCode::kInvalidRequest,
                     "the message is an array: send its messages one by one, a line each");
    }
    dom::object object;
    if (document.get_object().get(object) != simdjson::SUCCESS) {
        return fault(RpcCode::kInvalidRequest, "the message is not an object");
    }
    Message message;
    if (dom::element id; object["id"].get(id) == simdjson::SUCCESS) {
        message.id = id_json(id);
        if (!message.id) {
            return fault(RpcCode::kInvalidRequest,
                         fmt::format("the id is neither an integer nor a string of at most {} "
                                     "bytes",
                                     kMostIdBytes));
        }
    }
    if (std::string_view version;
        object["jsonrpc"].get_string().get(version) != simdjson::SUCCESS || version != "2.0") {
        return fault(RpcCode::kInvalidRequest, "the message has no \"jsonrpc\": \"2.0\"",
                     message.id);
    }
    dom::element method;
    if (object["method"].get(method) != simdjson::SUCCESS) {
        const bool response = object["result"].error() == simdjson::SUCCESS ||
                              object["error"].error() == simdjson::SUCCESS;
        return response ? std::expected<Message, Fault>(std::move(message))
                        : fault(RpcCode::kInvalidRequest, "the message has no method", message.id);
    }
    std::string_view name;
    if (method.get_string().get(name) != simdjson::SUCCESS || name.empty()) {
        return fault(RpcCode::kInvalidRequest, "the method is not a name", message.id);
    }
    message.method = name;
    if (dom::element params; object["params"].get(params) == simdjson::SUCCESS) {
        dom::object members;
        if (params.get_object().get(members) != simdjson::SUCCESS) {
            return fault(RpcCode::kInvalidParams, "params is not an object", message.id);
        }
        message.params = members;
    }
    return message;
}

}  // namespace beamdump::mcp
