#include "readings/process_names.h"

#include <libdump/base/return_if_error.h>
#include <libvm/beam/tables/atoms.h>

#include <algorithm>

namespace beamdump::watch {
namespace {

constexpr std::uint32_t kAtomsOfALook = 2048;
constexpr std::size_t kTextOfALook = std::size_t{64} << 10U;

/// The atom of TranslatedCalls::kKey, if the node has it.
Result<std::optional<std::uint32_t>> initial_call_key(beam::Vm& vm) {
    ASSIGN_OR_RETURN(auto atoms, beam::AtomReader::open(vm));
    for (std::uint32_t first = 0; first < atoms.count();) {
        ASSIGN_OR_RETURN(const auto page, atoms.page(first, kAtomsOfALook, kTextOfALook));
        const auto found = std::ranges::find(page.text(), beam::TranslatedCalls::kKey);
        if (found != page.text().end()) {
            return first + static_cast<std::uint32_t>(found - page.text().begin());
        }
        if (page.text().empty()) {
            break;
        }
        first += static_cast<std::uint32_t>(page.text_size());
    }
    return std::nullopt;
}

}  // namespace

Result<ProcessNames> ProcessNames::open(beam::Vm& vm) {
    ASSIGN_OR_RETURN(auto read, beam::CodeLookup::read(vm));
    auto code = std::make_unique<beam::CodeLookup>(std::move(read));
    ASSIGN_OR_RETURN(auto reader, beam::ProcessReader::open(vm, *code));
    ASSIGN_OR_RETURN(const auto key, initial_call_key(vm));
    ASSIGN_OR_RETURN(const auto calls, beam::TranslatedCalls::open(vm, key));
    return ProcessNames(vm, std::move(code), std::move(reader), calls);
}

Result<records::HistoryProcess> ProcessNames::read(const beam::IdSlot& slot,
                                                   std::uint64_t owner_id) {
    records::HistoryProcess named;
    structure_.resize(reader_.bytes());
    RETURN_IF_ERROR(vm_->bulk().read(slot.address, structure_));
    vm_->forget();
    ASSIGN_OR_RETURN(const auto process, reader_.decode(slot, structure_));
    const auto& facts = process.facts;
    if (facts.owner_id() != owner_id) {
        return named;
    }
    if (facts.has_registered_name_atom()) {
        named.set_registered_name_atom(facts.registered_name_atom());
    }
    if (const auto translated = calls_.of(process)) {
        *named.mutable_initial_call() = *translated;
    } else if (facts.has_initial_call()) {
        *named.mutable_initial_call() = facts.initial_call();
    }
    return named;
}

Result<void> ProcessNames::name(const beam::IdSlot& slot, records::HistoryProcess& into) {
    // A name that was read from memory that was freed meanwhile is another one the second time.
    const auto once = read(slot, into.owner_id());
    const auto again = read(slot, into.owner_id());
    for (const auto* found : {&once, &again}) {
        if (!*found && found->error().code == ErrorCode::kTargetDied) {
            return std::unexpected(found->error());
        }
    }
    if (once && again && once->SerializeAsString() == again->SerializeAsString()) {
        into.MergeFrom(*once);
    }
    return {};
}

}  // namespace beamdump::watch
