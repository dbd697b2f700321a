#include <libdump/crash/open/lazy_process_context.h>
#include <libdump/term/term_scheme.h>

#include <algorithm>

namespace beamdump::crash {

Result<std::size_t> LazyProcessContext::words(std::uint64_t address,
                                              std::span<std::uint64_t> into) {
    if (!into.empty() && address % kWordBytes == 0) {
        if (auto got = region_words(address, into)) {
            return *std::move(got);
        }
        auto got = terms_.words(address, into);
        if (got) {
            return got;
        }
        if (got.error().code != ErrorCode::kUnmapped) {
            dump().faults().note(got.error());
            return got;
        }
    }
    return ProcessContext::words(address, into);
}

std::uint64_t LazyProcessContext::region_bytes_bound() const {
    return std::max(ProcessContext::region_bytes_bound(), terms_.region_bytes_bound());
}

void LazyProcessContext::missed(std::uint64_t address) {
    terms_.missed(address);
}

AtomText LazyProcessContext::atom(std::uint32_t index) {
    auto found = ProcessContext::atom(index);
    return found ? found : terms_.atom(index);
}

std::optional<FunctionName> LazyProcessContext::export_at(std::uint64_t address) {
    const auto found = ProcessContext::export_at(address);
    return found ? found : terms_.export_at(address);
}

std::optional<FunInfo> LazyProcessContext::fun_entry_at(std::uint64_t address) {
    const auto found = ProcessContext::fun_entry_at(address);
    return found ? found : terms_.fun_entry_at(address);
}

std::optional<NodeInfo> LazyProcessContext::node_at(std::uint64_t address) {
    const auto found = ProcessContext::node_at(address);
    return found ? found : terms_.node_at(address);
}

std::optional<std::uint64_t> LazyProcessContext::catch_address(std::uint32_t index) {
    const auto found = ProcessContext::catch_address(index);
    return found ? found : terms_.catch_address(index);
}

Result<BinaryInfo> LazyProcessContext::binary_at(std::uint64_t address) {
    auto found = ProcessContext::binary_at(address);
    return found ? found : terms_.binary_at(address);
}

Result<std::size_t> LazyProcessContext::binary_bytes(std::uint64_t binary_address,
                                                     std::uint64_t from,
                                                     std::span<std::byte> into) {
    return has_binary(binary_address) ? ProcessContext::binary_bytes(binary_address, from, into)
                                      : terms_.binary_bytes(binary_address, from, into);
}

void supply_lazily(Dump& dump, LazyTerms* terms) {
    if (terms == nullptr) {
        dump.supply_contexts({});
        return;
    }
    dump.supply_contexts([terms](Dump& of, const ProcessRun& run) {
        return std::make_unique<LazyProcessContext>(of, run, *terms);
    });
}

}  // namespace beamdump::crash
