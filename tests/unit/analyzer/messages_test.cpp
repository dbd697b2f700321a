#include "query/process/messages.h"

#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

records::Message external(std::string data) {
    records::Message message;
    message.set_kind(records::MESSAGE_KIND_EXTERNAL);
    message.set_queue(records::QUEUE_KIND_OUTER);
    message.mutable_external()->set_dist_flags(3);
    message.mutable_external()->add_atom(kAlphaAtom);
    message.mutable_external()->set_total_bytes(data.size());
    message.mutable_external()->set_data(std::move(data));
    return message;
}

records::Message signal() {
    records::Message message;
    message.set_kind(records::MESSAGE_KIND_SIGNAL);
    message.set_queue(records::QUEUE_KIND_INNER);
    return message;
}

/// A tuple in a fragment of its own: {Tag, 1}, at an address that other messages use, too.
records::Message in_fragment(std::uint64_t tag) {
    records::Message message;
    message.set_kind(records::MESSAGE_KIND_FRAGMENT);
    message.set_queue(records::QUEUE_KIND_INNER);
    auto* fragment = message.add_fragment();
    fragment->set_address(0x900000);
    fragment->set_total_words(3);
    for (const std::uint64_t word : {tuple_header(2), tag, small_word(1)}) {
        fragment->add_words(word);
    }
    message.set_term_word(boxed_word(0x900000));
    return message;
}

/// `alpha` with seven entries in records of two: a signal among them.
std::vector<std::byte> queue_dump() {
    SampleDump dump;
    SampleProcess process;
    process.number = 1;
    process.name = kAlphaAtom;
    process.messages = {atom_word(kAlphaAtom), small_word(7)};
    process.entries = {in_fragment(atom_word(kLoopAtom)), signal(),
                       in_fragment(atom_word(kQuotedAtom)), external(std::string("h\2R\0a\5", 6)),
                       external(std::string("h\2R\0m\0\0\0\1x", 10))};
    process.entries_of_a_record = 2;
    dump.add(process);
    return dump.finish();
}

TEST(Messages, TextIsAsItShouldBe) {
    Program program;
    program.put("queue.beamdump", queue_dump());
    const Ran ran = program.run({"messages", "queue.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_EQ(ran.out, R"(<0.1.0>  alpha
6 messages, 1 other signal

Shapes of all 6 messages
  COUNT  SHARE  SHAPE
      2  33.3%  {alpha,_}
      1  16.7%  alpha
      1  16.7%  integer()
      1  16.7%  {'Needs Quotes',_}
      1  16.7%  {loop,_}

Messages
  0  inner   alpha
  1  inner   7
  2  inner   {loop,1}
  4  inner   {'Needs Quotes',1}
  5  outer   {alpha,5}
  6  outer   {alpha,<<"x">>}

6 messages shown. Records of messages in the dump: 4; read for the shapes: 4, for this page: 4
)");
}

TEST(Messages, APageReadsTheRecordsThatHoldIt) {
    Program program;
    program.put("queue.beamdump", queue_dump());
    const Ran ran = program.run(
        {"messages", "queue.beamdump", "alpha", "--from", "3", "--limit", "2", "--no-histogram"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out, R"(<0.1.0>  alpha
7 entries in its queues: messages and other signals

Messages
  4  inner   {'Needs Quotes',1}
  5  outer   {alpha,5}

2 messages shown. Records of messages in the dump: 4; read for the shapes: 0, for this page: 2
)");
    const Ran beyond =
        program.run({"messages", "queue.beamdump", "alpha", "--from", "99", "--no-histogram"});
    EXPECT_EQ(beyond.status, 0);
    EXPECT_THAT(beyond.out, HasSubstr("0 messages shown."));
    EXPECT_THAT(program.run({"messages", "queue.beamdump", "alpha", "--term-bytes", "4"}).out,
                HasSubstr("2  inner   {loo...\n"));
}

TEST(Messages, FiltersAreOfShapeTermQueueAndIndex) {
    Program program;
    program.put("queue.beamdump", queue_dump());
    const auto shown = [&program](const std::string& filter, const std::string& limit = "0") {
        const Ran ran = program.run({"messages", "queue.beamdump", "alpha", "--no-histogram",
                                     "--limit", limit, "--filter", filter});
        EXPECT_EQ(ran.status, 0) << ran.err;
        const auto last = ran.out.rfind("\n\n");
        const auto first = ran.out.find("\n\n") + 2;
        return first >= last ? ran.out.substr(first) : ran.out.substr(first, last - first);
    };
    EXPECT_EQ(shown("shape~{alpha,"),
              "Messages\n  5  outer   {alpha,5}\n  6  outer   {alpha,<<\"x\">>}");
    EXPECT_EQ(shown("shape~{alpha,", "1"), "Messages\n  5  outer   {alpha,5}");
    EXPECT_EQ(shown("term~<<"), "Messages\n  6  outer   {alpha,<<\"x\">>}");
    EXPECT_EQ(shown("queue!=inner"), shown("index>4"));
    EXPECT_EQ(shown("Needs"), "Messages\n  4  inner   {'Needs Quotes',1}");
    EXPECT_THAT(
        program
            .run({"messages", "queue.beamdump", "alpha", "--filter", "nowhere", "--no-histogram"})
            .out,
        HasSubstr("signals\nno message matches\n"));
    const Ran wrong =
        program.run({"messages", "queue.beamdump", "alpha", "--filter", "sender=<0.1.0>"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, HasSubstr("use index, queue, shape, term"));
}

TEST(Messages, SensitiveAndVoidProcessesKeepTheirs) {
    Program program;
    const Ran withheld = program.run({"messages", "sample.beamdump", "secret"});
    EXPECT_EQ(withheld.status, 3);
    EXPECT_EQ(withheld.out, "<0.3.0>  secret\n");
    EXPECT_THAT(withheld.err, HasSubstr("--sensitive shows them"));
    const Ran shown = program.run({"messages", "sample.beamdump", "secret", "--sensitive"});
    EXPECT_EQ(shown.status, 0);
    EXPECT_THAT(shown.out, HasSubstr("0  inner   99\n"));
    const Ran is_void = program.run({"messages", "sample.beamdump", "<0.4.0>"});
    EXPECT_EQ(is_void.status, 3);
    EXPECT_THAT(is_void.err, HasSubstr("<0.4.0> was running when it was captured"));
}

TEST(Messages, MalformedOnesAreMarkedAndCounted) {
    SampleDump dump;
    SampleProcess process;
    process.number = 1;
    process.name = kAlphaAtom;
    process.entries = {external(std::string("h\2R\0\xFF", 5)), external(std::string("h\1", 2))};
    dump.add(process);
    Program program;
    program.put("bad.beamdump", dump.finish());
    const Ran ran = program.run({"messages", "bad.beamdump", "alpha"});
    EXPECT_EQ(ran.status, 3);
    EXPECT_THAT(ran.out, HasSubstr("0  outer   {alpha,#Malformed<byte 4 of 5>}\n"));
    EXPECT_THAT(ran.out, HasSubstr("1  outer   #Malformed<byte 0 of 2>\n"));
    EXPECT_THAT(ran.out, HasSubstr("  unreadable\n"));
    EXPECT_THAT(ran.err, HasSubstr("2 placeholders mark"));
}

TEST(Messages, MoreShapesThanAreToldApartAreOthers) {
    SampleDump dump;
    SampleProcess process;
    process.number = 1;
    process.name = kAlphaAtom;
    for (std::uint64_t arity = 1; arity <= 1010; ++arity) {
        const auto high = static_cast<char>(arity >> 8U);
        std::string tuple = {'i', '\0', '\0', high, static_cast<char>(arity & 0xFFU)};
        tuple += std::string("R\0", 2);
        tuple.append(arity - 1, 'j');
        process.entries.push_back(external(tuple));
    }
    process.entries_of_a_record = 3;
    dump.add(process);
    Program program;
    program.put("many.beamdump", dump.finish());
    const Ran ran = program.run({"messages", "many.beamdump", "alpha", "--limit", "1"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("  and 980 messages of 980 rarer shapes; --json lists them\n"
                                   "  and 10 messages of other shapes: at most 1,000 shapes are "
                                   "counted\n"));
    EXPECT_THAT(ran.out, HasSubstr("{alpha,... 1000 elements}"));
}

TEST(Dictionary, PagesThroughItsEntries) {
    SampleDump dump;
    SampleProcess process;
    process.number = 1;
    process.name = kAlphaAtom;
    const std::uint64_t heap = heap_of(1);
    for (std::uint64_t entry = 0; entry < 5; ++entry) {
        process.heap.insert(process.heap.end(),
                            {tuple_header(2), small_word(entry), small_word(10 * entry)});
        process.dictionary.push_back(boxed_word(heap + entry * 24));
    }
    dump.add(process);
    Program program;
    program.put("dictionary.beamdump", dump.finish());
    const Ran ran =
        program.run({"dictionary", "dictionary.beamdump", "alpha", "--from", "2", "--limit", "2"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_EQ(ran.out, "<0.1.0>  alpha\n  2  2 => 20\n  3  3 => 30\n");
    EXPECT_THAT(program.run({"dictionary", "dictionary.beamdump", "alpha", "--limit", "0"}).out,
                HasSubstr("  4  4 => 40\n"));
    const Ran secret = program.run({"dictionary", "sample.beamdump", "secret"});
    EXPECT_EQ(secret.status, 3);
    EXPECT_THAT(secret.out, Not(HasSubstr("=>")));
}

constexpr std::uint32_t kExitAtom = 8;
constexpr std::uint32_t kDownAtom = 9;
constexpr std::uint32_t kCallAtom = 10;
constexpr std::uint32_t kTcpAtom = 11;
constexpr std::uint32_t kUndefinedAtom = 12;
constexpr std::uint32_t kOtherNodeAtom = 13;
constexpr std::uint64_t kPortWord = 5U << 4U | 7U;

/// A tuple in a fragment of its own, and after it the tuple {<0.21.0>, loop}.
records::Message tuple_message(const std::vector<std::uint64_t>& elements) {
    records::Message message;
    message.set_kind(records::MESSAGE_KIND_FRAGMENT);
    message.set_queue(records::QUEUE_KIND_INNER);
    auto* fragment = message.add_fragment();
    fragment->set_address(0x900000);
    fragment->add_words(tuple_header(elements.size()));
    for (const std::uint64_t word : elements) {
        fragment->add_words(word);
    }
    for (const std::uint64_t word : {tuple_header(2), pid_word(21), atom_word(kLoopAtom)}) {
        fragment->add_words(word);
    }
    fragment->set_total_words(elements.size() + 4);
    message.set_term_word(boxed_word(0x900000));
    return message;
}

/// The address of the second tuple of tuple_message() of so many elements.
std::uint64_t caller_of(std::size_t elements) {
    return boxed_word(0x900000 + (elements + 1) * 8);
}

records::Message noted(std::uint64_t from, records::Message message) {
    message.set_from_word(from);
    return message;
}

class SendersTest : public ::testing::Test {
  protected:
    /// What is said of one message.
    std::string sender(const records::Message& message) {
        SampleDump dump;
        dump.builder().add_atoms(kExitAtom,
                                 {"EXIT", "DOWN", "$gen_call", "tcp", "undefined", "other@host"});
        SampleProcess process;
        process.name = kAlphaAtom;
        process.entries = {message};
        dump.add(process);
        program_.put("senders.beamdump", dump.finish());
        auto opened = expect_value(Dump::open(program_.path("senders.beamdump")));
        auto listing =
            expect_value(query::MessageListing::open(*opened, "senders.beamdump", "alpha", {}));
        const auto counted = expect_value(listing->senders());
        EXPECT_EQ(counted.messages, 1);
        if (counted.senders.empty()) {
            EXPECT_EQ(counted.not_told, 1);
            return "not told";
        }
        const auto& first = counted.senders.front();
        return first.name + " " + std::string(query::sender_source_text(first.source)) +
               (first.registered_name ? " " + *first.registered_name : "");
    }

    Program program_;
};

TEST_F(SendersTest, TheVmNotesThem) {
    const auto message = tuple_message({atom_word(kLoopAtom), pid_word(9)});
    EXPECT_EQ(sender(noted(pid_word(7), message)), "<0.7.0> vm");
    EXPECT_EQ(sender(noted(pid_word(1), message)), "<0.1.0> vm alpha");
    EXPECT_EQ(sender(noted(kPortWord, message)), "#Port<0.5> vm");
    EXPECT_EQ(sender(noted(atom_word(kOtherNodeAtom), message)), "'other@host' node");
    EXPECT_EQ(sender(noted(atom_word(kUndefinedAtom), message)), "<0.9.0> guess");
    EXPECT_EQ(sender(noted(kNil, message)), "<0.9.0> guess");
}

TEST_F(SendersTest, ElseMessagesTell) {
    const auto exit = atom_word(kExitAtom);
    EXPECT_EQ(sender(tuple_message({exit, pid_word(7), pid_word(8)})), "<0.7.0> message");
    EXPECT_EQ(sender(tuple_message({exit, kPortWord, small_word(1)})), "#Port<0.5> message");
    EXPECT_EQ(sender(tuple_message(
                  {atom_word(kDownAtom), small_word(1), small_word(2), pid_word(7), pid_word(8)})),
              "<0.7.0> message");
    EXPECT_EQ(sender(tuple_message({atom_word(kCallAtom), caller_of(3), pid_word(8)})),
              "<0.21.0> message");
    EXPECT_EQ(sender(tuple_message({kPortWord, small_word(1)})), "#Port<0.5> message");
    EXPECT_EQ(sender(tuple_message({atom_word(kTcpAtom), kPortWord, small_word(1)})),
              "#Port<0.5> message");
}

TEST_F(SendersTest, OneThatIsNotToldIsNotMadeUp) {
    EXPECT_EQ(sender(tuple_message({atom_word(kLoopAtom), pid_word(7), pid_word(8)})), "not told");
    EXPECT_EQ(sender(tuple_message({atom_word(kLoopAtom), small_word(7)})), "not told");
    records::Message atom;
    atom.set_kind(records::MESSAGE_KIND_HEAP);
    atom.set_queue(records::QUEUE_KIND_INNER);
    atom.set_term_word(atom_word(kLoopAtom));
    EXPECT_EQ(sender(atom), "not told");
    // A tuple whose words are not in the dump.
    atom.set_term_word(boxed_word(0x777000));
    EXPECT_EQ(sender(atom), "not told");
    EXPECT_EQ(sender(external("h")), "not told");
}

TEST_F(SendersTest, TheTextHasSharesAndTheRest) {
    program_.put("queue.beamdump", queue_dump());
    const Ran ran =
        program_.run({"messages", "queue.beamdump", "alpha", "--by", "sender", "--limit", "1"});
    EXPECT_EQ(ran.status, 0);
    EXPECT_THAT(ran.out, HasSubstr("Senders of all 6 messages\n"
                                   "  COUNT   SHARE  SENDER    TOLD BY\n"
                                   "      6  100.0%  not told"));
    EXPECT_EQ(program_.run({"messages", "queue.beamdump", "alpha", "--by", "size"}).status, 2);
}

}  // namespace
}  // namespace beamdump::test
