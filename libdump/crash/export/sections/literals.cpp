#include <libdump/base/return_if_error.h>
#include <libdump/crash/export/sections/literals.h>
#include <libdump/heap/largest_terms.h>

namespace beamdump::crash {

namespace {

/// Marks the objects that need lines of their own.
class Reach final : public WalkObserver {
  public:
    Reach(TermExport& terms, AddressMarks& marks) : terms_(terms), marks_(marks) {}

    Result<Entered> enter(const HeapObject& object, std::span<const WalkLevel> /*path*/) override {
        if (const auto original = terms_.original_of(object)) {
            RETURN_IF_ERROR(marks_.add(*original));
        }
        return Entered{.go_on = TermExport::leads_on(object)};
    }
    Result<void> again(std::uint64_t /*address*/, std::span<WalkLevel> /*path*/) override {
        return {};
    }
    Result<void> leave(std::span<WalkLevel> /*path*/) override { return {}; }

  private:
    TermExport& terms_;
    AddressMarks& marks_;
};

}  // namespace

Result<void> Literals::use(std::uint64_t word) {
    if (!marks_.has(pointer_of(word))) {
        Reach reach(terms_, marks_);
        RETURN_IF_ERROR(walk_.walk(word, reach));
    }
    return {};
}

Result<std::uint64_t> Literals::write() {
    terms_.out().put("=literals\n");
    for (const Region& region : dump_.literals().regions()) {
        write_region(region);
    }
    if (terms_.atom_objects_used()) {
        RETURN_IF_ERROR(write_atom_objects());
    }
    return unwritten_;
}

Result<void> Literals::write_atom_objects() {
    for (const auto& ref : dump_.trailer().atoms()) {
        auto page =
            dump_.reader().message_at<records::Atoms>(ref.offset(), format::RecordKind::kAtoms);
        if (!page) {
            return wrap("reading the atom table", std::move(page.error()));
        }
        for (int i = 0; i < page->text_size(); ++i) {
            if (TermExport::has_line_break(page->text(i))) {
                terms_.atom_object(page->first_index() + static_cast<std::uint32_t>(i));
            }
        }
    }
    return {};
}

void Literals::write_region(const Region& region) {
    const std::uint64_t end = region.address + region.here * kWordBytes;
    for (std::uint64_t at = region.address; at < end && terms_.out().ok(); at += kWordBytes) {
        std::uint64_t first = 0;
        if (!marks_.has(at) || terms_.words().read(at, first) != WordStatus::kHere) {
            continue;
        }
        const bool is_cell = word_kind(terms_.scheme(), first) != WordKind::kHeader;
        const auto object =
            heap_object(terms_.scheme(), terms_.words(), word_to(terms_.scheme(), at, is_cell));
        if (!object || !terms_.object(*object)) {
            ++unwritten_;
        }
    }
}

}  // namespace beamdump::crash
