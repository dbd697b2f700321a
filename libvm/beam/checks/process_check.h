#pragma once

#include <libvm/beam/checks/checks.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/process.h>

namespace beamdump::beam {

/// Checks invariants of single processes that do not change: heap bounds, stack words, code
/// pointers, names, argument registers, dictionary.
class ProcessCheck {
  public:
    static Result<ProcessCheck> open(Vm& vm, CodeLookup& code);

    /// False if it was skipped because it is running or changing.
    bool check(const ProcessView& process, const StructView& view, Checks& checks);

  private:
    ProcessCheck(Vm& vm, CodeLookup& code, AtomWords atoms, PidWords pids, LayoutNames& names)
        : vm_(&vm),
          code_(&code),
          atoms_(atoms),
          pids_(pids),
          registered_(names),
          dictionary_fields_(names) {}
    void heap(const ProcessView& process, const StructView& view, Checks& checks);
    void stack(const ProcessView& process, Checks& checks);
    void identity(const ProcessView& process, const StructView& view, Checks& checks);
    void arguments(const ProcessView& process, const StructView& view, Checks& checks);
    void pointers(const ProcessView& process, const StructView& view, Checks& checks);
    void dictionary(const ProcessView& process, const StructView& view, Checks& checks);
    [[nodiscard]] bool code_address(Address address) const;

    Vm* vm_;
    CodeLookup* code_;
    AtomWords atoms_;
    PidWords pids_;
    RegisteredFields registered_;
    DictionaryFields dictionary_fields_;
    Field reg_, initial_, arg_reg_, def_arg_reg_, high_water_, old_htop_;
    Field reds_, rcount_, queue_length_, outer_length_, catches_, gen_gcs_, max_gen_gcs_, flags_;
    Field dictionary_;
    Field mbuf_, off_heap_, psd_, min_heap_, mbuf_size_, min_vheap_, state_;
    std::uint64_t nil_ = 0;
};

}  // namespace beamdump::beam
