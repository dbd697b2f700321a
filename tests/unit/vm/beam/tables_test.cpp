#include "fake_vm/each_layout.h"

#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/tables/node_tables.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::HasSubstr;

class Tables : public OnStandardNode {
  protected:
    /// An index table with so many objects, which are their own numbers.
    Address numbered(std::uint32_t count) {
        const auto table = node.vm.heap.place(node.vm.bytes("IndexTable"));
        node.vm.at("IndexTable", table).set("seg_table", node.vm.heap.place(4 * 8));
        for (std::uint32_t index = 0; index < count; ++index) {
            node.vm.add_to_index(table, 1, index + 1);
        }
        return table;
    }
};

TEST_P(Tables, IndexTablesAreReadAcrossSegments) {
    const auto table = numbered(2500);
    auto walker = IndexTableWalker::open(fresh(), table).value();
    EXPECT_EQ(walker.entries(), 2500U);
    const auto all = walker.objects(0, 5000).value();
    ASSERT_EQ(all.size(), 2500U);
    for (std::uint32_t index = 0; index < all.size(); ++index) {
        ASSERT_EQ(all[index], index + 1);
    }
    EXPECT_EQ(walker.objects(1020, 10).value().back(), 1030U);
    EXPECT_TRUE(walker.objects(2500, 10).value().empty());
}

TEST_P(Tables, IndexTablesThatLieAreRefused) {
    const auto table = numbered(10);
    node.vm.at("IndexTable", table).set("entries", 11).set("size", 10);
    EXPECT_THAT(IndexTableWalker::open(fresh(), table).error().message,
                HasSubstr("found 11 of 10"));
    node.vm.at("IndexTable", table).set("entries", 0x7fffffff).set("size", 0xffffffff);
    EXPECT_EQ(IndexTableWalker::open(fresh(), table).error().code, ErrorCode::kImplausible);
    // Segments that are not there.
    node.vm.at("IndexTable", table).set("entries", 3000).set("size", 4096);
    auto walker = IndexTableWalker::open(fresh(), table).value();
    EXPECT_EQ(walker.objects(0, 3000).error().code, ErrorCode::kUnmapped);
    node.vm.at("IndexTable", table).set("seg_table", kNowhere);
    EXPECT_EQ(IndexTableWalker::open(fresh(), table).value().objects(0, 1).error().code,
              ErrorCode::kUnmapped);
    EXPECT_EQ(IndexTableWalker::open(fresh(), kNowhere).error().code, ErrorCode::kUnmapped);
}

TEST_P(Tables, HashTablesGiveAllObjects) {
    const auto objects = hash_objects(fresh(), node.vm.globals().nodes).value();
    EXPECT_THAT(objects, ::testing::UnorderedElementsAre(node.vm.this_node(), node.remote_node));
}

TEST_P(Tables, HashTablesThatLieAreRefused) {
    auto& fake = node.vm;
    auto hash = fake.at("Hash", fake.globals().nodes);
    // A ring: more objects than are counted.
    fake.at("HashBucket", node.remote_node).set("next", node.remote_node);
    EXPECT_THAT(hash_objects(fresh(), hash.address()).error().message,
                HasSubstr("expected 2 objects, found more"));
    fake.at("HashBucket", node.remote_node).set("next", kNowhere);
    EXPECT_EQ(hash_objects(fresh(), hash.address()).error().code, ErrorCode::kUnmapped);
    fake.at("HashBucket", node.remote_node).set("next", 0);
    // A few may not be counted yet; not more.
    hash.set("nobjs", 66);
    EXPECT_TRUE(hash_objects(fresh(), hash.address()));
    hash.set("nobjs", 67);
    EXPECT_THAT(hash_objects(fresh(), hash.address()).error().message, HasSubstr("found 2"));
    hash.set("nobjs", 2).set("shift", 35);
    EXPECT_THAT(hash_objects(fresh(), hash.address()).error().message, HasSubstr("found 35"));
    hash.set("shift", 60).set("bucket", kNowhere);
    EXPECT_EQ(hash_objects(fresh(), hash.address()).error().code, ErrorCode::kUnmapped);
}

TEST_P(Tables, HashTablesThatGrowWhileTheyAreReadAreAccepted) {
    auto hash = node.vm.at("Hash", node.vm.globals().nodes);
    // One was linked after the count was read.
    hash.set("nobjs", 1);
    EXPECT_EQ(hash_objects(fresh(), hash.address()).value().size(), 2U);
    hash.set("nobjs", 0);
    EXPECT_THAT(hash_objects(fresh(), hash.address()).error().message, HasSubstr("found more"));
}

TEST_P(Tables, AtomsAreReadByNumberAndByPage) {
    const std::string is_long(90, 'x');
    node.vm.atom(is_long);
    node.vm.atom(std::string(64, 'y'));
    auto atoms = AtomReader::open(fresh()).value();
    EXPECT_EQ(atoms.text(0).value(), "false");
    EXPECT_EQ(atoms.text(5).value(), "");
    EXPECT_EQ(atoms.text(node.vm.atom_index(is_long)).value(), is_long);
    EXPECT_EQ(atoms.text(node.vm.atom_index(std::string(64, 'y'))).value(), std::string(64, 'y'));
    EXPECT_THAT(atoms.text(atoms.count()).error().message, HasSubstr("of "));
    const auto page = atoms.page(1, 3, 1000).value();
    EXPECT_EQ(page.first_index(), 1U);
    EXPECT_THAT(page.text(), ::testing::ElementsAre("true", "_", "nonode@nohost"));
    // As much text as was asked for, and one atom at least.
    EXPECT_EQ(atoms.page(0, 100, 1).value().text_size(), 1);
}

TEST_P(Tables, AtomsThatLieAreRefused) {
    const auto index = node.vm.atom_index("true");
    auto table = IndexTableWalker::open(fresh(), node.vm.globals().atoms).value();
    auto atom = node.vm.at("Atom", table.objects(index, 1).value().front());
    const auto message = [&] {
        auto text = AtomReader::open(fresh()).value().text(index);
        return text ? "no error: " + *text : text.error().message;
    };
    atom.set("index", 77);
    EXPECT_THAT(message(), HasSubstr("found index 77"));
    atom.set("index", index).set("len", 1021);
    EXPECT_THAT(message(), HasSubstr("1021 bytes"));
    atom.set("len", 4);
    const std::string text = atom.has("name") ? "name" : "u.bin";
    const auto word = atom.get(text);
    atom.set(text, kNowhere | kBoxed);
    EXPECT_THAT(message(), HasSubstr("atom 1"));
    EXPECT_FALSE(AtomReader::open(*vm).value().page(0, 10, 100));
    atom.set(text, word);
    EXPECT_EQ(message(), "no error: true");
    if (!atom.has("name")) {
        // The term is a binary of another size, or no binary.
        atom.set("len", 3);
        EXPECT_THAT(message(), HasSubstr("expected a binary of 3 bytes"));
        atom.set("len", 4).set(text, node.vm.heap.place_words({node.vm.header(2, 0)}) | kBoxed);
        EXPECT_THAT(message(), HasSubstr("expected a binary at"));
    }
}

TEST_P(Tables, ProcessTableGivesUsedSlots) {
    auto table = IdTable::processes(fresh()).value();
    EXPECT_EQ(table.slots(), FakeVm::kSlots);
    EXPECT_EQ(table.count(), 3U);
    const auto invalid = node.vm.at("ErtsPTab", node.vm.globals().processes).get("invalid_element");
    node.vm.put_slot(9, invalid);
    const auto used = table.used(0, 4096).value();
    ASSERT_EQ(used.size(), 3U);
    EXPECT_EQ(used[0].slot, 1U);
    EXPECT_EQ(used[2].slot, 3U);
    EXPECT_EQ(used[2].address, node.worker.address());
    EXPECT_EQ(table.used(2, 1).value().front().address, node.auth.address());
    EXPECT_TRUE(table.used(4, 100).value().empty());
    EXPECT_TRUE(table.used(FakeVm::kSlots, 1).value().empty());
    EXPECT_EQ(IdTable::ports(*vm)->slots(), FakeVm::kSlots);
}

TEST_P(Tables, ProcessTableCountsThoseThatWereMade) {
    auto table = node.vm.at("ErtsPTab", node.vm.globals().processes);
    const auto made = [&](std::uint32_t taken, std::uint32_t freed) {
        table.set("vola.aid_ix", taken).set("vola.fid_ix", freed);
        return IdTable::processes(fresh())->made();
    };
    EXPECT_EQ(made(1002, 999), 1003U) << "three are there";
    EXPECT_EQ(made(2, 0xffffffff), 3U) << "none was deleted";
    EXPECT_EQ(made(0, 0xfffffffd), 1U) << "the count began anew";
    EXPECT_EQ(made(1060, 999), 1061U) << "threads are about to count";
    EXPECT_EQ(made(1100, 999), std::nullopt) << "they do not fit to those that are there";
    EXPECT_EQ(made(0, 0), std::nullopt) << "the table does not count";
}

TEST_P(Tables, ProcessTableThatLiesIsRefused) {
    auto table = node.vm.at("ErtsPTab", node.vm.globals().processes);
    const auto refused = [&](std::string_view field, std::uint64_t value) {
        const auto before = table.get(field);
        table.set(field, value);
        const bool error = !IdTable::processes(fresh());
        table.set(field, before);
        return error;
    };
    EXPECT_TRUE(refused("max", 1000));
    EXPECT_TRUE(refused("max", 2048));
    EXPECT_TRUE(refused("max", 0));
    EXPECT_TRUE(refused("pix_mask", 511));
    EXPECT_TRUE(refused("vola.count", FakeVm::kSlots + 1));
    EXPECT_TRUE(refused("tab", kNowhere));
    EXPECT_FALSE(refused("tab", table.get("tab")));
    node.vm.at("ErtsPTab", node.vm.globals().ports).set("max", 1000);
    EXPECT_THAT(IdTable::ports(fresh()).error().message, HasSubstr("found 1000"));
}

TEST_P(Tables, RegisteredNamesLeadToProcesses) {
    EXPECT_EQ(registered_process(fresh(), node.vm.atom("auth")).value(), node.auth.address());
    EXPECT_EQ(registered_process(fresh(), node.vm.atom("nobody")).value(), 0U);
    node.vm.at("Hash", node.vm.globals().registered).set("bucket", kNowhere);
    EXPECT_THAT(registered_process(fresh(), node.vm.atom("auth")).error().message,
                HasSubstr("registered names"));
}

TEST_P(Tables, ExportsAreThoseOfTheActiveCode) {
    auto exports = ExportReader::open(fresh()).value();
    EXPECT_EQ(exports.count(), 1U);
    const auto page = exports.page(0, 10).value();
    ASSERT_EQ(page.address_size(), 1);
    EXPECT_EQ(page.address(0), node.exported);
    EXPECT_EQ(page.module_atom(0), node.vm.atom_index("kernel"));
    EXPECT_EQ(page.function_atom(0), node.vm.atom_index("start"));
    EXPECT_EQ(page.arity(0), 0U);
    EXPECT_EQ(page.code_address(0), node.code.functions.front());
    node.vm.at("Export", node.exported).set_word("info.mfa", 0, node.vm.small(1));
    EXPECT_THAT(ExportReader::open(fresh()).value().page(0, 10).error().message,
                HasSubstr("expected two atoms"));
}

TEST_P(Tables, FunEntriesAreRead) {
    node.vm.add_fun(node.code, 1, 3);
    const auto pages = read_fun_entries(fresh(), 1).value();
    ASSERT_EQ(pages.size(), 2U);
    const auto& one =
        pages[0].entry(0).address() == node.fun_entry ? pages[0].entry(0) : pages[1].entry(0);
    EXPECT_EQ(one.address(), node.fun_entry);
    EXPECT_EQ(one.module_atom(), node.vm.atom_index("kernel"));
    EXPECT_EQ(one.arity(), 1U);
    EXPECT_EQ(one.old_uniq(), 77);
    EXPECT_EQ(one.uniq().substr(0, 3), "\xef\xcd\xab");
    EXPECT_EQ(one.code_address(), node.code.functions.front());
    EXPECT_EQ(one.has_references(), node.vm.at("ErlFunEntry", node.fun_entry).has("refc"));
    node.vm.at("ErlFunEntry", node.fun_entry).set("module", node.vm.small(5));
    EXPECT_THAT(read_fun_entries(fresh(), 10).error().message, HasSubstr("a module's atom"));
}

TEST_P(Tables, NodeEntriesHaveTheNodeItself) {
    const auto pages = read_node_entries(fresh(), 10).value();
    ASSERT_EQ(pages.size(), 1U);
    ASSERT_EQ(pages[0].entry_size(), 2);
    for (const auto& entry : pages[0].entry()) {
        const bool self = entry.address() == node.vm.this_node();
        EXPECT_EQ(entry.is_self(), self);
        EXPECT_EQ(entry.name_atom(), node.vm.atom_index(self ? "me@here" : "other@there"));
        EXPECT_EQ(entry.creation(), self ? 7U : 3U);
    }
    const auto name = read_node_name(*vm).value();
    EXPECT_EQ(name.atom, node.vm.atom_index("me@here"));
    EXPECT_EQ(name.creation, 7U);
    node.vm.at("ErlNode", node.vm.this_node()).set("sysname", node.vm.small(1));
    EXPECT_FALSE(read_node_entries(fresh(), 10));
    EXPECT_THAT(read_node_name(*vm).error().message, HasSubstr("expected an atom"));
}

TEST_P(Tables, CatchesArePaged) {
    const auto last = node.code.functions.back() + 8;
    node.vm.add_catch(4, last);
    const auto pages = read_catches(fresh(), 2).value();
    ASSERT_EQ(pages.size(), 3U);
    EXPECT_EQ(pages[0].code_address(1), node.code.functions[1] + 16);
    EXPECT_EQ(pages[2].first_index(), 4U);
    ASSERT_EQ(pages[2].code_address_size(), 1);
    EXPECT_EQ(pages[2].code_address(0), last);
    auto pool = node.vm.at(
        "CatchPool", node.vm.globals().catches + FakeVm::kActiveCode * node.vm.bytes("CatchPool"));
    pool.set("high_mark", 0x7fffffff);
    EXPECT_THAT(read_catches(fresh(), 2).error().message, HasSubstr("catch table of"));
    pool.set("high_mark", 1).set("beam_catches", kNowhere);
    EXPECT_EQ(read_catches(fresh(), 2).error().code, ErrorCode::kUnmapped);
}

BEAMDUMP_FOR_EACH_LAYOUT(Tables);

}  // namespace
}  // namespace beamdump::beam
