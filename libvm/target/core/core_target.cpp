#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/core/core_arguments.h>
#include <libvm/target/core/core_image.h>
#include <libvm/target/core/core_target.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>

namespace beamdump::target {
namespace {

using memory::AddressRange;

std::string incomplete_sentence(const CoreFile& core) {
    if (core.missing_bytes() == 0) {
        return {};
    }
    return fmt::format("{} is truncated: {} of {} bytes of memory are missing",
                       core.path().native(), core.missing_bytes(), core.dumped_bytes());
}

/// The entry of NT_FILE that holds an address, or null.
const CoreMappedFile* file_at(const CoreFile& core, memory::Address address) {
    const auto found = std::ranges::upper_bound(
        core.files(), address, {}, [](const CoreMappedFile& file) { return file.range.end; });
    return found != core.files().end() && found->range.contains(address) ? &*found : nullptr;
}

bool executes(const ElfImage& image, memory::Address address) {
    return std::ranges::any_of(image.executable(), [&](const AddressRange& range) {
        return range.begin / memory::kPageBytes * memory::kPageBytes <= address &&
               address < range.end;
    });
}

}  // namespace

Result<std::unique_ptr<CoreTarget>> CoreTarget::open(
    const std::filesystem::path& core, const std::optional<std::filesystem::path>& executable) {
    ASSIGN_OR_RETURN(auto file, CoreFile::open(core));
    std::unique_ptr<CoreTarget> opened(new CoreTarget(std::move(file)));
    auto& target = *opened;
    RETURN_IF_ERROR(target.add_dumped());
    auto vm = find_core_image(target.core_, target.memory_, executable);
    if (!vm) {
        const bool cut = !target.incomplete_.empty() && vm.error().code == ErrorCode::kImplausible;
        return cut ? wrap(target.incomplete_, vm.error()) : std::unexpected(vm.error());
    }
    target.executable_ = std::move(vm->path);
    target.image_ = std::move(vm->image);
    RETURN_IF_ERROR(target.make_mappings());
    target.find_arguments();
    return opened;
}

Result<void> CoreTarget::add_dumped() {
    Descriptor descriptor(::fcntl(core_.descriptor().get(), F_DUPFD_CLOEXEC, 0));
    if (!descriptor.valid()) {
        return fail(ErrorCode::kIo, fmt::format("cannot open {} again: {}", core_.path().native(),
                                                system_error_text(errno)));
    }
    const auto number = memory_.add_file(std::move(descriptor), core_.path().native());
    for (const auto& segment : core_.segments()) {
        if (segment.here_bytes > 0) {
            memory_.add({segment.range.begin, segment.range.begin + segment.here_bytes}, number,
                        segment.file_offset);
        }
    }
    incomplete_ = incomplete_sentence(core_);
    memory_.explain_missing(incomplete_);
    return {};
}

/// The segments, and those mapped files that have none: gcore leaves out what only repeats a file.
Result<void> CoreTarget::make_mappings() {
    std::vector<Mapping> mappings;
    for (const auto& segment : core_.segments()) {
        Mapping mapping;
        mapping.range = segment.range;
        mapping.readable = segment.readable;
        mapping.writable = segment.writable;
        mapping.executable = segment.executable;
        if (const auto* file = file_at(core_, segment.range.begin)) {
            mapping.path = file->path;
            mapping.file_offset = file->file_offset + (segment.range.begin - file->range.begin);
        }
        mappings.push_back(std::move(mapping));
    }
    for (const auto& file : core_.files()) {
        const auto above =
            std::ranges::upper_bound(core_.segments(), file.range.begin, {},
                                     [](const CoreSegment& segment) { return segment.range.end; });
        if (above != core_.segments().end() && above->range.begin < file.range.end) {
            continue;
        }
        Mapping mapping;
        mapping.range = file.range;
        mapping.readable = memory_.gaps(file.range).empty();
        mapping.executable = executes(image_, file.range.begin);
        mapping.file_offset = file.file_offset;
        mapping.path = file.path;
        mappings.push_back(std::move(mapping));
    }
    auto sorted = Mappings::of(std::move(mappings));
    if (!sorted) {
        return wrap(core_.path().native(), sorted.error());
    }
    mappings_ = std::move(*sorted);
    return {};
}

void CoreTarget::find_arguments() {
    environment_ = environment_on_stack(core_, memory_);
    if (auto whole = arguments_on_stack(core_, memory_)) {
        arguments_ = std::move(*whole);
        return;
    }
    std::string_view rest = core_.process().arguments;
    while (!rest.empty()) {
        const auto end = std::min(rest.find(' '), rest.size());
        if (end > 0) {
            arguments_.emplace_back(rest.substr(0, end));
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

Result<std::int64_t> CoreTarget::boot_us() const {
    return fail(ErrorCode::kAbsent, "a core does not say when its process was started");
}

Result<std::uint64_t> CoreTarget::resident_bytes() const {
    return fail(ErrorCode::kAbsent, "a core does not say how much memory was resident");
}

Result<KernelMemory> CoreTarget::kernel_memory() const {
    return fail(ErrorCode::kUnsupported, "a core does not say what the kernel counted");
}

Result<std::vector<MappingUse>> CoreTarget::mapping_use() const {
    return fail(ErrorCode::kUnsupported, "a core does not say how much memory was resident");
}

}  // namespace beamdump::target
