#include "program.h"
#include "query/process/process_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

enum NameAtom : std::uint32_t {
    kLabelKey = 8,
    kNameKey,
    kOrderAtom,
    kChannelAtom,
    kUndefinedAtom,
    kCartAtom,
    kElixirAtom
};

/// A process with an entry {Key, {Tag, Number}} in its dictionary, and without a registered name.
SampleProcess with_entry(std::uint64_t number, std::uint32_t key, std::uint32_t tag) {
    SampleProcess process;
    process.number = number;
    const std::uint64_t heap = heap_of(number);
    process.heap = {tuple_header(2), atom_word(tag), small_word(number),
                    tuple_header(2), atom_word(key), boxed_word(heap)};
    process.dictionary = {boxed_word(heap + 24)};
    return process;
}

/// With an entry {Key, Atom}.
SampleProcess with_atom(std::uint64_t number, std::uint32_t key, std::uint32_t atom) {
    auto process = with_entry(number, key, atom);
    process.heap.back() = atom_word(atom);
    return process;
}

records::Port port_of(std::uint64_t number, std::uint64_t owner) {
    records::Port port;
    port.set_number(number);
    port.set_name("tcp_inet");
    port.set_connected_owner_id(format::owner_id_of(owner, 0));
    port.set_queued_bytes(number);
    return port;
}

std::vector<std::byte> dump_with_names(const SampleLayout& layout) {
    SampleDump dump(1'700'000'100'000'000, layout);
    dump.builder().add_atoms(
        kLabelKey, {"$process_label", "process_name", "order", "rabbit_channel", "undefined",
                    "Elixir.Shop.Cart", "Elixir.Shop.Line"});
    SampleProcess cart;
    cart.number = 1;
    cart.name = kCartAtom;
    cart.memory = 9000;
    dump.add(cart);
    SampleProcess labelled = with_entry(11, kLabelKey, kOrderAtom);
    labelled.monitors.emplace_back();
    labelled.monitors.back().set_kind(records::MONITOR_KIND_PROCESS);
    labelled.monitors.back().set_other_word(pid_word(12));
    dump.add(labelled);
    dump.add(with_entry(12, kNameKey, kChannelAtom));
    dump.add(with_atom(13, kLabelKey, kUndefinedAtom));
    SampleProcess secret = with_entry(14, kLabelKey, kOrderAtom);
    secret.sensitive = true;
    dump.add(secret);
    SampleProcess registered = with_entry(15, kLabelKey, kOrderAtom);
    registered.name = kAlphaAtom;
    dump.add(registered);
    SampleProcess elixir;
    elixir.number = 16;
    elixir.initial_module = kElixirAtom;
    dump.add(elixir);
    records::Ports ports;
    for (const std::uint64_t owner : {11U, 12U, 13U, 14U, 15U, 16U, 99U}) {
        *ports.add_port() = port_of(owner + 100, owner);
    }
    dump.builder().trailer().add_ports_offset(
        dump.builder().append(format::RecordKind::kPorts, ports));
    return dump.finish();
}

class ProcessNamesTest : public ::testing::Test {
  protected:
    ProcessNamesTest() {
        program_.put("erlang.beamdump", dump_with_names({}));
        SampleLayout elixir;
        elixir.module_name = "elixir";
        program_.put("elixir.beamdump", dump_with_names(elixir));
    }
    /// Status 3: the terms of the process flagged sensitive are missing.
    std::string answer(const std::vector<std::string>& arguments, int status = 0) {
        const Ran ran = program_.run(arguments);
        EXPECT_EQ(ran.status, status) << ran.err;
        return ran.out;
    }

    Program program_;
};

TEST_F(ProcessNamesTest, OneRuleForTheNameOfAProcess) {
    query::ProcessLine line;
    EXPECT_FALSE(query::shown_name(line).has_value());
    line.initial_call = "'Elixir.Shop.Cart':'-init/1-fun-0-'/2";
    EXPECT_EQ(query::shown_name(line), *line.initial_call);
    line.elixir = true;
    EXPECT_EQ(query::shown_name(line), "Shop.Cart.\"-init/1-fun-0-\"/2");
    line.translated_initial_call = "'Elixir.Shop.Cart':init/1";
    EXPECT_EQ(query::shown_name(line), "Shop.Cart.init/1");
    line.process_name = "{rabbit_channel,1}";
    EXPECT_EQ(query::shown_name(line), "{rabbit_channel,1}");
    line.label = "{order,7}";
    EXPECT_EQ(query::shown_name(line), "{order,7}");
    line.registered_name = "'Elixir.Shop.Cart'";
    EXPECT_EQ(query::shown_name(line), "Shop.Cart");
    line.registered_name = "'Needs Quotes'";
    EXPECT_EQ(query::shown_name(line), "'Needs Quotes'");
}

TEST_F(ProcessNamesTest, ProcessesAreFilteredAndSortedByLabelsToo) {
    for (const auto* filter : {"order,1", "name~order,1"}) {
        const auto text = answer({"processes", "erlang.beamdump", "--filter", filter});
        EXPECT_THAT(text, HasSubstr("<0.11.0>")) << filter;
        // One with a registered name is called by it, and secrets are not looked at.
        EXPECT_THAT(text, Not(HasSubstr("<0.15.0>"))) << filter;
        EXPECT_THAT(text, Not(HasSubstr("<0.14.0>"))) << filter;
    }
    EXPECT_THAT(answer({"processes", "erlang.beamdump", "--filter", "initial_call~order"}),
                Not(HasSubstr("<0.11.0>")));
    const auto groups = answer(
        {"processes", "erlang.beamdump", "--filter", "rabbit_channel", "--group-by", "status"});
    EXPECT_THAT(groups, HasSubstr("  <0.12.0> {rabbit_channel,12} "));
    EXPECT_THAT(groups, HasSubstr("waiting      1  "));
    const auto text = answer({"processes", "erlang.beamdump", "--sort", "name"});
    const auto place = [&text](const char* pid) { return text.find(pid); };
    EXPECT_LT(place("<0.15.0>"), place("<0.11.0>"));  // alpha, {order,11}, {rabbit_channel,12}
    EXPECT_LT(place("<0.11.0>"), place("<0.12.0>"));
    EXPECT_LT(place("<0.12.0>"), place("<0.13.0>"));  // an initial call
}

TEST_F(ProcessNamesTest, ProcessesWithoutNamingKeysAreNotReadForLists) {
    SampleDump dump;
    dump.builder().add_atoms(kLabelKey, {"$process_label", "process_name", "order"});
    // Their dictionaries have the label: a list shows it of those that it reads.
    for (const std::uint32_t absent : {0U, 1U, 2U, 3U}) {
        auto process = with_entry(11 + absent, kLabelKey, kOrderAtom);
        process.naming_keys_absent = absent;
        dump.add(process);
    }
    program_.put("absent.beamdump", dump.finish());
    const auto text = answer({"processes", "absent.beamdump", "--sort", "pid"});
    EXPECT_THAT(text, HasSubstr("<0.11.0>  {order,11}  "));
    EXPECT_THAT(text, HasSubstr("<0.12.0>  {order,12}  "));
    EXPECT_THAT(text, HasSubstr("<0.13.0>  {order,13}  "));
    EXPECT_THAT(text, HasSubstr("<0.14.0>  demo:loop/1  "));
}

TEST_F(ProcessNamesTest, ListsOfProcessesHaveNamesFromDictionaries) {
    const auto text = answer({"processes", "erlang.beamdump", "--sort", "pid"});
    EXPECT_THAT(text, HasSubstr("<0.1.0>   'Elixir.Shop.Cart'  "));
    EXPECT_THAT(text, HasSubstr("<0.11.0>  {order,11}  "));
    EXPECT_THAT(text, HasSubstr("<0.12.0>  {rabbit_channel,12}  "));
    EXPECT_THAT(text, HasSubstr("<0.13.0>  demo:loop/1  "));
    EXPECT_THAT(text, HasSubstr("<0.14.0>  demo:loop/1  "));  // flagged sensitive
    EXPECT_THAT(text, HasSubstr("<0.15.0>  alpha  "));
    EXPECT_THAT(text, HasSubstr("<0.16.0>  'Elixir.Shop.Line':loop/1"));
    const auto json = answer({"processes", "erlang.beamdump", "--json"});
    EXPECT_THAT(json, HasSubstr("\"label\": \"{order,11}\""));
    EXPECT_THAT(json, HasSubstr("\"process_name\": \"{rabbit_channel,12}\""));
    EXPECT_THAT(json, HasSubstr("\"registered_name\": \"'Elixir.Shop.Cart'\""));
    EXPECT_THAT(json, Not(HasSubstr("undefined")));
    EXPECT_THAT(json, Not(HasSubstr("{order,14}")));
}

TEST_F(ProcessNamesTest, AliasesOfAnElixirNodeAreAsElixirWritesThem) {
    const auto text = answer({"processes", "elixir.beamdump", "--sort", "pid"});
    EXPECT_THAT(text, HasSubstr("<0.1.0>   Shop.Cart  "));
    EXPECT_THAT(text, HasSubstr("<0.11.0>  {:order, 11}  "));
    EXPECT_THAT(text, HasSubstr("<0.15.0>  alpha  "));
    EXPECT_THAT(text, HasSubstr("<0.16.0>  Shop.Line.loop/1  "));
    // JSON has the registered name as Erlang prints it.
    EXPECT_THAT(answer({"processes", "elixir.beamdump", "--json"}),
                HasSubstr("\"registered_name\": \"'Elixir.Shop.Cart'\""));
    EXPECT_THAT(answer({"summary", "elixir.beamdump"}), HasSubstr("<0.1.0>   Shop.Cart  "));
    EXPECT_THAT(answer({"ports", "elixir.beamdump"}), HasSubstr("Shop.Line.loop/1"));
}

TEST_F(ProcessNamesTest, OwnersOfPortsHaveTheSameNames) {
    const auto text = answer({"ports", "erlang.beamdump", "--sort", "port"});
    EXPECT_THAT(text, HasSubstr("<0.11.0>   {order,11}  "));
    EXPECT_THAT(text, HasSubstr("<0.12.0>   {rabbit_channel,12}  "));
    EXPECT_THAT(text, HasSubstr("<0.14.0>   demo:loop/1  "));
    EXPECT_THAT(text, HasSubstr("<0.15.0>   alpha  "));
    const auto json = answer({"ports", "erlang.beamdump", "--json", "--filter", "{order,11}"});
    EXPECT_THAT(json, HasSubstr("\"matching\": 1,"));
    EXPECT_THAT(json, HasSubstr("\"owner_display_name\": \"{order,11}\""));
    EXPECT_THAT(json, Not(HasSubstr("\"owner\":")));  // it has no registered name
    EXPECT_THAT(answer({"ports", "erlang.beamdump", "--filter", "owner_display_name~rabbit"}),
                HasSubstr("#Port<0.112>"));
    EXPECT_THAT(answer({"ports", "erlang.beamdump", "--group-by", "owner_display_name"}),
                HasSubstr("demo:loop/1"));
    // The first by its name.
    EXPECT_THAT(
        answer({"ports", "erlang.beamdump", "--sort", "owner_display_name", "--limit", "1"}),
        HasSubstr("'Elixir.Shop.Line':loop/1"));
    // An export has the columns that need no reading of processes.
    EXPECT_THAT(answer({"export", "ndjson", "erlang.beamdump"}, 3),
                Not(HasSubstr("owner_display_name")));
}

TEST_F(ProcessNamesTest, OneProcessAndItsRelationsHaveThem) {
    const auto text = answer({"process", "erlang.beamdump", "<0.11.0>"});
    EXPECT_THAT(text, HasSubstr("<0.11.0>  {order,11}\n"));
    EXPECT_THAT(text, HasSubstr("<0.12.0> {rabbit_channel,12}"));
    EXPECT_THAT(answer({"process", "erlang.beamdump", "<0.11.0>", "--json"}),
                HasSubstr("\"display_name\": \"{rabbit_channel,12}\""));
    EXPECT_THAT(answer({"process", "erlang.beamdump", "<0.12.0>"}), HasSubstr("process_name  "));
    EXPECT_THAT(answer({"heap", "erlang.beamdump", "<0.12.0>"}),
                HasSubstr("<0.12.0>  {rabbit_channel,12}"));
    EXPECT_THAT(answer({"tree", "erlang.beamdump"}, 3), HasSubstr("{order,11}"));
}

}  // namespace
}  // namespace beamdump::test
