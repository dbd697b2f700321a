#pragma once

#include <libdump/term/term_scheme.h>
#include <libvm/beam/checks/checks.h>
#include <libvm/beam/layout/structs.h>
#include <libvm/beam/processes/process.h>

#include <deque>
#include <unordered_set>

namespace beamdump::beam {

/// Checks that terms follow the layout's scheme: from a process's stack and dictionary on, each
/// pointer leads to an object with a valid header and size; binaries to a Binary, funs to an entry
/// with a loaded module.
class TermCheck {
  public:
    static Result<TermCheck> open(Vm& vm);

    /// The check that tells how many objects were examined.
    static constexpr auto kCounted = "terms";

    /// False if it was skipped. At most some hundreds of objects are examined.
    bool check(const ProcessView& process, Checks& checks);

  private:
    TermCheck(Vm& vm, TagScheme scheme) : vm_(&vm), scheme_(scheme) {}
    void resolve(LayoutNames& names);
    void queue(Span words, bool with_headers);
    void queue_terms(std::span<const std::uint64_t> words);
    void follow(std::uint64_t word, Checks& checks);
    void cell(Address address, Checks& checks);
    void object(Address address, Checks& checks);
    void binary(Address address, std::span<const std::uint64_t> words, Checks& checks);
    void fun(Address address, std::span<const std::uint64_t> words, Checks& checks);
    void fun_reference(Address address, std::span<const std::uint64_t> words, Checks& checks);
    [[nodiscard]] bool fun_entry(Address entry) const;
    [[nodiscard]] bool atom(std::uint64_t word) const;

    Vm* vm_;
    TagScheme scheme_;
    std::optional<BinaryFields> binary_;  ///< these three are set once the names are resolved
    std::optional<FunEntryFields> entry_;
    std::optional<ExportFields> export_;
    std::deque<std::uint64_t> pending_;
    std::unordered_set<std::uint64_t> seen_;
};

}  // namespace beamdump::beam
