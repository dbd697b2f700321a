#include <libdump/base/return_if_error.h>
#include <libvm/target/image/vm_image.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <set>
#include <sys/stat.h>

namespace beamdump::target {
namespace {

constexpr std::size_t kMaxMappedFilesSearched = 256;
// Nothing that executes Erlang is as large; what is larger is not searched for strings.
constexpr std::uint64_t kMaxBytesSearched = std::uint64_t{256} << 20U;

/// Strings of every VM since OTP R16, in two halves: whole, they would be strings of this program
/// too, and it would take itself for a VM.
std::array<std::string, 4> vm_strings() {
    const auto whole = [](std::string_view first, std::string_view second) {
        return std::string(1, '\0').append(first).append(second).append(1, '\0');
    };
    return {whole("ERL_CRASH_", "DUMP_SECONDS"), whole("erl_crash", ".dump"), whole("atom_", "tab"),
            whole("module_", "code")};
}

bool defines_vm_names(const ElfImage& image) {
    const auto defines = [&](std::string_view name) { return image.symbol(name).has_value(); };
    if (defines("etp_otp_release") || defines("etp_erts_version")) {
        return true;
    }
    return defines("enif_make_atom") && defines("enif_send") && defines("driver_output_term");
}

/// Reads the file in overlapping parts; true when all strings were seen.
bool holds_vm_strings(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    const auto wanted = vm_strings();
    std::array<bool, 4> seen{};
    std::string part;
    std::string next(std::size_t{1} << 20U, '\0');
    for (std::uint64_t read = 0; in && read < kMaxBytesSearched;) {
        in.read(next.data(), static_cast<std::streamsize>(next.size()));
        const auto got = static_cast<std::size_t>(in.gcount());
        read += got;
        part.erase(0, part.size() - std::min<std::size_t>(part.size(), 64)).append(next, 0, got);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            seen[i] = seen[i] || part.find(wanted[i]) != std::string::npos;
        }
    }
    return std::ranges::all_of(seen, std::identity());
}

/// A mapped executable file.
struct Candidate {
    const Mapping* first = nullptr;  ///< its lowest mapping
    std::string file;                ///< where to open it
};

}  // namespace

std::string reachable_path(const ProcDirectory& process, const Mapping& mapping) {
    auto exact =
        process.path(fmt::format("map_files/{:x}-{:x}", mapping.range.begin, mapping.range.end));
    if (std::ifstream(exact)) {
        return exact;
    }
    auto by_name = process.path("root") + mapping.path;
    struct stat status{};
    const bool same = ::stat(by_name.c_str(), &status) == 0 && status.st_ino == mapping.inode;
    if (!same) {
        by_name.clear();
    }
    return by_name;
}

namespace {

/// The program itself first, then every other file with an executable mapping.
std::vector<Candidate> candidates(const ProcDirectory& process, const Mappings& mappings) {
    const auto program = process.link("exe");
    std::vector<Candidate> found;
    std::set<std::string, std::less<>> known;
    for (const auto& mapping : mappings.all()) {
        const bool file = mapping.executable && mapping.path.starts_with('/');
        if (!file || !known.insert(mapping.path).second || known.size() > kMaxMappedFilesSearched) {
            continue;
        }
        const auto* first = mappings.first_of(mapping.path);
        const bool is_program = program && *program == mapping.path;
        Candidate candidate{first,
                            is_program ? process.path("exe") : reachable_path(process, *first)};
        if (!candidate.file.empty()) {
            found.insert(is_program ? found.begin() : found.end(), std::move(candidate));
        }
    }
    return found;
}

/// Moves an image to where the target has it, and checks that its segments lie in its mappings.
Result<VmImage> place(ElfImage image, const Mapping& first, const Mappings& mappings) {
    image.move_by(first.range.begin - image.begin());
    for (const auto& range : image.executable()) {
        const auto* mapping = mappings.find(range.begin);
        const bool right = mapping != nullptr && mapping->path == first.path &&
                           mapping->executable && mappings.readable(range);
        if (!right || first.file_offset != 0) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("the mappings of {} do not match its headers: its code should "
                                    "be at {:#x}-{:#x}",
                                    first.path, range.begin, range.end));
        }
    }
    return VmImage{first.path, std::move(image)};
}

}  // namespace

bool is_vm(const ElfImage& image, const std::string& file) {
    return defines_vm_names(image) || holds_vm_strings(file);
}

Result<std::optional<VmImage>> find_vm_image(const ProcDirectory& process,
                                             const Mappings& mappings) {
    for (const auto& candidate : candidates(process, mappings)) {
        auto image = ElfImage::open(candidate.file, 0);
        if (!image || !is_vm(*image, candidate.file)) {
            continue;
        }
        ASSIGN_OR_RETURN(auto placed, place(std::move(*image), *candidate.first, mappings));
        return std::optional(std::move(placed));
    }
    return std::nullopt;
}

bool runs_vm(pid_t pid) {
    const auto image = ElfImage::open(fmt::format("/proc/{}/exe", pid), 0);
    return image && defines_vm_names(*image);
}

}  // namespace beamdump::target
