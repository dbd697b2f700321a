#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/beam/tables/pid_words.h>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kDataBits = 28;  // of a pid in OTP 25

}  // namespace

Result<PidWords> PidWords::of(Vm& vm) {
    auto table = IdTable::processes(vm);
    return table ? resolve(vm.layout(), table->slots()) : std::unexpected(table.error());
}

Result<PidWords> PidWords::resolve(const Layout& layout, std::uint32_t slots) {
    LayoutNames names(layout);
    PidWords words{names.constant("pid_tag"), names.constant("pid_shift"),
                   names.constant("pid_number_bits"), slots};
    RETURN_IF_ERROR(names.outcome());
    return words;
}

std::optional<std::uint64_t> PidWords::owner_id(std::uint64_t word) const {
    if ((word & ((std::uint64_t{1} << shift) - 1)) != tag) {
        return std::nullopt;
    }
    const auto data = holds_slot() ? format::identifier_data(word >> shift, slots)
                                   : (word & 0xffffffffU) >> shift;
    return format::owner_id_of(data & ((std::uint64_t{1} << number_bits) - 1), data >> number_bits);
}

// erl_term.h: number and serial share 28 bits in OTP 25; from OTP 27 on 28 are the number's alone.
bool PidWords::holds_slot() const {
    return number_bits >= kDataBits;
}

// erl_ptab.h: in OTP 25 the word's upper half is the slot.
std::uint64_t PidWords::slot(std::uint64_t word) const {
    return holds_slot() ? (word >> shift) & (slots - 1) : word >> 32U;
}

}  // namespace beamdump::beam
