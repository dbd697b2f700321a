#pragma once

#include "command/options.h"

#include <libvm/target/stop/stop_tracker.h>
#include <mcp/answers.h>

#include <simdjson.h>

#include <string>
#include <string_view>

namespace beamdump::sampler {

/// The commands that show what a running node does, as tools. None stops the node, changes it, or
/// writes a file.
class NodeAnswers final : public mcp::Answers {
  public:
    /// `stops`, non-owning.
    NodeAnswers(McpCommand command, target::StopTracker& stops);

    [[nodiscard]] std::string_view program() const override { return kProgram; }
    [[nodiscard]] std::string instructions() const override;
    [[nodiscard]] std::string list_resources() const override;
    [[nodiscard]] std::string list_templates() const override;
    mcp::Answer read(const simdjson::dom::object& params, const mcp::Asker& asker) override;

  protected:
    Result<mcp::Ran> run_tool(const mcp::Tool& tool, const simdjson::dom::object& arguments,
                              const mcp::Asker& asker) override;

  private:
    static constexpr std::string_view kProgram = "beamdump-sample";

    [[nodiscard]] Result<Command> command_of(const mcp::Tool& tool,
                                             const simdjson::dom::object& arguments) const;

    McpCommand command_;
    target::StopTracker& stops_;
};

}  // namespace beamdump::sampler
