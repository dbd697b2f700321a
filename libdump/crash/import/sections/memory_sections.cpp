#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/sections/memory_sections.h>
#include <libdump/write/record_pages.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>

namespace beamdump::crash {
namespace {

/// The first of the numbers in a value: "3 47 47" is now, and at its highest twice.
std::optional<std::uint64_t> first_number(std::string_view value) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    return parsed.ec == std::errc() && parsed.ptr != value.data() ? std::optional(number)
                                                                  : std::nullopt;
}

class AllocatorSections final : public SectionReader {
  public:
    AllocatorSections(const Names& names, DumpWriter& writer, records::Trailer& trailer)
        : names_(names),
          writer_(writer),
          trailer_(trailer),
          pages_(writer, format::RecordKind::kAllocator, *trailer.mutable_allocator_offset()) {}

    [[nodiscard]] std::span<const std::string_view> tags() const override {
        static constexpr std::array<std::string_view, 1> kTags = {"allocator"};
        return kTags;
    }

    void begin(std::string_view /*tag*/, std::string_view argument) override {
        const auto bracket = argument.find('[');
        const auto name = argument.substr(0, bracket);
        subject_ = name == "mseg_alloc"               ? Subject::kSegments
                   : name == "erts_mmap.default_mmap" ? Subject::kMapper
                   : name.ends_with("_alloc")         ? Subject::kAllocator
                                                      : Subject::kNone;
        instance_.Clear();
        if (subject_ != Subject::kAllocator) {
            return;
        }
        instance_.set_number(number_of(name));
        instance_.set_name(std::string(name));
        const auto index = bracket == std::string_view::npos
                               ? std::nullopt
                               : first_number(argument.substr(bracket + 1));
        instance_.set_index(static_cast<std::uint32_t>(index.value_or(0)));
        instance_.set_thread_specific(index.has_value());
    }

    void line(const SectionLine& line) override {
        if (!line.name) {
            return;
        }
        const auto number = first_number(line.value);
        if (subject_ == Subject::kAllocator) {
            allocator_line(*line.name, line.value);
        } else if (subject_ == Subject::kSegments && *line.name == "cached_segments" && number) {
            auto& cache = *system_.mutable_segment_cache();
            cache.set_segments(cache.segments() + *number);
        } else if (subject_ == Subject::kMapper && *line.name == "os mmap size used" && number) {
            system_.mutable_default_mapper()->set_os_bytes(*number);
        }
    }

    Result<void> end() override {
        RETURN_IF_ERROR(names_.check());
        // sys_alloc is malloc, and counts nothing; another may be switched off.
        if (!instance_.has_multi_block() && !instance_.has_single_block()) {
            return {};
        }
        return pages_.add(
            [this](records::Allocators& page) { page.add_instance()->Swap(&instance_); });
    }

    Result<void> finish(bool /*also_none*/) override {
        if (system_.has_segment_cache() || system_.has_default_mapper()) {
            ASSIGN_OR_RETURN(const auto offset,
                             writer_.append(format::RecordKind::kSystemMemory, system_));
            trailer_.set_system_memory_offset(offset);
        }
        return pages_.finish(false);
    }

  private:
    enum class Subject : std::uint8_t { kNone, kAllocator, kSegments, kMapper };

    /// The text has no numbers of allocators: by the order of their names.
    std::uint32_t number_of(std::string_view name) {
        constexpr std::uint64_t kEntryMemory = 128;
        const auto [entry, is_new] = numbers_.try_emplace(
            std::string(name), static_cast<std::uint32_t>(numbers_.size() + 1));
        if (is_new && names_.budget() != nullptr) {
            names_.budget()->use_memory(kEntryMemory);
        }
        return entry->second;
    }

    void allocator_line(std::string_view name, std::string_view value) {
        if (name == "fix type") {
            fixed_size(value);
            return;
        }
        const auto space = name.find(' ');
        const auto number = first_number(value);
        if (space == std::string_view::npos || !number) {
            return;
        }
        const auto kind = name.substr(0, space);
        if (kind != "mbcs" && kind != "sbcs" && kind != "mbcs_pool") {
            return;
        }
        auto& carriers = *(kind == "mbcs"   ? instance_.mutable_multi_block()
                           : kind == "sbcs" ? instance_.mutable_single_block()
                                            : instance_.mutable_pool());
        carriers_line(name.substr(space + 1), *number, carriers);
    }

    /// "link 0 0": allocated and used bytes.
    void fixed_size(std::string_view value) {
        const auto space = value.find(' ');
        const auto numbers = space == std::string_view::npos ? "" : value.substr(space + 1);
        const auto second = numbers.find(' ');
        const auto allocated = first_number(numbers);
        const auto used = second == std::string_view::npos
                              ? std::nullopt
                              : first_number(numbers.substr(second + 1));
        if (allocated && used) {
            auto& type = *instance_.add_fixed_size();
            type.set_name(std::string(value.substr(0, space)));
            type.set_allocated_bytes(static_cast<std::int64_t>(*allocated));
            type.set_used_bytes(static_cast<std::int64_t>(*used));
        }
    }

    void carriers_line(std::string_view what, std::uint64_t number,
                       records::AllocatorCarriers& carriers) {
        if (what == "carriers") {
            carriers.set_carriers(number);
        } else if (what == "carriers size") {
            carriers.set_carrier_bytes(number);
        } else if (what == "mseg carriers") {
            carriers.set_mseg_carriers(number);
        } else if (what == "mseg carriers size") {
            carriers.set_mseg_bytes(number);
        } else if (what.starts_with("blocks")) {
            // "blocks[eheap_alloc] size", and before OTP 24 "blocks size" and "blocks".
            constexpr std::string_view kBefore = "blocks[";
            const auto end = what.find(']');
            const auto asked = number_of(end == std::string_view::npos || !what.starts_with(kBefore)
                                             ? std::string_view(instance_.name())
                                             : what.substr(kBefore.size(), end - kBefore.size()));
            auto& all = *carriers.mutable_blocks();
            const auto known = std::ranges::find(all, asked, &records::AllocatorBlocks::allocator);
            auto& entry = known == all.end() ? *carriers.add_blocks() : *known;
            entry.set_allocator(asked);
            what.ends_with("size") ? entry.set_bytes(number) : entry.set_count(number);
        }
    }

    const Names& names_;
    DumpWriter& writer_;
    records::Trailer& trailer_;
    RecordPages<records::Allocators> pages_;
    std::map<std::string, std::uint32_t, std::less<>> numbers_;
    records::AllocatorInstance instance_;
    records::SystemMemory system_;
    Subject subject_ = Subject::kNone;
};

}  // namespace

std::unique_ptr<SectionReader> allocator_sections(const Names& names, DumpWriter& writer,
                                                  records::Trailer& trailer) {
    return std::make_unique<AllocatorSections>(names, writer, trailer);
}

}  // namespace beamdump::crash
