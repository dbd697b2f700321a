#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/tables/atoms.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::beam {
namespace {

/// atom.h: 255 characters of at most 4 bytes (MAX_ATOM_SZ_LIMIT).
constexpr std::uint64_t kMaxAtomBytes = std::uint64_t{4} * 255;
/// erl_bits.h: the lowest bits of an ErlSubBits' base are flags.
constexpr std::uint64_t kBaseFlags = 3;
/// atom.c, OTP 25 and 27: a link, and 32 KiB of text.
constexpr std::uint64_t kTextBlockBytes = 8 + 32768;

}  // namespace

void AtomSpace::add(std::optional<Address> text, std::uint64_t bytes) {
    used_ += bytes;
    in_blocks_ = in_blocks_ || text;
    if (!text || bytes == 0) {
        return;
    }
    blocks_ += *text == next_ ? 0 : 1;
    next_ = *text + bytes;
}

std::uint64_t AtomSpace::reserved_bytes() const {
    return in_blocks_ ? std::max<std::uint64_t>(blocks_, 1) * kTextBlockBytes : used_;
}

Result<AtomReader> AtomReader::open(Vm& vm) {
    auto table = IndexTableWalker::open(vm, vm.tables().atoms);
    if (!table) {
        return wrap("atom table", table.error());
    }
    AtomReader reader(vm, *table);
    LayoutNames names(vm.layout());
    reader.index_ = names.field(runtime::Atom::index);
    reader.length_ = names.field(runtime::Atom::len);
    reader.term_ = names.field_if_any(runtime::Atom::u_bin);
    if (reader.term_) {
        reader.bits_ = names.field(runtime::ErlHeapBits::size);
        reader.data_ = names.field(runtime::ErlHeapBits::data);
        reader.heap_bits_bytes_ = names.bytes(runtime::ErlHeapBits::kName);
        reader.heap_bits_tag_ = names.constant(runtime::constant::heap_bits_subtag);
        reader.base_ = names.field(runtime::ErlSubBits::base_flags);
        reader.start_ = names.field(runtime::ErlSubBits::start);
        reader.end_ = names.field(runtime::ErlSubBits::end);
        reader.sub_bits_bytes_ = names.bytes(runtime::ErlSubBits::kName);
        reader.sub_bits_tag_ = names.constant(runtime::constant::sub_bits_subtag);
    } else {
        reader.name_ = names.field(runtime::Atom::name);
    }
    reader.bytes_ = names.bytes(runtime::Atom::kName);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

void AtomReader::count(AtomSpace& space, Address text, std::uint64_t bytes) const {
    const auto& in_file = vm_->target().image().read_only();
    if (term_) {
        space.add(std::nullopt, bytes);
    } else if (std::ranges::none_of(in_file,
                                    [text](const auto& part) { return part.contains(text); })) {
        space.add(text, bytes);
    }
}

Result<std::string> AtomReader::text_at(Address atom, std::uint32_t index, AtomSpace* space) {
    auto read = OwnedStruct::read(vm_->memory(), atom, bytes_);
    if (!read) {
        return wrap(fmt::format("atom {}", index), read.error());
    }
    const auto length = read->view().get(length_);
    if (read->view().u32(index_) != index || length > kMaxAtomBytes) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("atom {} at {:#x}: expected its own index and at most {} bytes, "
                                "found index {} and {} bytes",
                                index, atom, kMaxAtomBytes, read->view().u32(index_), length));
    }
    std::string text(length, '\0');
    if (length != 0) {
        auto bytes = term_ ? bytes_of(read->view().get(*term_), length)
                           : Result<Address>(read->view().get(name_));
        auto done = bytes ? vm_->memory().read(*bytes, std::as_writable_bytes(std::span(text)))
                          : std::unexpected(bytes.error());
        if (!done) {
            return wrap(fmt::format("text of atom {}", index), done.error());
        }
        if (space != nullptr) {
            count(*space, *bytes, length);
        }
    }
    return text;
}

// atom.c: up to 64 bytes follow a header on the literals' heap; longer texts are in a Binary, to
// all of which the term refers.
Result<Address> AtomReader::bytes_of(std::uint64_t term, std::uint64_t length) {
    const auto address = boxed_address(term);
    ASSIGN_OR_RETURN(const auto header, vm_->memory().word(address));
    const auto tag = header & kHeaderTagMask;
    const bool on_heap = tag == heap_bits_tag_;
    if (!is_boxed(term) || (!on_heap && tag != sub_bits_tag_)) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected a binary at {:#x}, found header {:#x}", term, header));
    }
    ASSIGN_OR_RETURN(auto read, OwnedStruct::read(vm_->memory(), address,
                                                  on_heap ? heap_bits_bytes_ : sub_bits_bytes_));
    const auto view = read.view();
    const auto bits = on_heap ? view.get(bits_) : view.get(end_) - view.get(start_);
    if (bits != length * 8) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("expected a binary of {} bytes at {:#x}, found {} bits", length,
                                address, bits));
    }
    return on_heap ? address + data_.offset
                   : (view.get(base_) & ~kBaseFlags) + view.get(start_) / 8;
}

Result<std::string> AtomReader::text(std::uint32_t index) {
    ASSIGN_OR_RETURN(auto object, table_.objects(index, 1));
    if (object.empty()) {
        return fail(ErrorCode::kImplausible, fmt::format("atom {} of {}", index, table_.entries()));
    }
    return text_at(object.front(), index);
}

Result<records::Atoms> AtomReader::page(std::uint32_t first, std::uint32_t most,
                                        std::size_t text_bytes, AtomSpace* space) {
    auto objects = table_.objects(first, most);
    if (!objects) {
        return wrap("atom table", objects.error());
    }
    records::Atoms page;
    page.set_first_index(first);
    std::size_t bytes = 0;
    std::uint32_t index = first;
    for (const auto object : *objects) {
        ASSIGN_OR_RETURN(auto text, text_at(object, index++, space));
        bytes += text.size();
        page.add_text(std::move(text));
        if (bytes >= text_bytes) {
            break;
        }
    }
    return page;
}

Result<AtomWords> AtomWords::resolve(const Layout& layout) {
    LayoutNames names(layout);
    AtomWords words;
    words.tag_ = names.constant(runtime::constant::atom_tag);
    words.shift_ = static_cast<std::uint32_t>(names.constant(runtime::constant::atom_shift));
    words.mask_ = (std::uint64_t{1} << words.shift_) - 1;
    RETURN_IF_ERROR(names.outcome());
    return words;
}

}  // namespace beamdump::beam
