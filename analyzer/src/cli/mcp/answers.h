#pragma once

#include "cli/invocation.h"
#include "cli/mcp/dumps.h"
#include "cli/mcp/message.h"
#include "cli/mcp/pages.h"
#include "cli/mcp/tools.h"
#include "input/opened_dump.h"

#include <libdump/text/compact_json.h>

#include <simdjson.h>

#include <cstddef>
#include <expected>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::cli::mcp {

/// What a server may do, set when it starts.
struct Policy {
    std::vector<std::string> dumps;    ///< opened at the start
    std::vector<std::string> folders;  ///< others may be opened there
    Writing writing = Writing::kRefused;
    Unredacted unredacted = Unredacted::kOpened;
    std::size_t page_bytes = kPageBytes;  ///< of an answer
    input::OpenOptions open;
};

/// Who waits for one answer.
struct Asker {
    ProgressListener progress;
    std::stop_token stop;
};

/// Members of a JSON-RPC result, as JSON without the braces; or a fault of the request.
using Answer = std::expected<std::string, RpcError>;

/// Answers calls of tools and requests of resources. Calls are made one after the other; what is
/// const may be asked meanwhile by another thread.
class Answers {
  public:
    /// Of a command's answer; larger ones are refused, with the remedy.
    static constexpr std::size_t kMostAnswerBytes = std::size_t{16} << 20U;

    /// Opens the dumps. The errors of opening them, and of the folders.
    static Result<Answers> make(Policy policy, const Asker& asker);

    /// For the model: what this server is for and how to begin.
    [[nodiscard]] std::string instructions() const;
    /// Answers to requests without arguments.
    [[nodiscard]] std::string list_tools() const;
    [[nodiscard]] std::string list_resources() const;
    static std::string list_templates();

    /// Answer to a call of a tool that failed, with the sentence why.
    static std::string failed(const std::string& sentence);

    /// tools/call.
    Answer call(const simdjson::dom::object& params, const Asker& asker);
    /// resources/read.
    Answer read(const simdjson::dom::object& params, const Asker& asker);

  private:
    Answers(Policy policy, Dumps dumps);

    struct Ran {
        std::string text;                   ///< of the answer
        std::vector<std::string> messages;  ///< for people
        bool incomplete = false;
    };
    /// Runs a command line. Errors: the sentences that it ended with.
    Result<Ran> run(const std::vector<std::string>& arguments, const Asker& asker) const;
    Result<Ran> open(const std::string& path, const Asker& asker) const;
    Result<Ran> open_tool(const simdjson::dom::object& arguments, const Asker& asker);
    Result<Ran> run_tool(std::string_view name, const simdjson::dom::object& arguments,
                         const Asker& asker);
    [[nodiscard]] std::string list_dumps() const;
    Result<Ran> read_of(std::string_view kind, const std::string& dump, const Asker& asker) const;

    Policy policy_;
    Dumps dumps_;
    std::vector<Tool> tools_;
};

/// docs/mcp.md, "For the model".
std::string_view guide();

}  // namespace beamdump::cli::mcp
