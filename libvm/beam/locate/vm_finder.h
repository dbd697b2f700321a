#pragma once

#include <libvm/beam/locate/version.h>
#include <libvm/beam/search/jit_list.h>

#include <functional>

namespace beamdump::beam {

/// Finds a VM's globals by symbol or, without one, by a search of the image's data. Each step can
/// use what earlier steps found.
class VmFinder {
  public:
    /// Non-owning.
    VmFinder(Vm& vm, const Symbols& symbols, const ImageSearch& search)
        : vm_(vm), symbols_(symbols), search_(search) {}

    Result<void> find(const RuntimeVersion& version);

  private:
    using Search = std::function<Result<Address>()>;

    /// The address of a symbol, or else the one that `search` finds. Recorded with `how`.
    static constexpr std::string_view kByName = "name string";
    Result<Address> global(std::string_view name, std::string_view how, const Search& search);
    void note(std::string_view name, Address address, std::string_view how);
    Result<std::uint64_t> word(std::string_view name, Address address);

    Result<void> find_tables_by_name();
    Result<void> find_id_tables();
    Result<void> find_active_code_index();
    Result<void> find_this_node();
    Result<void> find_literals();
    Result<void> count_schedulers();
    Result<void> find_code_points();
    void find_memory_tables();
    void find_other_tables();
    /// As global(), for an optional table: nothing, and a sentence that says so.
    std::optional<Address> global_if_any(std::string_view name, const Search& search,
                                         std::vector<std::string>& not_found,
                                         std::string_view how = "shape");
    Result<const JitSelf*> jit();

    Vm& vm_;
    const Symbols& symbols_;
    const ImageSearch& search_;
    VmFacts facts_;
    VmTables tables_;
    std::vector<Found> found_;
    std::optional<JitSelf> jit_;
};

}  // namespace beamdump::beam
