#include <libdump/format/format.h>
#include <libdump/format/process_name.h>
#include <libdump/model/owner_id.h>

#include <gtest/gtest.h>

namespace beamdump {
namespace {

TEST(OwnerId, PrintsAsErlangDoes) {
    EXPECT_EQ(pid_text(format::owner_id_of(123, 0)), "<0.123.0>");
    EXPECT_EQ(pid_text(format::owner_id_of(32767, 8191)), "<0.32767.8191>");
}

TEST(OwnerId, ReadsBothForms) {
    EXPECT_EQ(parse_pid("<0.123.7>"), format::owner_id_of(123, 7));
    EXPECT_EQ(parse_pid("0.123.7"), format::owner_id_of(123, 7));
}

TEST(OwnerId, ReadsBackWhatItPrints) {
    for (const std::uint64_t number : {0ULL, 1ULL, 65535ULL, 0xFFFFFFFFULL}) {
        const std::uint64_t id = format::owner_id_of(number, number / 2);
        EXPECT_EQ(parse_pid(pid_text(id)), id);
    }
}

TEST(OwnerId, RefusesEverythingElse) {
    for (const char* text :
         {"", "<>", "0", "0.", "0.1", "<0.1>", "<0.1.2", "0.1.2>", "<1.2.3>", "<0.1.2>x", "0.-1.2",
          "0.1.4294967296", "0.4294967296.0", "init", "0. 1.2", "<0.1.2.3>", "0x0.1.2"}) {
        EXPECT_FALSE(parse_pid(text)) << text;
    }
}

TEST(ProcessName, ReadsEveryWayToWriteAPid) {
    for (const char* text : {"<0.688.2>", "0.688.2", "#PID<0.688.2>", "pid(0,688,2)",
                             "pid(0, 688, 2)", "c:pid(0,688,2)", "pid(\"0.688.2\")"}) {
        EXPECT_EQ(parse_process_name(text).owner_id, format::owner_id_of(688, 2)) << text;
    }
}

TEST(ProcessName, ReadsNamesOfErlangAndElixir) {
    const auto last = [](const char* text) {
        const auto name = parse_process_name(text);
        EXPECT_FALSE(name.owner_id) << text;
        EXPECT_EQ(name.registered.front(), text);
        return name.registered.back();
    };
    EXPECT_EQ(last("code_server"), "code_server");
    EXPECT_EQ(last(":code_server"), "code_server");
    EXPECT_EQ(last(":\"code server\""), "code server");
    EXPECT_EQ(last("'code server'"), "code server");
    EXPECT_EQ(last("'it\\'s'"), "it's");
    EXPECT_EQ(last("Shop.AuditSink"), "Elixir.Shop.AuditSink");
    EXPECT_EQ(last("'Elixir.Shop.AuditSink'"), "Elixir.Shop.AuditSink");
    for (const char* text :
         {"Shop..X", "Shop.", ".Shop", "Shop.lower", "#PID<0.1>", "pid(1)", "'"}) {
        EXPECT_EQ(last(text), text);
    }
}

}  // namespace
}  // namespace beamdump
