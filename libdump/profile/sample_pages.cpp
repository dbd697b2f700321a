#include <libdump/base/return_if_error.h>
#include <libdump/profile/report_parts.h>
#include <libdump/profile/sample_pages.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <utility>

namespace beamdump {
namespace {

// Pages end with the entry that passes this.
constexpr std::size_t kPageBytes = std::size_t{64} << 10U;
// Approximate overhead of an entry.
constexpr std::size_t kRecordBytes = 32;
// A text that a sample refers to, with its allocation, about.
constexpr std::uint64_t kTextBytes = 160;
// Names, processes and threads of a dump: this program writes less than SampleLog::kMostBytes.
constexpr std::uint64_t kMostReadBytes = std::uint64_t{64} << 20U;
// The bound of all samples, each with the texts of all that it refers to: what is counted takes
// less.
constexpr std::uint64_t kMostCountedBytes = std::uint64_t{512} << 20U;

constexpr std::array<std::pair<SampleKind, records::SampleKind>, 8> kKinds = {
    {{SampleKind::kExact, records::SAMPLE_KIND_EXACT},
     {SampleKind::kFunctionOnly, records::SAMPLE_KIND_FUNCTION_ONLY},
     {SampleKind::kReadAfter, records::SAMPLE_KIND_READ_AFTER},
     {SampleKind::kAllReadAfter, records::SAMPLE_KIND_ALL_READ_AFTER},
     {SampleKind::kProcessOnly, records::SAMPLE_KIND_PROCESS_ONLY},
     {SampleKind::kEmulator, records::SAMPLE_KIND_EMULATOR},
     {SampleKind::kOtherThread, records::SAMPLE_KIND_OTHER_THREAD},
     {SampleKind::kReading, records::SAMPLE_KIND_READING}}};
constexpr std::array<std::pair<UnknownCallers, records::UnknownCallers>, 7> kUnknown = {
    {{UnknownCallers::kNone, records::UNKNOWN_CALLERS_NONE},
     {UnknownCallers::kHalfMadeFrame, records::UNKNOWN_CALLERS_HALF_MADE_FRAME},
     {UnknownCallers::kBetweenFunctions, records::UNKNOWN_CALLERS_BETWEEN_FUNCTIONS},
     {UnknownCallers::kNoStack, records::UNKNOWN_CALLERS_NO_STACK},
     {UnknownCallers::kWentOn, records::UNKNOWN_CALLERS_WENT_ON},
     {UnknownCallers::kNotUnwound, records::UNKNOWN_CALLERS_NOT_UNWOUND},
     {UnknownCallers::kDirty, records::UNKNOWN_CALLERS_DIRTY}}};

template <typename Own, typename Recorded, std::size_t N>
Recorded recorded(const std::array<std::pair<Own, Recorded>, N>& pairs, Own own) {
    for (const auto& [ours, theirs] : pairs) {
        if (ours == own) {
            return theirs;
        }
    }
    return {};
}

/// Nothing: of a later version.
template <typename Own, typename Recorded, std::size_t N>
std::optional<Own> known(const std::array<std::pair<Own, Recorded>, N>& pairs, Recorded recorded) {
    for (const auto& [ours, theirs] : pairs) {
        if (theirs == recorded) {
            return ours;
        }
    }
    return std::nullopt;
}

std::unexpected<Error> no_such(std::string_view what, std::uint32_t number) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the dump's samples refer to {} {}, which is not there", what, number));
}

records::SampledTime time_of(const ProfileReport& report, const SampleLog& log) {
    records::SampledTime time;
    time.set_began_us(report.began_us);
    time.set_took_ns(report.took_ns);
    time.set_rate(report.rate);
    time.set_readings(report.readings);
    if (report.readings) {
        time.set_without_process(report.without_process);
    } else {
        time.set_kernel_sampled(report.kernel_seen);
    }
    time.set_lost(report.lost);
    time.set_left_out(log.left_out());
    if (report.delay_ns && report.longest_delay_ns) {
        time.set_median_delay_ns(*report.delay_ns);
        time.set_longest_delay_ns(*report.longest_delay_ns);
    }
    for (const auto& [reason, threads] : report.not_sampled) {
        auto& entry = *time.add_not_sampled();
        entry.set_reason(reason);
        entry.set_threads(threads);
    }
    for (const auto& remark : report.remarks) {
        time.add_remark(remark);
    }
    time.set_cut_short(report.cut_short);
    return time;
}

records::Mfa record_of(const FunctionAtoms& function) {
    records::Mfa record;
    record.set_module_atom(function.module);
    record.set_function_atom(function.function);
    record.set_arity(function.arity);
    return record;
}

records::SampledProcess record_of(const SampleLog::Process& process) {
    records::SampledProcess record;
    record.set_owner_id(process.owner_id);
    if (process.registered_atom) {
        record.set_registered_name_atom(*process.registered_atom);
    }
    if (process.initial_call) {
        *record.mutable_initial_call() = record_of(*process.initial_call);
    }
    return record;
}

records::SampledThread record_of(const SampleLog::Thread& thread) {
    records::SampledThread record;
    record.set_os_id(thread.id);
    record.set_name(thread.name);
    if (thread.scheduler) {
        record.set_scheduler(*thread.scheduler);
    }
    return record;
}

records::Sample record_of(const SampleLog::Sample& sample, std::uint64_t count) {
    records::Sample record;
    record.set_kind(recorded(kKinds, sample.kind));
    if (sample.unknown != UnknownCallers::kNone) {
        record.set_unknown_callers(recorded(kUnknown, sample.unknown));
    }
    record.mutable_native()->Add(sample.native.begin(), sample.native.end());
    if (sample.fragment) {
        record.set_fragment(*sample.fragment);
    }
    record.mutable_function()->Add(sample.functions.begin(), sample.functions.end());
    record.set_more(sample.more);
    if (sample.process) {
        record.set_process(*sample.process);
    }
    record.set_thread(sample.thread);
    record.set_count(count);
    return record;
}

records::SampledCode code_of(const SampleLog& log, std::uint32_t number) {
    records::SampledCode code;
    if (number < log.functions().size() && log.functions()[number]) {
        *code.mutable_function() = record_of(*log.functions()[number]);
    } else {
        code.set_name(log.names()[number]);
    }
    return code;
}

/// Numbers what a message has anew, in the order of its coming.
class Renumbered {
  public:
    /// The new number of an old one. `add`: called if it is the first time.
    template <typename Add>
    std::uint32_t number(std::uint32_t old, Add add) {
        const auto [known, fresh] =
            numbers_.emplace(old, static_cast<std::uint32_t>(numbers_.size()));
        if (fresh) {
            add();
        }
        return known->second;
    }

  private:
    std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

/// One message with a choice of a log's samples.
class BoundedMessage {
  public:
    BoundedMessage(const SampleLog& log, std::size_t most_bytes)
        : log_(log), most_bytes_(most_bytes) {}

    /// False: there is no room left.
    bool add(const SampleLog::Sample& sample, std::uint64_t count) {
        auto record = record_of(sample, count);
        for (auto* numbers : {record.mutable_native(), record.mutable_function()}) {
            for (auto& number : *numbers) {
                number = code(number);
            }
        }
        if (record.has_fragment()) {
            record.set_fragment(code(record.fragment()));
        }
        if (record.has_process()) {
            record.set_process(processes_.number(record.process(), [&] {
                add_entry(*message_.add_process(), record_of(log_.processes()[record.process()]));
            }));
        }
        record.set_thread(threads_.number(record.thread(), [&] {
            add_entry(*message_.add_thread(), record_of(log_.threads()[record.thread()]));
        }));
        add_entry(*message_.add_sample(), record);
        return bytes_ < most_bytes_;
    }
    [[nodiscard]] records::Samples& message() { return message_; }

  private:
    std::uint32_t code(std::uint32_t old) {
        return code_.number(old, [&] { add_entry(*message_.add_code(), code_of(log_, old)); });
    }
    template <typename Record>
    void add_entry(Record& into, Record entry) {
        // Each has its tag and its length before it.
        constexpr std::size_t kBefore = 3;
        bytes_ += entry.ByteSizeLong() + kBefore;
        into = std::move(entry);
    }

    const SampleLog& log_;
    std::size_t most_bytes_;
    std::size_t bytes_ = 0;
    Renumbered code_, processes_, threads_;
    records::Samples message_;
};

/// Gives a page when it is full.
class Pages {
  public:
    explicit Pages(const std::function<Result<void>(const records::Samples&)>& write)
        : write_(write) {}
    [[nodiscard]] records::Samples& page() { return page_; }
    Result<void> added(std::size_t bytes) {
        bytes_ += bytes + kRecordBytes;
        return bytes_ < kPageBytes ? Result<void>() : end();
    }
    Result<void> end() {
        auto done = write_(page_);
        page_.Clear();
        bytes_ = 0;
        return done;
    }

  private:
    const std::function<Result<void>(const records::Samples&)>& write_;
    records::Samples page_;
    std::size_t bytes_ = 0;
};

}  // namespace

Result<void> sample_pages(const ProfileReport& report,
                          const std::function<Result<void>(const records::Samples&)>& write) {
    if (!report.log) {
        return {};
    }
    const auto& log = *report.log;
    Pages pages(write);
    *pages.page().mutable_time() = time_of(report, log);
    for (std::uint32_t at = 0; at < log.names().size(); ++at) {
        auto& code = *pages.page().add_code();
        code = code_of(log, at);
        RETURN_IF_ERROR(pages.added(code.name().size()));
    }
    for (const auto& process : log.processes()) {
        *pages.page().add_process() = record_of(process);
        RETURN_IF_ERROR(pages.added(0));
    }
    for (const auto& thread : log.threads()) {
        *pages.page().add_thread() = record_of(thread);
        RETURN_IF_ERROR(pages.added(thread.name.size()));
    }
    for (const auto& [sample, count] : log.samples()) {
        *pages.page().add_sample() = record_of(sample, count);
        RETURN_IF_ERROR(pages.added((sample.native.size() + sample.functions.size()) * 4));
    }
    return pages.end();
}

records::Samples bounded_samples(const ProfileReport& report, std::size_t most_bytes) {
    if (!report.log) {
        return {};
    }
    const auto& log = *report.log;
    std::vector<std::pair<std::uint64_t, const SampleLog::Sample*>> by_count;
    for (const auto& [sample, count] : log.samples()) {
        by_count.emplace_back(count, &sample);
    }
    std::ranges::stable_sort(by_count, std::ranges::greater(),
                             &std::pair<std::uint64_t, const SampleLog::Sample*>::first);
    BoundedMessage bounded(log, most_bytes);
    auto left_out = log.left_out();
    bool has_room = true;
    for (const auto& [count, sample] : by_count) {
        if (has_room) {
            has_room = bounded.add(*sample, count);
        } else {
            left_out += count;
        }
    }
    auto& time = *bounded.message().mutable_time();
    time = time_of(report, log);
    time.set_left_out(left_out);
    return std::move(bounded.message());
}

SamplePages::SamplePages(SamplesBy by, AtomText atom, FunctionText function)
    : atom_(std::move(atom)),
      function_(std::move(function)),
      report_{.node = {}, .otp_release = {}, .profile = Profile(by)} {}

void SamplePages::take(const records::SampledTime& time) {
    timed_ = true;
    report_.began_us = time.began_us();
    report_.took_ns = time.took_ns();
    report_.rate = time.rate();
    report_.readings = time.readings();
    report_.without_process = time.without_process();
    report_.kernel_seen = time.kernel_sampled() || time.readings();
    report_.lost = time.lost();
    if (time.has_median_delay_ns() && time.has_longest_delay_ns()) {
        report_.delay_ns = time.median_delay_ns();
        report_.longest_delay_ns = time.longest_delay_ns();
    }
    for (const auto& entry : time.not_sampled()) {
        report_.not_sampled[entry.reason()] += entry.threads();
    }
    report_.remarks.assign(time.remark().begin(), time.remark().end());
    report_.cut_short = time.cut_short();
    left_out_ = time.left_out();
}

Result<std::vector<std::string>> SamplePages::names_of(
    const google::protobuf::RepeatedField<std::uint32_t>& numbers) {
    if (static_cast<std::size_t>(numbers.size()) > SampleLog::kMostFrames) {
        return fail(
            ErrorCode::kCorrupt,
            fmt::format("a sample of the dump is of {} functions, and none has more than {}",
                        numbers.size(), SampleLog::kMostFrames));
    }
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(numbers.size()));
    for (const auto number : numbers) {
        if (number >= names_.size()) {
            return no_such("code", number);
        }
        counted_bytes_ += names_[number].size() + kTextBytes;
        names.push_back(names_[number]);
    }
    return names;
}

Result<void> SamplePages::add(const records::Samples& page) {
    if (page.has_time()) {
        take(page.time());
    }
    for (const auto& code : page.code()) {
        auto name = code.has_function() ? function_(code.function()).value_or("<unknown function>")
                                        : code.name().substr(0, SampleLog::kMostNameBytes);
        bytes_ += name.size() + sizeof(std::string);
        names_.push_back(std::move(name));
    }
    for (const auto& process : page.process()) {
        ProcessIdentity identity{.owner_id = process.owner_id()};
        if (process.has_registered_name_atom()) {
            identity.registered = atom_(process.registered_name_atom());
        }
        if (process.has_initial_call()) {
            identity.initial_call = function_(process.initial_call());
        }
        bytes_ += sizeof(identity) + kRecordBytes;
        processes_.push_back(std::move(identity));
    }
    for (const auto& thread : page.thread()) {
        SampledThread read{.id = static_cast<pid_t>(thread.os_id()), .name = thread.name()};
        if (thread.has_scheduler()) {
            read.scheduler = thread.scheduler();
        }
        bytes_ += sizeof(read) + thread.name().size();
        threads_.push_back(std::move(read));
    }
    if (bytes_ > kMostReadBytes) {
        return fail(ErrorCode::kLimit,
                    fmt::format("the names of the dump's samples take more than {} MiB",
                                kMostReadBytes >> 20U));
    }
    for (const auto& sample : page.sample()) {
        RETURN_IF_ERROR(add(sample));
    }
    return {};
}

Result<void> SamplePages::add(const records::Sample& sample) {
    const auto kind = known(kKinds, sample.kind());
    const auto unknown = known(kUnknown, sample.unknown_callers());
    if (!kind || !unknown) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the dump has a sample of kind {}, callers {}, which this version "
                                "does not know",
                                static_cast<int>(sample.kind()),
                                static_cast<int>(sample.unknown_callers())));
    }
    if (sample.thread() >= threads_.size()) {
        return no_such("thread", sample.thread());
    }
    SampleStack stack{.kind = *kind, .unknown = *unknown, .more = sample.more()};
    ASSIGN_OR_RETURN(stack.native, names_of(sample.native()));
    ASSIGN_OR_RETURN(stack.frames, names_of(sample.function()));
    if (sample.has_fragment()) {
        if (sample.fragment() >= names_.size()) {
            return no_such("code", sample.fragment());
        }
        stack.fragment = names_[sample.fragment()];
    }
    if (sample.has_process()) {
        if (sample.process() >= processes_.size()) {
            return no_such("process", sample.process());
        }
        stack.process = processes_[sample.process()];
    }
    if (counted_bytes_ > kMostCountedBytes ||
        !report_.profile.add(stack, threads_[sample.thread()], sample.count())) {
        return fail(ErrorCode::kLimit,
                    "the dump has more different stacks of samples than are kept");
    }
    return visit_ ? visit_(stack, threads_[sample.thread()], sample.count()) : Result<void>();
}

Result<ProfileReport> SamplePages::finish() {
    if (!timed_ || report_.rate == 0 || report_.rate > 1'000'000'000) {
        return fail(ErrorCode::kCorrupt,
                    "the dump has samples, but not when and how often they were taken");
    }
    if (left_out_ != 0) {
        report_.cut_short = true;
        report_.remarks.push_back(left_out_sentence(left_out_));
    }
    return std::move(report_);
}

}  // namespace beamdump
