#include "open_bytes.h"

#include <gtest/gtest.h>

namespace beamdump::test {
namespace {

TEST(CodeIndex, FindsFunctionAndLine) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    const auto location = opened.dump().code_at(0x7050);
    ASSERT_TRUE(location && location->function);
    EXPECT_EQ(location->function->module_atom, 3U);
    EXPECT_EQ(location->function->function_atom, 4U);
    EXPECT_EQ(location->function->arity, 2U);
    EXPECT_EQ(location->function_start, 0x7000U);
    EXPECT_EQ(location->mfa_start, 0x7010U);
    EXPECT_EQ(location->file, "lists.erl");
    EXPECT_EQ(location->line, 12U);
}

TEST(CodeIndex, NoLineBeforeTheFirst) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    const auto location = opened.dump().code_at(0x7020);
    ASSERT_TRUE(location && location->function);
    EXPECT_FALSE(location->line);
    EXPECT_FALSE(location->file);
}

TEST(CodeIndex, NothingOutsideOfModules) {
    OpenedBytes opened(DumpBuilder::whole(small_frames()));
    EXPECT_FALSE(opened.dump().code_at(0x6FFF));
    EXPECT_FALSE(opened.dump().code_at(0x8000));
}

/// Adds a string to words from kLiteralBase on; gives its term word.
std::uint64_t add_string(std::vector<std::uint64_t>& literals, std::string_view text) {
    const std::uint64_t first = kLiteralBase + literals.size() * 8;
    for (std::size_t i = 0; i < text.size(); ++i) {
        literals.push_back(static_cast<std::uint64_t>(text[i]) << 4U | 0xFU);
        literals.push_back(i + 1 < text.size() ? (first + (i + 1) * 16) | 1U : kNil);
    }
    return first | 1U;
}

/// Word of the atom whose text is "f".
constexpr std::uint64_t kAtomF = 4U << 6U | 0xBU;

/// One module with two functions; the second one's first line begins in the padding before it.
/// Its files: its own, and file 1. `atoms`: as OTP 24 has them.
std::vector<std::byte> two_functions(std::string_view other_file = "g.hrl", bool atoms = false) {
    DumpBuilder builder(small_frames());
    builder.add_node();
    builder.add_atoms(0, {"false", "true", "node@host", "m", "f", "g"});
    std::vector<std::uint64_t> literals;
    const std::uint64_t own_name = add_string(literals, "m.erl");
    const std::uint64_t other_name = add_string(literals, other_file);
    records::RunDirectory directory;
    *directory.add_region() = builder.add_region(
        format::OwnerKind::kNode, 0, format::RegionKind::kLiterals, kLiteralBase, literals);
    builder.trailer().set_literals_directory_offset(
        builder.append(format::RecordKind::kRunDirectory, directory));
    records::Module module;
    module.set_name_atom(3);
    module.add_file_name_words(atoms ? kNil : own_name);
    module.add_file_name_words(atoms ? kAtomF : other_name);
    records::ModuleIndexPage page;
    auto* ref = page.add_module();
    ref->set_name_atom(3);
    ref->set_code_start(0x1000);
    ref->set_code_end(0x1200);
    ref->set_offset(builder.append(format::RecordKind::kModule, module));
    records::Functions functions;
    records::Lines lines;
    for (const std::uint32_t i : {0U, 1U}) {
        functions.add_start_address(0x1000 + i * 0x100);
        functions.add_name_atom(4 + i);
        functions.add_arity(i);
    }
    lines.add_address(0x1000);
    lines.add_location(7);
    lines.add_address(0x1050);
    lines.add_location(0);
    lines.add_address(0x10FB);
    lines.add_location(1U << 24U | 9U);
    builder.append(format::RecordKind::kFunctions, functions);
    builder.append(format::RecordKind::kLines, lines);
    builder.trailer().add_module_index_offset(
        builder.append(format::RecordKind::kModuleIndexPage, page));
    return builder.finish();
}

TEST(CodeIndex, LineInThePaddingBelongsToTheNextFunction) {
    OpenedBytes opened(two_functions());
    const auto location = opened.dump().code_at(0x1140);
    ASSERT_TRUE(location);
    EXPECT_EQ(location->function->function_atom, 5U);
    EXPECT_EQ(location->line, 9U);
}

TEST(CodeIndex, FileNamesAreLiteralsTheModulesOwnFirst) {
    OpenedBytes opened(two_functions());
    EXPECT_EQ(opened.dump().code_at(0x1140)->file, "g.hrl");
    EXPECT_EQ(opened.dump().code_at(0x1010)->file, "m.erl");
}

TEST(CodeIndex, FileNamesOfOtp24AreAtomsButForTheModulesOwn) {
    OpenedBytes opened(two_functions({}, true));
    EXPECT_EQ(opened.dump().code_at(0x1140)->file, "f");
    EXPECT_EQ(opened.dump().code_at(0x1010)->file, "m.erl");
}

TEST(CodeIndex, FileNamesThatARedactionHasHiddenAreLetters) {
    OpenedBytes opened(two_functions(std::string_view("\0\0\0", 3)));
    EXPECT_EQ(opened.dump().code_at(0x1140)->file, "xxx");
}

TEST(CodeIndex, LocationZeroIsNone) {
    OpenedBytes opened(two_functions());
    EXPECT_EQ(opened.dump().code_at(0x104F)->line, 7U);
    EXPECT_FALSE(opened.dump().code_at(0x1060)->line);
}

}  // namespace
}  // namespace beamdump::test
