#include "beam/atoms.h"

#include "beam/struct_view.h"

#include <fmt/format.h>

namespace beamdump::beam {
namespace {

/// atom.h: 255 characters of at most 4 bytes (MAX_ATOM_SZ_LIMIT).
constexpr std::uint64_t kMaxAtomBytes = std::uint64_t{4} * 255;

}  // namespace

Result<AtomReader> AtomReader::open(Vm& vm) {
    auto table = IndexTableWalker::open(vm, vm.tables().atoms);
    if (!table) {
        return wrap("atom table", table.error());
    }
    AtomReader reader(vm, *table);
    LayoutNames names(vm.layout());
    reader.index_ = names.field("Atom", "index");
    reader.length_ = names.field("Atom", "len");
    reader.name_ = names.field("Atom", "name");
    reader.bytes_ = names.bytes("Atom");
    if (auto known = names.outcome(); !known) {
        return std::unexpected(known.error());
    }
    return reader;
}

Result<std::string> AtomReader::text_at(Address atom, std::uint32_t index) {
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
        if (auto done = vm_->memory().read(read->view().get(name_),
                                           std::as_writable_bytes(std::span(text)));
            !done) {
            return wrap(fmt::format("text of atom {}", index), done.error());
        }
    }
    return text;
}

Result<std::string> AtomReader::text(std::uint32_t index) {
    auto object = table_.objects(index, 1);
    if (!object) {
        return std::unexpected(object.error());
    }
    if (object->empty()) {
        return fail(ErrorCode::kImplausible, fmt::format("atom {} of {}", index, table_.entries()));
    }
    return text_at(object->front(), index);
}

Result<records::Atoms> AtomReader::page(std::uint32_t first, std::uint32_t most,
                                        std::size_t text_bytes) {
    auto objects = table_.objects(first, most);
    if (!objects) {
        return wrap("atom table", objects.error());
    }
    records::Atoms page;
    page.set_first_index(first);
    std::size_t bytes = 0;
    std::uint32_t index = first;
    for (const auto object : *objects) {
        auto text = text_at(object, index++);
        if (!text) {
            return std::unexpected(text.error());
        }
        bytes += text->size();
        page.add_text(std::move(*text));
        if (bytes >= text_bytes) {
            break;
        }
    }
    return page;
}

Result<AtomWords> AtomWords::resolve(const Layout& layout) {
    LayoutNames names(layout);
    AtomWords words;
    words.tag_ = names.constant("atom_tag");
    words.shift_ = static_cast<std::uint32_t>(names.constant("atom_shift"));
    words.mask_ = (std::uint64_t{1} << words.shift_) - 1;
    if (auto known = names.outcome(); !known) {
        return std::unexpected(known.error());
    }
    return words;
}

}  // namespace beamdump::beam
