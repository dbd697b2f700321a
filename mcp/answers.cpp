#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <mcp/answers.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::mcp {

namespace {

namespace dom = simdjson::dom;
using namespace std::string_view_literals;

/// In JSON.
constexpr std::size_t kMostMessageBytes = 2'000;

/// Content of a tool's answer.
std::string content(const std::string& text, bool failed) {
    return members([&](CompactJson& json) {
        json.key("content");
        json.begin_array();
        json.begin_object();
        json.member("type", "text"sv);
        json.member("text", std::string_view(text));
        json.end_object();
        json.end_array();
        if (!failed) {
            json.key("structuredContent");
            json.json_value(text);
        }
        json.member("isError", failed);
    });
}

}  // namespace

std::vector<std::string> sentences_of(std::string_view text, std::string_view program) {
    const std::string prefix = fmt::format("{}: ", program);
    std::vector<std::string> sentences;
    std::size_t bytes = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        if (line.starts_with(prefix)) {
            line.remove_prefix(prefix.size());
        }
        if (line.empty()) {
            continue;
        }
        const auto size = json_string(line).size();
        if (bytes + size > kMostMessageBytes) {
            sentences.emplace_back("further messages are left out");
            break;
        }
        bytes += size;
        sentences.emplace_back(line);
    }
    return sentences;
}

Result<std::string> Answers::envelope(std::string_view tool, const Ran& ran,
                                      std::uint64_t number) const {
    ASSIGN_OR_RETURN(const auto page, page_of(ran.text, number, page_bytes_));
    KeptText text;
    CompactJson json(text);
    json.begin_object();
    json.member("tool", tool);
    json.member("note", note_);
    if (ran.incomplete) {
        json.member("incomplete", true);
    }
    if (!ran.messages.empty()) {
        json.key("messages");
        json.begin_array();
        for (const auto& message : ran.messages) {
            json.value(std::string_view(message));
        }
        json.end_array();
    }
    json.member("page", page.number);
    json.member("pages", page.pages);
    if (page.pages > 1) {
        json.member("left_out",
                    std::string_view(fmt::format(
                        "{} bytes of the answer are on other pages: ask again with the argument "
                        "page, or ask for less (limit, filter, one thing, sql)",
                        page.other_bytes)));
    }
    if (!page.begins_at.empty()) {
        json.member("begins_at", std::string_view(page.begins_at));
    }
    json.key("answer");
    json.json_value(page.json);
    json.end_object();
    return text.take();
}

std::string Answers::list_tools() const {
    return members([this](CompactJson& json) {
        json.key("tools");
        json.begin_array();
        for (const auto& tool : tools_) {
            write_tool(json, tool);
        }
        json.end_array();
    });
}

std::string Answers::failed(const std::string& sentence) {
    return content(sentence, true);
}

Answer Answers::call(const dom::object& params, const Asker& asker) {
    std::string_view name;
    if (params["name"].get_string().get(name) != simdjson::SUCCESS) {
        return std::unexpected(
            RpcError{RpcCode::kInvalidParams, "tools/call needs the name of a tool"});
    }
    const auto tool = std::ranges::find(tools_, name, &Tool::name);
    if (tool == tools_.end()) {
        Nearest nearest(name);
        for (const auto& known : tools_) {
            nearest.add(known.name);
        }
        return std::unexpected(RpcError{
            RpcCode::kInvalidParams,
            nearest.best().empty()
                ? fmt::format("there is no tool \"{}\": tools/list has all", one_line(name))
                : fmt::format("there is no tool \"{}\"; did you mean {}?", one_line(name),
                              nearest.best())});
    }
    dom::parser parser;
    dom::element given;
    if (constexpr auto kNone = "{}"sv;
        params["arguments"].get(given) != simdjson::SUCCESS &&
        parser.parse(kNone.data(), kNone.size()).get(given) != simdjson::SUCCESS) {
        return std::unexpected(RpcError{RpcCode::kInternal, "no memory for the arguments"});
    }
    dom::object arguments;
    if (given.get_object().get(arguments) != simdjson::SUCCESS) {
        return std::unexpected(
            RpcError{RpcCode::kInvalidParams, "the arguments are not an object"});
    }
    std::uint64_t page = 1;
    if (dom::element number; arguments["page"].get(number) == simdjson::SUCCESS &&
                             number.get_uint64().get(page) != simdjson::SUCCESS) {
        return failed("page is an integer of 1 or more");
    }
    const auto ran = run_tool(*tool, arguments, asker);
    if (!ran) {
        return failed(ran.error().message);
    }
    const auto text = envelope(name, *ran, page);
    return text ? content(*text, false) : failed(text.error().message);
}

}  // namespace beamdump::mcp
