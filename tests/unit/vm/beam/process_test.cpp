#include "fake_vm/each_layout.h"

#include <libvm/beam/processes/process.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Processes : public OnStandardNode {};

TEST_P(Processes, AreDecodedWithWhereTheirMemoryIs) {
    auto& structure = node.worker.structure();
    node.worker.old_heap({1, 2, 3});
    const auto process = view(node.worker);
    EXPECT_EQ(process.void_reason, records::VOID_REASON_NONE);
    EXPECT_EQ(process.status, records::PROCESS_STATUS_WAITING);
    EXPECT_EQ(process.facts.pid_word(), node.worker.pid());
    EXPECT_EQ(process.heap.begin, structure.get("heap"));
    EXPECT_EQ(process.heap.end, structure.get("htop"));
    EXPECT_EQ(process.stack.begin, structure.get("stop"));
    EXPECT_EQ(process.stack.end, structure.get("hend"));
    EXPECT_EQ(process.old_heap.begin, structure.get("old_heap"));
    EXPECT_EQ(process.old_heap.end, structure.get("old_htop"));
    EXPECT_EQ(process.dictionary.words(), 3U);
    EXPECT_EQ(process.facts.dictionary_entries(), 3U);
    EXPECT_EQ(process.off_heap, structure.get("off_heap.first"));
    EXPECT_EQ(process.mbuf, structure.get("mbuf"));
    EXPECT_EQ(process.links, structure.get("common.links"));
    EXPECT_EQ(process.monitors, structure.get("common.monitors"));
    EXPECT_EQ(process.inner, structure.get("sig_qs.first"));
    EXPECT_EQ(process.outer, structure.get("sig_inq.first"));
    EXPECT_EQ(process.outer_last, structure.get("sig_inq.last"));
    EXPECT_EQ(process.facts.message_queue_length(), 2U);
    EXPECT_EQ(process.facts.outer_queue_length(), 1U);
    EXPECT_EQ(process.facts.reductions(), 103U);
    EXPECT_EQ(process.facts.priority(), "normal");
    EXPECT_EQ(process.facts.error_handler_word(), node.vm.atom("error_handler"));
    EXPECT_EQ(process.facts.initial_call().module_atom(), node.vm.atom_index("kernel"));
    EXPECT_EQ(process.facts.initial_call().arity(), 1U);
    // By its instruction: none is noted.
    EXPECT_EQ(process.facts.current_function().function_atom(), node.vm.atom_index("start"));
    EXPECT_FALSE(process.facts.has_registered_name_atom());
}

TEST_P(Processes, SayTheirNameAndCurrentFunction) {
    const auto noted = node.vm.at("ErtsCodeInfo", node.code.infos[1]).at("mfa");
    node.init.structure().set("current", noted);
    const auto process = view(node.init);
    EXPECT_EQ(process.facts.registered_name_atom(), node.vm.atom_index("init"));
    EXPECT_EQ(process.facts.current_function().function_atom(), node.vm.atom_index("loop"));
    EXPECT_EQ(process.facts.dictionary_entries(), 0U);
    EXPECT_EQ(process.facts.error_handler_word(), 0U);
    // The names of a process that ends are taken away from it.
    node.init.structure().set("state", node.vm.constant("state_exiting"));
    EXPECT_FALSE(view(node.init).facts.has_registered_name_atom());
}

TEST_P(Processes, InMotionAreVoid) {
    auto& structure = node.worker.structure();
    const auto reason = [&](std::string_view state) {
        structure.set("state", node.vm.constant(state));
        const auto process = view(node.worker);
        return std::pair(process.void_reason, process.status);
    };
    EXPECT_EQ(reason("state_running"),
              std::pair(records::VOID_REASON_RUNNING, records::PROCESS_STATUS_RUNNING));
    EXPECT_EQ(reason("state_running_sys").first, records::VOID_REASON_RUNNING);
    EXPECT_EQ(reason("state_dirty_running_sys").first, records::VOID_REASON_RUNNING);
    EXPECT_EQ(reason("state_dirty_running"),
              std::pair(records::VOID_REASON_NONE, records::PROCESS_STATUS_RUNNING));
    EXPECT_EQ(reason("state_gc"), std::pair(records::VOID_REASON_COLLECTING,
                                            records::PROCESS_STATUS_GARBAGE_COLLECTING));
    EXPECT_EQ(reason("state_exiting"),
              std::pair(records::VOID_REASON_EXITING, records::PROCESS_STATUS_EXITING));
    EXPECT_EQ(reason("state_free"),
              std::pair(records::VOID_REASON_EXITING, records::PROCESS_STATUS_FREE));
    EXPECT_EQ(reason("state_suspended"),
              std::pair(records::VOID_REASON_NONE, records::PROCESS_STATUS_SUSPENDED));
    EXPECT_EQ(reason("state_active"),
              std::pair(records::VOID_REASON_NONE, records::PROCESS_STATUS_RUNNABLE));
    structure.set("lock.flags", node.vm.constant("lock_main"));
    EXPECT_EQ(reason("state_active").first, records::VOID_REASON_LOCKED);
}

TEST_P(Processes, WithTopsFromRegistersAreTakenAsTheyStand) {
    auto& structure = node.worker.structure();
    structure.set("state", node.vm.constant("state_running"));
    structure.set("lock.flags", node.vm.constant("lock_main"));
    auto lookup = code();
    auto reader = ProcessReader::open(*vm, lookup).value();
    const auto process =
        reader.decode({node.worker.slot(), node.worker.address()}, node.worker.bytes(), true);
    EXPECT_EQ(process->void_reason, records::VOID_REASON_NONE);
}

TEST_P(Processes, WhoseBoundsContradictEachOtherAreVoid) {
    auto& structure = node.worker.structure();
    const auto reason = [&](std::string_view field, std::uint64_t value) {
        const auto before = structure.get(field);
        structure.set(field, value);
        const auto process = view(node.worker);
        structure.set(field, before);
        return process.void_reason;
    };
    const auto heap = structure.get("heap");
    const auto end = structure.get("hend");
    EXPECT_EQ(reason("htop", heap), records::VOID_REASON_NONE);
    EXPECT_EQ(reason("heap", 0), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_EQ(reason("htop", heap - 8), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_EQ(reason("htop", heap + 4), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_EQ(reason("stop", end + 8), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_EQ(reason("stop", heap), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_EQ(reason("hend", heap + (std::uint64_t{1} << 50U)), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_EQ(reason("old_heap", 8), records::VOID_REASON_IMPLAUSIBLE);
    EXPECT_EQ(reason("old_htop", 8), records::VOID_REASON_IMPLAUSIBLE);
}

TEST_P(Processes, AreThoseOfTheirSlots) {
    node.worker.structure().set("common.id", node.vm.pid(17));
    EXPECT_THAT(decode(node.worker).error().message, HasSubstr("expected the pid of slot 3"));
    node.worker.structure().set("common.id", node.vm.small(17));
    EXPECT_EQ(decode(node.worker).error().code, ErrorCode::kImplausible);
}

TEST_P(Processes, HaveArgumentsInTheStructureOrBesideIt) {
    auto& structure = node.worker.structure();
    structure.set("arity", 2).set_word("def_arg_reg", 0, 111).set_word("def_arg_reg", 1, 222);
    EXPECT_THAT(view(node.worker).facts.argument_words(), ElementsAre(111U, 222U));
    const auto array = node.vm.heap.place(64);
    structure.set("arity", 7).set("arg_reg", array);
    const auto process = view(node.worker);
    EXPECT_EQ(process.facts.argument_words_size(), 0);
    EXPECT_EQ(process.arguments.begin, array);
    EXPECT_EQ(process.arguments.words(), 7U);
    structure.set("arg_reg", array + 1);
    EXPECT_EQ(view(node.worker).arguments.begin, 0U);
}

TEST_P(Processes, KeepArgumentsOfNativeFunctionsThatYielded) {
    auto native = node.vm.make("ErtsNativeFunc", 64);
    native.set("argc", 3);
    auto data = node.worker.specific_data();
    data.set_word("data", node.vm.constant("psd_native_function"), native.address());
    EXPECT_EQ(view(node.worker).native_arguments.begin, native.at("argv"));
    EXPECT_EQ(view(node.worker).native_arguments.words(), 3U);
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{5000}, ~std::uint64_t{0}}) {
        native.set("argc", count);
        EXPECT_EQ(view(node.worker).native_arguments.begin, 0U) << count;
    }
    node.worker.structure().set("psd", kNowhere);
    EXPECT_EQ(view(node.worker).facts.specific_data_size(), 0);
}

TEST_P(Processes, MayHaveAnAbandonedHeap) {
    auto& structure = node.worker.structure();
    const auto block = node.vm.heap.place(256 * 8);
    structure.set("abandoned_heap", block);
    EXPECT_EQ(view(node.worker).abandoned_heap.words(), 256U);
    // Its last word says how much of it is used.
    structure.set("flags", node.vm.constant("flag_abandoned_heap_use"));
    node.vm.memory.put(block + 255 * 8, std::uint64_t{10});
    EXPECT_EQ(view(node.worker).abandoned_heap.words(), 10U);
    node.vm.memory.put(block + 255 * 8, std::uint64_t{257});
    EXPECT_EQ(view(node.worker).abandoned_heap.words(), 256U);
    structure.set("abandoned_heap", block + 4);
    EXPECT_EQ(view(node.worker).abandoned_heap.begin, 0U);
    structure.set("abandoned_heap", block).set("heap_sz", 0);
    EXPECT_EQ(view(node.worker).abandoned_heap.begin, 0U);
}

TEST_P(Processes, WithADictionaryThatLiesAreReadWithoutIt) {
    node.vm.at("ProcDict", node.worker.structure().get("dictionary")).set("usedSlots", 1U << 29U);
    EXPECT_EQ(view(node.worker).dictionary.begin, 0U);
    node.worker.structure().set("dictionary", kNowhere);
    const auto process = view(node.worker);
    EXPECT_EQ(process.dictionary.begin, 0U);
    EXPECT_FALSE(process.facts.has_dictionary_entries());
}

TEST_P(Processes, SizesAreThoseOfTheStructure) {
    node.worker.old_heap({1, 2, 3});
    auto& structure = node.worker.structure();
    const auto sizer = ProcessSizer::open(fresh()).value();
    const auto size = sizer.size(node.worker.bytes());
    EXPECT_EQ(size.pid_word, node.worker.pid());
    EXPECT_EQ(size.bytes, (256 + 2) * 8 + structure.get("old_hend") - structure.get("old_heap"));
    EXPECT_EQ(size.messages, 2U);
    EXPECT_EQ(size.reductions, 103U);
    structure.set("old_heap", structure.get("old_hend") + 8);
    EXPECT_EQ(sizer.size(node.worker.bytes()).bytes, (256U + 2) * 8);
}

BEAMDUMP_FOR_EACH_LAYOUT(Processes);

}  // namespace
}  // namespace beamdump::beam
