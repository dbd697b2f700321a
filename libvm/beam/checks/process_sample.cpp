#include <libdump/base/return_if_error.h>
#include <libvm/beam/checks/process_sample.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

/// How often a process is looked at that changes or does not fit.
constexpr int kLooks = 4;
/// How often the mappings and the code are read again because something does not fit.
constexpr int kRefreshes = 8;

/// Calls `visit` with used slots until the sample is full.
template <typename Visit>
Result<std::uint32_t> for_each_slot(Vm& vm, IdTable& table, const ProcessSample& sample,
                                    Visit&& visit) {
    constexpr std::uint32_t kSlots = 4096;
    std::uint32_t counted = 0;
    std::uint32_t looked_at = 0;
    const auto enough = [&] { return counted >= sample.processes || looked_at >= sample.slots; };
    for (std::uint32_t first = 0; first < table.slots() && !enough(); first += kSlots) {
        ASSIGN_OR_RETURN(auto used, table.used(first, kSlots));
        for (const auto& slot : used) {
            if (enough()) {
                break;
            }
            ++looked_at;
            // What was cached for the one before may be older than this one's structure.
            vm.forget();
            counted += visit(slot) ? 1 : 0;
        }
    }
    return counted;
}

/// Judges processes one by one.
class Judge {
  public:
    Judge(Vm& vm, CodeLookup& code, IdTable& table, ProcessReader& reader,
          const LookAtProcess& look)
        : vm_(vm), code_(code), table_(table), reader_(reader), look_(look) {}

    /// What was found of the process in a slot; nothing if it ended or changed all the time.
    std::optional<Checks> judge(const IdSlot& slot);

  private:
    /// What one look finds, and the structure that it is about; nothing if that changed meanwhile.
    struct Seen {
        std::vector<std::byte> structure;
        Checks found;
        bool judged = true;
    };
    std::optional<Seen> look(const IdSlot& slot);
    [[nodiscard]] bool is_now(const IdSlot& slot, const std::vector<std::byte>& structure);
    /// Mappings and code may be newer than what was read of them.
    void refresh();

    Vm& vm_;
    CodeLookup& code_;
    IdTable& table_;
    ProcessReader& reader_;
    const LookAtProcess& look_;
    int refreshes_left_ = kRefreshes;
};

void Judge::refresh() {
    if (refreshes_left_ == 0) {
        return;
    }
    --refreshes_left_;
    if (vm_.refresh()) {
        if (auto code = CodeLookup::read(vm_)) {
            code_ = std::move(*code);
        }
    }
    vm_.forget();
}

bool Judge::is_now(const IdSlot& slot, const std::vector<std::byte>& structure) {
    const auto holds = table_.holds(slot);
    if (!holds || !*holds) {
        return false;
    }
    std::vector<std::byte> now(structure.size());
    return structure.empty() ||
           (vm_.bulk().read(slot.address, now) && std::ranges::equal(now, structure));
}

std::optional<Judge::Seen> Judge::look(const IdSlot& slot) {
    Seen seen;
    auto raw = OwnedStruct::read(vm_.memory(), slot.address, reader_.bytes());
    auto process = raw ? reader_.decode(slot, raw->view().bytes())
                       : Result<ProcessView>(std::unexpected(raw.error()));
    if (raw) {
        const auto bytes = raw->view().bytes();
        seen.structure.assign(bytes.begin(), bytes.end());
    }
    seen.found.expect("pids lead back to their slots", process.has_value(),
                      [&] { return process.error().message; });
    seen.judged = process && look_(*process, raw->view(), seen.found);
    return is_now(slot, seen.structure) ? std::optional(std::move(seen)) : std::nullopt;
}

std::optional<Checks> Judge::judge(const IdSlot& slot) {
    std::optional<Seen> before;
    for (int looks = 0; looks < kLooks; ++looks) {
        if (looks > 0) {
            vm_.forget();
        }
        auto seen = look(slot);
        if (!seen) {
            before.reset();
            continue;
        }
        const auto misfits = seen->found.failed();
        if (misfits.empty() && !seen->judged) {
            return std::nullopt;
        }
        if (misfits.empty() ||
            (before && before->structure == seen->structure && before->found.failed() == misfits)) {
            return std::move(seen->found);
        }
        before = std::move(seen);
        refresh();
    }
    return std::nullopt;
}

}  // namespace

Result<std::uint32_t> check_processes_at_rest(Vm& vm, CodeLookup& code, const ProcessSample& sample,
                                              const LookAtProcess& look, Checks& checks) {
    // A busy node maps and unmaps heaps all the time: the mappings must be as recent as the
    // structures.
    RETURN_IF_ERROR(vm.target().refresh_mappings());
    ASSIGN_OR_RETURN(auto table, IdTable::processes(vm));
    ASSIGN_OR_RETURN(auto reader, ProcessReader::open(vm, code));
    Judge judge(vm, code, table, reader, look);
    return for_each_slot(vm, table, sample, [&](const IdSlot& slot) {
        const auto found = judge.judge(slot);
        if (found) {
            checks.add(*found);
        }
        return found.has_value();
    });
}

}  // namespace beamdump::beam
