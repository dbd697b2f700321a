#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kFormats = BEAMDUMP_TESTDATA "/formats/";

class FormatSamples : public ::testing::Test {
  protected:
    std::string ask(std::vector<std::string> arguments, int status = 0) {
        for (std::string& argument : arguments) {
            if (argument.ends_with(".beamdump")) {
                std::filesystem::copy_file(kFormats + argument, program_.path(argument),
                                           std::filesystem::copy_options::overwrite_existing);
            }
        }
        const auto ran = program_.run(std::move(arguments));
        EXPECT_EQ(ran.status, status) << ran.err;
        EXPECT_EQ(ran.err, "");
        return ran.out;
    }

    Program program_;
};

TEST_F(FormatSamples, SyntheticOneOfVersion1_0) {
    const std::string dump = "1.0-sample.beamdump";
    EXPECT_THAT(ask({"summary", dump}),
                AllOf(HasSubstr("sample@host"), HasSubstr("node stopped for 9.5 ms")));
    EXPECT_THAT(ask({"processes", dump, "--limit", "0"}),
                AllOf(HasSubstr("<0.1.0>"), HasSubstr("alpha"), HasSubstr("'Needs Quotes'")));
    EXPECT_THAT(ask({"backtrace", dump, "alpha"}), HasSubstr("demo:loop/2 + 64"));
    EXPECT_THAT(ask({"process", dump, "alpha"}), HasSubstr("1,234,567"));
}

TEST_F(FormatSamples, ConversionOfVersion1_0) {
    const std::string dump = "1.0-conversion.beamdump";
    EXPECT_THAT(ask({"summary", dump}),
                AllOf(HasSubstr("ERTS 13.1.5"), HasSubstr("format sample"), HasSubstr("128.8 KiB"),
                      HasSubstr("12, with 2 messages queued")));
    EXPECT_THAT(ask({"processes", dump, "--limit", "0"}),
                AllOf(HasSubstr("<0.20.0>"), HasSubstr("erl_prim_loader")));
    EXPECT_THAT(ask({"process", dump, "keeper"}), HasSubstr("keeper:loop/1"));
    EXPECT_THAT(ask({"backtrace", dump, "keeper"}),
                HasSubstr("{state,1208925819614629174706176,<<\"text\">>,<0.20.0>,"
                          "#Ref<0.3969182757.2664169474.40652>,fun erlang:abs/1}"));
    EXPECT_THAT(ask({"messages", dump, "keeper"}), HasSubstr("{hello,[1,2,3],1.5"));
    EXPECT_THAT(ask({"dictionary", dump, "keeper"}),
                AllOf(HasSubstr("color"), HasSubstr("blue"), HasSubstr("<<\"square\">>")));
    EXPECT_THAT(ask({"heap", dump, "keeper"}), HasSubstr("keeper"));
    EXPECT_THAT(ask({"sections", dump}), HasSubstr("persistent_terms"));
    // Only text in this version: their records are made of it.
    EXPECT_THAT(ask({"ports", dump}), AllOf(HasSubstr("forker"), HasSubstr("init")));
    EXPECT_THAT(ask({"modules", dump}), HasSubstr("28 module instances, 0 old; code 984.0 KiB"));
    EXPECT_THAT(ask({"ets", dump}), HasSubstr("there are no ETS tables"));
    EXPECT_THAT(ask({"allocators", dump}), HasSubstr("eheap_alloc"));
    EXPECT_THAT(ask({"crash-dump", dump}),
                AllOf(HasSubstr("=proc:<0.20.0>"), HasSubstr("=proc_heap:<0.20.0>")));
    EXPECT_THAT(ask({"diff", dump, dump}), HasSubstr("; processes 12 -> 12 (0);"));
}

}  // namespace
}  // namespace beamdump::test
