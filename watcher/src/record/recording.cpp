#include "record/recording.h"

#include "dumps/dump_store.h"

#include <libdump/base/descriptor.h>
#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/base/write_all.h>
#include <libdump/write/append.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fcntl.h>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace beamdump::watch {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kFrameBytes = 64U << 10U;
constexpr std::int64_t kProcessesASecond = 1000;
constexpr std::string_view kSuffix = ".recording";
/// Behind it, while it is written anew.
constexpr std::string_view kUnnamed = ".new";

using SetField = void (records::HistoryReading::*)(std::uint64_t);
constexpr std::array<std::pair<Quantity, SetField>, 13> kFieldOf{
    {{Quantity::kMemory, &records::HistoryReading::set_used_bytes},
     {Quantity::kResident, &records::HistoryReading::set_resident_bytes},
     {Quantity::kTotal, &records::HistoryReading::set_total_bytes},
     {Quantity::kProcessesMemory, &records::HistoryReading::set_processes_bytes},
     {Quantity::kSystem, &records::HistoryReading::set_system_bytes},
     {Quantity::kBinary, &records::HistoryReading::set_binary_bytes},
     {Quantity::kCode, &records::HistoryReading::set_code_bytes},
     {Quantity::kEts, &records::HistoryReading::set_ets_bytes},
     {Quantity::kProcesses, &records::HistoryReading::set_processes},
     {Quantity::kPorts, &records::HistoryReading::set_ports},
     {Quantity::kAtoms, &records::HistoryReading::set_atoms},
     {Quantity::kRunQueue, &records::HistoryReading::set_run_queue},
     {Quantity::kLimitReached, &records::HistoryReading::set_limit_reached}}};

/// A file whose pages leave the page cache: they count as this program's memory.
class RecordingSink final : public ByteSink {
  public:
    RecordingSink(Descriptor file, std::string name)
        : file_(std::move(file)), name_(std::move(name)) {}

    Result<void> write(std::span<const std::byte> bytes) override {
        const auto outcome = write_all(file_.get(), bytes);
        written_ += outcome.written;
        if (outcome.error_number != 0) {
            return failed(outcome.error_number);
        }
        drop_pages();
        return {};
    }
    Result<void> commit() override {
        if (::fdatasync(file_.get()) != 0) {
            return failed(errno);
        }
        ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
        return {};
    }

  private:
    [[nodiscard]] std::unexpected<Error> failed(int error_number) const {
        return fail(is_no_space(error_number) ? ErrorCode::kNoSpace : ErrorCode::kIo,
                    fmt::format("cannot write to {}: {}", name_, system_error_text(error_number)));
    }
    /// Starts the way to the disk of what came since, and drops what has arrived there. The page
    /// that is not full stays: it would be read again.
    void drop_pages() {
        constexpr std::uint64_t kPart = 16U << 10U;
        if (written_ - started_ < kPart) {
            return;
        }
        const auto from = static_cast<off_t>(started_ / page_bytes() * page_bytes());
        ::posix_fadvise(file_.get(), 0, from, POSIX_FADV_DONTNEED);
        ::sync_file_range(file_.get(), from, static_cast<off_t>(written_) - from,
                          SYNC_FILE_RANGE_WRITE);
        started_ = written_;
    }

    Descriptor file_;
    std::string name_;
    std::uint64_t written_ = 0;
    std::uint64_t started_ = 0;
};

}  // namespace

records::HistoryReading reading_of(const Measurements& measured) {
    records::HistoryReading reading;
    for (const auto& [quantity, set] : kFieldOf) {
        if (const auto found = measured.find(quantity); found != measured.end()) {
            (reading.*set)(static_cast<std::uint64_t>(found->second.value));
        }
    }
    if (const auto memory = measured.find(Quantity::kMemory);
        memory != measured.end() && memory->second.whole) {
        reading.set_limit_bytes(static_cast<std::uint64_t>(*memory->second.whole));
    }
    if (const auto pressure = measured.find(Quantity::kPressure); pressure != measured.end()) {
        constexpr double kTenths = 10;
        reading.set_pressure_tenths(
            static_cast<std::uint64_t>(std::lround(pressure->second.value * kTenths)));
    }
    return reading;
}

const std::set<Quantity>& recorded_quantities() {
    static const auto kAll = [] {
        std::set<Quantity> all{Quantity::kPressure};
        for (const auto& [quantity, set] : kFieldOf) {
            all.insert(quantity);
        }
        return all;
    }();
    return kAll;
}

milliseconds RecordingLimits::scan_time(std::uint64_t processes) const {
    constexpr std::int64_t kMilliseconds = 1000;
    return std::max(
        {least_scan_time, span / kMostScans,
         milliseconds(static_cast<std::int64_t>(processes) * kMilliseconds / kProcessesASecond)});
}

Recording::Recording(std::filesystem::path file, const RecordingLimits& limits,
                     records::Capture capture, records::Node node)
    : file_(std::move(file)),
      limits_(limits),
      capture_(std::move(capture)),
      node_(std::move(node)) {}

std::set<std::uint32_t> Recording::atoms_of(const records::History& history) const {
    std::set<std::uint32_t> atoms{node_.name_atom()};
    const auto add_function = [&](const records::Mfa& function) {
        atoms.insert({function.module_atom(), function.function_atom()});
    };
    const auto add_process = [&](const auto& process) {
        if (process.has_registered_name_atom()) {
            atoms.insert(process.registered_name_atom());
        }
        if (process.has_initial_call()) {
            add_function(process.initial_call());
        }
    };
    for (const auto& reading : history.reading()) {
        std::ranges::for_each(reading.scan().process(), add_process);
    }
    for (const auto& profile : history.profile()) {
        std::ranges::for_each(profile.process(), add_process);
        for (const auto& code : profile.code()) {
            if (code.has_function()) {
                add_function(code.function());
            }
        }
    }
    return atoms;
}

void Recording::forget_old(milliseconds now) {
    constexpr auto kMost = RecordingLimits::kMostReadings + RecordingLimits::kMostProfiles;
    while (!kept_.empty() &&
           (now - kept_.front().at > limits_.span || std::cmp_greater(kept_.size(), kMost))) {
        kept_.pop_front();
    }
}

Result<void> Recording::add(milliseconds now, const records::HistoryReading& reading,
                            const AtomText& atom_text) {
    records::History page;
    *page.add_reading() = reading;
    return keep(now, page, atom_text);
}

Result<void> Recording::add(milliseconds now, const records::Samples& profile,
                            const AtomText& atom_text) {
    records::History page;
    *page.add_profile() = profile;
    return keep(now, page, atom_text);
}

Result<void> Recording::keep(milliseconds now, const records::History& page,
                             const AtomText& atom_text) {
    kept_.push_back({now, page.SerializeAsString()});
    forget_old(now);
    for (const auto atom : atoms_of(page)) {
        if (!atoms_.contains(atom)) {
            if (auto text = atom_text(atom)) {
                atoms_.emplace(atom, std::move(*text));
            }
        }
    }
    if (failed_ && now - *failed_ < kTryAgain) {
        return {};
    }
    const auto written = write(now, page);
    failed_.reset();
    if (!written) {
        writer_.reset();
        failed_ = now;
    }
    return written;
}

Result<void> Recording::write(milliseconds now, const records::History& page) {
    return !writer_ || now - begun_ > limits_.span + limits_.span / 2 ? rewrite(now) : append(page);
}

Result<void> Recording::append(records::History page) {
    RETURN_IF_ERROR(append_atoms_of(atoms_of(page)));
    RETURN_IF_ERROR(append_history(*writer_, std::move(page), trailer_));
    return writer_->flush();
}

Result<void> Recording::append_atoms_of(const std::set<std::uint32_t>& atoms) {
    for (const auto atom : atoms) {
        const auto text = atoms_.find(atom);
        if (text == atoms_.end() || !in_file_.insert(atom).second) {
            continue;
        }
        records::Atoms page;
        page.set_first_index(atom);
        page.add_text(text->second);
        RETURN_IF_ERROR(append_atoms(*writer_, page, trailer_));
    }
    return {};
}

Result<void> Recording::begin_file() {
    const auto name = file_.string() + std::string(kUnnamed);
    Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                           S_IRUSR | S_IWUSR));
    if (!file.valid()) {
        return std::unexpected(cannot_open(name));
    }
    ASSIGN_OR_RETURN(auto writer,
                     DumpWriter::create(std::make_unique<RecordingSink>(std::move(file), file_),
                                        {.threads = 1, .frame_bytes = kFrameBytes, .buffers = 2}));
    writer_.emplace(std::move(writer));
    trailer_.Clear();
    in_file_.clear();
    ASSIGN_OR_RETURN(const auto capture, writer_->append(format::RecordKind::kCapture, capture_));
    trailer_.set_capture_offset(capture);
    ASSIGN_OR_RETURN(const auto node, writer_->append(format::RecordKind::kNode, node_));
    trailer_.set_node_offset(node);
    return {};
}

Result<void> Recording::rewrite(milliseconds now) {
    RETURN_IF_ERROR(begin_file());
    auto all = history();
    const auto named = atoms_of(all);
    std::erase_if(atoms_, [&](const auto& atom) { return !named.contains(atom.first); });
    RETURN_IF_ERROR(append_atoms_of(named));
    RETURN_IF_ERROR(append_history(*writer_, std::move(all), trailer_));
    RETURN_IF_ERROR(writer_->flush());
    const auto unnamed = file_.string() + std::string(kUnnamed);
    if (std::rename(unnamed.c_str(), file_.c_str()) != 0) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot rename {}: {}", unnamed, system_error_text(errno)));
    }
    begun_ = kept_.empty() ? now : kept_.front().at;
    return {};
}

Result<void> Recording::finish(const records::History& last) {
    if (kept_.empty()) {
        return {};
    }
    if (!writer_) {
        RETURN_IF_ERROR(rewrite(kept_.back().at));
    }
    RETURN_IF_ERROR(append_history(*writer_, last, trailer_));
    trailer_.set_finished_us(target::clock_ns(CLOCK_REALTIME) / 1000);
    const auto finished = writer_->finish(trailer_);
    writer_.reset();
    return finished ? Result<void>() : std::unexpected(finished.error());
}

records::History Recording::history() const {
    records::History all;
    for (const auto& kept : kept_) {
        all.MergeFromString(kept.page);
    }
    return all;
}

std::string recording_name(std::string_view node, std::chrono::sys_seconds at) {
    return fmt::format("{}-{}{}", file_part(node), time_part(at), kSuffix);
}

void remove_recordings(const std::filesystem::path& folder, std::string_view node,
                       std::size_t keep) {
    constexpr std::chrono::minutes kShort{1};
    const auto begin = file_part(node) + "-";
    // Those that go first come first.
    std::vector<std::tuple<bool, std::chrono::sys_seconds, std::filesystem::path>> files;
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(folder, error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const auto name = entry->path().filename().string();
        const auto suffix = name.find(kSuffix);
        if (!name.starts_with(begin) || suffix == std::string::npos) {
            continue;
        }
        const auto at =
            parse_time_part(std::string_view(name).substr(begin.size(), suffix - begin.size()));
        const auto rest = std::string_view(name).substr(suffix + kSuffix.size());
        struct stat facts{};
        if (!at || ::stat(entry->path().c_str(), &facts) != 0) {
            continue;
        }
        std::error_code gone;
        if (rest == kUnnamed) {
            std::filesystem::remove(entry->path(), gone);
        } else if (rest.empty()) {
            const std::chrono::sys_seconds last{std::chrono::seconds(facts.st_mtime)};
            files.emplace_back(last - *at >= kShort, *at, entry->path());
        }
    }
    std::ranges::sort(files);
    const auto too_many = files.size() - std::min(files.size(), keep);
    for (const auto& [is_long, at, path] : std::span(files).first(too_many)) {
        std::error_code gone;
        std::filesystem::remove(path, gone);
    }
}

}  // namespace beamdump::watch
