#include "converted.h"

#include <gmock/gmock.h>

namespace beamdump::crash {
namespace {

using test::Converted;
using test::head;
using test::kTail;
using ::testing::ElementsAre;

/// The only page of that kind.
template <typename Page>
Page only_page(Dump& dump, const google::protobuf::RepeatedField<std::uint64_t>& offsets,
               format::RecordKind kind) {
    EXPECT_EQ(offsets.size(), 1);
    auto page = dump.reader().message_at<Page>(offsets.empty() ? 0 : offsets[0], kind);
    EXPECT_TRUE(page) << page.error().message;
    return page ? std::move(*page) : Page();
}

class SectionRecordsTest : public ::testing::Test {
  protected:
    Dump& dump(const std::string& sections) {
        made_.emplace(head(27) + sections + kTail);
        return made_->dump();
    }
    records::Ports ports(const std::string& sections) {
        auto& made = dump(sections);
        return only_page<records::Ports>(made, made.trailer().ports_offset(),
                                         format::RecordKind::kPorts);
    }
    records::EtsTables tables(const std::string& sections) {
        auto& made = dump(sections);
        return only_page<records::EtsTables>(made, made.trailer().ets_tables_offset(),
                                             format::RecordKind::kEtsTables);
    }
    std::string atom(std::uint32_t number) {
        return made_->dump().atoms().text(number).value_or("(none)");
    }

  private:
    std::optional<Converted> made_;
};

TEST_F(SectionRecordsTest, APortHasWhatItsSectionSays) {
    const auto page = ports(
        "=port:#Port<0.5>\nState: CONNECTED|SOFT_EOF\nTask Flags: BUSY_PORT|HAVE_TASKS\n"
        "Slot: 40\nConnected: <0.9.1>\nRegistered as: 'the port'\n"
        "Port controls external process: cat /etc/hosts\nInput: 7\nOutput: 8\nQueue: 9\n"
        "=port:#Port<0.6>\nConnected: []\n");
    ASSERT_EQ(page.port_size(), 2);
    const auto& port = page.port(0);
    EXPECT_EQ(port.number(), 5U);
    EXPECT_EQ(port.connected_owner_id(), format::owner_id_of(9, 1));
    EXPECT_EQ(atom(port.registered_name_atom()), "the port");
    EXPECT_EQ(port.name(), "cat /etc/hosts");
    EXPECT_EQ(port.input_bytes(), 7U);
    EXPECT_EQ(port.output_bytes(), 8U);
    EXPECT_EQ(port.queued_bytes(), 9U);
    EXPECT_TRUE(port.busy());
    EXPECT_TRUE(port.has_closing() && !port.closing());
    const auto& other = page.port(1);
    EXPECT_FALSE(other.has_connected_owner_id() || other.has_busy() || other.has_queued_bytes() ||
                 other.has_name() || other.has_driver());
}

TEST_F(SectionRecordsTest, ANodeWithoutPortsHasAnEmptyPage) {
    EXPECT_EQ(ports("").port_size(), 0);
}

TEST_F(SectionRecordsTest, ATimerHasItsReceiverAndWhatIsLeft) {
    auto& made = dump(
        "=timer:<0.9.1>\nMessage: a\nTime left: 1500\n"
        "=timer:'a name'\nMessage: b\nTime left: 3599791 ms\n=timer:<0.9.1>\n");
    const auto page = only_page<records::Timers>(made, made.trailer().timers_offset(),
                                                 format::RecordKind::kTimers);
    ASSERT_EQ(page.timer_size(), 3);
    ASSERT_EQ(page.wheel_size(), 1);
    EXPECT_EQ(page.wheel(0).position(), 0);
    EXPECT_EQ(page.timer(0).receiver_owner_id(), format::owner_id_of(9, 1));
    EXPECT_EQ(page.timer(0).timeout_position(), 1500);
    EXPECT_EQ(atom(page.timer(1).receiver_name_atom()), "a name");
    EXPECT_EQ(page.timer(1).timeout_position(), 3'599'791);
    EXPECT_FALSE(page.timer(2).has_timeout_position());
}

TEST_F(SectionRecordsTest, SchedulersHaveTheirQueues) {
    auto& made = dump(
        "=scheduler:1\nScheduler Sleep Info Flags: SLEEPING | TSE_SLEEPING\n"
        "Scheduler Sleep Info Aux Work: DD | MISC\n"
        "Run Queue Max Length: 0\nRun Queue High Length: 1\nRun Queue Normal Length: 2\n"
        "Run Queue Low Length: 3\nRun Queue Port Length: 4\nCurrent Port: #Port<0.3>\n"
        "Current Process: <0.9.1>\n"
        "=dirty_cpu_scheduler:2\nScheduler Sleep Info Flags: \nCurrent Process: \n"
        "=dirty_cpu_run_queue\nRun Queue Max Length: 5\n");
    const auto page = only_page<records::Schedulers>(made, made.trailer().schedulers_offset(),
                                                     format::RecordKind::kScheduler);
    ASSERT_EQ(page.scheduler_size(), 2);
    ASSERT_EQ(page.run_queue_size(), 2);
    EXPECT_EQ(page.scheduler(0).number(), 1U);
    EXPECT_TRUE(page.scheduler(0).sleeping() && page.scheduler(0).busy());
    EXPECT_EQ(page.scheduler(0).aux_work_flags(), 1U << 1U | 1U << 11U);
    EXPECT_FALSE(page.scheduler(1).has_aux_work_flags());
    EXPECT_EQ(page.scheduler(0).current_owner_id(), format::owner_id_of(9, 1));
    EXPECT_EQ(page.scheduler(0).current_port_number(), 3U);
    EXPECT_EQ(page.run_queue(0).number(), 1U);
    EXPECT_EQ(page.run_queue(0).length(), 10U);
    EXPECT_EQ(page.scheduler(1).kind(), records::SCHEDULER_KIND_DIRTY_CPU);
    EXPECT_EQ(page.scheduler(1).number_of_all(), 2U);
    EXPECT_FALSE(page.scheduler(1).has_number());
    EXPECT_TRUE(page.scheduler(1).has_busy() && !page.scheduler(1).busy());
    // Not all of its lengths are there: their sum is not known.
    EXPECT_EQ(page.run_queue(1).max_length(), 5U);
    EXPECT_FALSE(page.run_queue(1).has_length() || page.run_queue(1).has_number());
}

TEST_F(SectionRecordsTest, OtherNodesAreConnectedOrNot) {
    auto& made = dump(
        "=visible_node:8063\nName: 'you@there'\nController: #Port<0.3>\n"
        "=hidden_node:8064\nName: 'spy@there'\nController: <0.9.1>\n"
        "=not_connected:8065\nName: 'gone@there'\n");
    const auto page = only_page<records::DistributionEntries>(
        made, made.trailer().distribution_offset(), format::RecordKind::kDistributionEntries);
    ASSERT_EQ(page.entry_size(), 3);
    EXPECT_EQ(atom(page.entry(0).name_atom()), "you@there");
    EXPECT_TRUE(page.entry(0).visible());
    EXPECT_EQ(page.entry(0).controller_port_number(), 3U);
    EXPECT_FALSE(page.entry(0).has_state());
    EXPECT_TRUE(page.entry(1).has_visible() && !page.entry(1).visible());
    EXPECT_EQ(page.entry(1).controller_owner_id(), format::owner_id_of(9, 1));
    EXPECT_EQ(page.entry(2).state(), records::DISTRIBUTION_STATE_NOT_CONNECTED);
    EXPECT_FALSE(page.entry(2).has_visible());
}

TEST_F(SectionRecordsTest, ATableHasWhatItsSectionSays) {
    const auto page = tables(
        "=ets:<0.9.1>\nSlot: 1\nTable: 'my table'\nName: 'my table'\nObjects: 3\nWords: 100\n"
        "Type: bag\nProtection: public\nCompressed: true\nFixed: true\n"
        "Write Concurrency: auto\nRead Concurrency: false\n"
        "=ets:<0.9.1>\nSlot: 2\nTable: #Ref<0.1.2.3>\nName: other\nOrdered set (AVL tree), "
        "Elements: 7\n"
        "Protection: <TNV>\n=ets:<0.9.1>\nTable: 4711\nName: of_r14\n");
    ASSERT_EQ(page.table_size(), 3);
    const auto& table = page.table(0);
    EXPECT_EQ(table.owner_id(), format::owner_id_of(9, 1));
    EXPECT_TRUE(table.named());
    EXPECT_EQ(atom(table.name_atom()), "my table");
    EXPECT_EQ(table.rows(), 3U);
    EXPECT_EQ(table.bytes(), 800U);
    EXPECT_EQ(table.type(), records::ETS_TYPE_BAG);
    EXPECT_EQ(table.protection(), records::ETS_PROTECTION_PUBLIC);
    EXPECT_EQ(table.write_concurrency(), records::ETS_WRITE_CONCURRENCY_AUTO);
    EXPECT_TRUE(table.compressed() && table.fixed());
    EXPECT_TRUE(table.has_read_concurrency() && !table.read_concurrency());
    const auto& other = page.table(1);
    EXPECT_THAT(other.reference(), ElementsAre(3U, 2U, 1U));
    EXPECT_TRUE(other.has_named() && !other.named());
    EXPECT_EQ(other.type(), records::ETS_TYPE_ORDERED_SET);
    EXPECT_FALSE(other.has_protection() || other.has_rows() || other.has_bytes());
    EXPECT_EQ(page.table(2).number(), 4711U);
    EXPECT_FALSE(page.table(2).named());
}

TEST_F(SectionRecordsTest, AModuleHasItsOldCodeBehindIt) {
    auto& made = dump(
        "=mod:lists\nCurrent size: 100\nCurrent attributes: g2o=\nOld size: 50\n"
        "=mod:'Elixir.Shop'\nCurrent size: 7\n");
    const auto page = only_page<records::LoadedModules>(
        made, made.trailer().loaded_modules_offset(), format::RecordKind::kLoadedModules);
    ASSERT_EQ(page.module_size(), 3);
    EXPECT_EQ(atom(page.module(0).name_atom()), "lists");
    EXPECT_EQ(page.module(0).code_bytes(), 100U);
    EXPECT_EQ(page.module(0).attributes(), "\x83j");
    EXPECT_EQ(page.module(1).instance(), records::MODULE_INSTANCE_OLD);
    EXPECT_EQ(page.module(1).code_bytes(), 50U);
    EXPECT_EQ(atom(page.module(2).name_atom()), "Elixir.Shop");
    EXPECT_FALSE(page.module(2).has_code_start());
    EXPECT_EQ(made.trailer().totals().modules(), 3U);
}

TEST_F(SectionRecordsTest, AllocatorsWithoutCarriersAreLeftOut) {
    auto& made = dump(
        "=allocator:sys_alloc\noption e: true\n"
        "=allocator:eheap_alloc[1]\nmbcs blocks[eheap_alloc]: 3 47 47\n"
        "mbcs blocks[eheap_alloc] size: 256 300 300\nmbcs carriers: 1 2 2\n"
        "mbcs carriers size: 1024 2048 2048\nfix type: proc 64 32\n"
        "=allocator:mseg_alloc\ncached_segments: 2\n=allocator:mseg_alloc\ncached_segments: 3\n");
    const auto page = only_page<records::Allocators>(made, made.trailer().allocator_offset(),
                                                     format::RecordKind::kAllocator);
    ASSERT_EQ(page.instance_size(), 1);
    const auto& instance = page.instance(0);
    EXPECT_EQ(instance.name(), "eheap_alloc");
    EXPECT_EQ(instance.index(), 1U);
    EXPECT_EQ(instance.multi_block().carrier_bytes(), 1024U);
    ASSERT_EQ(instance.multi_block().blocks_size(), 1);
    EXPECT_EQ(instance.multi_block().blocks(0).count(), 3U);
    EXPECT_EQ(instance.multi_block().blocks(0).bytes(), 256U);
    ASSERT_EQ(instance.fixed_size_size(), 1);
    EXPECT_EQ(instance.fixed_size(0).used_bytes(), 32);
    const auto system = made.reader().message_at<records::SystemMemory>(
        made.trailer().system_memory_offset(), format::RecordKind::kSystemMemory);
    ASSERT_TRUE(system) << system.error().message;
    EXPECT_EQ(system->segment_cache().segments(), 5U);
}

}  // namespace
}  // namespace beamdump::crash
