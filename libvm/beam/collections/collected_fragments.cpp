#include <libdump/base/return_if_error.h>
#include <libvm/beam/collections/collected_fragments.h>

#include <fmt/format.h>

namespace beamdump::beam {

Result<CollectedFragments> CollectedFragments::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto fragments, FragmentReader::open(vm));
    ASSIGN_OR_RETURN(auto messages, MessageWalker::open(vm));
    LayoutNames names(vm.layout());
    CollectedFragments found(fragments, std::move(messages), names);
    RETURN_IF_ERROR(names.outcome());
    return found;
}

bool CollectedFragments::any(const StructView& structure) const {
    return structure.get(own_) != 0 || structure.get(received_) != 0;
}

Result<std::vector<Span>> CollectedFragments::read(const StructView& structure, std::size_t most) {
    std::vector<Span> spans;
    const auto add = [&](const Fragment& fragment) -> Result<void> {
        if (spans.size() == most) {
            return fail(ErrorCode::kChanged,
                        fmt::format("it has more than {} heap fragments in a collection", most));
        }
        spans.push_back({fragment.words_begin, fragment.words_begin + fragment.used_words * 8});
        return {};
    };
    RETURN_IF_ERROR(fragments_.chain(structure.get(own_), most + 1, add));
    RETURN_IF_ERROR(messages_.received(structure.get(received_), most + 1, add));
    return spans;
}

Result<void> CollectedFragments::each_message(
    const ProcessView& process, std::uint64_t most,
    const std::function<Result<void>(std::uint64_t)>& visit) {
    return messages_.walk(process, most, [&](QueueEntry& entry) -> Result<void> {
        return entry.message.has_term_word() ? visit(entry.message.term_word()) : Result<void>();
    });
}

}  // namespace beamdump::beam
