#include <libdump/base/return_if_error.h>
#include <libvm/beam/tables/code_lookup.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::size_t kKnownAtMost = 8192;

}  // namespace

Result<CodeLookup> CodeLookup::read(Vm& vm) {
    ASSIGN_OR_RETURN(auto modules, read_modules(vm));
    return build(vm, std::move(modules));
}

Result<CodeLookup> CodeLookup::build(Vm& vm, std::vector<ModuleCode> modules) {
    ASSIGN_OR_RETURN(auto reader, ModuleReader::open(vm));
    std::ranges::sort(modules, {}, &ModuleCode::header);
    return CodeLookup(reader, std::move(modules));
}

const ModuleCode* CodeLookup::module_of(Address pc) const {
    auto after = std::ranges::upper_bound(modules_, pc, {}, &ModuleCode::header);
    if (after == modules_.begin()) {
        return nullptr;
    }
    const auto& module = *std::prev(after);
    return pc < module.end() ? &module : nullptr;
}

std::optional<CodeMfa> CodeLookup::function_at(Address pc) {
    if (const auto known = known_.find(pc); known != known_.end()) {
        return known->second;
    }
    std::optional<CodeMfa> answer;
    if (const auto* module = module_of(pc)) {
        if (auto found = reader_.function_at(*module, pc)) {
            answer = *found;
        }
    }
    if (known_.size() >= kKnownAtMost) {
        known_.clear();
    }
    known_.emplace(pc, answer);
    return answer;
}

std::optional<CodeMfa> CodeLookup::mfa_at(Address address) {
    auto found = reader_.mfa_at(address);
    return found ? std::optional(*found) : std::nullopt;
}

}  // namespace beamdump::beam
