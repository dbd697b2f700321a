#include "capture/capture.h"

#include "beam/node_tables.h"
#include "beam/vm_check.h"
#include "capture/clock.h"
#include "capture/node_capture.h"
#include "capture/process_capture.h"
#include "target/live_target.h"
#include "target/thread_stop.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace beamdump::capture {
namespace {

constexpr std::uint32_t kSlotsAtOnce = 1024;
/// Of a chain's members the smallest: a heap fragment's header, a link.
constexpr std::uint64_t kSmallestMemberBytes = 40;
constexpr std::uint64_t kManyBytes = std::uint64_t{1} << 40U;
/// auth holds a name and a table: more than this is no heap of its.
constexpr std::uint64_t kAuthHeapWords = 1U << 20U;

Result<std::optional<std::string>> read_layout(const std::optional<std::filesystem::path>& path) {
    if (!path) {
        return std::nullopt;
    }
    std::ifstream file(*path, std::ios::binary);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf())) {
        return fail(ErrorCode::kNotFound,
                    fmt::format("cannot read the layout file {}", path->string()));
    }
    return text.str();
}

/// One capture from the first look at the target to the finished dump.
class FreezeCapture {
  public:
    FreezeCapture(const CaptureOptions& options, std::unique_ptr<beam::Vm> vm,
                  ProgressListener& listener, const std::atomic<bool>& cancelled)
        : options_(options), vm_(std::move(vm)), listener_(listener), cancelled_(cancelled) {}

    Result<CaptureReport> run(DumpWriter writer);

  private:
    Result<void> copy_all(RegionCopier& copier);
    Result<void> find_cookies(beam::CodeLookup& code);
    Result<beam::Address> registered_as(std::string_view name, beam::AtomReader& atoms,
                                        const beam::AtomWords& words);
    Result<void> processes(beam::CodeLookup& code, RegionCopier& copier, BinaryStore& binaries);
    Result<void> batch(ProcessCapture& capture, std::span<const beam::ProcessSlot> slots);
    Result<void> checkpoint(std::string_view phase, std::uint64_t done,
                            std::optional<std::uint64_t> total, const DumpWriter& writer);

    const CaptureOptions& options_;
    std::unique_ptr<beam::Vm> vm_;
    ProgressListener& listener_;
    const std::atomic<bool>& cancelled_;
    Cookies cookies_;
    std::vector<std::string> arguments_;
    records::Trailer trailer_;
};

Result<void> FreezeCapture::checkpoint(std::string_view phase, std::uint64_t done,
                                       std::optional<std::uint64_t> total,
                                       const DumpWriter& writer) {
    if (cancelled_) {
        return fail(ErrorCode::kIo, "interrupted; the node runs on, the dump is not complete");
    }
    listener_.update({phase, done, total, vm_->bulk().stats().bytes, writer.stats().file_bytes});
    return {};
}

/// The process registered as `auth` holds the cookie; its state is in its heap.
Result<void> FreezeCapture::find_cookies(beam::CodeLookup& code) {
    if (auto arguments = vm_->target().arguments()) {
        arguments_ = std::move(*arguments);
        cookies_.take_arguments(arguments_);
    }
    auto atoms = beam::AtomReader::open(*vm_);
    auto words = beam::AtomWords::resolve(vm_->layout());
    auto reader = beam::ProcessReader::open(*vm_, code);
    if (!atoms || !words || !reader) {
        return std::unexpected(!atoms ? atoms.error() : !words ? words.error() : reader.error());
    }
    auto auth = registered_as("auth", *atoms, *words);
    if (!auth || *auth == 0) {
        return auth ? Result<void>() : std::unexpected(auth.error());
    }
    auto raw = beam::OwnedStruct::read(vm_->memory(), *auth, reader->bytes());
    if (!raw) {
        return std::unexpected(raw.error());
    }
    const auto heap = reader->heap_of(raw->view());
    const auto text_of = [&](std::uint32_t index) -> std::optional<std::string> {
        auto text = atoms->text(index);
        return text ? std::optional(*text) : std::nullopt;
    };
    for (const auto& span : {heap.young, heap.old}) {
        if (span.words() > kAuthHeapWords) {
            continue;
        }
        if (auto part = beam::read_words(vm_->bulk(), span.begin, span.words())) {
            cookies_.take_auth_heap(*part, *words, text_of);
        }
    }
    return {};
}

Result<beam::Address> FreezeCapture::registered_as(std::string_view name, beam::AtomReader& atoms,
                                                   const beam::AtomWords& words) {
    // The kernel's names are among the first atoms of any node.
    for (std::uint32_t index = 0; index < atoms.count(); ++index) {
        auto text = atoms.text(index);
        if (!text) {
            return std::unexpected(text.error());
        }
        if (*text == name) {
            return beam::registered_process(*vm_, words.word(index));
        }
    }
    return beam::Address{0};
}

Result<void> FreezeCapture::batch(ProcessCapture& capture,
                                  std::span<const beam::ProcessSlot> slots) {
    const std::size_t bytes = capture.structure_bytes();
    std::vector<std::byte> structures(slots.size() * bytes);
    std::vector<memory::BatchRead> reads(slots.size());
    for (std::size_t index = 0; index < slots.size(); ++index) {
        reads[index] = {slots[index].process, std::span(structures).subspan(index * bytes, bytes),
                        false};
    }
    if (auto done = vm_->bulk().read_batch(reads); !done) {
        return done;
    }
    for (std::size_t index = 0; index < slots.size(); ++index) {
        if (!reads[index].done) {
            continue;
        }
        if (auto done = capture.capture(slots[index], reads[index].into, 1); !done) {
            return done;
        }
    }
    return {};
}

Result<void> FreezeCapture::processes(beam::CodeLookup& code, RegionCopier& copier,
                                      BinaryStore& binaries) {
    auto table = beam::ProcessTable::open(*vm_);
    if (!table) {
        return std::unexpected(table.error());
    }
    IndexWriter index(copier.writer());
    const RegionCopier::Scrub scrub = [this](std::span<std::byte> bytes) {
        cookies_.scrub_aligned(bytes);
    };
    const RegionCopier::Scrub scrub_named = [this](std::span<std::byte> bytes) {
        cookies_.scrub(bytes);
    };
    auto capture = ProcessCapture::open(
        {*vm_, code, copier, binaries, index, scrub, scrub_named,
         vm_->target().resident_bytes().value_or(kManyBytes) / kSmallestMemberBytes});
    if (!capture) {
        return std::unexpected(capture.error());
    }
    std::uint64_t seen = 0;
    for (std::uint32_t first = 0; first < table->slots(); first += kSlotsAtOnce) {
        auto used = table->used(first, kSlotsAtOnce);
        if (!used) {
            return std::unexpected(used.error());
        }
        for (std::size_t at = 0; at < used->size(); at += 64) {
            const auto part =
                std::span(*used).subspan(at, std::min<std::size_t>(64, used->size() - at));
            if (auto done = batch(*capture, part); !done) {
                return done;
            }
            seen += part.size();
            if (auto done = checkpoint("processes", seen, table->count(), copier.writer()); !done) {
                return done;
            }
        }
    }
    if (auto done = binaries.finish(trailer_); !done) {
        return done;
    }
    auto& totals = *trailer_.mutable_totals();
    totals.MergeFrom(index.totals());
    totals.set_binaries(binaries.count());
    totals.set_binary_bytes(binaries.bytes());
    totals.set_binary_bytes_captured(binaries.captured_bytes());
    totals.set_words_captured(capture->words());
    if (binaries.unreadable() != 0) {
        trailer_.add_warning(fmt::format("{} binaries could not be read", binaries.unreadable()));
    }
    if (capture->unrecognised() != 0) {
        trailer_.add_warning(
            fmt::format("{} slots of the process table hold no process", capture->unrecognised()));
    }
    return index.finish(trailer_);
}

Result<void> FreezeCapture::copy_all(RegionCopier& copier) {
    // The node ran since its tables were found: look again, now that nothing moves.
    if (auto done = vm_->refresh(); !done) {
        return done;
    }
    auto code = beam::CodeLookup::read(*vm_);
    if (!code) {
        return std::unexpected(code.error());
    }
    if (auto done = find_cookies(*code); !done) {
        return done;
    }
    NodeCapture node(*vm_, copier, cookies_, trailer_);
    if (auto done = node.epoch(1, records::MEMORY_SOURCE_STOPPED); !done) {
        return done;
    }
    if (auto done = node.node(code->modules(), arguments_); !done) {
        return done;
    }
    if (auto done = node.atoms(); !done) {
        return done;
    }
    if (auto done = node.modules(code->modules()); !done) {
        return done;
    }
    if (auto done = node.tables(); !done) {
        return done;
    }
    auto binaries =
        BinaryStore::open(*vm_, copier, options_.binary_bytes,
                          [this](std::span<std::byte> bytes) { cookies_.scrub(bytes); });
    if (!binaries) {
        return std::unexpected(binaries.error());
    }
    if (auto done = node.literals(*binaries); !done) {
        return done;
    }
    return processes(*code, copier, *binaries);
}

Result<CaptureReport> FreezeCapture::run(DumpWriter writer) {
    const auto started = clock_ns(CLOCK_MONOTONIC);
    auto scheme = vm_->layout().constant("term_scheme");
    if (!scheme) {
        return std::unexpected(scheme.error());
    }
    RegionCopier copier(writer, vm_->bulk(),
                        vm_->target().has_swapped_pages() ? &vm_->target().pages() : nullptr,
                        static_cast<format::TermScheme>(*scheme));
    NodeCapture node(*vm_, copier, cookies_, trailer_);
    if (auto done = node.capture_record(options_, clock_ns(CLOCK_REALTIME) / 1000, started);
        !done) {
        return std::unexpected(done.error());
    }
    auto stop = target::ThreadStop::stop(vm_->target().pid());
    if (!stop) {
        return std::unexpected(stop.error());
    }
    auto copied = copy_all(copier);
    const auto cost = stop->resume();
    if (!copied) {
        if (!vm_->target().alive()) {
            return fail(ErrorCode::kTargetDied,
                        fmt::format("process {} ended while it was being captured; what was "
                                    "written until then can be opened",
                                    vm_->target().pid()));
        }
        return std::unexpected(copied.error());
    }
    auto& record = *trailer_.mutable_cost();
    auto& stopped = *record.add_stop();
    stopped.set_begin_monotonic_ns(cost.begin_monotonic_ns);
    stopped.set_length_ns(cost.length_ns);
    stopped.set_threads(cost.threads);
    record.set_total_stopped_ns(cost.length_ns);
    record.set_longest_stop_ns(cost.length_ns);
    record.set_elapsed_ns(clock_ns(CLOCK_MONOTONIC) - started);
    record.set_bytes_read(vm_->bulk().stats().bytes);
    record.set_reads(vm_->bulk().stats().reads);
    record.set_retries(0);
    trailer_.set_finished_us(clock_ns(CLOCK_REALTIME) / 1000);

    CaptureReport report;
    report.totals = trailer_.totals();
    report.cost = record;
    report.warnings.assign(trailer_.warning().begin(), trailer_.warning().end());
    report.otp_release = vm_->facts().otp_release;
    auto atoms = beam::AtomReader::open(*vm_);
    auto name = beam::read_node_name(*vm_);
    if (atoms && name) {
        report.node_name = atoms->text(name->atom).value_or("");
    }
    auto written = writer.finish(trailer_);
    if (!written) {
        return std::unexpected(written.error());
    }
    report.written = *written;
    return report;
}

}  // namespace

Result<CaptureReport> capture_node(const CaptureOptions& options, const MakeWriter& make_writer,
                                   ProgressListener& listener, const std::atomic<bool>& cancelled) {
    auto layout = read_layout(options.layout);
    if (!layout) {
        return std::unexpected(layout.error());
    }
    auto target = target::LiveTarget::open(options.pid);
    if (!target) {
        return std::unexpected(target.error());
    }
    auto vm = beam::Vm::locate(std::move(*target), *layout);
    if (!vm) {
        return std::unexpected(vm.error());
    }
    auto code = beam::CodeLookup::read(**vm);
    if (!code) {
        return std::unexpected(code.error());
    }
    if (auto checked = beam::check_vm(**vm, *code); !checked) {
        return std::unexpected(checked.error());
    }
    auto writer = make_writer();
    if (!writer) {
        return std::unexpected(writer.error());
    }
    return FreezeCapture(options, std::move(*vm), listener, cancelled).run(std::move(*writer));
}

}  // namespace beamdump::capture
