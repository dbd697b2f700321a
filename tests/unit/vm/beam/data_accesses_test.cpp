#include <libvm/arch/data_accesses.h>

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace beamdump::arch {
namespace {

using Kind = DataAccess::Kind;

constexpr std::uint64_t kBegin = 0x400000;

/// Code in which each operand in memory is 0x100 behind the end of its instruction.
class CodeOfC {
  public:
    CodeOfC& add(std::initializer_list<int> bytes) {
        for (const auto byte : bytes) {
            code_.push_back(static_cast<std::byte>(byte));
        }
        ends_.push_back(code_.size());
        return *this;
    }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return code_; }
    [[nodiscard]] std::size_t place(std::size_t number) const {
        return number == 0 ? 0 : ends_[number - 1];
    }
    [[nodiscard]] std::uint64_t operand(std::size_t number) const {
        return kBegin + ends_[number] + 0x100;
    }

  private:
    std::vector<std::byte> code_;
    std::vector<std::size_t> ends_;
};

TEST(DataAccesses, ThoseOfX86AreReadInTheirOrder) {
    CodeOfC code;
    code.add({0x48, 0x8d, 0x3d, 0, 1, 0, 0});        // lea rdi, [rip + 0x100]
    code.add({0x48, 0x8b, 0x05, 0, 1, 0, 0});        // mov rax, [rip + 0x100]
    code.add({0x48, 0x89, 0x05, 0, 1, 0, 0});        // mov [rip + 0x100], rax
    code.add({0xc7, 0x05, 0, 1, 0, 0, 0, 0, 0, 0});  // mov dword [rip + 0x100], 0
    code.add({0x48, 0x83, 0x3d, 0, 1, 0, 0, 0});     // cmp qword [rip + 0x100], 0
    code.add({0xe8, 0, 1, 0, 0});                    // call
    const auto found = data_accesses(Architecture::kX86_64, code.bytes(), kBegin);
    const std::vector kinds = {Kind::kFirstArgument, Kind::kLoadWord,        Kind::kStoreWord,
                               Kind::kClearInt,      Kind::kCompareWithNull, Kind::kCall};
    ASSERT_EQ(found.size(), kinds.size());
    for (std::size_t at = 0; at < kinds.size(); ++at) {
        EXPECT_TRUE(found[at].is(kinds[at], code.operand(at))) << at;
        EXPECT_EQ(found[at].place, code.place(at)) << at;
    }
}

TEST(DataAccesses, OthersAreLeftOut) {
    CodeOfC code;
    code.add({0x8b, 0x05, 0, 1, 0, 0});              // mov eax, [rip + 0x100]
    code.add({0x89, 0x05, 0, 1, 0, 0});              // mov [rip + 0x100], eax
    code.add({0x48, 0x8b, 0x47, 0x08});              // mov rax, [rdi + 8]
    code.add({0x48, 0x8d, 0x35, 0, 1, 0, 0});        // lea rsi, [rip + 0x100]
    code.add({0xc7, 0x05, 0, 1, 0, 0, 1, 0, 0, 0});  // mov dword [rip + 0x100], 1
    code.add({0x48, 0x83, 0x3d, 0, 1, 0, 0, 1});     // cmp qword [rip + 0x100], 1
    code.add({0x48, 0x83, 0x05, 0, 1, 0, 0, 0});     // add qword [rip + 0x100], 0
    EXPECT_TRUE(data_accesses(Architecture::kX86_64, code.bytes(), kBegin).empty());
}

TEST(DataAccesses, ReadingEndsAtAnInstructionThatIsNotUnderstood) {
    CodeOfC code;
    code.add({0xe8, 0, 1, 0, 0});
    code.add({0x06});  // push es: not in 64-bit code
    code.add({0xe8, 0, 1, 0, 0});
    EXPECT_EQ(data_accesses(Architecture::kX86_64, code.bytes(), kBegin).size(), 1U);
    EXPECT_TRUE(data_accesses(Architecture::kX86_64, {}, kBegin).empty());
}

TEST(DataAccesses, CodeOfAarch64IsNotReadAsThatOfX86) {
    CodeOfC code;
    code.add({0xe8, 0, 1, 0, 0});
    EXPECT_TRUE(data_accesses(Architecture::kAarch64, code.bytes(), kBegin).empty());
}

}  // namespace
}  // namespace beamdump::arch
