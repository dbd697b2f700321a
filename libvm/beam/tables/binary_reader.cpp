#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/tables/binary_reader.h>

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
    RETURN_IF_ERROR(vm_->bulk().read_batch(contents));
    const auto first_magic = contents.size() - magic.size();
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

}  // namespace beamdump::beam
