// Makes twins of a process, reads them and removes them; prints one JSON object a twin.
#include <libvm/memory/pagemap.h>
#include <libvm/memory/process_memory.h>
#include <libvm/target/image/mappings.h>
#include <libvm/target/stop/thread_stop.h>
#include <libvm/target/twin/twin.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace beamdump;

struct Options {
    pid_t pid = 0;
    target::TwinLimits limits;
    int repeat = 1;
    std::uint64_t read_bytes = 0;
    std::uint64_t hold_ms = 0;
    bool bare_stop = false;
    bool abandon = false;
    int forks = 0;
    int stops = 0;
};

int report(const Error& error) {
    fmt::print(stderr, "twin_driver: {}\n", error.message);
    return 1;
}

std::uint64_t hash_on(std::uint64_t hash, std::span<const std::byte> bytes) {
    for (const auto byte : bytes) {
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
    }
    return hash;
}

struct Content {
    std::uint64_t bytes = 0;
    std::uint64_t hash = 0xcbf29ce484222325;
};

/// Reads up to `most` bytes of the present pages of a process's private writable memory.
Result<Content> read_content(pid_t pid, std::uint64_t most) {
    const auto process = target::ProcDirectory::open(pid);
    auto memory = memory::ProcessMemory::open(pid, memory::ReadWay::kProcMem);
    auto pages = memory::Pagemap::open(pid);
    if (!process || !memory || !pages) {
        return fail(ErrorCode::kIo, "cannot open the twin");
    }
    const auto mappings = target::Mappings::parse(process->read("maps").value_or(""));
    if (!mappings) {
        return std::unexpected(mappings.error());
    }
    Content content;
    std::vector<std::byte> buffer(std::size_t{256} << 10U);
    for (const auto& mapping : mappings->all()) {
        if (!mapping.writable || mapping.shared) {
            continue;
        }
        const auto present = (*pages)->present(mapping.range);
        if (!present) {
            return std::unexpected(present.error());
        }
        for (auto range : *present) {
            while (range.begin < range.end && content.bytes < most) {
                const auto part =
                    std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), range.bytes()));
                if (auto read = (*memory)->read(range.begin, part); !read) {
                    return std::unexpected(read.error());
                }
                content.hash = hash_on(content.hash, part);
                content.bytes += part.size();
                range.begin += part.size();
            }
        }
    }
    return content;
}

/// The twin's memory in KiB: what only it has, and its page tables.
std::pair<std::string, std::string> memory_of(pid_t pid) {
    const auto process = target::ProcDirectory::open(pid);
    const auto number = [&](std::string_view file, std::string_view name) {
        const auto text = process ? process->read(file).value_or("") : "";
        const auto at = text.find(name);
        const auto digits = at == std::string::npos ? at : text.find_first_of("0123456789", at);
        return digits == std::string::npos
                   ? std::string("null")
                   : text.substr(digits, text.find_first_not_of("0123456789", digits) - digits);
    };
    return {number("smaps_rollup", "Private_Dirty:"), number("status", "VmPTE:")};
}

std::int64_t monotonic_us() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * std::int64_t{1'000'000} + time.tv_nsec / 1000;
}

/// How long fork(2) itself takes where as much memory is resident as in the process: in small pages
/// that came to be in no order, as a node's do.
int measure_forks(const Options& options) {
    const auto process = target::ProcDirectory::open(options.pid);
    const auto status = process ? process->read("status").value_or("") : "";
    const auto at = status.find("RssAnon:");
    const auto kib =
        at == std::string::npos ? 0 : std::strtoull(status.c_str() + at + 8, nullptr, 10);
    const std::size_t pages = kib * 1024 / kLeastPageBytes;
    void* const mapped = ::mmap(nullptr, pages * kLeastPageBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED || ::madvise(mapped, pages * kLeastPageBytes, MADV_NOHUGEPAGE) != 0) {
        return report({ErrorCode::kLimit, "no memory to fork with"});
    }
    const std::span memory(static_cast<char*>(mapped), pages * kLeastPageBytes);
    std::vector<std::size_t> order(pages);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, std::mt19937_64(1));
    for (const auto page : order) {
        memory[page * kLeastPageBytes] = 1;
    }
    std::vector<std::int64_t> lengths;
    for (int i = 0; i < options.forks; ++i) {
        memory[static_cast<std::size_t>(i)] = 2;
        const auto begin = monotonic_us();
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(0);
        }
        lengths.push_back(monotonic_us() - begin);
        ::waitpid(child, nullptr, 0);
    }
    fmt::print("{{\"resident_kib\":{},\"fork_us\":[{}]}}\n", kib, fmt::join(lengths, ","));
    return 0;
}

/// Bare stops of all threads, one after another.
int stop_often(const Options& options) {
    for (int i = 0; i < options.stops; ++i) {
        if (const auto stop = target::ThreadStop::stop(options.pid); !stop) {
            return report(stop.error());
        }
    }
    return 0;
}

int make_one(const Options& options) {
    std::int64_t bare_ns = 0;
    if (options.bare_stop) {
        auto stop = target::ThreadStop::stop(options.pid);
        if (!stop) {
            return report(stop.error());
        }
        bare_ns = stop->resume().length_ns;
    }
    auto twin = target::Twin::make(options.pid, options.limits);
    if (!twin) {
        return report(twin.error());
    }
    if (options.hold_ms > 0) {
        fmt::print(stderr, "twin_driver: holds the twin {}\n", twin->pid());
    }
    Content first;
    Content second;
    for (auto* content : {&first, &second}) {
        if (options.read_bytes > 0) {
            const auto read = read_content(twin->pid(), options.read_bytes);
            if (!read) {
                return report(read.error());
            }
            *content = *read;
        }
        const timespec hold{static_cast<time_t>(options.hold_ms / 1000),
                            static_cast<long>(options.hold_ms % 1000 * 1'000'000)};
        ::nanosleep(&hold, nullptr);
        if (auto good = twin->check(); !good) {
            return report(good.error());
        }
    }
    const auto [dirty, tables] = memory_of(twin->pid());
    fmt::print(
        "{{\"twin\":{},\"reaper\":{},\"stop_us\":{},\"fork_us\":{},\"bare_stop_us\":{},"
        "\"threads\":{},"
        "\"bytes\":{},\"same\":{},\"private_dirty_kib\":{},\"page_tables_kib\":{}}}\n",
        twin->pid(), twin->reaper(), twin->stop_cost().length_ns / 1000, twin->fork_ns() / 1000,
        bare_ns / 1000, twin->stop_cost().threads, first.bytes, first.hash == second.hash, dirty,
        tables);
    std::fflush(stdout);
    if (options.abandon) {
        ::_exit(0);
    }
    if (auto removed = twin->remove(); !removed) {
        return report(removed.error());
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    CLI::App app("Makes twins of a process, reads them and removes them.");
    Options options;
    app.add_option("PID", options.pid)->required();
    app.add_option("--thread", options.limits.threads, "name of a thread that may be borrowed");
    app.add_option("--repeat", options.repeat, "how many twins, one after another");
    app.add_option("--read", options.read_bytes, "read so many bytes of each, twice");
    app.add_option("--hold-ms", options.hold_ms, "wait so long after each reading");
    app.add_option("--copied-bytes", options.limits.copied_bytes, "budget of copied pages");
    app.add_flag("--bare-stop", options.bare_stop, "stop and resume all threads first");
    app.add_flag("--abandon", options.abandon, "end without removing the twin");
    app.add_option("--measure-fork", options.forks,
                   "instead, fork so often with as much memory as the process has");
    app.add_option("--stops", options.stops, "instead, stop and resume all threads so often");
    CLI11_PARSE(app, count, arguments);
    if (options.stops > 0) {
        return stop_often(options);
    }
    if (options.forks > 0) {
        return measure_forks(options);
    }
    for (int i = 0; i < options.repeat; ++i) {
        if (const int status = make_one(options); status != 0) {
            return status;
        }
    }
    return 0;
}
