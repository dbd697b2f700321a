#include <libdump/base/return_if_error.h>
#include <libvm/beam/processes/translated_call.h>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kLargestArity = 255;
constexpr unsigned kSmallShift = 4;
constexpr std::uint64_t kSmallMask = 15;

}  // namespace

Result<TranslatedCalls> TranslatedCalls::open(Vm& vm, std::optional<std::uint32_t> key_atom) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(auto small_tag, vm.layout().constant("small_tag"));
    ASSIGN_OR_RETURN(auto dictionaries, DictionaryReader::open(vm));
    TranslatedCalls calls(dictionaries, atoms);
    calls.key_ = key_atom;
    calls.small_tag_ = small_tag;
    return calls;
}

std::optional<records::Mfa> TranslatedCalls::function(std::uint64_t word) const {
    const auto mfa = dictionaries_.tuple<3>(word);
    if (!mfa) {
        return std::nullopt;
    }
    const auto module = atoms_.index((*mfa)[0]);
    const auto name = atoms_.index((*mfa)[1]);
    const auto arity = (*mfa)[2];
    if (!module || !name || (arity & kSmallMask) != small_tag_ ||
        arity >> kSmallShift > kLargestArity) {
        return std::nullopt;
    }
    records::Mfa function;
    function.set_module_atom(*module);
    function.set_function_atom(*name);
    function.set_arity(static_cast<std::uint32_t>(arity >> kSmallShift));
    return function;
}

std::optional<records::Mfa> TranslatedCalls::of(const ProcessView& process) const {
    const auto value = key_ ? dictionaries_.value(process, *key_) : std::nullopt;
    return value ? function(*value) : std::nullopt;
}

}  // namespace beamdump::beam
