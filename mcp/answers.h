#pragma once

#include <libdump/base/error.h>
#include <libdump/text/compact_json.h>
#include <mcp/kept_text.h>
#include <mcp/message.h>
#include <mcp/pages.h>
#include <mcp/tool.h>

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::mcp {

/// Called with the phase of a long answer and what is done of it.
using Told = std::function<void(std::string_view phase, std::uint64_t done,
                                std::optional<std::uint64_t> total)>;

/// Who waits for one answer.
struct Asker {
    Told progress;
    std::stop_token stop;
};

/// Members of a JSON-RPC result, as JSON without the braces; or a fault of the request.
using Answer = std::expected<std::string, RpcError>;

/// What a tool answers.
struct Ran {
    std::string text;                   ///< JSON, or a text
    std::vector<std::string> messages;  ///< for people
    bool incomplete = false;
};

/// Of a tool's answer; larger ones are refused, with the remedy.
inline constexpr std::size_t kMostAnswerBytes = std::size_t{16} << 20U;
/// Of what a tool says for people.
inline constexpr std::size_t kMostSaidBytes = std::size_t{64} << 10U;

/// Answers calls of tools and requests of resources. Calls are made one after the other; what is
/// const may be asked meanwhile by another thread.
class Answers {
  public:
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;
    virtual ~Answers() = default;

    /// "beamdump-analyze".
    [[nodiscard]] virtual std::string_view program() const = 0;
    /// For the model: what this server is for and how to begin.
    [[nodiscard]] virtual std::string instructions() const = 0;
    /// Answers to requests without arguments.
    [[nodiscard]] std::string list_tools() const;
    [[nodiscard]] virtual std::string list_resources() const = 0;
    [[nodiscard]] virtual std::string list_templates() const = 0;

    /// Answer to a call of a tool that failed, with the sentence why.
    static std::string failed(const std::string& sentence);

    /// tools/call.
    Answer call(const simdjson::dom::object& params, const Asker& asker);
    /// resources/read.
    virtual Answer read(const simdjson::dom::object& params, const Asker& asker) = 0;

  protected:
    /// `note`: what each answer says of its texts.
    Answers(std::vector<Tool> tools, std::string_view note, std::size_t page_bytes)
        : tools_(std::move(tools)), note_(note), page_bytes_(page_bytes) {}

    virtual Result<Ran> run_tool(const Tool& tool, const simdjson::dom::object& arguments,
                                 const Asker& asker) = 0;
    /// A page of an answer, and what belongs to it, as JSON.
    [[nodiscard]] Result<std::string> envelope(std::string_view tool, const Ran& ran,
                                               std::uint64_t page) const;

  private:
    std::vector<Tool> tools_;
    std::string_view note_;
    std::size_t page_bytes_;
};

/// The sentences of standard error, without the program's name, as far as there is room.
std::vector<std::string> sentences_of(std::string_view text, std::string_view program);

/// The members that `write` writes, without the braces.
template <typename Write>
std::string members(const Write& write) {
    KeptText text;
    CompactJson json(text);
    json.begin_object();
    write(json);
    json.end_object();
    const std::string object = text.take();
    return object.substr(1, object.size() - 2);
}

}  // namespace beamdump::mcp
