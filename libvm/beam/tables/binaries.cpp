#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/tables/binaries.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxBinaryBytes = std::uint64_t{1} << 47U;

}  // namespace

Result<BinaryReader> BinaryReader::open(Vm& vm, std::optional<std::uint64_t> keep,
                                        std::uint64_t inline_bytes) {
    LayoutNames names(vm.layout());
    BinaryReader reader(vm, BinaryFields(names));
    reader.keep_ = keep;
    reader.inline_bytes_ = inline_bytes;
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<std::vector<BinaryView>> BinaryReader::read(std::span<const Address> addresses) {
    const std::size_t head_bytes = end_of({fields_.flags, fields_.references, fields_.size});
    std::vector<std::byte> heads(addresses.size() * head_bytes);
    std::vector<memory::BatchRead> batch(addresses.size());
    for (std::size_t index = 0; index < addresses.size(); ++index) {
        batch[index] = {addresses[index], std::span(heads).subspan(index * head_bytes, head_bytes),
                        false};
    }
    RETURN_IF_ERROR(vm_->bulk().read_batch(batch));
    std::vector<BinaryView> result;
    std::vector<memory::BatchRead> contents;
    std::vector<std::size_t> magic;
    result.reserve(addresses.size());
    for (const auto& head : batch) {
        const StructView view(head.into);
        const auto size = head.done ? view.get(fields_.size) : kMaxBinaryBytes + 1;
        if (size > kMaxBinaryBytes) {
            ++unreadable_;
            continue;
        }
        auto& binary = result.emplace_back();
        binary.address = head.address;
        binary.data = head.address + fields_.content.offset;
        binary.size = size;
        binary.facts.set_address(head.address);
        binary.facts.set_data_address(binary.data);
        binary.facts.set_size_bytes(size);
        binary.facts.set_references(view.get(fields_.references));
        binary.facts.set_flags(static_cast<std::uint32_t>(view.get(fields_.flags)));
        if ((view.get(fields_.flags) & fields_.flag_magic) != 0) {
            // The content of a magic binary is data of the runtime or of a NIF, not of a term:
            // omitted.
            binary.facts.set_magic(true);
            magic.push_back(result.size() - 1);
            continue;
        }
        binary.wanted = std::min(keep_.value_or(size), size);
        binary.content_apart = binary.wanted > inline_bytes_;
        if (!binary.content_apart && binary.wanted != 0) {
            auto& prefix = *binary.facts.mutable_prefix();
            prefix.resize(binary.wanted);
            contents.push_back({binary.data, std::as_writable_bytes(std::span(prefix)), false});
        }
    }
    std::vector<std::array<std::uint32_t, 3>> numbers(magic.size());
    for (std::size_t index = 0; index < magic.size(); ++index) {
        contents.push_back({result[magic[index]].address + fields_.magic_numbers.offset,
                            std::as_writable_bytes(std::span(numbers[index])), false});
    }
    const auto first_magic = contents.size() - magic.size();
    std::vector<Address> types(resource_types_.empty() ? 0 : magic.size());
    for (std::size_t index = 0; index < types.size(); ++index) {
        contents.push_back({result[magic[index]].address + fields_.magic_data.offset,
                            std::as_writable_bytes(std::span(&types[index], 1)), false});
    }
    RETURN_IF_ERROR(vm_->bulk().read_batch(contents));
    for (std::size_t index = 0; index < types.size(); ++index) {
        if (contents[first_magic + magic.size() + index].done &&
            resource_types_.contains(types[index])) {
            result[magic[index]].facts.set_resource_type_address(types[index]);
        }
    }
    for (std::size_t index = 0; index < magic.size(); ++index) {
        if (contents[first_magic + index].done) {
            result[magic[index]].facts.mutable_magic_reference()->Add(numbers[index].begin(),
                                                                      numbers[index].end());
        }
    }
    for (std::size_t index = 0; index < first_magic; ++index) {
        if (!contents[index].done) {
            ++unreadable_;
            const auto found =
                std::ranges::find(result, contents[index].address, &BinaryView::data);
            found->facts.clear_prefix();
        }
    }
    return result;
}

namespace {

constexpr std::uint64_t kBlockBytes = 256U << 10U;
constexpr std::uint64_t kMaxReferences = std::uint64_t{1} << 32U;
constexpr std::uint32_t kOrdinaryReference = 0xffffffff;  // erl_term.h: ERTS_ORDINARY_REF_MARKER

struct Names {
    explicit Names(LayoutNames& names) : reference(names), binary(names) {}
    BinaryReferenceFields reference;
    BinaryFields binary;
    std::uint64_t refc_header = 0, magic_ref_header = 0;

    static Result<Names> resolve(const Layout& layout) {
        LayoutNames names(layout);
        Names result(names);
        const auto& reference = result.reference;
        // erl_term.h: a header's arity is the thing's size in words, the header not counted.
        const auto shift = names.constant(runtime::constant::header_arity_shift);
        result.refc_header = (reference.bytes / 8 - 1) << shift | reference.subtag;
        result.magic_ref_header = (reference.magic_bytes / 8 - 1) << shift | reference.magic_subtag;
        RETURN_IF_ERROR(names.outcome());
        return result;
    }
};

/// The Binary of a ProcBin or BinRef, if it is one.
std::optional<Address> from_refc(Vm& vm, const Names& names, const StructView& thing) {
    const auto binary = thing.get(names.reference.binary);
    if (!vm.plausible(binary, names.binary.content.offset)) {
        return std::nullopt;
    }
    const auto size = vm.memory().word(binary + names.binary.size.offset);
    if (!size || *size > kMaxBinaryBytes) {
        return std::nullopt;
    }
    if (!names.reference.size || !names.reference.content) {
        const auto references = vm.memory().word(binary + names.binary.references.offset);
        const bool alive = references && *references != 0 && *references < kMaxReferences;
        return alive && vm.plausible(binary, names.binary.content.offset + *size)
                   ? std::optional(binary)
                   : std::nullopt;
    }
    const auto first = binary + names.binary.content.offset;
    const auto bytes = thing.get(*names.reference.content);
    const bool inside = bytes >= first && bytes - first <= *size &&
                        thing.get(*names.reference.size) <= *size - (bytes - first);
    return inside ? std::optional(binary) : std::nullopt;
}

std::optional<Address> from_reference(Vm& vm, const Names& names, const StructView& thing) {
    const auto binary = thing.get(names.reference.magic_binary);
    if ((binary & kOrdinaryReference) == kOrdinaryReference ||
        !vm.plausible(binary, names.binary.content.offset)) {
        return std::nullopt;
    }
    const auto flags = vm.memory().word(binary + names.binary.flags.offset);
    return flags && (*flags & names.binary.flag_magic) != 0 ? std::optional(binary) : std::nullopt;
}

}  // namespace

Result<void> sweep_literal_binaries(Vm& vm, memory::AddressRange part,
                                    const std::function<Result<void>(Address)>& visit) {
    ASSIGN_OR_RETURN(auto names, Names::resolve(vm.layout()));
    const std::size_t longest = std::max(names.reference.bytes, names.reference.magic_bytes);
    std::vector<std::byte> block;
    for (auto begin = part.begin; begin < part.end; begin += kBlockBytes) {
        // An object may extend into the next block: read that much more.
        block.resize(std::min(kBlockBytes + longest, part.end - begin));
        if (auto done = vm.bulk().read(begin, block); !done) {
            return wrap("literals", done.error());
        }
        const auto last = std::min<std::size_t>(kBlockBytes, block.size());
        for (std::size_t at = 0; at + 8 <= last; at += 8) {
            const auto rest = std::span<const std::byte>(block).subspan(at);
            const auto header = StructView(rest).get(Field{0, 8});
            std::optional<Address> binary;
            if (header == names.refc_header && rest.size() >= names.reference.bytes) {
                binary = from_refc(vm, names, StructView(rest));
            } else if (header == names.magic_ref_header &&
                       rest.size() >= names.reference.magic_bytes) {
                binary = from_reference(vm, names, StructView(rest));
            }
            if (binary) {
                RETURN_IF_ERROR(visit(*binary));
            }
        }
    }
    return {};
}

}  // namespace beamdump::beam
