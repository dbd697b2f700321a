#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libvm/target/core/core_arguments.h>
#include <libvm/target/core/core_file.h>
#include <libvm/target/core/core_memory.h>
#include <libvm/target/core/core_target.h>
#include <libvm/target/image/vm_image.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <span>

namespace beamdump::target {
namespace {

using memory::AddressRange;

constexpr std::size_t kMaxCoreFilesSearched = 256;

/// A file that was mapped from its start on.
struct Mapped {
    std::string path;
    std::vector<CoreMappedFile> parts;  ///< ascending
    // By its first page in the core; empty: unknown.
    std::string build_id;
    std::vector<Segment> segments;
    [[nodiscard]] memory::Address begin() const { return parts.front().range.begin; }
    [[nodiscard]] bool holds(std::optional<std::uint64_t> address) const {
        return address && std::ranges::any_of(parts, [&](const CoreMappedFile& part) {
                   return part.range.contains(*address);
               });
    }
};

/// The ELF files of a core, its program first.
std::vector<Mapped> mapped_files(const CoreFile& core, CoreMemory& memory) {
    std::map<std::string, Mapped, std::less<>> by_path;
    for (const auto& part : core.files()) {
        auto& mapped = by_path[part.path];
        mapped.path = part.path;
        mapped.parts.push_back(part);
    }
    std::vector<Mapped> files;
    for (auto& [path, mapped] : by_path) {
        if (path.starts_with('/') && mapped.parts.front().file_offset == 0) {
            files.push_back(std::move(mapped));
        }
    }
    std::ranges::stable_partition(
        files, [&](const Mapped& file) { return file.holds(core.auxiliary(AT_PHDR)); });
    files.resize(std::min(files.size(), kMaxCoreFilesSearched));
    for (auto& file : files) {
        std::vector<std::byte> page(kLeastPageBytes);
        if (memory.read(file.begin(), page)) {
            file.build_id = build_id_of(page);
            file.segments = segments_of(page);
        }
    }
    return files;
}

/// Files are mapped by whole pages of the core's machine.
std::vector<AddressRange> whole_pages(const std::vector<AddressRange>& ranges, std::uint64_t page) {
    std::vector<AddressRange> pages;
    pages.reserve(ranges.size());
    for (const auto& range : ranges) {
        pages.push_back({range.begin / page * page, (range.end + page - 1) / page * page});
    }
    return pages;
}

/// The parts of `range` that are in none of `others`.
std::vector<AddressRange> without(AddressRange range, const std::vector<AddressRange>& others) {
    std::vector<AddressRange> left{range};
    for (const auto& other : others) {
        std::vector<AddressRange> next;
        for (const auto& part : left) {
            for (const auto piece : {AddressRange{part.begin, std::min(part.end, other.begin)},
                                     AddressRange{std::max(part.begin, other.end), part.end}}) {
                if (piece.begin < piece.end) {
                    next.push_back(piece);
                }
            }
        }
        left = std::move(next);
    }
    return left;
}

/// Opens a file at a path that the core says, which may be anything: only a file is opened.
Result<ElfImage> open_path(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("there is no such file here{}",
                                error ? fmt::format(" ({})", error.message()) : ""));
    }
    return ElfImage::open(path, 0);
}

/// Adds what the core leaves out of a file's code and constants.
Result<void> add_from_file(const ElfImage& image, const Mapped& mapped,
                           const std::filesystem::path& file, const CoreFile& core,
                           CoreMemory& memory) {
    Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor.valid()) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot open {}: {}", file.native(), system_error_text(errno)));
    }
    auto constant = whole_pages(image.read_only(), core.page_bytes());
    const auto code = whole_pages(image.executable(), core.page_bytes());
    constant.insert(constant.end(), code.begin(), code.end());
    const auto written = whole_pages(image.writable(), core.page_bytes());
    const auto number = memory.add_file(std::move(descriptor), file.native());
    for (const auto& part : mapped.parts) {
        for (const auto& range : constant) {
            const AddressRange shared{std::max(part.range.begin, range.begin),
                                      std::min(part.range.end, range.end)};
            if (shared.begin >= shared.end) {
                continue;
            }
            for (const auto& piece : without(shared, written)) {
                memory.add(piece, number, part.file_offset + (piece.begin - part.range.begin));
            }
        }
    }
    return {};
}

std::string subject(const CoreFile& core) {
    return fmt::format("{} (process {})", core.path().native(), core.process().pid);
}

std::unexpected<Error> other_build(const CoreFile& core, const Mapped& mapped,
                                   const std::filesystem::path& file, const ElfImage& image) {
    const bool neither = image.build_id().empty() && mapped.build_id.empty();
    const auto difference =
        neither ? std::string("neither has a build id, and their entry points or segments differ")
                : fmt::format("its build id is {}, the core's is {}",
                              image.build_id().empty() ? "unknown" : image.build_id(),
                              mapped.build_id.empty() ? "unknown" : mapped.build_id);
    return fail(ErrorCode::kImplausible,
                fmt::format("{} is not the executable of {}, {}: {}; give the right one with --exe",
                            file.native(), subject(core), mapped.path, difference));
}

/// By build ids or, where neither has one, by all else that the core
/// says.
bool is_same(const CoreFile& core, const Mapped& mapped, const ElfImage& image) {
    if (!image.build_id().empty() || !mapped.build_id.empty()) {
        return image.build_id() == mapped.build_id;
    }
    return core.auxiliary(AT_ENTRY) == image.entry() &&
           (mapped.segments.empty() || mapped.segments == image.segments());
}

/// Opens a file as the one that was mapped. kImplausible: it is another one.
Result<ElfImage> open_mapped(const CoreFile& core, const Mapped& mapped,
                             const std::filesystem::path& file) {
    auto image = open_path(file);
    if (!image) {
        return image;
    }
    image->move_by(mapped.begin() - image->begin());
    if (!is_same(core, mapped, *image)) {
        return other_build(core, mapped, file, *image);
    }
    return image;
}

/// The VM by a file that was named: the one that was mapped with the same build.
Result<VmImage> find_named(const CoreFile& core, const std::vector<Mapped>& files,
                           const std::filesystem::path& named, CoreMemory& memory) {
    ASSIGN_OR_RETURN(const auto plain, ElfImage::open(named, 0));
    if (!is_vm(plain, named)) {
        return fail(ErrorCode::kNotABeam,
                    fmt::format("{} is not an Erlang VM (beam.smp)", named.native()));
    }
    for (const auto& mapped : files) {
        if (auto image = open_mapped(core, mapped, named)) {
            auto added = add_from_file(*image, mapped, named, core, memory);
            return added ? Result<VmImage>(VmImage{mapped.path, std::move(*image)})
                         : std::unexpected(added.error());
        }
    }
    return other_build(core, files.front(), named, plain);
}

std::unexpected<Error> no_vm(const CoreFile& core, const Mapped& program, const Error* unopened) {
    if (unopened != nullptr) {
        return fail(
            ErrorCode::kNotFound,
            fmt::format("{} is a core of {}, which is needed for the pages that the core leaves "
                        "out: {}; copy it from the node's machine and give it with --exe",
                        subject(core), program.path, unopened->message));
    }
    return fail(ErrorCode::kNotABeam, fmt::format("{} is a core of {}, not of an Erlang VM "
                                                  "(beam.smp)",
                                                  subject(core), program.path));
}

/// The VM by the paths that the core names: its program, or, where that is a loader such as ld.so,
/// another of its files.
Result<VmImage> find_by_path(const CoreFile& core, const std::vector<Mapped>& files,
                             CoreMemory& memory) {
    std::optional<Error> unopened;
    for (const auto& mapped : files) {
        const bool is_program = &mapped == &files.front();
        const auto plain = open_path(mapped.path);
        if (!plain || !is_vm(*plain, mapped.path)) {
            unopened = is_program && !plain ? std::optional(plain.error()) : unopened;
            continue;
        }
        ASSIGN_OR_RETURN(auto image, open_mapped(core, mapped, mapped.path));
        auto added = add_from_file(image, mapped, mapped.path, core, memory);
        return added ? Result<VmImage>(VmImage{mapped.path, std::move(image)})
                     : std::unexpected(added.error());
    }
    return no_vm(core, files.front(), unopened ? &*unopened : nullptr);
}

/// What can be had of the libraries; those that are not here, or others, are skipped.
void add_libraries(const CoreFile& core, const std::vector<Mapped>& files, const VmImage& vm,
                   CoreMemory& memory) {
    for (const auto& mapped : files) {
        if (mapped.path == vm.path || mapped.build_id.empty()) {
            continue;
        }
        if (const auto image = open_mapped(core, mapped, mapped.path)) {
            // One that cannot be opened a second time is skipped like one that is not here.
            [[maybe_unused]] const auto added =
                add_from_file(*image, mapped, mapped.path, core, memory);
        }
    }
}

/// Finds the Erlang VM among the files that a core's process had mapped, and adds to `memory` what
/// the core leaves out of it and of the libraries: code and constants, from the files themselves.
///
/// A file counts only where it is the one that was mapped: its build id is that of its first page
/// in the core. Where neither has one, the VM's is taken by its entry point (AT_ENTRY). Of a file
/// only segments that cannot be written to are taken, for what was written is not in it.
///
/// `executable`: the VM's file, instead of the one at the path that the core names. kNotABeam: the
/// core is another program's. kNotFound: the executable is not there; --exe names it. kImplausible:
/// it is another build than the one that ran.
Result<VmImage> find_core_image(const CoreFile& core, CoreMemory& memory,
                                const std::optional<std::filesystem::path>& executable) {
    const auto files = mapped_files(core, memory);
    if (files.empty()) {
        return fail(ErrorCode::kNotABeam,
                    fmt::format("{} is a core of {}, which had no program mapped from a file",
                                subject(core), core.process().name));
    }
    auto vm = executable ? find_named(core, files, *executable, memory)
                         : find_by_path(core, files, memory);
    if (vm) {
        add_libraries(core, files, *vm, memory);
    }
    return vm;
}

/// What is before `seen` in `here`: the root below which a program was found; empty for this one.
std::string root_before(const std::filesystem::path& here, const std::string& seen) {
    std::error_code error;
    const auto whole = std::filesystem::absolute(here, error).lexically_normal().native();
    return !error && whole.ends_with(seen) ? whole.substr(0, whole.size() - seen.size())
                                           : std::string();
}

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

bool executes(const ElfImage& image, memory::Address address, std::uint64_t page) {
    return std::ranges::any_of(image.executable(), [&](const AddressRange& range) {
        return range.begin / page * page <= address && address < range.end;
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
    target.program_ = executable.value_or(target.executable_).native();
    target.root_ = executable ? root_before(*executable, target.executable_) : std::string();
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
        mapping.executable = executes(image_, file.range.begin, core_.page_bytes());
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

std::string CoreTarget::file_of(const Mapping& mapping) {
    if (mapping.path == executable_) {
        return program_;
    }
    Mapped mapped{.path = mapping.path,
                  .parts = {{mapping.range, mapping.file_offset, mapping.path}},
                  .build_id = {},
                  .segments = {}};
    std::vector<std::byte> page(kLeastPageBytes);
    if (mapping.file_offset != 0 || !memory_.read(mapped.begin(), page)) {
        return {};
    }
    mapped.build_id = build_id_of(page);
    mapped.segments = segments_of(page);
    for (const auto& file : {root_ + mapping.path, mapping.path}) {
        const auto image = open_path(file);
        const bool same = image && (image->build_id().empty() && mapped.build_id.empty()
                                        ? image->segments() == mapped.segments
                                        : image->build_id() == mapped.build_id);
        if (same) {
            return file;
        }
    }
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
