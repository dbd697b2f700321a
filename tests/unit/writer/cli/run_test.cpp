#include "cli/run.h"

#include "support/temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace beamdump::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A capture that makes its output and succeeds, with one consistent process.
Result<capture::CaptureReport> succeed(const capture::CaptureOptions& /*options*/,
                                       const capture::MakeWriter& make_writer,
                                       capture::ProgressListener& listener,
                                       const std::atomic<bool>& /*cancelled*/) {
    auto writer = make_writer();
    if (!writer) {
        return std::unexpected(writer.error());
    }
    listener.update({"processes", 1, 1, 10, 20});
    auto written = writer->finish({});
    if (!written) {
        return std::unexpected(written.error());
    }
    capture::CaptureReport report;
    report.written = *written;
    report.node_name = "n@h";
    report.totals.set_processes(1);
    return report;
}

/// Finds the node "n@h".
Result<pid_t> find(std::string_view wanted, const beam::LocateOptions& /*how*/) {
    return wanted.empty() || wanted == "n@h" ? Result<pid_t>(77)
                                             : fail(ErrorCode::kUsage, "no node is named so");
}

class RunTest : public ::testing::Test {
  protected:
    int run_with(const std::vector<std::string>& arguments,
                 const CaptureFunction& capture = succeed) {
        return run(arguments, streams_, capture, cancelled_, nullptr, find);
    }
    [[nodiscard]] std::string file(const std::string& name) const {
        return (directory_.path() / name).native();
    }
    /// What was said is one line and begins as errors do.
    void expect_one_sentence() const {
        EXPECT_THAT(err_.str(), AllOf(StartsWith("beamdump-capture: "), EndsWith("\n")));
        EXPECT_EQ(std::ranges::count(err_.str(), '\n'), 1);
    }

    beamdump::test::TemporaryDirectory directory_;
    std::ostringstream out_;
    std::ostringstream err_;
    program::Streams streams_{out_, err_};
    std::atomic<bool> cancelled_ = false;
};

TEST_F(RunTest, Done) {
    EXPECT_EQ(run_with({"123", "-o", file("dump")}), 0);
    EXPECT_TRUE(std::filesystem::exists(file("dump")));
    EXPECT_FALSE(std::filesystem::exists(file("dump.partial")));
    EXPECT_THAT(err_.str(), AllOf(HasSubstr("node n@h"), HasSubstr(file("dump"))));
    EXPECT_EQ(out_.str(), "");
}

/// Samples of nothing, `lost` of which were lost.
TakeSamples take_samples(std::uint64_t lost) {
    return [lost](pid_t pid, const beam::LocateOptions& /*how*/, std::chrono::milliseconds time,
                  const std::atomic<bool>& /*cancelled*/) -> Result<ProfileReport> {
        return ProfileReport{.node = {},
                             .otp_release = {},
                             .pid = pid,
                             .took_ns = time.count() * 1'000'000,
                             .rate = 99,
                             .profile = Profile(SamplesBy::kNone),
                             .lost = lost};
    };
}

TEST_F(RunTest, SamplesBeforeTheCapture) {
    std::int64_t sampled_ns = 0;
    const auto keep = [&](const auto& options, const auto& make, auto& listener,
                          const auto& cancelled) {
        sampled_ns = options.samples->took_ns;
        return succeed(options, make, listener, cancelled);
    };
    const std::vector<std::string> arguments = {"123", "--profile", "2s", "-o", file("dump")};
    EXPECT_EQ(run(arguments, streams_, keep, cancelled_, nullptr, find, take_samples(0)), 0);
    EXPECT_EQ(sampled_ns, 2'000'000'000);
    EXPECT_THAT(err_.str(), Not(HasSubstr("warning")));
}

/// Does what follows as a user without rights, if this one has any.
class WithoutRights {
  public:
    WithoutRights() {
        if (::geteuid() == 0) {
            EXPECT_EQ(::seteuid(kNobody), 0);
        }
    }
    ~WithoutRights() { EXPECT_EQ(::seteuid(::getuid()), 0); }
    WithoutRights(const WithoutRights&) = delete;
    WithoutRights& operator=(const WithoutRights&) = delete;

  private:
    static constexpr uid_t kNobody = 65534;
};

/// A folder that takes no new file is told before the time is spent.
TEST_F(RunTest, NoSamplesForAFileThatCannotBeWritten) {
    bool sampled = false;
    const TakeSamples note = [&](pid_t pid, const auto& how, auto time, const auto& cancelled) {
        sampled = true;
        return take_samples(0)(pid, how, time, cancelled);
    };
    const auto refused = [&](const std::string& name, const std::string& why,
                             const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments = {"123", "--quiet", "--profile", "2s", "-o", name};
        arguments.insert(arguments.end(), more.begin(), more.end());
        err_.str("");
        EXPECT_EQ(run(arguments, streams_, succeed, cancelled_, nullptr, find, note), 1) << name;
        EXPECT_FALSE(sampled) << name;
        EXPECT_THAT(err_.str(), HasSubstr(why));
        EXPECT_THAT(err_.str(), HasSubstr(name));
        expect_one_sentence();
    };
    refused(file("missing/dump"), "No such file or directory");
    refused(file("missing/dump"), "No such file or directory", {"--force"});
    std::ofstream(file("file")) << "text";
    refused(file("file"), "exists");
    refused(file("file/dump"), "Not a directory");
    ASSERT_TRUE(std::filesystem::create_directory(file("closed")));
    std::filesystem::permissions(file("closed"), std::filesystem::perms(0555));
    {
        const WithoutRights without;
        refused(file("closed/dump"), "Permission denied");
    }
    refused(file("closed"), "is not a regular file", {"--force"});
    EXPECT_EQ(run({"123", "--profile", "2s", "--force", "-o", file("file")}, streams_, succeed,
                  cancelled_, nullptr, find, note),
              0);
    EXPECT_TRUE(sampled);
}

TEST_F(RunTest, LostSamplesMakeItIncomplete) {
    EXPECT_EQ(run({"123", "--profile", "2s", "-o", file("dump")}, streams_, succeed, cancelled_,
                  nullptr, find, take_samples(4)),
              3);
    EXPECT_THAT(err_.str(), HasSubstr("beamdump-capture: warning: samples: 4 samples were lost"));
}

TEST_F(RunTest, NoCaptureAfterAnInterruptionOfTheSamples) {
    cancelled_ = true;
    bool captured = false;
    const auto note = [&](const auto& options, const auto& make, auto& listener,
                          const auto& cancelled) {
        captured = true;
        return succeed(options, make, listener, cancelled);
    };
    EXPECT_EQ(run({"123", "--quiet", "--profile", "2s", "-o", file("dump")}, streams_, note,
                  cancelled_, nullptr, find, take_samples(0)),
              1);
    EXPECT_FALSE(captured);
    expect_one_sentence();
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(RunTest, FindsTheNode) {
    std::optional<pid_t> captured;
    const auto keep = [&](const auto& options, const auto& make, auto& listener,
                          const auto& cancelled) {
        captured = options.pid;
        return succeed(options, make, listener, cancelled);
    };
    EXPECT_EQ(run_with({"n@h", "-o", file("named")}, keep), 0);
    EXPECT_EQ(captured, 77);
    EXPECT_THAT(err_.str(), Not(HasSubstr("the node is process")));
    captured.reset();
    EXPECT_EQ(run_with({"-o", file("only")}, keep), 0);
    EXPECT_EQ(captured, 77);
    EXPECT_THAT(err_.str(), HasSubstr("the node is process 77\n"));
}

TEST_F(RunTest, AnUnknownNodeIsWrongUsage) {
    EXPECT_EQ(run_with({"other", "-o", file("dump")}), 2);
    expect_one_sentence();
    EXPECT_FALSE(std::filesystem::exists(file("dump")));
}

TEST_F(RunTest, QuietSaysNothing) {
    EXPECT_EQ(run_with({"123", "--quiet", "-o", file("dump")}), 0);
    EXPECT_EQ(err_.str(), "");
}

TEST_F(RunTest, IncompleteIsThree) {
    const auto some_void = [](const auto& options, const auto& make, auto& listener,
                              const auto& cancelled) {
        auto report = succeed(options, make, listener, cancelled);
        report->totals.set_processes_void(1);
        report->warnings.emplace_back("3 pages are swapped out");
        return report;
    };
    EXPECT_EQ(run_with({"123", "--quiet", "-o", file("dump")}, some_void), 3);
    EXPECT_EQ(err_.str(), "beamdump-capture: warning: 3 pages are swapped out\n");
}

TEST_F(RunTest, WrongUsageIsTwo) {
    EXPECT_EQ(run_with({"1", "2"}), 2);
    expect_one_sentence();
    err_.str("");
    EXPECT_EQ(run_with({"--mode", "warp", "1"}), 2);
    expect_one_sentence();
}

TEST_F(RunTest, HelpGoesToStandardOutput) {
    EXPECT_EQ(run_with({"--help"}), 0);
    EXPECT_THAT(out_.str(), HasSubstr("--output"));
    EXPECT_EQ(err_.str(), "");
}

TEST_F(RunTest, ATerminalGetsNoDump) {
    streams_.out_is_terminal = true;
    EXPECT_EQ(run_with({"1", "-o", "-"}), 2);
    expect_one_sentence();
    EXPECT_THAT(err_.str(), HasSubstr("terminal"));
}

TEST_F(RunTest, ARefusedTargetLeavesNoFile) {
    const auto refuse = [](const auto&, const auto&, auto&, const auto&) {
        return Result<capture::CaptureReport>(
            fail(ErrorCode::kNotABeam, "process 1 is /sbin/init,\nnot an Erlang VM"));
    };
    EXPECT_EQ(run_with({"1", "-o", file("dump")}, refuse), 1);
    EXPECT_EQ(err_.str(), "beamdump-capture: process 1 is /sbin/init, not an Erlang VM\n");
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(RunTest, AFailedCaptureNamesWhatIsLeft) {
    const auto die = [](const auto&, const auto& make, auto&, const auto&) {
        const auto writer = make();
        return Result<capture::CaptureReport>(
            fail(ErrorCode::kTargetDied, writer ? "the node died" : "no writer"));
    };
    EXPECT_EQ(run_with({"1", "-o", file("dump")}, die), 1);
    EXPECT_EQ(err_.str(), "beamdump-capture: the node died; the partial dump is " +
                              file("dump.partial") + "\n");
    EXPECT_FALSE(std::filesystem::exists(file("dump")));
}

TEST_F(RunTest, ASentenceThatNamesItIsLeftAlone) {
    const auto sentence = "cannot write to " + file("dump.partial") + ": no space";
    const auto die = [&](const auto&, const auto& make, auto&, const auto&) {
        const auto writer = make();
        return Result<capture::CaptureReport>(fail(ErrorCode::kNoSpace, sentence));
    };
    EXPECT_EQ(run_with({"1", "-o", file("dump")}, die), 1);
    EXPECT_EQ(err_.str(), "beamdump-capture: " + sentence + "\n");
}

TEST_F(RunTest, AnExistingFileIsKeptUnlessForced) {
    std::ofstream(file("dump")) << "precious";
    EXPECT_EQ(run_with({"1", "-o", file("dump")}), 1);
    expect_one_sentence();
    EXPECT_THAT(err_.str(), HasSubstr("--force"));
    EXPECT_EQ(std::filesystem::file_size(file("dump")), 8U);
    EXPECT_EQ(run_with({"1", "--force", "-o", file("dump")}), 0);
    EXPECT_GT(std::filesystem::file_size(file("dump")), 8U);
}

TEST_F(RunTest, PassesOptionsAndCancellationOn) {
    cancelled_ = true;
    pid_t pid = 0;
    bool seen = false;
    const auto look = [&](const capture::CaptureOptions& options, const auto&, auto&,
                          const std::atomic<bool>& cancelled) {
        pid = options.pid;
        seen = cancelled;
        return Result<capture::CaptureReport>(fail(ErrorCode::kIo, "cancelled"));
    };
    EXPECT_EQ(run_with({"77", "-o", file("dump")}, look), 1);
    EXPECT_EQ(pid, 77);
    EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace beamdump::cli
