// Things that change between two reads, as in a node at work: none of them makes it refused, and
// what does not fit although it stays the same does.

#include "fake_vm/each_layout.h"
#include "fake_vm/jit_contents.h"

#include <libvm/beam/checks/vm_check.h>
#include <libvm/beam/tables/modules.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::HasSubstr;

class Motion : public EachLayout {
  protected:
    /// Calls `change` before the first read after the copy of the image's data, on which searches
    /// are based.
    void after_the_copy(const std::function<void()>& change) {
        auto& fake = node.vm;
        fake.memory.before_read(
            [&fake, change, copied = false, done = false](memory::AddressRange read) mutable {
                const auto data = fake.data.range();
                if (copied && !done) {
                    done = true;
                    change();
                }
                copied = copied || (read.begin <= data.begin && data.end <= read.end);
            });
    }
    /// Calls `change` before each read of a range that covers the address.
    void at_reads_of(Address address,
                     const std::function<void(memory::AddressRange read)>& change) {
        node.vm.memory.before_read([address, change](memory::AddressRange read) {
            if (read.begin <= address && address < read.end) {
                change(read);
            }
        });
    }
    /// What locating and checking say of the node.
    std::string said(FakeVm::Symbols symbols = FakeVm::Symbols::kNone) {
        auto vm = node.vm.locate(symbols);
        if (!vm) {
            return vm.error().message;
        }
        not_found = (*vm)->tables().memory.not_found;
        const auto& others = (*vm)->tables().other.not_found;
        not_found.insert(not_found.end(), others.begin(), others.end());
        const auto checked = check_steadily(**vm, 1);
        return checked ? "no error" : checked.error().message;
    }
    /// An entry in front of the JIT's list.
    Address put_in_jit_list() {
        auto& fake = node.vm;
        const auto at = fake.globals().jit_descriptor + 16;
        const auto first = fake.memory.word(at).value();
        JitContents contents;
        contents.put(std::uint64_t{1}).put(std::uint64_t{0}).put(0U).put(0U).name("churned", 6);
        const auto room = fake.heap.place(contents.bytes().size());
        fake.memory.put_bytes(room, contents.bytes());
        const auto entry = fake.heap.place_words({first, 0, room, contents.bytes().size()});
        fake.memory.put(first + 8, entry);
        fake.memory.put(at, entry);
        return entry;
    }
    /// Takes the first entry out; its memory is another's from now on.
    void take_from_jit_list() {
        auto& fake = node.vm;
        const auto at = fake.globals().jit_descriptor + 16;
        const auto entry = fake.memory.word(at).value();
        const auto next = fake.memory.word(entry).value();
        fake.memory.put(at, next);
        fake.memory.put(next + 8, Address{0});
        for (std::size_t word = 0; word < 4; ++word) {
            fake.memory.put(entry + word * 8, std::uint64_t{0});
        }
    }
    /// What purging a module leaves of it.
    void purge(const FakeModule& module) {
        node.vm.at("ModuleInstance", node.vm.at("Module", module.record).at("curr"))
            .set("code_hdr", 0)
            .set("code_length", 0);
    }
    /// Code that is none.
    void damage(const FakeModule& module) {
        for (const auto info : module.infos) {
            node.vm.memory.put(node.vm.at("ErtsCodeInfo", info).at("mfa"), std::uint64_t{0});
        }
        node.vm.at("BeamCodeHeader", module.header).set("literal_area", kNowhere);
    }

    StandardNode node{layout};
    std::vector<std::string> not_found;
};

TEST_P(Motion, TheJitListChangesAfterTheCopy) {
    put_in_jit_list();
    after_the_copy([&] {
        take_from_jit_list();
        put_in_jit_list();
    });
    EXPECT_EQ(said(), "no error");
}

TEST_P(Motion, TheFirstEntryOfTheJitListHasNoneBeforeIt) {
    const auto first = put_in_jit_list();
    node.vm.memory.put(first + 8, std::uint64_t{0x5a5a5a5a});
    EXPECT_EQ(said(), "no error");
}

TEST_P(Motion, TheJitListChangesWhileItIsRead) {
    put_in_jit_list();
    const auto at = node.vm.globals().jit_descriptor + 16;
    auto first = node.vm.memory.word(at).value();
    int changes = 0;
    bool changing = false;  // which reads, too
    node.vm.memory.before_read([&](memory::AddressRange read) {
        if (changing || read.begin != first || changes == 5) {
            return;
        }
        changing = true;
        ++changes;
        take_from_jit_list();
        first = put_in_jit_list();
        changing = false;
    });
    EXPECT_EQ(said(), "no error");
    EXPECT_EQ(changes, 5);
}

TEST_P(Motion, AModuleIsPurgedWhileItIsExamined) {
    const auto churned = node.vm.add_module("churned", {"start", "stop"});
    const auto vm = node.vm.located();
    auto code = CodeLookup::read(*vm).value();
    damage(churned);
    vm->forget();
    CheckReport report;
    EXPECT_FALSE(check_stage(*vm, code, CheckStage::kModules, report));
    vm->forget();
    at_reads_of(churned.header, [&](memory::AddressRange) { purge(churned); });
    report = {};
    EXPECT_TRUE(check_stage(*vm, code, CheckStage::kModules, report));
    EXPECT_EQ(report.modules, 1U);
}

TEST_P(Motion, AnotherCodeIndexBecomesActiveWhileAModuleIsExamined) {
    const auto churned = node.vm.add_module("churned", {"start", "stop"});
    const auto vm = node.vm.located();
    auto code = CodeLookup::read(*vm).value();
    damage(churned);
    vm->forget();
    // As often as it is looked at: nothing is known of it then.
    std::uint32_t active = FakeVm::kActiveCode;
    at_reads_of(churned.header, [&](memory::AddressRange) {
        active = (active + 1) % kCodeIndexes;
        node.vm.memory.put(node.vm.globals().active_code_index, active);
    });
    CheckReport report;
    EXPECT_TRUE(check_stage(*vm, code, CheckStage::kModules, report));
    EXPECT_EQ(report.modules, 1U);
}

TEST_P(Motion, ModulesAreThoseOfTheIndexThatIsActive) {
    const auto vm = node.vm.located();
    vm->forget();
    const auto active = node.vm.globals().active_code_index;
    at_reads_of(node.code.record,
                [&](memory::AddressRange) { node.vm.memory.put(active, std::uint32_t{2}); });
    EXPECT_EQ(read_modules(*vm).value().size(), 1U);
    EXPECT_EQ(vm->facts().active_code_index, 2U);
}

TEST_P(Motion, LiteralsOfAModuleThatIsPurgedAreLeftOut) {
    const auto churned = node.vm.add_module("churned", {"start", "stop"});
    damage(churned);
    EXPECT_THAT(said(), HasSubstr("literals"));
    at_reads_of(churned.header, [&](memory::AddressRange) { purge(churned); });
    EXPECT_EQ(said(), "no error");
}

TEST_P(Motion, ProcessesEndWhileTheirTableIsLookedFor) {
    std::vector<FakeProcess> ending;
    for (std::uint32_t slot = 20; slot < 25; ++slot) {
        ending.emplace_back(node.vm, slot, node.code);
        ending.back().structure().set("common.id", 0);
    }
    EXPECT_THAT(said(), HasSubstr("one table of processes, found none"));
    node.vm.memory.before_read([&](memory::AddressRange read) {
        for (auto& process : ending) {
            if (read.begin <= process.address() && process.address() < read.end) {
                node.vm.put_slot(process.slot(), 0);
            }
        }
    });
    EXPECT_EQ(said(), "no error");
}

TEST_P(Motion, APersistentTermIsReplacedInItsSlotWhileItIsRead) {
    auto& fake = node.vm;
    auto table =
        fake.at("PersistentTerms", fake.memory.word(fake.globals().persistent_terms).value());
    const auto slot = table.at("term");
    const auto pair = [&] {
        return fake.literals.place_words({fake.header(2, 0), fake.small(1), fake.small(2)});
    };
    auto current = pair();
    fake.memory.put(slot, current | kBoxed);
    table.set("num_entries", 1);
    // Whoever reads more than the pair has what was there before in the rest, too.
    constexpr std::uint64_t kMoreThanAPair = 64;
    int changes = 0;
    fake.memory.before_read([&](memory::AddressRange read) {
        if (read.begin <= current && current < read.end && read.bytes() > kMoreThanAPair) {
            ++changes;
            fake.memory.put(current, std::uint64_t{0});
            current = pair();
            fake.memory.put(slot, current | kBoxed);
        }
    });
    EXPECT_EQ(said(), "no error");
    EXPECT_THAT(not_found, ::testing::IsEmpty());
    EXPECT_GT(changes, 0);
    // A slot that stays what it is.
    fake.memory.before_read({});
    fake.memory.put(current, std::uint64_t{0});
    EXPECT_EQ(said(), "no error");
    EXPECT_THAT(not_found, ::testing::Contains(HasSubstr("the_hash_table was not found")));
}

TEST_P(Motion, TheTableOfPersistentTermsIsReplacedAfterTheCopy) {
    auto& fake = node.vm;
    after_the_copy([&] {
        auto old =
            fake.at("PersistentTerms", fake.memory.word(fake.globals().persistent_terms).value());
        auto table = fake.make("PersistentTerms", std::size_t{15} * 8);
        table.set("allocated", 16).set("mask", 15);
        for (std::size_t slot = 0; slot < 16; ++slot) {
            fake.memory.put(table.at("term") + slot * 8, fake.constant("nil"));
        }
        fake.memory.put(fake.globals().persistent_terms, table.address());
        old.set("allocated", 7);
    });
    EXPECT_EQ(said(), "no error");
    EXPECT_THAT(not_found, ::testing::IsEmpty());
}

TEST_P(Motion, SizesAndRangesThatWereCopiedInTheirMiddle) {
    auto& fake = node.vm;
    auto mapper = fake.at("ErtsMemMapper", fake.globals().default_mapper);
    auto ranges = fake.at(
        "CodeRanges", fake.globals().code_ranges + FakeVm::kActiveCode * fake.bytes("CodeRanges"));
    const auto used = mapper.get("size.supercarrier.used.total");
    const auto count = ranges.get("n");
    mapper.set("size.supercarrier.used.total", used + kLeastPageBytes);
    ranges.set("n", 0);
    EXPECT_EQ(said(), "no error");
    EXPECT_THAT(not_found, ::testing::Contains(HasSubstr("erts_dflt_mmapper was not found")));
    EXPECT_THAT(not_found, ::testing::Contains(HasSubstr("r was not found")));
    after_the_copy([&] {
        mapper.set("size.supercarrier.used.total", used);
        ranges.set("n", count);
    });
    EXPECT_EQ(said(), "no error");
    EXPECT_THAT(not_found, ::testing::IsEmpty());
}

TEST_P(Motion, CountsOfSchedulersThatAreNotTheNodes) {
    auto& fake = node.vm;
    const auto at = fake.globals().scheduler_count;
    for (const auto& [count, reason] :
         {std::pair{std::uint64_t{1} << 30U, "expected at most 1024 schedulers, found 1073741824"},
          std::pair{std::uint64_t{0}, "found 0"},
          std::pair{std::uint64_t{5}, "expected 5 schedulers that number themselves, found 1"}}) {
        fake.memory.put(at, count);
        EXPECT_THAT(said(FakeVm::Symbols::kAll), HasSubstr(reason));
    }
    fake.memory.put(at, std::uint64_t{1});
    EXPECT_EQ(said(FakeVm::Symbols::kAll), "no error");
}

BEAMDUMP_FOR_EACH_LAYOUT(Motion);

}  // namespace
}  // namespace beamdump::beam
