#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/scheduler_arrays.h>

#include <fmt/format.h>

#include <array>
#include <set>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kCacheLine = 64;  // where members begin

struct SchedulerFields {
    Field type, number, dirty_number, sleep_info, of_sleep_info;
    std::uint32_t end = 0;
    std::uint64_t stride = 0;

    static Result<SchedulerFields> resolve(const Layout& layout) {
        LayoutNames names(layout);
        SchedulerFields fields;
        fields.type = names.field("ErtsAlignedSchedulerData", "type");
        fields.number = names.field("ErtsAlignedSchedulerData", "no");
        fields.dirty_number = names.field("ErtsAlignedSchedulerData", "dirty_no");
        fields.sleep_info = names.field("ErtsAlignedSchedulerData", "ssi");
        fields.of_sleep_info = names.field("ErtsSchedulerSleepInfo", "esdp");
        fields.end = end_of({fields.type, fields.number, fields.dirty_number, fields.sleep_info});
        fields.stride = names.bytes("ErtsAlignedSchedulerData");
        RETURN_IF_ERROR(names.outcome());
        return fields;
    }
};

/// Whether a scheduler of a kind and number is there. erl_process.c: it and what is known of its
/// sleep point to each other. erl_process.h, ErtsSchedType: 0 normal, 1 dirty CPU, 2 dirty I/O.
bool is_scheduler(Vm& vm, const SchedulerFields& fields, Address address, std::uint64_t type,
                  std::uint32_t number) {
    if (!vm.plausible(address, fields.end)) {
        return false;
    }
    const auto read = OwnedStruct::read(vm.memory(), address, fields.end);
    if (!read) {
        return false;
    }
    const auto view = read->view();
    const auto own = view.get(type == 0 ? fields.number : fields.dirty_number);
    const auto other = view.get(type == 0 ? fields.dirty_number : fields.number);
    const auto sleep_info = view.get(fields.sleep_info);
    if (view.get(fields.type) != type || own != number || other != 0 ||
        !vm.plausible(sleep_info, sizeof(Address))) {
        return false;
    }
    const auto back = vm.memory().word(sleep_info + fields.of_sleep_info.offset);
    return back && *back == address;
}

std::uint32_t count_members(Vm& vm, const SchedulerFields& fields, Address array,
                            std::uint64_t type) {
    std::uint32_t count = 0;
    while (count < kMaxSchedulers &&
           is_scheduler(vm, fields, array + count * fields.stride, type, count + 1)) {
        ++count;
    }
    return count;
}

}  // namespace

Result<SchedulerArrays> find_scheduler_arrays(Vm& vm, const ImageSearch& search) {
    ASSIGN_OR_RETURN(const auto fields, SchedulerFields::resolve(vm.layout()));
    std::array<std::set<Address>, 3> found;
    const auto pointers =
        search.matching(sizeof(Address), [&](Address, std::span<const std::byte> word) {
            const auto array = StructView(word).word({}, 0);
            return array % kCacheLine == 0 && vm.plausible(array, fields.end);
        });
    for (const auto pointer : pointers) {
        const auto array = StructView(*search.at(pointer, sizeof(Address))).word({}, 0);
        for (std::size_t type = 0; type < found.size(); ++type) {
            if (count_members(vm, fields, array, type) != 0) {
                found.at(type).insert(array);
            }
        }
    }
    SchedulerArrays arrays;
    static constexpr std::array kNames = {"erts_aligned_scheduler_data",
                                          "erts_aligned_dirty_cpu_scheduler_data",
                                          "erts_aligned_dirty_io_scheduler_data"};
    const std::array<SchedulerArray*, 3> into = {&arrays.normal, &arrays.dirty_cpu,
                                                 &arrays.dirty_io};
    for (std::size_t type = 0; type < found.size(); ++type) {
        ASSIGN_OR_RETURN(const auto array,
                         only_one(kNames.at(type), "one array of schedulers that number themselves",
                                  {found.at(type).begin(), found.at(type).end()}));
        *into.at(type) = {array, count_members(vm, fields, array, type)};
    }
    return arrays;
}

Result<void> check_scheduler_array(Vm& vm, std::string_view name, const SchedulerArray& array,
                                   SchedulerKind kind) {
    ASSIGN_OR_RETURN(const auto fields, SchedulerFields::resolve(vm.layout()));
    for (std::uint32_t member = 0; member < array.count; ++member) {
        if (!is_scheduler(vm, fields, array.address + member * fields.stride,
                          static_cast<std::uint64_t>(kind), member + 1)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("{} at {:#x}: expected {} schedulers that number themselves, "
                                    "found {}",
                                    name, array.address, array.count, member));
        }
    }
    return {};
}

}  // namespace beamdump::beam
