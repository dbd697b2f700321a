#include <libdump/profile/sample_log.h>

#include <algorithm>
#include <iterator>

namespace beamdump {
namespace {

// Entries of the maps with their allocations, about.
constexpr std::uint64_t kEntryBytes = 160;

}  // namespace

void SampleLog::add(const SampleStack& sample, const SampledThread& thread) {
    if (bytes_ >= kMostBytes) {
        ++left_out_;
        return;
    }
    const auto before = names_.values().size() + processes_.values().size();
    const auto number = [this](const std::string& name) {
        const auto known = names_.values().size();
        const auto found = names_.number(name.substr(0, kMostNameBytes));
        bytes_ += found == known ? 2 * name.size() : 0;
        return found;
    };
    Sample entry{.kind = sample.kind, .unknown = sample.unknown, .more = sample.more};
    std::ranges::transform(sample.native, std::back_inserter(entry.native), number);
    std::ranges::transform(sample.frames, std::back_inserter(entry.functions), number);
    if (!sample.fragment.empty()) {
        entry.fragment = number(sample.fragment);
    }
    if (sample.process) {
        entry.process =
            processes_.number({sample.process->owner_id, sample.process->registered_atom,
                               sample.process->initial_call_atoms});
    }
    entry.thread = threads_.number({thread.id, thread.name, thread.scheduler});
    bytes_ += (names_.values().size() + processes_.values().size() - before) * kEntryBytes;
    const auto stack_bytes = (entry.native.size() + entry.functions.size()) * sizeof(std::uint32_t);
    const auto [known, fresh] = samples_.emplace(std::move(entry), 0);
    bytes_ += fresh ? kEntryBytes + stack_bytes : 0;
    ++known->second;
    ++kept_;
}

void SampleLog::name_functions(
    const std::function<std::optional<FunctionAtoms>(const std::string&)>& named) {
    functions_.clear();
    std::ranges::transform(names_.values(), std::back_inserter(functions_), named);
}

}  // namespace beamdump
