#include "fake_vm/each_layout.h"

#include <libvm/beam/tables/modules.h>

#include <gmock/gmock.h>

namespace beamdump::beam {
namespace {

using namespace beamdump::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Modules : public OnStandardNode {
  protected:
    ModuleCode kernel() { return read_modules(fresh()).value().front(); }
    ModuleReader reader() { return ModuleReader::open(fresh()).value(); }
    FakeStruct header() { return node.vm.at("BeamCodeHeader", node.code.header); }
    FakeStruct lines() { return node.vm.at("BeamCodeLineTab", node.code.lines); }
    FakeStruct instance(std::string_view which) {
        return node.vm.at("ModuleInstance", node.vm.at("Module", node.code.record).at(which));
    }
};

TEST_P(Modules, AreAllInstancesOfTheTable) {
    const auto other = node.vm.add_module("other", {"f"});
    instance("old").set("code_hdr", other.header).set("code_length", 64);
    auto loading = node.vm.make("ModuleInstance");
    loading.set("code_hdr", other.header).set("code_length", 128).set("catches", 7);
    node.vm.at("Module", other.record).set("on_load", loading.address());
    const auto all = read_modules(fresh()).value();
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].name_atom, node.vm.atom_index("kernel"));
    EXPECT_EQ(all[0].instance, records::MODULE_INSTANCE_CURRENT);
    EXPECT_EQ(all[0].header, node.code.header);
    EXPECT_EQ(all[0].end(), node.code.end);
    EXPECT_EQ(all[1].instance, records::MODULE_INSTANCE_OLD);
    EXPECT_EQ(all[1].bytes, 64U);
    EXPECT_EQ(all[2].name_atom, node.vm.atom_index("other"));
    EXPECT_EQ(all[3].instance, records::MODULE_INSTANCE_ON_LOAD);
    EXPECT_EQ(all[3].first_catch, 7U);
}

TEST_P(Modules, WithoutCodeAreImplausible) {
    instance("curr").set("code_length", 0);
    EXPECT_THAT(read_modules(fresh()).error().message, HasSubstr("none for 1 of 1 instances"));
    instance("curr").set("code_hdr", 0);
    EXPECT_TRUE(read_modules(fresh()).value().empty());
    auto table = node.vm.at("IndexTable", node.vm.globals().modules +
                                              FakeVm::kActiveCode * node.vm.bytes("IndexTable"));
    table.set("seg_table", kNowhere);
    EXPECT_THAT(read_modules(fresh()).error().message, HasSubstr("module table"));
}

TEST_P(Modules, SayWhatTheyHave) {
    const auto module = reader().module(kernel()).value();
    EXPECT_EQ(module.function_count(), 3U);
    EXPECT_EQ(module.line_count(), 6U);
    EXPECT_EQ(module.location_bytes(), 2U);
    EXPECT_EQ(module.md5().size(), 16U);
    EXPECT_EQ(module.md5()[0], '\x88');
    EXPECT_EQ(module.literal_area_address(),
              node.vm.at("ErtsLiteralArea", node.code.literal_area).at("start"));
    EXPECT_EQ(module.literal_area_end() - module.literal_area_address(), 16U);
    if (node.vm.is_otp_24()) {
        EXPECT_THAT(module.file_name_words(),
                    ElementsAre(node.vm.constant("nil"), node.vm.atom("a.erl")));
    } else {
        EXPECT_THAT(module.file_name_words(), ElementsAre(FakeVm::kAString));
    }
    EXPECT_EQ(module.attributes(), std::string_view("\x83jAB", 4));
    header().set("md5_ptr", 0).set("literal_area", 0).set("line_table", 0);
    const auto bare = reader().module(kernel()).value();
    EXPECT_FALSE(bare.has_md5());
    EXPECT_FALSE(bare.has_literal_area_address());
    EXPECT_EQ(bare.line_count(), 0U);
    EXPECT_EQ(reader().lines(kernel(), 0, 10).value().address_size(), 0);
}

TEST_P(Modules, LeaveOutWhatAreNoAttributes) {
    const auto attributes = [&](Address at, std::uint64_t size) {
        node.vm.at("CodeAttributes", node.code.header).set("attr_ptr", at).set("attr_size", size);
        return reader().module(kernel()).value().has_attributes();
    };
    const auto at = node.code.attributes;
    EXPECT_TRUE(attributes(at, node.code.end - at));
    EXPECT_FALSE(attributes(at, node.code.end - at + 1));
    EXPECT_FALSE(attributes(at, 0));
    EXPECT_FALSE(attributes(at, ~std::uint64_t{0}));
    EXPECT_FALSE(attributes(at + 1, 4));  // another first byte
    EXPECT_FALSE(attributes(node.code.header, 4));
    EXPECT_FALSE(attributes(0, 4));
    EXPECT_FALSE(attributes(kNowhere, 4));
}

TEST_P(Modules, GiveFunctionsAndLinesByPages) {
    const auto functions = reader().functions(kernel(), 1, 1).value();
    EXPECT_EQ(functions.first(), 1U);
    EXPECT_THAT(functions.start_address(), ElementsAre(node.code.infos[1]));
    EXPECT_THAT(functions.name_atom(), ElementsAre(node.vm.atom_index("loop")));
    EXPECT_THAT(functions.arity(), ElementsAre(1U));
    EXPECT_EQ(reader().functions(kernel(), 3, 10).value().start_address_size(), 0);
    const auto page = reader().lines(kernel(), 2, 3).value();
    EXPECT_THAT(page.address(), ElementsAre(node.code.functions[1], node.code.functions[1] + 8,
                                            node.code.functions[2]));
    EXPECT_THAT(page.location(), ElementsAre(12U, 13U, 14U));
    EXPECT_EQ(reader().lines(kernel(), 6, 3).value().address_size(), 0);
}

TEST_P(Modules, FindTheFunctionOfACodeAddress) {
    auto lookup = code();
    const auto name = [&](Address pc) {
        const auto function = lookup.function_at(pc);
        return function ? function->function_atom : 0;
    };
    EXPECT_EQ(name(node.code.functions[0]), node.vm.atom_index("start"));
    EXPECT_EQ(name(node.code.functions[1] + 60), node.vm.atom_index("loop"));
    EXPECT_EQ(name(node.code.functions[2] + 8), node.vm.atom_index("init"));
    EXPECT_EQ(name(node.code.functions[2] + 8), node.vm.atom_index("init"));
    EXPECT_EQ(name(node.code.header), 0U);
    EXPECT_EQ(name(node.code.md5), 0U);
    EXPECT_EQ(name(node.code.end), 0U);
    EXPECT_EQ(name(kNowhere), 0U);
    EXPECT_TRUE(lookup.in_code(node.code.md5));
    EXPECT_FALSE(lookup.in_code(node.code.end));
    const auto mfa = node.vm.at("ErtsCodeInfo", node.code.infos[2]).at("mfa");
    EXPECT_EQ(lookup.mfa_at(mfa)->arity, 2U);
    EXPECT_FALSE(lookup.mfa_at(kNowhere));
}

TEST_P(Modules, HaveJumpsBehindTheirFunctions) {
    const auto table = header().at("functions");
    const auto end = node.vm.memory.word(table + 3 * 8).value();
    EXPECT_EQ(reader().functions_end(kernel()), end);
    EXPECT_TRUE(code().function_at(end - 1));
    // rex jmp, jmp by way of a table
    node.vm.memory.put(end - 16, 0x0000e94090909090);
    node.vm.memory.put(end - 8, 0x0000000025ff0000);
    EXPECT_EQ(reader().functions_end(kernel()), end - 12);
    EXPECT_TRUE(code().function_at(end - 13));
    EXPECT_FALSE(code().function_at(end - 12));
    EXPECT_FALSE(code().function_at(end - 1));
    node.vm.memory.put(table + 3 * 8, node.code.end + 8);
    EXPECT_EQ(reader().functions_end(kernel()), node.code.end + 8);
}

TEST_P(Modules, ThatLieAreRefused) {
    header().set("num_functions", 1U << 20U);
    EXPECT_THAT(reader().module(kernel()).error().message, HasSubstr("found 1048576 in"));
    EXPECT_FALSE(reader().functions(kernel(), 0, 1));
    EXPECT_FALSE(reader().function_at(kernel(), node.code.functions[0]));
    header().set("num_functions", 3);
    lines().set("loc_size", 3);
    EXPECT_THAT(reader().module(kernel()).error().message, HasSubstr("3 bytes each"));
    lines().set("loc_size", 2);
    const auto last = lines().at("func_tab") + 3 * 8;
    node.vm.memory.put(last, node.code.header);
    EXPECT_EQ(reader().lines(kernel(), 0, 1).error().code, ErrorCode::kImplausible);
    header().set("line_table", kNowhere);
    EXPECT_EQ(reader().lines(kernel(), 0, 1).error().code, ErrorCode::kUnmapped);
    node.vm.at("ErtsCodeMFA", node.vm.at("ErtsCodeInfo", node.code.infos[0]).at("mfa"))
        .set("arity", 256);
    EXPECT_THAT(reader().functions(kernel(), 0, 1).error().message,
                HasSubstr("expected module, function and arity"));
    auto away = kernel();
    away.header = kNowhere;
    EXPECT_EQ(reader().module(away).error().code, ErrorCode::kUnmapped);
}

TEST_P(Modules, HeadersLeadToWhatIsTheModules) {
    const auto parts = reader().check_header(kernel()).value();
    EXPECT_TRUE(parts.md5 && parts.lines && parts.literals);
    const auto refused = [&](FakeStruct where, std::string_view field, std::uint64_t value) {
        const auto before = where.get(field);
        where.set(field, value);
        auto checked = reader().check_header(kernel());
        where.set(field, before);
        return checked ? "no error" : checked.error().message;
    };
    EXPECT_THAT(refused(header(), "md5_ptr", node.code.end), HasSubstr("its MD5 sum between"));
    EXPECT_THAT(refused(header(), "literal_area", node.code.header), HasSubstr("its literals"));
    EXPECT_THAT(refused(lines(), "loc_tab", node.code.header), HasSubstr("its lines' places"));
    EXPECT_THAT(refused(lines(), "fname_ptr", node.code.end), HasSubstr("its files"));
    auto area = node.vm.at("ErtsLiteralArea", node.code.literal_area);
    EXPECT_THAT(refused(area, "end", area.address()), HasSubstr("literals' end"));
    node.vm.memory.put(header().at("functions") + 3 * 8, node.code.end + 8);
    EXPECT_THAT(refused(area, "end", area.get("end")), HasSubstr("end of functions"));
}

BEAMDUMP_FOR_EACH_LAYOUT(Modules);

}  // namespace
}  // namespace beamdump::beam
