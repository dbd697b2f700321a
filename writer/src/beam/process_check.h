#pragma once

#include "beam/process.h"
#include "beam/relation_type.h"

#include <map>
#include <string>

namespace beamdump::beam {

/// Tallies of named checks over many objects: each keeps how often it was made, how often it
/// failed, and the first failure in words.
class Checks {
  public:
    struct Tally {
        std::uint64_t made = 0;
        std::uint64_t failed = 0;
        std::string example;
    };

    template <typename Words>
    void expect(std::string_view name, bool holds, Words&& words) {
        auto& tally = tallies_[std::string(name)];
        ++tally.made;
        if (!holds) {
            if (tally.failed++ == 0) {
                tally.example = words();
            }
        }
    }

    /// The first check that failed in more than one of ten objects. While a node runs, a few
    /// objects are always caught in motion.
    [[nodiscard]] std::optional<std::string> verdict() const;
    [[nodiscard]] const std::map<std::string, Tally>& tallies() const { return tallies_; }

  private:
    std::map<std::string, Tally> tallies_;
};

/// Checks single processes against what must hold for any process that holds still: heap bounds,
/// stack words, code pointers, names, argument registers, dictionary, links.
class ProcessCheck {
  public:
    static Result<ProcessCheck> open(Vm& vm, CodeLookup& code);

    /// Whether it could be judged: a process in motion is passed over.
    bool check(const ProcessView& process, const StructView& view, Checks& checks);

  private:
    ProcessCheck(Vm& vm, CodeLookup& code, AtomWords atoms, PidWords pids)
        : vm_(&vm), code_(&code), atoms_(atoms), pids_(pids) {}
    void heap(const ProcessView& process, const StructView& view, Checks& checks);
    void stack(const ProcessView& process, Checks& checks);
    void identity(const ProcessView& process, const StructView& view, Checks& checks);
    void arguments(const ProcessView& process, const StructView& view, Checks& checks);
    void pointers(const ProcessView& process, const StructView& view, Checks& checks);
    void dictionary(const ProcessView& process, const StructView& view, Checks& checks);
    void relations(const ProcessView& process, Checks& checks);
    [[nodiscard]] bool code_address(Address address) const;

    Vm* vm_;
    CodeLookup* code_;
    AtomWords atoms_;
    PidWords pids_;
    Field reg_, reg_process_, reg_name_, initial_, arg_reg_, def_arg_reg_, high_water_, old_htop_;
    Field reds_, rcount_, queue_length_, outer_length_, catches_, gen_gcs_, max_gen_gcs_, flags_;
    Field dictionary_, dict_used_, dict_array_, dict_elements_, dict_data_, node_other_;
    RelationType node_type_;
    Field mbuf_, off_heap_, psd_, min_heap_, mbuf_size_, min_vheap_, state_;
    std::uint32_t dictionary_bytes_ = 0, node_bytes_ = 0, reg_bytes_ = 0;
    std::uint64_t first_link_ = 0, last_link_ = 0, nil_ = 0, port_tag_ = 0;
};

}  // namespace beamdump::beam
