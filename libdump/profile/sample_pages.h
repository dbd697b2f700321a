#pragma once

#include <libdump/base/error.h>
#include <libdump/profile/profile_report.h>

#include <records.pb.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beamdump {

/// Gives the samples of a report's log as records, in pages. Stops at the first error of `write`.
Result<void> sample_pages(const ProfileReport& report,
                          const std::function<Result<void>(const records::Samples&)>& write);

/// The samples of a report's log in one message of at most about so many bytes. Of more it has the
/// stacks with most samples, and tells how many samples others have (left_out).
records::Samples bounded_samples(const ProfileReport& report, std::size_t most_bytes);

/// Counts the samples of a dump's pages, which it gets in their order.
class SamplePages {
  public:
    /// The text of an atom of the dump; nothing: not known.
    using AtomText = std::function<std::optional<std::string>(std::uint32_t)>;
    /// A function's text by the indices of its names.
    using FunctionText = std::function<std::optional<std::string>(const records::Mfa&)>;

    /// Equal samples of one thread, `count` of them.
    using Visit = std::function<Result<void>(const SampleStack& stack, const SampledThread& thread,
                                             std::uint64_t count)>;

    SamplePages(SamplesBy by, AtomText atom, FunctionText function);

    /// Also tells the samples of pages that are added from here on; add() fails as it does.
    void visit(Visit visit) { visit_ = std::move(visit); }

    /// kCorrupt: it refers to what no page has. kLimit: there is more than this keeps.
    Result<void> add(const records::Samples& page);
    /// The report of what came; the node's name, process and release are the caller's to add.
    /// kCorrupt: no page said when samples were taken, or how.
    Result<ProfileReport> finish();

  private:
    Result<void> add(const records::Sample& sample);
    [[nodiscard]] Result<std::vector<std::string>> names_of(
        const google::protobuf::RepeatedField<std::uint32_t>& numbers);
    void take(const records::SampledTime& time);

    AtomText atom_;
    FunctionText function_;
    Visit visit_;
    ProfileReport report_;
    bool timed_ = false;
    std::uint64_t bytes_ = 0;
    std::uint64_t counted_bytes_ = 0;
    std::uint64_t left_out_ = 0;
    std::vector<std::string> names_;
    std::vector<ProcessIdentity> processes_;
    std::vector<SampledThread> threads_;
};

}  // namespace beamdump
