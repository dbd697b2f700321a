#include "fake_vm/each_layout.h"
#include "fake_vm/fake_relations.h"

#include <libvm/fit/content.h>
#include <libvm/fit/infer.h>
#include <libvm/fit/layout_check.h>

#include <gmock/gmock.h>

#include <utility>

namespace beamdump::fit {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A node of a release without a layout, which lays everything out as another release does.
class Infer : public ::testing::Test {
  protected:
    /// Trees of three levels: in smaller ones a side that is read elsewhere is not missed.
    static void add_relations(StandardNode& node) {
        for (std::uint32_t slot = 20; slot < 26; ++slot) {
            add_link(node.vm, node.worker, node.vm.pid(slot));
            add_monitor(node.vm, node.worker, node.auth);
        }
    }

    Result<beam::InferredLayout> infer(StandardNode& node, const std::string& release,
                                       const std::vector<std::string>& known) {
        add_relations(node);
        std::vector<beam::Layout> layouts;
        for (const auto& name : known) {
            layouts.push_back(layout_of(name));
        }
        const Locate locate = [&](const beam::Layout& layout) {
            beam::LocateOptions how;
            how.layout = layout;
            return beam::locate_vm(node.vm.open(), how);
        };
        return infer_layout(release, layouts, locate, cancelled);
    }
    std::atomic<bool> cancelled = false;
};

TEST_F(Infer, TakesWhatTheNodeAgreesWith) {
    StandardNode node(layout_of("otp-27"));
    const auto inferred = infer(node, "27", {"otp-25", "otp-29"});
    ASSERT_TRUE(inferred) << inferred.error().message;
    EXPECT_EQ(inferred->layout.name(), "otp-27-inferred");
    EXPECT_THAT(inferred->origin.from, ElementsAre("otp-25", "otp-29"));
    for (const auto* name : {"Process.heap", "Process.sig_qs.first", "ErtsMonLnkNode.flags",
                             "Export.info.mfa", "ErtsPTab.invalid_element", "Atom.name"}) {
        const auto dot = std::string_view(name).find('.');
        const auto structure = std::string_view(name).substr(0, dot);
        const auto field = std::string_view(name).substr(dot + 1);
        EXPECT_EQ(inferred->layout.field(structure, field)->offset,
                  node.vm.layout().field(structure, field)->offset)
            << name;
    }
    EXPECT_EQ(inferred->layout.constant("term_scheme"), 2U);
}

TEST_F(Infer, RefusesAPartOfWhichNoMemberCanBeMoved) {
    StandardNode node(layout_of("otp-25"));
    EXPECT_FALSE(infer(node, "25", {"otp-24", "otp-27"}));
}

TEST_F(Infer, OneNeighbourGivesNothingThatNoCheckReads) {
    StandardNode node(layout_of("otp-25"));
    const auto inferred = infer(node, "24", {"otp-25"});
    ASSERT_TRUE(inferred) << inferred.error().message;
    EXPECT_FALSE(inferred->layout.structure("Allctr"));
    EXPECT_FALSE(inferred->layout.constant("allocator_heap"));
}

/// OTP 28 between 27 and 29: its terms are 29's, where a fun has no FunRef.
TEST_F(Infer, TakesTheTermsOfTheNeighbourAbove) {
    StandardNode node(layout_of("otp-29"));
    const auto inferred = infer(node, "28", {"otp-27", "otp-29"});
    ASSERT_TRUE(inferred) << inferred.error().message;
    EXPECT_EQ(inferred->layout.constant("term_scheme"), 3U);
    EXPECT_FALSE(inferred->layout.structure("FunRef"));
    EXPECT_FALSE(inferred->layout.constant("fun_ref_subtag"));
}

TEST_F(Infer, FindsMembersThatMoved) {
    // A member more in Process, which neither neighbour has.
    auto layout = layout_of("otp-27");
    const auto heap = layout.field("Process", "heap")->offset;
    const auto stop = layout.field("Process", "stop")->offset;
    const auto before = layout;
    for (const auto& [name, field] : before.structures().at("Process").fields) {
        if (field.offset >= stop) {
            layout = layout.moved("Process", name, 16);
        }
    }
    StandardNode node(layout);
    const auto inferred = infer(node, "27", {"otp-25", "otp-29"});
    ASSERT_TRUE(inferred) << inferred.error().message;
    EXPECT_EQ(inferred->layout.field("Process", "heap")->offset, heap + 16);
    EXPECT_EQ(inferred->layout.field("Process", "htop")->offset,
              layout.field("Process", "htop")->offset);
}

TEST_F(Infer, RefusesANodeThatNoNeighbourFits) {
    StandardNode node(layout_of("otp-27"));
    // Atoms are others than any release's.
    auto table = node.vm.at("IndexTable", node.vm.globals().atoms);
    node.vm.memory.put(node.vm.memory.word(table.get("seg_table")).value(), node.worker.address());
    const auto refused = infer(node, "27", {"otp-25", "otp-29"});
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("atoms: neither"));
    EXPECT_THAT(infer(node, "27", {}).error().message, HasSubstr("no layout of another release"));
}

TEST_F(Infer, EndsWhereItIsCancelled) {
    StandardNode node(layout_of("otp-27"));
    cancelled = true;
    EXPECT_THAT(infer(node, "27", {"otp-25", "otp-29"}).error().message, HasSubstr("interrupted"));
}

TEST_F(Infer, TriesWhatWasInferredBefore) {
    StandardNode node(layout_of("otp-27"));
    add_relations(node);
    int opened = 0;
    const auto open = [&]() -> Result<std::unique_ptr<target::Target>> {
        ++opened;
        return node.vm.open();
    };
    beam::LocateOptions how;
    how.layouts = {layout_of("otp-25"), layout_of("otp-29")};
    const auto first = locate_checked(open, how, 1, cancelled);
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(first->inferred);
    const auto for_the_first = std::exchange(opened, 0);
    how.inferred = {{first->vm->layout(), *first->inferred}};
    const auto second = locate_checked(open, how, 1, cancelled);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_THAT(second->inferred->from, ElementsAre("otp-25", "otp-29"));
    const auto for_the_second = std::exchange(opened, 0);
    EXPECT_LE(for_the_second, 3);
    EXPECT_GT(for_the_first, for_the_second);
    // One that does not fit this node of the release.
    how.inferred.front().layout = first->vm->layout().moved("Process", "heap", 8);
    const auto third = locate_checked(open, how, 1, cancelled);
    ASSERT_TRUE(third) << third.error().message;
    EXPECT_EQ(third->vm->layout().field("Process", "heap")->offset,
              node.vm.layout().field("Process", "heap")->offset);
    EXPECT_GT(opened, for_the_second);
}

TEST_F(Infer, LooksForTablesAgainThatAreNotFound) {
    StandardNode node(layout_of("otp-27"));
    auto nodes = node.vm.at("Hash", node.vm.globals().nodes);
    const auto name = nodes.get("name");
    int opened = 0;
    int mended_at = 0;
    const auto open = [&]() -> Result<std::unique_ptr<target::Target>> {
        nodes.set("name", ++opened == mended_at ? name : 0);
        return node.vm.open(FakeVm::Symbols::kNone);
    };
    const auto located = [&](int tries, int at) {
        opened = 0;
        mended_at = at;
        return locate_checked(open, {}, tries, cancelled).has_value();
    };
    EXPECT_FALSE(located(1, 2));
    EXPECT_TRUE(located(5, 2));
    EXPECT_EQ(opened, 2);
    // What is not found twice for the same reason is not there.
    EXPECT_FALSE(located(5, 0));
    EXPECT_EQ(opened, 2);
}

TEST_F(Infer, ProbesWhichFieldsAreNoticed) {
    StandardNode node(layout_of("otp-29"));
    const auto open = [&]() -> Result<std::unique_ptr<target::Target>> { return node.vm.open(); };
    const auto checked = locate_checked(open, {}, 1, cancelled);
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_TRUE(checked->of_the_release());
    const auto fit = probe_layout(*checked, open, {}, [](std::size_t, std::size_t) {}, cancelled);
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_THAT(fit->fields.seen, ::testing::IsSupersetOf({"Process.heap", "Process.stop",
                                                           "ErtsPTab.tab", "ErlFunEntry.module"}));
    EXPECT_THAT(fit->fields.unseen, ::testing::Contains("Process.ftrace"));
}

}  // namespace
}  // namespace beamdump::fit
