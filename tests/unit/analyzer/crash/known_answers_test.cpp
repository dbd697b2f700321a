// Small crash dumps of testdata/crash_dumps, and what is right about each.
#include "program.h"
#include "query/facts/dump_facts.h"
#include "support/encrypted_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class KnownAnswers : public ::testing::Test {
  protected:
    static std::string text_of(const std::string& name) {
        std::ifstream file(BEAMDUMP_TESTDATA "/crash_dumps/" + name, std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_FALSE(text.empty()) << name;
        return text;
    }

    void put_text(const std::string& text, const std::string& name = "text.beamdump") {
        const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
        program_.put(name, std::vector(bytes, bytes + text.size()));
    }

    /// Answers to a question about the text, and about its conversion.
    std::vector<Ran> ask(const std::string& text, const std::vector<std::string>& words) {
        put_text(text);
        const Ran converted =
            program_.run({"convert", "text.beamdump", "-o", "made.beamdump", "--force"});
        EXPECT_NE(converted.status, 1) << converted.err;
        std::vector<Ran> all;
        for (const std::string dump : {"text.beamdump", "made.beamdump"}) {
            auto arguments = words;
            arguments.insert(arguments.begin() + 1, dump);
            all.push_back(program_.run(arguments));
        }
        return all;
    }

    /// What is said of the text, and of its conversion.
    std::vector<std::string> answers(const std::string& name,
                                     const std::vector<std::string>& words) {
        std::vector<std::string> said;
        for (auto& ran : ask(text_of(name), words)) {
            said.push_back(std::move(ran.out));
        }
        return said;
    }

    Program program_;
};

TEST_F(KnownAnswers, AnEncryptedDumpAnswersWithItsKey) {
    const EncryptionKey key;
    const auto text = text_of("state-of-27.dump");
    put_text(text);
    const std::vector<std::string> words = {"term",  "text.beamdump", "shop_cart",
                                            "state", "--term-bytes",  "100"};
    const Ran plain = program_.run(words);
    put_text(key.encrypt(text));
    const Ran refused = program_.run(words);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("text.beamdump is an encrypted crash dump"));
    put_text(key.pem(), "key.beamdump");
    auto with_key = words;
    with_key.insert(with_key.end(), {"--key", "key.beamdump"});
    const Ran decrypted = program_.run(with_key);
    EXPECT_EQ(decrypted.out, plain.out);
    EXPECT_EQ(decrypted.status, plain.status);
}

TEST_F(KnownAnswers, AFullAtomTableIsAFinding) {
    for (const auto& said : answers("full-atom-table.dump", {"summary"})) {
        EXPECT_THAT(said, HasSubstr("The atom table is 100% full (1,048,576 of 1,048,576 atoms)"));
        EXPECT_THAT(said, Not(HasSubstr("how many atoms the node may have")));
        EXPECT_THAT(said, HasSubstr("The node ended as its table of atoms was full (1,048,576 "
                                    "entries). The thread that asked for it ran "
                                    "registry_of_users (<0.90.0>).\n"));
        EXPECT_THAT(said, HasSubstr("scheduler:1, which ran registry_of_users (<0.90.0>)\n"));
        EXPECT_THAT(said, HasSubstr("taints      some_nif\n"));
    }
    for (const auto& said : answers("full-atom-table.dump", {"atoms"})) {
        EXPECT_THAT(said, HasSubstr("1,048,576 atoms of at most 1,048,576, 100.0%"));
    }
}

TEST_F(KnownAnswers, TimersAndPortsOfNobodyAreFindings) {
    for (const auto& said : answers("orphans.dump", {"summary"})) {
        EXPECT_THAT(said, HasSubstr("3 of 3 message timers wait to send a message to <0.999.0>, "
                                    "which does not exist.\n"));
        EXPECT_THAT(said, HasSubstr("2 ports are of a process that does not exist, with 2.0 KiB "
                                    "queued.\n"));
        EXPECT_THAT(said, HasSubstr("Old code of shop has not been purged, 878.9 KiB of code; a "
                                    "crash dump does not tell which processes run it.\n"));
    }
    for (const auto& said : answers("orphans.dump", {"timers", "--json"})) {
        EXPECT_THAT(said, HasSubstr(R"("left_ms": 1002,
      "orphaned": true)"));
    }
    for (const auto& said : answers("orphans.dump", {"ports", "--json"})) {
        EXPECT_THAT(said, HasSubstr(R"("orphaned": true)"));
        EXPECT_THAT(said, Not(HasSubstr(R"("orphaned": false)")));
    }
}

TEST_F(KnownAnswers, TheStateOfAGenServerIsFound) {
    for (const auto& said :
         answers("state-of-27.dump", {"term", "shop_cart", "state", "--term-bytes", "100"})) {
        EXPECT_THAT(said, HasSubstr("{cart_state,7,[]}"));
    }
}

TEST_F(KnownAnswers, TimersOfR14HaveTheTimeLeft) {
    for (const auto& said : answers("timers-of-r14.dump", {"timers"})) {
        EXPECT_THAT(said, HasSubstr("message  <0.15.0>  ticker  3,599,791\n"));
    }
}

/// The head of a crash dump with that slogan, and one process.
std::string with_slogan(const std::string& slogan) {
    return "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: " + slogan +
           "\nSystem version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2]\nAtoms: 9\n"
           "Calling Thread: scheduler:2\n=scheduler:2\nCurrent Process: <0.9.0>\n"
           "=proc:<0.9.0>\nState: Running\nName: logger\nMessage queue length: 2\n"
           "Program counter: 0x00007f2000001000 (logger_server:loop/1 + 8)\narity = 0\n"
           "=proc_messages:<0.9.0>\nH10:N\nA6:second:N\n=proc_stack:<0.9.0>\n=proc_heap:<0.9.0>\n"
           "10:t2:A5:error,A4:down\n=end\n";
}

class Texts : public KnownAnswers {
  protected:
    std::string summary_of(const std::string& text) {
        put_text(text);
        return program_.run({"summary", "text.beamdump"}).out;
    }
};

class Slogans : public Texts {
  protected:
    std::string summary(const std::string& slogan) { return summary_of(with_slogan(slogan)); }
};

TEST_F(Slogans, TheRuntimesSlogansAreExplained) {
    const std::string asked = " The thread that asked for it ran logger (<0.9.0>).\n";
    EXPECT_THAT(summary("eheap_alloc: Cannot allocate 6801972448 bytes of memory (of type "
                        "\"heap\")."),
                HasSubstr("The node ended as it could not get 6.3 GiB of memory for the heap of a "
                          "process." +
                          asked));
    EXPECT_THAT(summary("binary_alloc: Cannot reallocate 1048576 bytes of memory (of type "
                        "\"binary\")."),
                HasSubstr("could not get 1.0 MiB of memory for \"binary\"." + asked));
    EXPECT_THAT(summary("eheap_alloc: Cannot allocate 18446744071692551144 bytes of memory (of "
                        "type \"old_heap\")."),
                HasSubstr("a size that had become negative or overflowed: not for lack of "
                          "memory." +
                          asked));
    EXPECT_THAT(summary("Kernel pid terminated (application_controller) "
                        "({application_start_failure,shop,{bad_return,{{shop_app,start,[normal,"
                        "[]]},{'EXIT',{undef,[]}}}}})"),
                HasSubstr("The node ended as the application shop did not start: {undef,[]}.\n"));
    EXPECT_THAT(summary("Kernel pid terminated (application_controller) "
                        "({application_terminated,shop,shutdown})"),
                HasSubstr("the application shop, started as permanent, had terminated"));
    EXPECT_THAT(summary("init terminating in do_boot ({undef,[{shop,start,[],[]}]})"),
                HasSubstr("The node ended while it started: shop:start/0 does not exist, or its "
                          "module could not be loaded (undef).\n"));
    EXPECT_THAT(summary("Received SIGUSR1"), HasSubstr("was asked to end"));
    EXPECT_THAT(summary("Crash dump requested by user"),
                HasSubstr("The node was asked to end and to write this dump (A in the menu of its "
                          "shell's Ctrl-C); it did not fail by itself.\n"));
    EXPECT_THAT(summary("halted by an operator"), Not(HasSubstr("The node ended")));
}

/// One of each class, as the runtime writes them; the first is R15's.
TEST_F(Slogans, FaultsThatTheRuntimeFindsAreExplainedByTheirClass) {
    const std::string data = "The node ended as the runtime found data that cannot be, ";
    const std::pair<std::string, std::string> cases[] = {
        {"Internal error: unexpected opcode in match program.", data},
        {"beam_emu.c:3191: Internal error (12)", data},
        {"bad header tag 3c", data},
        {"<0.9.0>: Stack overflow", data},
        {"Wild pointer found @ 0x00007f2000001000!", data},
        {"Damaged process dictionary found during get/1.", data},
        {"socket_util.c:2948:esock_abort() Assertion failed: 0", data},
        {"erl_child_setup closed", "its helper erl_child_setup, "},
        {"Failed to write to erl_child_setup: 32", "its helper erl_child_setup, "},
        {"Out of virtual memory in malloc (enomem)",
         "the operating system refused what the runtime needs: Out of virtual memory in malloc "
         "(enomem)"},
        {"Failed to create thread: eagain (11)",
         "the operating system refused what the runtime needs: Failed to create thread: eagain "
         "(11)"},
        {"System process <0.9.0> terminated: killed", "a process of the runtime itself ended"},
        {"Absurdly large distribution output data buffer (4294967296 bytes) passed.",
         "something was larger than the runtime can hold"},
        {"no next heap size found: 18446744073709551615, offset 0",
         "something was larger than the runtime can hold"},
        {"Failed loading preloaded module erlang (badfile)", "could not be loaded"},
        {"OS monotonic time stepped backwards", "clock went backwards"}};
    for (const auto& [slogan, told] : cases) {
        const auto said = summary(slogan);
        EXPECT_THAT(said, HasSubstr(told)) << slogan;
        EXPECT_THAT(said, HasSubstr(" The thread that found it ran logger (<0.9.0>).\n")) << slogan;
    }
}

TEST_F(Slogans, SlogansOfTheStartAreExplainedWithEitherFirstLetter) {
    for (const std::string slogan :
         {"Could not start kernel pid (application_controller) (\"error in config file\")",
          "could not start kernel pid (application_controller) ()",
          "Init terminating in do_boot ()", "init terminating in do_boot ()"}) {
        EXPECT_THAT(summary(slogan), HasSubstr("The node ended while it started")) << slogan;
    }
}

/// Slogans of public crash dumps, R12 to OTP 28, in a short form.
TEST_F(Slogans, ReasonsOfAFailedStartAreTold) {
    const std::string controller = "Kernel pid terminated (application_controller) (";
    const std::string boot = "init terminating in do_boot (";
    const std::string started = "The node ended while it started: ";
    const std::string application = "The node ended as the application ";
    const std::pair<std::string, std::string> cases[] = {
        {boot + "{undef,[{encode,run,[[_],1],[]},{list,main,0,[{file,\"list.erl\"},{line,7}]},"
                "{erl_eval,do_apply,7,[{_},{_}]}]})",
         started + "encode:run/2, called by list:main/0 (list.erl, line 7), does not exist, or its "
                   "module could not be loaded (undef).\n"},
        // The node cuts off what is longer than 200 bytes.
        {boot + "{function_clause,[{lists,reverse,[eof],[{_},{_}]},{string,tok",
         started + "function_clause in lists:reverse/1.\n"},
        {boot + "{{badmatch,{error,{1,erl_parse,[_]}}},[{init,start_it,1,[]}]})",
         started + "{badmatch,{error,{1,erl_parse,[_]}}} in init:start_it/1.\n"},
        {"Runtime terminating during boot ({undef,[{init,start_it,1,[]},{init,start_em,1,[]}]})",
         started +
             "a module that the command line names (-s, -run) could not be loaded (undef).\n"},
        {boot + "{{badmatch,},[{money,show,2,[{_},{_}]},{init,start_em,1,[]}]})",
         started + "{badmatch,_} in money:show/2.\n"},
        {boot + "{{badmatch,{x,,[a,],{},\"{,}\"}},[{money,show,2,[]}]})",
         started + "{badmatch,{x,_,[a,_],{},\"{,}\"}} in money:show/2.\n"},
        {boot +
             "{badarg,[{io,put_chars,[standard_error,[<<42,42,32,34,195,169,10,97,98>>,10]],[]}]})",
         started + "badarg in io:put_chars/2; it was to write \"** \\\"\u00e9\\nab\".\n"},
        {boot + "{badarg,[{io,put_chars,[standard_error,[<<42,42,32,195,169,19",
         started + "badarg in io:put_chars; it was to write \"** \u00e9...\".\n"},
        {boot + R"({badarg,[{io,put_chars,[standard_error,[<<"a \"b\" c\n">>,10]],[]}]}))",
         started + R"(badarg in io:put_chars/2; it was to write "a \"b\" c\n".)" + "\n"},
        {controller + R"("{application_start_failure,shop,{bad_return,{{shop,start,[normal,[]]},)"
                      R"({'EXIT',{badarg,[{io,put_chars,[standard_error,[<<\"a.\n\\"b\\"\">>,10]],)"
                      R"([]}]}}}}}"))",
         application +
             R"(shop did not start: badarg in io:put_chars/2; it was to write "a.\n\"b\"".)" +
             "\n"},
        {boot + "{badarg,[{io,format,[[_],4],[]}]})", started + "badarg in io:format/2.\n"},
        {boot + "{badarg,[{shop,-start/0-fun-1-,1,[]},{Elixir.Shop.CLI,run,2,[{_},{_}]}]})",
         started + "badarg in shop:'-start/0-fun-1-'/1, called by 'Elixir.Shop.CLI':run/2.\n"},
        {boot + "Release hive uses non existing application hive)",
         started + "Release hive uses non existing application hive.\n"},
        {"could not start kernel pid (application_controller) (error in config file \"./a.config\" "
         "(7): syntax error before: '.')",
         started + "error in config file \"./a.config\" (7): syntax error before: '.'.\n"},
        {"Could not start kernel pid (application_controller) "
         R"(("{bad_environment_value,\"/\"}"))",
         started + "{bad_environment_value,\"/\"}.\n"},
        {controller + "{application_start_failure,kernel,{{shutdown,{failed_to_start_child,net_sup,"
                      "{shutdown,{failed_to_start_child,net_kernel,{'EXIT',nodistribution}}}}},{k",
         application + "kernel did not start: net_kernel, a child of net_sup, did not start: the "
                       "node's distribution (nodistribution), as where its name is in use or not "
                       "valid, or epmd does not answer.\n"},
        {controller +
             R"("{application_start_failure,prelaunch,{{shutdown,{failed_to_start_child,)"
             R"(listener,{port_used,25672,\"rabbit\"}}},{prelaunch_app,start,[normal,[]]}}}"))",
         application + "prelaunch did not start: its child listener did not start: "
                       "{port_used,25672,\"rabbit\"}.\n"},
        {controller + "{application_start_failure,kernel,{{shutdown,{failed_to_start_child,user,"
                      "{'EXIT',{undef,[{user_sup,start,[],[]},{supervisor,do_start_child,2,[{fi",
         application + "kernel did not start: its child user did not start: user_sup:start/0, "
                       "called by supervisor:do_start_child/2, does not exist, or its module could "
                       "not be loaded (undef).\n"},
        {controller +
             "\"{application_start_failure,rabbit,{no_directory,{rabbit,start,[normal,[]]}}}"
             "\")",
         application + "rabbit did not start: no_directory.\n"},
        {controller + "{application_start_failure,kernel,{shutdown,{kernel,start,[normal,[]]}}})",
         application + "kernel did not start; the slogan does not say why."},
        {controller + "{application_start_failure,shop,{bad_return,{{shop,start,[normal,[]]},"
                      "{'EXIT',{badarg,[{io,put_chars,[standard_error,[<<1,2>>]],[]}]}}}}})",
         application + "shop did not start: badarg in io:put_chars/2.\n"},
    };
    for (const auto& [slogan, told] : cases) {
        EXPECT_THAT(summary(slogan), HasSubstr(told)) << slogan;
    }
    for (const std::string reason : {"", "terminating"}) {
        const auto said = summary(boot + reason + ")");
        EXPECT_THAT(said, HasSubstr("The slogan does not say why; what the node printed may. The "
                                    "first message that logger has not read: {error,down}.\n"));
        EXPECT_THAT(said, HasSubstr("beamdump-analyze messages text.beamdump logger\n"));
    }
}

TEST_F(Slogans, AHiddenSloganIsNotLookedAt) {
    put_text(with_slogan("boom"));
    ASSERT_EQ(program_.run({"redact", "text.beamdump", "-o", "made.beamdump"}).status, 0);
    EXPECT_THAT(program_.run({"summary", "made.beamdump"}).out,
                HasSubstr("slogan: the crash dump has no slogan, or its redaction hides it\n"));
}

TEST_F(Slogans, ASloganThatIsCutOffAnywhereIsTold) {
    const std::string slogan =
        R"(Kernel pid terminated (application_controller) ("{application_start_failure,shop,)"
        R"({{shutdown,{failed_to_start_child,'a,\'b',{bad_return,{{m,start,[]},{'EXIT',{undef,)"
        R"([{m,f,[\"x{\"],[{file,\"m.erl\"},{line,1}]},{n,g,2,[]}]}}}}}},{shop,start,[normal,[]]}}}"))";
    for (std::size_t length = 0; length <= slogan.size(); ++length) {
        const Ran ran = [&] {
            put_text(with_slogan(slogan.substr(0, length)));
            return program_.run({"summary", "text.beamdump"});
        }();
        EXPECT_EQ(ran.status, 0) << length << ran.err;
    }
}

/// A dump whose slogan does not say why, and one process with its stack and heap.
std::string with_stack(const std::string& slogan, const std::string& name, const std::string& stack,
                       const std::string& heap) {
    return "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: " + slogan +
           "\nSystem version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2]\nAtoms: 9\n"
           "=proc:<0.9.0>\nState: Waiting\nName: " +
           name +
           "\nMessage queue length: 0\nProgram counter: 0x00007f2000001000 (a:loop/1 + 8)\n"
           "arity = 0\n=proc_stack:<0.9.0>\n" +
           stack + "=proc_heap:<0.9.0>\n" + heap + "=end\n";
}

constexpr std::string_view kWithoutReason =
    "Kernel pid terminated (application_controller) "
    "({application_start_failure,kernel,{shutdown,{kernel,start,[normal,[]]}}})";

/// Where gen_server keeps the state, in public crash dumps of R16 to OTP 28.
TEST_F(Texts, TheStateOfAGenServerIsFoundInEachRelease) {
    const std::string end = "0x00000100:SReturn addr 0x1250 (<terminate process normally>)\n";
    const std::string heap =
        "10:t2:A5:state,I7\n"
        "30:tB:AB:server_data,N,N,N,N,N,N,N,N,N,N\n";
    const auto state = [&](const std::string& function, const std::string& stack) {
        auto text = with_stack("boom", "cart", stack, heap);
        const std::string place = "a:loop/1";
        text.replace(text.find(place), place.size(), function);
        put_text(text);
        return program_.run({"term", "text.beamdump", "cart", "state", "--term-bytes", "100"});
    };
    const std::string before = "y0:N\ny1:A8:infinity\n";
    const std::string after = "A4:cart\ny5:P<0.2.0>\n";
    // As of OTP 23 with a time out, of the loop and of hibernation.
    const std::string end_of_two =
        "y1:N\ny2:A8:infinity\ny3:I100\ny4:A4:cart\ny5:H10\ny6:P<0.3.0>\ny7:P<0.2.0>\n";
    const std::pair<std::string, std::string> cases[] = {
        {"gen_server:loop/6", end + before + "y2:A4:cart\ny3:H10\ny4:" + after},
        {"gen_server:loop/7", before + "y2:A4:cart\ny3:H10\ny4:" + after + end},
        {"gen_server:loop/7",
         before + "y2:I100\ny3:A4:cart\ny4:H10\ny5:P<0.3.0>\ny6:P<0.2.0>\n" + end},
        {"gen_server:loop/7", "y0:N\n" + end_of_two + end},
        {"gen_server:loop/5", before + "y2:N\ny3:N\ny4:H10\ny5:H30\n" + end},
        {"gen_server:loop/5", "y0:N\ny1:N\ny2:I100\ny3:H10\ny4:H30\n" + end}};
    for (const auto& [function, stack] : cases) {
        const Ran ran = state(function, stack);
        EXPECT_EQ(ran.status, 0) << stack << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("{state,7}")) << stack;
    }
    const Ran heap_of_old = program_.run({"heap", "text.beamdump", "cart"});
    EXPECT_THAT(heap_of_old.out, HasSubstr("state, gen_server:loop/5"));
    for (const auto& stack :
         {before + "y2:I1\ny3:H10\ny4:" + after + end, "y0:N\ny1:H10\n" + end,
          "y0:N\ny1:N\ny2:A4:cart\ny3:H10\ny4:" + after + end,
          "y0:N\ny1:N\ny2:N\ny3:I100\ny4:A4:cart\ny5:H10\ny6:P<0.3.0>\ny7:P<0.2.0>\n" + end}) {
        const Ran ran = state("gen_server:loop/7", stack);
        EXPECT_EQ(ran.status, 1) << stack << ran.out;
        EXPECT_THAT(ran.err, HasSubstr("the state of <0.9.0> is unknown"));
    }
}

TEST_F(Texts, TheFirstEventThatErrorLoggerKeptIsTold) {
    const auto text = with_stack(std::string(kWithoutReason), "error_logger", "y0:N\ny1:H10\n",
                                 "10:lH30|N\n"
                                 "30:t5:A7:handler,AC:error_logger,A5:false,H70,A5:false\n"
                                 "70:t3:I2,I0,H90\n"
                                 "90:lHB0|HD0\n"
                                 "B0:t2:I2,A6:exited\n"
                                 "D0:lHF0|N\n"
                                 "F0:t2:I1,H110\n"
                                 "110:t2:A8:info_msg,AE:duplicate_name\n");
    for (const auto& ran : ask(text, {"summary"})) {
        EXPECT_THAT(ran.out,
                    HasSubstr("the application kernel did not start; the slogan does not say why. "
                              "The first event of the log, which error_logger kept: "
                              "{info_msg,duplicate_name}.\n"));
        EXPECT_THAT(ran.out, HasSubstr("beamdump-analyze backtrace"));
    }
}

TEST_F(Texts, TheFirstEventThatTheSimpleHandlerKeptIsTold) {
    const auto text = with_stack(std::string(kWithoutReason), "logger_simple_h", "y0:H10\n",
                                 "10:Mf2:H40:H60,I0\n"
                                 "40:t2:A6:buffer,A7:dropped\n"
                                 "60:lI7|H80\n"
                                 "80:lHA0|N\n"
                                 "A0:Mf2:HD0:A5:error,HF0\n"
                                 "D0:t2:A5:level,A3:msg\n"
                                 "F0:t2:A6:string,AE:duplicate_name\n");
    for (const auto& ran : ask(text, {"summary"})) {
        EXPECT_THAT(ran.out, HasSubstr("The first event of the log, which logger_simple_h kept: "
                                       "{string,duplicate_name}.\n"));
    }
}

TEST_F(Texts, TheReasonIsReadFromTheStackOfTheController) {
    const auto text = with_stack("Runtime terminating during boot (terminating)",
                                 "application_controller", "y0:N\ny1:H10\n",
                                 "10:t3:A19:application_start_failure,A4:shop,H30\n"
                                 "30:t2:H50,H70\n"
                                 "50:t2:A8:shutdown,H90\n"
                                 "70:t3:A4:shop,A5:start,N\n"
                                 "90:t3:A15:failed_to_start_child,A4:cart,A9:port_used\n");
    for (const auto& ran : ask(text, {"summary"})) {
        EXPECT_THAT(ran.out, HasSubstr("The node ended while it started: the application shop did "
                                       "not start: its child cart did not start: port_used.\n"));
        EXPECT_THAT(ran.out, HasSubstr(" application_controller\n"));
    }
}

TEST_F(Texts, MessagesOfFindingsAreInElixirsSyntaxWhereTheNodeRunsElixir) {
    auto text = with_slogan("boom");
    EXPECT_THAT(summary_of(text), HasSubstr("the first: {error,down}.\n"));
    text.replace(text.rfind("=end"), std::string::npos, "=mod:elixir\nCurrent size: 1\n=end\n");
    EXPECT_THAT(summary_of(text), HasSubstr("the first: {:error, :down}.\n"));
}

TEST_F(Slogans, UnreadMessagesOfTheLoggerAreShown) {
    EXPECT_THAT(summary("boom"),
                HasSubstr("2 messages are unread in logger (<0.9.0>), the first: {error,down}.\n"));
}

/// So many processes that are suspended, and a port.
std::string with_suspended(int processes, const std::string& port) {
    std::string text =
        "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: boom\nSystem version: "
        "Erlang/OTP 25 [erts-13.1.5] [64-bit]\nAtoms: 9\n=port:#Port<0.5>\n" +
        port + "Connected: <0.100.0>\nPort controls linked-in driver: tcp_inet\nQueue: 8192\n";
    for (int number = 100; number < 100 + processes; ++number) {
        text += fmt::format("=proc:<0.{}.0>\nState: Suspended\nMessage queue length: 0\n", number);
    }
    return text + "=end\n";
}

TEST_F(Texts, NameTheProcessesThatABusyPortSuspends) {
    const std::string busy = "State: CONNECTED\nTask Flags: BUSY_PORT|HAVE_TASKS\n";
    EXPECT_THAT(summary_of(with_suspended(10, busy)),
                HasSubstr("10 processes are suspended, and 1 port is busy: who sends to such a "
                          "port waits; most is queued in #Port<0.5> (tcp_inet), 8.0 KiB.\n"));
    for (const auto& text :
         {with_suspended(9, busy), with_suspended(10, "State: CONNECTED\n"),
          with_suspended(10, "State: CONNECTED|DISTRIBUTION\nTask Flags: BUSY_PORT\n")}) {
        EXPECT_THAT(summary_of(text), Not(HasSubstr("are suspended")));
    }
}

TEST_F(Texts, ProcessesOfTheSystemThatAreSlowAreTold) {
    const auto text = [](int messages) {
        return fmt::format(
            "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: boom\nSystem version: "
            "Erlang/OTP 25 [erts-13.1.5] [64-bit]\nAtoms: 9\n=proc:<0.50.0>\nState: Waiting\n"
            "Name: code_server\nMessage queue length: {}\nProgram counter: 0x00007f2000001000 "
            "(prim_file:read_file_nif/1 + 8)\n=end\n",
            messages);
    };
    EXPECT_THAT(summary_of(text(20)),
                HasSubstr("20 messages are unread in code_server (<0.50.0>), which is waiting in "
                          "prim_file:read_file_nif/1: loading code waits.\n"));
    EXPECT_THAT(summary_of(text(19)), Not(HasSubstr("are unread")));
}

/// Of a release that numbers unnamed tables, and has no line of their type.
std::string with_old_tables(std::uint64_t words) {
    return fmt::format(
        "=erl_crash_dump:0.3\nFri Jan  9 15:54:38 2015\nSlogan: x\nSystem version: Erlang/OTP 18 "
        "[erts-7.1] [source] [64-bit]\nAtoms: 1\n=memory\ntotal: 1000000000\n"
        "=port:#Port<0.0>\nConnected: []\n"
        "=ets:<0.12.0>\nSlot: 1\nTable: 1\nName: code\nBuckets: 256\nObjects: 1\nWords: {}\n"
        "=ets:<0.12.0>\nSlot: 2\nTable: code\nName: code\nBuckets: 256\nObjects: 2\nWords: 300\n"
        "=ets:<0.25.0>\nSlot: 15\nTable: 8207\nName: records\n"
        "Ordered set (AVL tree), Elements: 3\nObjects: 3\nWords: 95\n=end\n",
        words);
}

TEST_F(KnownAnswers, TablesOfOldReleasesAreUnnamedWithANumber) {
    for (const auto& ran : ask(with_old_tables(400), {"ets", "--json"})) {
        EXPECT_THAT(ran.out, HasSubstr("\"id\": \"1\",\n      \"name\": \"code\",\n      "
                                       "\"named_table\": false"));
        EXPECT_THAT(ran.out, HasSubstr("{\n      \"name\": \"code\",\n      "
                                       "\"named_table\": true"));
        EXPECT_THAT(ran.out, HasSubstr("\"id\": \"8207\",\n      \"name\": \"records\",\n      "
                                       "\"named_table\": false,\n      \"type\": "
                                       "\"ordered_set\""));
    }
    for (const auto& ran : ask(with_old_tables(100'000'000), {"summary"})) {
        EXPECT_THAT(ran.out, HasSubstr("is the ETS table code (1), with 1 row."));
    }
}

TEST_F(Texts, BinariesThatTheTextLacksAreAFinding) {
    const auto text = [](std::uint64_t binary) {
        return fmt::format(
            "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: boom\nSystem version: "
            "Erlang/OTP 25 [erts-13.1.5] [64-bit]\nAtoms: 9\n=memory\ntotal: 134217728\n"
            "binary: {}\n=proc:<0.9.0>\nState: Waiting\n=end\n",
            binary);
    };
    EXPECT_THAT(summary_of(text(100663296)),
                HasSubstr("75% of the node's memory (96.0 MiB of 128.0 MiB) is binaries, as the "
                          "node counted it. The crash dump has those that live terms of processes "
                          "refer to"));
    EXPECT_THAT(summary_of(text(60000000)), Not(HasSubstr("is binaries")));
}

TEST_F(KnownAnswers, APortOfNobodyIsConnectedToNothing) {
    for (const auto& ran : ask(with_old_tables(400), {"ports", "--json"})) {
        EXPECT_THAT(ran.out, HasSubstr("#Port<0.0>"));
        EXPECT_THAT(ran.out, Not(HasSubstr("connected")));
        EXPECT_THAT(ran.out, Not(HasSubstr("[]\"")));
    }
}

TEST_F(KnownAnswers, OldCodeIsAnInstanceOfAModuleInEachAnswer) {
    const std::string text =
        "=erl_crash_dump:0.5\nThu Jan 16 20:04:59 2025\nSlogan: x\nSystem version: Erlang/OTP 27 "
        "[erts-15.2] [source] [64-bit]\nAtoms: 1\n=loaded_modules\nCurrent code: 200\n"
        "Old code: 100\n=mod:a\nCurrent size: 120\nOld size: 100\n=mod:b\nCurrent size: 80\n"
        "=end\n";
    for (const auto& ran : ask(text, {"modules", "--json"})) {
        EXPECT_THAT(ran.out, HasSubstr("\"total\": 3"));
    }
    for (const std::string command : {"summary", "memory"}) {
        for (const auto& ran : ask(text, {command, "--json"})) {
            EXPECT_THAT(ran.out, HasSubstr("\"module_instances\": 3")) << command;
        }
    }
}

TEST_F(KnownAnswers, NothingOfASecondDumpInTheFileIsRead) {
    const auto text = text_of("two-in-one.dump");
    const std::string note =
        "the text has another crash dump, from byte 1631 on, and only the first one is read; tail "
        "-c +1632 makes a file of the other";
    ASSERT_EQ(text.rfind("=erl_crash_dump"), 1631);
    for (const auto& ran : ask(text, {"processes"})) {
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("<0.91.0>"));
        EXPECT_THAT(ran.out, Not(HasSubstr("<0.15.0>")));
        EXPECT_THAT(ran.err, HasSubstr(note));
    }
    for (const auto& ran : ask(text, {"processes", "--json"})) {
        EXPECT_THAT(ran.out, HasSubstr("\"text_notes\""));
        EXPECT_THAT(ran.out, HasSubstr(note));
    }
    for (const auto& ran : ask(text, {"timers"})) {
        EXPECT_THAT(ran.out, Not(HasSubstr("3,599,791")));
    }
    for (const auto& ran : ask(text, {"summary"})) {
        EXPECT_THAT(ran.out, HasSubstr("version 0.5"));
    }
    EXPECT_THAT(program_.run({"convert", "text.beamdump", "-o", "made.beamdump", "--force"}).err,
                HasSubstr(note));
    // Terms are of the first one's text: base64, and sizes of objects of OTP 27.
    for (const auto& ran : ask(text, {"backtrace", "shop_cart"})) {
        EXPECT_THAT(ran.out, HasSubstr("{cart_state,7,[]}"));
    }
}

TEST_F(KnownAnswers, ASecondDumpBehindACutOneIsNamedToo) {
    const auto two = text_of("two-in-one.dump");
    const auto cut = text_of("cut-in-process.dump") + "\n";
    for (const auto& ran : ask(cut + two.substr(two.rfind("=erl_crash_dump")), {"processes"})) {
        EXPECT_EQ(ran.status, 3);
        EXPECT_THAT(ran.out, Not(HasSubstr("<0.15.0>")));
        EXPECT_THAT(ran.err, HasSubstr(fmt::format("breaks off after {} bytes", cut.size())));
        EXPECT_THAT(ran.err, HasSubstr(fmt::format("from byte {} on", cut.size())));
    }
}

/// As `cat` joins two files: with a line end between them, or without.
TEST_F(KnownAnswers, ABrokenLineBeforeAnotherDumpIsNotRead) {
    const auto two = text_of("two-in-one.dump");
    const auto other = two.substr(two.rfind("=erl_crash_dump"));
    const auto first = two.substr(0, two.rfind("=erl_crash_dump"));
    const auto reductions = first.find("Reductions: ", first.find("=proc:<0.91.0>"));
    ASSERT_NE(reductions, std::string::npos);
    const auto cut = first.substr(0, reductions + std::string_view("Reductions: 1").size());
    for (const auto* between : {"", "\n"}) {
        for (const auto& ran : ask(cut + between + other, {"processes", "--json"})) {
            EXPECT_EQ(ran.status, 3) << between;
            EXPECT_THAT(ran.out, HasSubstr("<0.91.0>"));
            EXPECT_THAT(ran.out, Not(HasSubstr("\"reductions\": ")));
            EXPECT_THAT(ran.out, Not(HasSubstr("<0.15.0>")));
            EXPECT_THAT(ran.err, HasSubstr(fmt::format("breaks off after {} bytes",
                                                       cut.size() + std::string(between).size())));
        }
    }
}

TEST_F(KnownAnswers, LinksBehindTheCutAreNotNone) {
    const auto text = text_of("cut-in-process.dump");
    const auto whole = text.substr(0, text.rfind("=proc:"));
    const auto process = "=proc:<0.77.0>\nState: Waiting\nMessage queue length: 0\n";
    for (const auto& ran : ask(whole + process, {"process", "<0.77.0>", "--json"})) {
        EXPECT_THAT(ran.out, Not(HasSubstr("\"links\"")));
        EXPECT_THAT(ran.out, Not(HasSubstr("\"monitor")));
    }
    for (const auto& ran : ask(whole + process, {"process", "<0.77.0>"})) {
        EXPECT_THAT(ran.out, Not(HasSubstr("Links (0)")));
    }
    // The VM prints no list where there are none, and what follows it tells so.
    const auto without = std::string(process) + "Reductions: 7\n";
    for (const auto& ran : ask(whole + without, {"process", "<0.77.0>", "--json"})) {
        EXPECT_THAT(ran.out, HasSubstr("\"links\": {\n    \"total\": 0"));
    }
}

/// erts_deep_process_dump() writes persistent terms behind the processes' terms.
TEST(SectionsOfCrashDumps, PersistentTermsAreBehindHeaps) {
    query::DumpFacts facts;
    facts.text_complete = false;
    facts.cut_off_section = "proc_heap";
    EXPECT_TRUE(query::may_lack_some(facts, "persistent_terms"));
    EXPECT_FALSE(query::may_lack_some(facts, "fun"));
    facts.cut_off_section = "persistent_terms";
    EXPECT_FALSE(query::may_lack_some(facts, "proc_heap"));
    EXPECT_TRUE(query::may_lack_some(facts, "literals"));
}

std::string with(std::string text, std::string_view one, std::string_view other) {
    const auto at = text.find(one);
    EXPECT_NE(at, std::string::npos) << one;
    return text.replace(at, one.size(), other);
}

TEST_F(KnownAnswers, ANewerTextAndReleaseAreNamedAndRead) {
    const auto text =
        with(with(text_of("full-atom-table.dump"), "=erl_crash_dump:0.5", "=erl_crash_dump:0.6"),
             "Erlang/OTP 27 [erts-15.2.7]", "Erlang/OTP 31 [erts-19.0]");
    for (const auto& ran : ask(text, {"processes"})) {
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("<0.90.0>"));
        EXPECT_THAT(ran.err, HasSubstr("has version 0.6, which is newer than 0.5"));
        EXPECT_THAT(ran.err, HasSubstr("is of Erlang/OTP 31, and 29 is the last release known"));
    }
    for (const auto& ran : ask(text_of("full-atom-table.dump"), {"processes"})) {
        EXPECT_EQ(ran.err, "");
    }
}

TEST_F(KnownAnswers, ElixirsModuleDecidesTheSyntaxOfAllTerms) {
    const auto plain = with(text_of("two-in-one.dump"), "=end\n", "=mod:lists\nCurrent size: 9\n");
    const auto erlang = plain.substr(0, plain.rfind("=erl_crash_dump")) + "=end\n";
    const auto elixir = with(erlang, "=mod:lists\n", "=mod:elixir\n");
    for (const auto& ran : ask(elixir, {"backtrace", "shop_cart"})) {
        EXPECT_THAT(ran.out, HasSubstr("{:cart_state, 7, []}"));
    }
    for (const auto& ran : ask(elixir, {"backtrace", "shop_cart", "--syntax", "erlang"})) {
        EXPECT_THAT(ran.out, HasSubstr("{cart_state,7,[]}"));
    }
    // RabbitMQ's plugins have such a module for its command line.
    const auto command = with(erlang, "=mod:lists\n", "=mod:'Elixir.RabbitMQ.CLI.Core.Command'\n");
    for (const auto& text : {erlang, command}) {
        for (const auto& ran : ask(text, {"backtrace", "shop_cart"})) {
            EXPECT_THAT(ran.out, HasSubstr("{cart_state,7,[]}"));
        }
    }
}

TEST_F(KnownAnswers, NamesOfModulesTablesAndFunctionsAreElixirsWhereTheNodeRunsElixir) {
    const std::string plain =
        "=erl_crash_dump:0.5\nSat Nov 28 00:00:00 2026\nSlogan: boom\n"
        "System version: Erlang/OTP 25 [erts-13.1.5] [source] [64-bit] [smp:2:2]\nAtoms: 9\n"
        "=proc:<0.9.0>\nState: Waiting\nSpawned as: proc_lib:init_p/5\nMessage queue length: "
        "20000\nLink list: [{to,{'Elixir.Shop.Cart','nonode@nohost'},#Ref<0.1.2.3>}]\nProgram "
        "counter: 0x00007f2000001000 ('Elixir.Shop.Cart':loop/1 + 8)\narity = 0\n"
        "=ets:<0.9.0>\nSlot: 1\nTable: 'Elixir.Shop.Cart'\nName: 'Elixir.Shop.Cart'\n"
        "Objects: 3\nWords: 400\nType: set\n"
        "=proc_stack:<0.9.0>\n0x00007f1000001028:SReturn addr 0x2001008 "
        "('Elixir.Shop.Cart':'-run/2-fun-0-'/3 + 196)\ny0:SCatch 0x2002010 "
        "('Elixir.Shop.Cart':call/2 + 16)\n0x00007f1000001048:SReturn addr 0x2003010 "
        "(gen_server:loop/7 + 8)\n=proc_heap:<0.9.0>\n=mod:'Elixir.Shop.Cart'\nCurrent size: 100\n";
    // Not those within a text.
    const auto failed = with(
        plain, "boom",
        "init terminating in do_boot ({{badmatch,\"no 'Elixir.Shop.Cart':a/1 \\\"'Elixir.A'\"},"
        "[{Elixir.Shop.Cart,add,2,[]},{Elixir.Shop.CLI,run,2,[{_},{_}]}]})");
    for (const auto& ran : ask(failed + "=mod:elixir\nCurrent size: 1\n=end\n", {"summary"})) {
        EXPECT_THAT(ran.out, HasSubstr("{badmatch,\"no 'Elixir.Shop.Cart':a/1 \\\"'Elixir.A'\"} in "
                                       "Shop.Cart.add/2, called by Shop.CLI.run/2.\n"));
    }
    for (const auto& ran : ask(plain + "=mod:elixir\nCurrent size: 1\n=end\n", {"summary"})) {
        EXPECT_THAT(ran.out, HasSubstr("in <0.9.0> (proc_lib:init_p/5), which is waiting in "
                                       "Shop.Cart.loop/1.\n"));
    }
    for (const auto& ran :
         ask(plain + "=mod:elixir\nCurrent size: 1\n=end\n", {"backtrace", "<0.9.0>"})) {
        for (const auto* frame :
             {"(Shop.Cart.loop/1 + 8)", "(Shop.Cart.\"-run/2-fun-0-\"/3 + 196)",
              "Catch 0x00007f2002002010 (Shop.Cart.call/2 + 16)", "(gen_server:loop/7 + 8)"}) {
            EXPECT_THAT(ran.out, HasSubstr(frame));
        }
    }
    for (const std::vector<std::string>& command : {std::vector<std::string>{"processes"},
                                                    {"processes", "--group-by", "current_function"},
                                                    {"modules"},
                                                    {"modules", "--filter", "name=Shop.Cart"},
                                                    {"process", "<0.9.0>"},
                                                    {"backtrace", "<0.9.0>"},
                                                    {"ets"},
                                                    {"ets", "--filter", "name=Shop.Cart"}}) {
        for (const auto& ran : ask(plain + "=mod:elixir\nCurrent size: 1\n=end\n", command)) {
            EXPECT_THAT(ran.out, HasSubstr("Shop.Cart")) << command.front();
            EXPECT_THAT(ran.out, Not(HasSubstr("Elixir"))) << command.front();
        }
        for (const auto& ran : ask(plain + "=mod:lists\nCurrent size: 1\n=end\n", command)) {
            EXPECT_THAT(ran.out, HasSubstr("'Elixir.Shop.Cart'")) << command.front();
        }
        auto json = command;
        json.emplace_back("--json");
        for (const auto& ran : ask(plain + "=mod:elixir\nCurrent size: 1\n=end\n", json)) {
            EXPECT_THAT(ran.out, HasSubstr("'Elixir.Shop.Cart'")) << command.front();
        }
    }
}

/// The first process with a dictionary: of two entries one's tuple is not in the text, and the
/// value of the other is a string with a character beyond ASCII.
std::string with_dictionary(const std::string& text) {
    return with(with(text, "=proc_stack:<0.91.0>\n",
                     "=proc_dictionary:<0.91.0>\nHAAAA80\nHAAAA90\n=proc_stack:<0.91.0>\n"),
                "AAAA0:t3:",
                "AAAA90:t2:A4:name,HAAAAB0\nAAAAB0:lI99|HAAAAC0\nAAAAC0:lI233|N\n"
                "AAAA0:t3:");
}

TEST_F(KnownAnswers, OneOfAThingIsSingular) {
    // One process is void, the other has a message.
    const auto text = with(
        with(text_of("state-of-27.dump"), "Message queue length: 0", "Message queue length: 1"),
        "=proc:<0.91.0>", "=proc:<0.90.0>\nState: Waiting\n=proc:<0.91.0>");
    for (const auto& ran : ask(text, {"summary"})) {
        EXPECT_THAT(ran.out, HasSubstr("processes   2, with 1 message queued\n"));
        EXPECT_THAT(ran.out, HasSubstr("consistent  1 process; 1 void: 1 unreadable\n"));
    }
}

TEST_F(KnownAnswers, AnEmptyDictionaryIsCalledSo) {
    const std::string empty = "the dictionary is empty\n";
    for (const auto& ran : ask(text_of("state-of-27.dump"), {"dictionary", "shop_cart"})) {
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr(empty));
    }
    for (const auto& ran : ask(text_of("cut-in-process.dump"), {"dictionary", "shop_cart"})) {
        EXPECT_THAT(ran.out,
                    HasSubstr("no entries before the place where the crash dump breaks off\n"));
    }
    for (const auto& ran :
         ask(with_dictionary(text_of("state-of-27.dump")), {"dictionary", "shop_cart"})) {
        EXPECT_THAT(ran.out, Not(HasSubstr(empty)));
    }
    // A process whose terms the text lacks.
    for (const auto& ran :
         ask(text_of("full-atom-table.dump"), {"dictionary", "registry_of_users"})) {
        EXPECT_EQ(ran.status, 3);
        EXPECT_THAT(ran.out, Not(HasSubstr(empty)));
    }
}

TEST_F(KnownAnswers, AnEntryOfADictionaryWithoutItsTupleIsShownAsAbsent) {
    const auto text = with_dictionary(text_of("two-in-one.dump"));
    for (const std::string command : {"dictionary", "process"}) {
        for (const auto& ran : ask(text, {command, "shop_cart"})) {
            EXPECT_EQ(ran.status, 3) << ran.err;
            EXPECT_THAT(ran.out, HasSubstr("#Absent<0x0000000000aaaa80>")) << command;
            EXPECT_THAT(ran.out, HasSubstr("name")) << command;
        }
    }
    for (const auto& ran : ask(text, {"dictionary", "shop_cart", "--json"})) {
        EXPECT_THAT(ran.out, HasSubstr("#Absent<0x0000000000aaaa80>"));
    }
}

TEST_F(KnownAnswers, CharactersOfAStringAreUtf8InEachAnswer) {
    const auto text = with(with_dictionary(text_of("two-in-one.dump")), "y1:N\n", "y1:HAAAAB0\n");
    for (const std::string command : {"dictionary", "process", "backtrace"}) {
        for (const auto& ran : ask(text, {command, "shop_cart"})) {
            EXPECT_THAT(ran.out, HasSubstr("\"c\xc3\xa9\"")) << command;
        }
    }
    for (const auto& ran : ask(text, {"backtrace", "shop_cart", "--lines"})) {
        EXPECT_THAT(ran.out, HasSubstr("\"c\xc3\xa9\""));
    }
    // The VM's own text has the VM's own bytes.
    for (const auto& ran : ask(text, {"backtrace", "shop_cart", "--term-limit", "classic"})) {
        EXPECT_THAT(ran.out, HasSubstr("\"c\xe9\""));
    }
}

/// The first dump of two, with a second process, whose stack has two words, a module and a binary.
std::string with_two_processes(const std::string& two) {
    auto text = two.substr(0, two.rfind("=erl_crash_dump"));
    const auto facts = text.find("=proc:<0.91.0>");
    const auto terms = text.find("=proc_stack:<0.91.0>");
    auto other = with(text.substr(facts, terms - facts), "=proc:<0.91.0>", "=proc:<0.92.0>");
    other = with(with(other, "shop_cart", "shop_desk"), "Memory: 2856", "Memory: 99999");
    text.insert(terms, other);
    return with(text, "=end\n",
                "=mod:lists\nCurrent size: 9\n"
                "=proc_stack:<0.92.0>\ny0:N\n"
                "0x00007f1000002008:SReturn addr 0x2000010 (<terminate process normally>)\n"
                "=binary:7F0000000100\n5:aGVsbG8=\n=end\n");
}

TEST_F(KnownAnswers, RefusesToSortByAnAbsentValue) {
    const auto text = with_two_processes(text_of("two-in-one.dump"));
    for (const auto& ran : ask(text, {"processes", "--sort", "binaries"})) {
        EXPECT_EQ(ran.status, 1);
        EXPECT_THAT(ran.err, HasSubstr("processes cannot be sorted by binaries"));
        EXPECT_EQ(ran.out, "");
    }
    for (const auto& ran : ask(text, {"processes", "--group-by", "application"})) {
        EXPECT_EQ(ran.status, 1);
        EXPECT_THAT(ran.err, HasSubstr("cannot be grouped by application"));
        EXPECT_EQ(ran.out, "");
    }
    for (const auto& ran : ask(text, {"binaries", "--sort", "references"})) {
        EXPECT_EQ(ran.status, 1);
        EXPECT_THAT(ran.err, HasSubstr("cannot be sorted by references"));
    }
    for (const std::string sort : {"literal_bytes", "functions"}) {
        for (const auto& ran : ask(text, {"modules", "--sort", sort})) {
            EXPECT_EQ(ran.status, 1);
            EXPECT_THAT(ran.err, HasSubstr("modules cannot be sorted by " + sort));
        }
    }
}

TEST_F(KnownAnswers, TheSizeOfAStackIsThatOfItsLines) {
    const auto text = with_two_processes(text_of("two-in-one.dump"));
    for (const auto& ran : ask(text, {"processes", "--sort", "stack", "--json"})) {
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_LT(ran.out.find("<0.91.0>"), ran.out.find("<0.92.0>")) << ran.out;
        EXPECT_THAT(ran.out, HasSubstr("\"stack_size\": 10"));
        EXPECT_THAT(ran.out, HasSubstr("\"stack_size\": 2"));
    }
}

TEST_F(KnownAnswers, AValueBehindTheCutIsUnknownAndNotZero) {
    const auto text = text_of("cut-in-process.dump");
    for (const auto& ran : ask(text, {"binaries"})) {
        EXPECT_EQ(ran.status, 3);
        EXPECT_THAT(ran.out, HasSubstr("number of reference-counted binaries is unknown"));
        EXPECT_THAT(ran.out, Not(HasSubstr("0 B")));
    }
    for (const auto& ran : ask(text, {"binaries", "--json"})) {
        EXPECT_THAT(ran.out, Not(HasSubstr("\"total\"")));
    }
    for (const auto& ran : ask(text, {"summary"})) {
        EXPECT_THAT(ran.out, Not(HasSubstr("0 reference-counted")));
    }
    for (const auto& ran : ask(text, {"timers"})) {
        EXPECT_EQ(ran.out, "no timers before the place where the crash dump breaks off\n");
    }
    for (const auto& ran : ask(text, {"ets"})) {
        EXPECT_EQ(ran.out, "no ETS tables before the place where the crash dump breaks off\n");
    }
    for (const auto& ran : ask(text, {"processes", "--sort", "ets"})) {
        EXPECT_EQ(ran.status, 1);
        EXPECT_THAT(ran.err, HasSubstr("processes cannot be sorted by ets"));
    }
    for (const auto& ran : ask(text, {"timers", "--json"})) {
        EXPECT_THAT(ran.out, HasSubstr("\"text_complete\": false"));
    }
    for (const auto& ran : ask(text, {"modules"})) {
        EXPECT_EQ(ran.status, 1);
        EXPECT_THAT(ran.err, HasSubstr("the crash dump breaks off before its sections of modules"));
    }
    for (const auto& ran : ask(text, {"search", "{cart_state,_,_}"})) {
        EXPECT_EQ(ran.status, 3);
        EXPECT_THAT(ran.err, HasSubstr("no term before the place where the crash dump breaks off "
                                       "has the atom cart_state"));
    }
    for (const auto& ran : ask(text, {"atoms", "--list"})) {
        EXPECT_EQ(ran.status, 3);
        EXPECT_EQ(ran.out,
                  "9,000 atoms of at most 1,048,576, 0.9%; their texts are unknown: the "
                  "crash dump breaks off before its section of atoms\n");
    }
}

TEST_F(KnownAnswers, SearchesSayThatACrashDumpHasNoRowsOfTables) {
    const std::string sentence =
        "not searched: rows of ETS tables, which crash dumps do not have, and literals and "
        "persistent terms that no process refers to\n";
    const auto text = text_of("state-of-27.dump");
    for (const auto& question : std::vector<std::vector<std::string>>{{"search", "--text", "apple"},
                                                                      {"refs", "shop_cart"}}) {
        for (const auto& ran : ask(text, question)) {
            EXPECT_EQ(ran.status, 0) << question[0];
            EXPECT_THAT(ran.err, HasSubstr(sentence)) << question[0];
        }
        auto words = question;
        words.emplace_back("--json");
        for (const auto& ran : ask(text, words)) {
            EXPECT_THAT(ran.out,
                        HasSubstr("\"not_searched\": [\n    \"rows of ETS tables, which "));
            EXPECT_THAT(ran.out, Not(HasSubstr("tables_without_rows")));
        }
    }
    const Ran capture = program_.run({"search", "sample.beamdump", "--text", "a", "--json"});
    EXPECT_THAT(capture.out, HasSubstr("tables_without_rows"));
    EXPECT_THAT(capture.out, Not(HasSubstr("not_searched")));
}

TEST_F(KnownAnswers, BinariesBeforeTheCutAreAtLeastThose) {
    const auto two = with_two_processes(text_of("two-in-one.dump"));
    const auto cut = two.substr(0, two.rfind("=end"));
    for (const auto& ran : ask(cut, {"binaries"})) {
        EXPECT_THAT(ran.out, HasSubstr("at least 1 reference-counted binary, 5 B"));
    }
    for (const auto& ran : ask(cut + "=atoms\nshop", {"binaries"})) {
        EXPECT_THAT(ran.out, Not(HasSubstr("at least")));
        EXPECT_THAT(ran.out, HasSubstr("1 reference-counted binary, 5 B"));
    }
}

TEST_F(KnownAnswers, ADumpBehindLinesOfALogIsRead) {
    const auto text = text_of("full-atom-table.dump");
    const std::string log = "=ERROR REPORT==== 23-Nov-2026::10:00:00 ===\nSTART\n";
    for (const auto& ran : ask(log + text, {"processes"})) {
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("<0.90.0>"));
        EXPECT_THAT(ran.err, HasSubstr(fmt::format("begins at byte {} of the text", log.size())));
    }
    for (const auto& ran : ask("\xef\xbb\xbf" + text, {"processes"})) {
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_THAT(ran.out, HasSubstr("<0.90.0>"));
        EXPECT_EQ(ran.err, "");
    }
}

TEST_F(KnownAnswers, AFullTemporaryDirectoryIsNoMatterForASmallDump) {
    const char* const before = std::getenv("TMPDIR");
    const std::optional<std::string> known =
        before == nullptr ? std::nullopt : std::optional<std::string>(before);
    ::setenv("TMPDIR", "/proc", 1);  // no byte is free there, and no file can be made
    put_text(text_of("full-atom-table.dump"));
    const Ran ran = program_.run({"processes", "text.beamdump"});
    known ? ::setenv("TMPDIR", known->c_str(), 1) : ::unsetenv("TMPDIR");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("<0.90.0>"));
}

}  // namespace
}  // namespace beamdump::test
