#include <libdump/base/return_if_error.h>
#include <libdump/term/term_scheme.h>
#include <libvm/beam/allocators/used_blocks.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <algorithm>
#include <span>

namespace beamdump::beam {
namespace {

constexpr unsigned kTypeBits = 8;  // ERTS_ALC_N_BITS (erl_alloc_types.h, OTP 25 to 29)
constexpr std::uint64_t kTypeMask = (1U << kTypeBits) - 1;

}  // namespace

Result<UsedBlockReader> UsedBlockReader::open(Vm& vm, std::uint64_t first_bytes) {
    ASSIGN_OR_RETURN(const auto pids, PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto scheme, port_scheme(vm));
    LayoutNames names(vm.layout());
    const BinaryFields binary(names);
    UsedBlockReader reader(vm, pids, binary, names.constant(runtime::constant::allocator_binary));
    reader.port_tag_ = names.constant(runtime::constant::port_tag);
    RETURN_IF_ERROR(names.outcome());
    reader.scheme_ = scheme;
    reader.first_bytes_ = std::min<std::uint64_t>(first_bytes, kMostFirstBytes);
    // alcu_atag_t (erl_alloc_util.c) has one word up to OTP 26.
    const auto erts = erts_version(vm.facts().erts_version);
    reader.tag_words_ = erts.is_known() && erts < ErtsVersion{{15}} ? 1 : 2;
    return reader;
}

Result<void> UsedBlockReader::read(CarrierPlace& carrier,
                                   const std::function<Result<void>(records::Block block)>& visit) {
    const bool is_binary = carrier.allocator == binary_number_;
    const auto read = reader_.read(carrier, [&](const UsedBlock& block) -> Result<void> {
        ASSIGN_OR_RETURN(auto record, block_of(block, is_binary));
        return visit(std::move(record));
    });
    return read ? Result<void>() : std::unexpected(read.error());
}

Result<records::Block> UsedBlockReader::block_of(const UsedBlock& block, bool is_binary) {
    records::Block record;
    record.set_address(block.address);
    record.set_bytes(block.bytes);
    const auto tag_bytes = block.tagged ? tag_words_ * kWordBytes : 0;
    // Without the header, which is before the address.
    const auto usable = block.bytes - std::min(block.bytes, kWordBytes + tag_bytes);
    std::uint64_t first = 0;  // of the bytes that are kept
    std::uint64_t size = usable;
    if (is_binary && usable >= binary_.content.offset) {
        std::vector<std::byte> head(binary_.content.offset);
        ASSIGN_OR_RETURN(const auto got, reader_.bytes(block.address, head));
        const StructView view(head);
        if (got == head.size() && view.get(binary_.size) <= usable - binary_.content.offset) {
            record.set_references(view.get(binary_.references));
            record.set_size_bytes(view.get(binary_.size));
            record.set_flags(static_cast<std::uint32_t>(view.get(binary_.flags)));
            first = binary_.content.offset;
            size = record.size_bytes();
        }
    }
    std::array<std::byte, kMostFirstBytes> bytes{};
    const auto wanted = std::min<std::uint64_t>(first_bytes_, size);
    if (wanted != 0) {
        ASSIGN_OR_RETURN(const auto got,
                         reader_.bytes(block.address + first, std::span(bytes).first(wanted)));
        record.mutable_first_bytes()->assign(
            // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
            reinterpret_cast<const char*>(bytes.data()), got);
    }
    if (block.tagged && block.bytes > kWordBytes + tag_bytes) {
        RETURN_IF_ERROR(tag(block, record));
    }
    return record;
}

Result<void> UsedBlockReader::tag(const UsedBlock& block, records::Block& record) {
    std::array<std::uint64_t, 2> words{};
    const auto tag = std::span(words).first(tag_words_);
    ASSIGN_OR_RETURN(const auto got,
                     reader_.bytes(block.address - kWordBytes + block.bytes - tag.size_bytes(),
                                   std::as_writable_bytes(tag)));
    if (got != tag.size_bytes()) {
        return {};
    }
    record.set_tag_type(static_cast<std::uint32_t>(words[0] & kTypeMask));
    record.set_tag_atom(static_cast<std::uint32_t>(words[0] >> kTypeBits));
    if (tag_words_ == words.size()) {
        if (const auto owner = pids_.owner_id(words[1])) {
            record.set_tag_owner_id(*owner);
        } else if ((words[1] & kImmediateTagMask) == (port_tag_ & kImmediateTagMask)) {
            record.set_tag_port_number(port_number(scheme_, words[1]));
        }
    }
    return {};
}

}  // namespace beamdump::beam
