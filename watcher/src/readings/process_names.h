#pragma once

#include <libvm/beam/processes/process.h>
#include <libvm/beam/processes/translated_call.h>

#include <memory>

namespace beamdump::watch {

/// Names single processes of a running node, by atoms.
class ProcessNames {
  public:
    /// Reads which modules are loaded, and atoms up to that of TranslatedCalls::kKey. Non-owning.
    static Result<ProcessNames> open(beam::Vm& vm);

    /// Sets the registered name and the initial call of the process in `slot`, if it is that of
    /// into.owner_id; what changes while it is read stays absent. Only kTargetDied is an error.
    Result<void> name(const beam::IdSlot& slot, records::HistoryProcess& into);

  private:
    ProcessNames(beam::Vm& vm, std::unique_ptr<beam::CodeLookup> code, beam::ProcessReader reader,
                 beam::TranslatedCalls calls)
        : vm_(&vm), code_(std::move(code)), reader_(std::move(reader)), calls_(calls) {}
    Result<records::HistoryProcess> read(const beam::IdSlot& slot, std::uint64_t owner_id);

    beam::Vm* vm_;
    std::unique_ptr<beam::CodeLookup> code_;  // the reader refers to it
    beam::ProcessReader reader_;
    beam::TranslatedCalls calls_;
    std::vector<std::byte> structure_;
};

}  // namespace beamdump::watch
