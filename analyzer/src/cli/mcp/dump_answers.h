#pragma once

#include "cli/invocation.h"
#include "cli/mcp/dumps.h"
#include "cli/mcp/tools.h"
#include "input/kept_dumps.h"
#include "input/opened_dump.h"

#include <mcp/answers.h>

#include <simdjson.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::cli {

/// What a server may do, set when it starts.
struct Policy {
    std::vector<std::string> dumps;    ///< opened at the start
    std::vector<std::string> folders;  ///< others may be opened there
    Writing writing = Writing::kRefused;
    Unredacted unredacted = Unredacted::kOpened;
    bool tells_answers = false;                ///< tools/list has schemas of answers
    std::size_t page_bytes = mcp::kPageBytes;  ///< of an answer
    input::OpenOptions open;
};

/// The commands as tools, and what they say of dumps as resources.
class DumpAnswers final : public mcp::Answers {
  public:
    /// Opens the dumps. The errors of opening them, and of the folders.
    static Result<std::unique_ptr<mcp::Answers>> make(Policy policy, const mcp::Asker& asker);

    [[nodiscard]] std::string_view program() const override { return kProgram; }
    [[nodiscard]] std::string instructions() const override;
    [[nodiscard]] std::string list_resources() const override;
    [[nodiscard]] std::string list_templates() const override;
    mcp::Answer read(const simdjson::dom::object& params, const mcp::Asker& asker) override;

  protected:
    Result<mcp::Ran> run_tool(const mcp::Tool& tool, const simdjson::dom::object& arguments,
                              const mcp::Asker& asker) override;

  private:
    static constexpr std::string_view kProgram = "beamdump-analyze";

    DumpAnswers(Policy policy, Dumps dumps);

    /// Runs a command line. Errors: the sentences that it ended with.
    Result<mcp::Ran> run(const std::vector<std::string>& arguments, const mcp::Asker& asker);
    Result<mcp::Ran> run_once(const std::vector<std::string>& arguments, const mcp::Asker& asker);
    Result<mcp::Ran> open(const std::string& path, const mcp::Asker& asker);
    Result<mcp::Ran> open_tool(const simdjson::dom::object& arguments, const mcp::Asker& asker);
    [[nodiscard]] std::string list_dumps() const;
    Result<mcp::Ran> read_of(std::string_view kind, const std::string& dump,
                             const mcp::Asker& asker);

    Policy policy_;
    Dumps dumps_;
    input::KeptDumps kept_;
};

/// docs/mcp.md, "For the model".
std::string_view guide();

}  // namespace beamdump::cli
