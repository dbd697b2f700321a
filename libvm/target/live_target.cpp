#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libvm/memory/pagemap.h>
#include <libvm/memory/process_memory.h>
#include <libvm/target/image/vm_image.h>
#include <libvm/target/live_target.h>
#include <libvm/target/process/access.h>
#include <libvm/target/process/proc_lines.h>
#include <libvm/target/process/relatives.h>

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <ctime>
#include <elf.h>
#include <optional>
#include <tuple>
#include <unistd.h>

namespace beamdump::target {
namespace {

// A node with a million mappings has about 100 MB of text here.
constexpr std::size_t kMaxMappingsText = std::size_t{256} << 20U;
/// A kilobyte a mapping, of which there are 65,530 unless the kernel is told otherwise.

std::unexpected<Error> not_a_beam(std::string message) {
    return fail(ErrorCode::kNotABeam, std::move(message));
}

/// Refuses what is no process with memory of its own.
Result<void> check_kind(const ProcDirectory& process) {
    ASSIGN_OR_RETURN(const auto facts, process.facts());
    const pid_t pid = process.pid();
    if (facts.thread_group != pid) {
        return not_a_beam(fmt::format("{} is a thread ({}) of process {}: use the process's id",
                                      pid, facts.name, facts.thread_group));
    }
    if (facts.kernel_thread) {
        return not_a_beam(fmt::format(
            "process {} is the kernel thread {}, not an Erlang VM (beam.smp)", pid, facts.name));
    }
    if (facts.dead()) {
        return not_a_beam(
            fmt::format("process {} ({}) has exited (a zombie of its parent, process {}): its "
                        "memory is released",
                        pid, facts.name, facts.parent));
    }
    return {};
}

/// Says what the process is, and where the VM may be.
Error describe_other_program(const ProcDirectory& process) {
    const auto program = process.link("exe");
    if (!program && program.error().code == ErrorCode::kPermission) {
        // Who may read its mappings alone (CAP_PERFMON) does not see its files.
        return access_denied(process);
    }
    const auto sentence = fmt::format("process {} is {}, not an Erlang VM (beam.smp)",
                                      process.pid(), program.value_or("another program"));
    const auto relative = find_relative(process.pid(), running_processes(), runs_vm);
    return {ErrorCode::kNotABeam, relative
                                      ? fmt::format("{}; its {}, process {}, is one: use that",
                                                    sentence, relative->relation, relative->pid)
                                      : sentence};
}

/// A process that maps and unmaps while its mappings are read, piece by piece, may give some that
/// overlap: they are read again then.
Result<Mappings> read_mappings(const ProcDirectory& process) {
    constexpr int kTries = 20;
    for (int attempt = 1;; ++attempt) {
        const auto text = process.read("maps", kMaxMappingsText);
        if (!text) {
            return std::unexpected(text.error().code == ErrorCode::kPermission
                                       ? access_denied(process)
                                       : text.error());
        }
        if (text->empty()) {
            return fail(ErrorCode::kTargetDied,
                        fmt::format("process {} has exited", process.pid()));
        }
        auto mappings = Mappings::parse(*text);
        if (mappings || attempt == kTries) {
            return mappings;
        }
    }
}

/// Reads the first bytes of the VM's image: whether that is permitted shows only by doing it.
Result<void> check_readable(memory::MemorySource& memory, const VmImage& vm,
                            const ProcDirectory& process) {
    const auto magic = memory.value<std::array<char, SELFMAG>>(vm.image.begin());
    if (!magic) {
        return std::unexpected(magic.error().code == ErrorCode::kPermission ? access_denied(process)
                                                                            : magic.error());
    }
    if (std::memcmp(magic->data(), ELFMAG, SELFMAG) != 0) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{} should be loaded at {:#x} of process {}, but no ELF header is "
                                "there",
                                vm.path, vm.image.begin(), process.pid()));
    }
    return {};
}

std::int64_t clock_us(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return time.tv_sec * 1'000'000 + time.tv_nsec / 1000;
}

}  // namespace

Result<std::unique_ptr<LiveTarget>> LiveTarget::open(pid_t pid) {
    std::unique_ptr<LiveTarget> opened(new LiveTarget());
    auto& target = *opened;
    ASSIGN_OR_RETURN(auto process, ProcDirectory::open(pid));
    target.process_ = std::move(process);
    RETURN_IF_ERROR(check_kind(target.process_));
    RETURN_IF_ERROR(target.refresh_mappings());
    ASSIGN_OR_RETURN(auto found, find_vm_image(target.process_, target.mappings_));
    std::optional<VmImage> vm = std::move(found);
    if (!vm) {
        return std::unexpected(describe_other_program(target.process_));
    }
    auto memory = memory::ProcessMemory::open(pid);
    if (!memory) {
        return std::unexpected(memory.error());
    }
    RETURN_IF_ERROR(check_readable(**memory, *vm, target.process_));
    ASSIGN_OR_RETURN(auto pages, memory::Pagemap::open(pid));
    ASSIGN_OR_RETURN(const auto facts, target.process_.facts());
    target.executable_ = std::move(vm->path);
    target.image_ = std::move(vm->image);
    target.state_ = facts.state;
    target.memory_ = std::make_unique<memory::SwitchedMemory>(std::move(*memory), std::move(pages));
    return opened;
}

Result<void> LiveTarget::read_twin(pid_t twin) {
    // Not process_vm_readv: it pins pages, and then the kernel copies those that are shared.
    auto memory = memory::ProcessMemory::open(twin, memory::ReadWay::kProcMem);
    auto pages = memory::Pagemap::open(twin);
    auto process = ProcDirectory::open(twin);
    if (!memory || !pages || !process) {
        return wrap("the node's twin", !memory  ? memory.error()
                                       : !pages ? pages.error()
                                                : process.error());
    }
    twin_ = std::move(*process);
    auto left = memory_->exchange(std::move(*memory), std::move(*pages));
    if (!own_memory_) {
        std::tie(own_memory_, own_pages_) = std::move(left);
    }
    return {};
}

void LiveTarget::read_itself() {
    if (own_memory_) {
        memory_->exchange(std::move(own_memory_), std::move(own_pages_));
    }
}

Result<void> LiveTarget::refresh_mappings() {
    ASSIGN_OR_RETURN(auto mappings, read_mappings(own_memory_ ? twin_ : process_));
    mappings_ = std::move(mappings);
    return {};
}

Result<std::vector<std::string>> LiveTarget::arguments() const {
    return texts("cmdline");
}

Result<std::vector<std::string>> LiveTarget::environment() const {
    return texts("environ");
}

/// The texts of a file of the process, in which each ends in a zero.
Result<std::vector<std::string>> LiveTarget::texts(std::string_view file) const {
    ASSIGN_OR_RETURN(const auto text, process_.read(file));
    std::vector<std::string> texts;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\0', at), text.size());
        texts.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return texts;
}

Result<std::int64_t> LiveTarget::boot_us() const {
    ASSIGN_OR_RETURN(const auto facts, process_.facts());
    const auto ticks_a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
    const auto since_boot_us = facts.start_ticks * (1'000'000 / ticks_a_second);
    // btime of /proc/stat is the same in whole seconds.
    const auto system_boot_us = clock_us(CLOCK_REALTIME) - clock_us(CLOCK_BOOTTIME);
    return system_boot_us + static_cast<std::int64_t>(since_boot_us);
}

Result<std::uint64_t> LiveTarget::resident_bytes() const {
    ASSIGN_OR_RETURN(const auto text, process_.read("statm"));
    // "size resident shared ...", in pages
    const auto begin = text.find(' ') + 1;
    std::uint64_t pages = 0;
    const auto parsed = std::from_chars(text.data() + begin, text.data() + text.size(), pages);
    if (begin == 0 || parsed.ec != std::errc()) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("cannot parse {}", process_.path("statm")));
    }
    return pages * page_bytes();
}

Result<std::vector<MappingUse>> LiveTarget::mapping_use() const {
    ASSIGN_OR_RETURN(const auto mappings, read_mappings(process_));
    ASSIGN_OR_RETURN(const auto pages, memory::Pagemap::open(process_.pid()));
    std::vector<MappingUse> uses;
    uses.reserve(mappings.all().size());
    for (const auto& mapping : mappings.all()) {
        ASSIGN_OR_RETURN(const auto use, pages->use(mapping.range));
        uses.push_back({mapping, use.present, use.swapped});
    }
    return uses;
}

Result<KernelMemory> LiveTarget::kernel_memory() const {
    KernelMemory memory;
    if (const auto rollup = process_.read("smaps_rollup")) {
        memory.lazy_free_bytes = listed_bytes(*rollup, "LazyFree");
    }
    if (const auto room = HeadRoom::of(process_.pid())) {
        memory.cgroups = room->memory_cgroups();
    }
    return memory;
}

std::string LiveTarget::file_of(const Mapping& mapping) {
    return reachable_path(process_, mapping);
}

std::string LiveTarget::root() const {
    return process_.path("root");
}

bool LiveTarget::has_swapped_pages() const {
    const auto status = process_.read("status");
    return !status || listed_bytes(*status, "VmSwap") != 0;
}

bool LiveTarget::alive() const {
    const auto facts = process_.facts();
    return facts && !facts->dead();
}

}  // namespace beamdump::target
