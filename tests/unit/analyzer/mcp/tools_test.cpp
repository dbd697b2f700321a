#include "cli/mcp/tools.h"

#include "support/text_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace beamdump::test {
namespace {

using cli::Dumps;
using cli::make_tools;
using cli::Writing;
using mcp::command_line;
using mcp::Parameter;
using mcp::Tool;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> names_of(const std::vector<Tool>& tools) {
    std::vector<std::string> names;
    std::ranges::transform(tools, std::back_inserter(names), &Tool::name);
    return names;
}

class McpTools : public ::testing::Test {
  protected:
    McpTools() { EXPECT_TRUE(dumps_.add("/d/node.beamdump").has_value()); }

    [[nodiscard]] const Tool& tool(const std::string& name) const {
        return *std::ranges::find(tools_, name, &Tool::name);
    }
    [[nodiscard]] const Parameter& parameter(const std::string& of, const std::string& name) const {
        const auto& all = tool(of).parameters;
        const auto found = std::ranges::find(all, name, &Parameter::name);
        EXPECT_NE(found, all.end()) << of << " " << name;
        return *found;
    }
    Result<std::vector<std::string>> line(const std::string& name, const std::string& arguments) {
        simdjson::dom::parser parser;
        return command_line(tool(name), parser.parse(arguments).get_object().value(),
                            [this](const Parameter& of, std::string_view text) {
                                return cli::word_of_text(of, text, dumps_);
                            });
    }
    std::string refusal(const std::string& name, const std::string& arguments) {
        const auto refused = line(name, arguments);
        EXPECT_FALSE(refused.has_value()) << arguments;
        return refused ? "" : refused.error().message;
    }

    std::vector<Tool> tools_ = make_tools(Writing::kRefused);
    Dumps dumps_ = *Dumps::make({});
};

TEST_F(McpTools, EachCommandThatAnswersAQuestionIsOne) {
    const auto names = names_of(tools_);
    EXPECT_THAT(names, IsSupersetOf({"summary", "processes", "heap", "sql", "diff", "sections",
                                     "persistent-terms", "history", "waits"}));
    const auto writing = names_of(make_tools(Writing::kAllowed));
    for (const auto* name : {"report", "export", "crash-dump", "convert", "redact"}) {
        EXPECT_THAT(names, Not(Contains(name)));
        EXPECT_THAT(writing, Contains(name));
    }
    EXPECT_THAT(writing, Not(Contains("mcp")));
}

TEST_F(McpTools, NoToolShowsWhatIsSensitiveOrReadsOtherFiles) {
    for (const auto& tool : make_tools(Writing::kAllowed)) {
        for (const auto& parameter : tool.parameters) {
            // `key` chooses rows of ets and persistent-terms; --key of every command is no option.
            EXPECT_THAT((std::vector<std::string>{"sensitive", "file", "beam", "private_key",
                                                  "policy", "force", "json", "wide"}),
                        Not(Contains(parameter.name)))
                << tool.name;
            if (parameter.choices.empty()) {
                EXPECT_TRUE(!parameter.description.empty() || parameter.name == "dump" ||
                            parameter.name == "group_by" || parameter.name == "limit" ||
                            parameter.name == "page")
                    << tool.name << " " << parameter.name;
            }
            EXPECT_EQ(parameter.role == Parameter::Role::kOutput, parameter.name == "output");
            EXPECT_TRUE(tool.writes || parameter.name != "output") << tool.name;
        }
    }
}

TEST_F(McpTools, EachToolSaysWhichMembersItsAnswerHas) {
    for (const auto& tool : tools_) {
        EXPECT_TRUE(tool.has_json) << tool.name;
        simdjson::dom::parser parser;
        simdjson::dom::object members;
        ASSERT_EQ(parser.parse(tool.answer_members).get_object().get(members), simdjson::SUCCESS)
            << tool.name << ": " << tool.answer_members;
        EXPECT_EQ(members["schema"].error(), simdjson::SUCCESS) << tool.name;
    }
    TextOutput output;
    CompactJson json(output);
    mcp::write_tool(json, tool("processes"));
    output.flush();
    EXPECT_THAT(output.text(), HasSubstr(R"("outputSchema":{"type":"object","properties":{)"));
    EXPECT_THAT(output.text(), HasSubstr(R"("processes":{"type":"array"})"));
    EXPECT_THAT(output.text(), HasSubstr(R"("required":["tool","note","page","pages","answer"]})"));
}

TEST_F(McpTools, SentencesOfManyToolsAreShort) {
    EXPECT_EQ(parameter("ports", "filter").description,
              "Only ports of: port, name, driver, connected, owner, owner_display_name, "
              "owner_initial_call, owner_application, registered_name, input, output, queue, "
              "queued_binaries, queued_binary_bytes, os_pid, busy, suspended, suspended_processes, "
              "distribution, closing, orphaned");
    EXPECT_EQ(parameter("ports", "sort").description, "Columns (default queue)");
    EXPECT_EQ(parameter("ports", "limit").description, "");
    EXPECT_EQ(parameter("allocators", "carriers").description,
              "Show each carrier: how much of it is used, and its free blocks");
    EXPECT_THAT(parameter("processes", "columns").description, HasSubstr("further columns"));
    for (const auto& parameter : tool("ports").parameters) {
        EXPECT_NE(parameter.name, "columns");
    }
}

TEST_F(McpTools, ParametersHaveTheTypesOfTheOptions) {
    EXPECT_EQ(parameter("processes", "limit").kind, Parameter::Kind::kNumber);
    EXPECT_EQ(parameter("processes", "filter").kind, Parameter::Kind::kTexts);
    EXPECT_EQ(parameter("processes", "group_by").kind, Parameter::Kind::kText);
    EXPECT_EQ(parameter("heap", "retained").kind, Parameter::Kind::kFlag);
    EXPECT_THAT(parameter("heap", "syntax").choices, ElementsAre("erlang", "elixir"));
    EXPECT_EQ(parameter("heap", "dump").role, Parameter::Role::kDump);
    EXPECT_TRUE(parameter("heap", "process").required);
    EXPECT_FALSE(parameter("tree", "process").required);
    EXPECT_EQ(parameter("diff", "after").kind, Parameter::Kind::kTexts);
    EXPECT_EQ(parameter("diff", "after").role, Parameter::Role::kDump);
}

TEST_F(McpTools, ArgumentsBecomeACommandLine) {
    EXPECT_THAT(*line("processes", R"({"dump":"node.beamdump","limit":5,"filter":["a=1","--x"]})"),
                ElementsAre("processes", "--json", "--filter=a=1", "--filter=--x", "--limit=5",
                            "--", "/d/node.beamdump"));
    EXPECT_THAT(
        *line("heap", R"({"process":"--sensitive","dump":"node.beamdump","retained":true})"),
        ElementsAre("heap", "--json", "--retained", "--", "/d/node.beamdump", "--sensitive"));
    EXPECT_THAT(*line("sql", R"({"dumps":["node.beamdump"],"statement":"SELECT 1","page":3})"),
                ElementsAre("sql", "--json", "--", "/d/node.beamdump", "SELECT 1"));
}

TEST_F(McpTools, WrongArgumentsAreRefusedWithTheRemedy) {
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump"})"),
                HasSubstr("heap needs the argument process"));
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump","process":1})"),
                HasSubstr("process is a text"));
    EXPECT_THAT(refusal("heap", R"({"dump":"other","process":"a"})"),
                HasSubstr("there is /d/node.beamdump"));
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump","process":"a","sensitive":true})"),
                HasSubstr("heap has no argument \"sensitive\""));
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump","process":"a","limt":1})"),
                HasSubstr("did you mean limit?"));
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump","process":"a","limit":-1})"),
                HasSubstr("limit is an integer of 0 or more"));
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump","process":"a","retained":1})"),
                HasSubstr("retained is true or false"));
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump","process":"a","syntax":"lisp"})"),
                HasSubstr("syntax is one of erlang, elixir"));
    EXPECT_THAT(refusal("heap", R"({"dump":"node.beamdump","process":"a","process":"b"})"),
                HasSubstr("there twice"));
    EXPECT_THAT(refusal("processes", R"({"dump":"node.beamdump","filter":[1]})"),
                HasSubstr("filter is a text"));
}

}  // namespace
}  // namespace beamdump::test
