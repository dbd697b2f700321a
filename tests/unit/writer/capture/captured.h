#pragma once

#include "capture/session/session.h"
#include "fake_vm/standard_node.h"
#include "support/memory_sink.h"
#include "support/temporary_directory.h"

#include <libdump/read/dump_reader.h>

#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace beamdump::test {

/// The records of a dump that was written to memory.
class Captured {
  public:
    explicit Captured(const SinkContent& content) {
        const auto path = directory_.path() / "capture.dump";
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(content.bytes.data()),
                   static_cast<std::streamsize>(content.bytes.size()));
        auto opened = DumpReader::open(path);
        if (!opened) {
            throw std::logic_error(opened.error().message);
        }
        reader_.emplace(std::move(*opened));
    }
    [[nodiscard]] DumpReader& reader() { return *reader_; }

    /// All messages of a kind, in order.
    template <typename Message>
    std::vector<Message> all(format::RecordKind kind) {
        std::vector<Message> found;
        for (auto record = reader_->first(); record && *record; record = reader_->next(**record)) {
            if ((*record)->kind == kind) {
                found.push_back(DumpReader::parse<Message>(**record, kind).value());
            }
        }
        return found;
    }
    /// The last end of a process's runs.
    std::optional<records::ProcessEnd> end_of(std::uint64_t owner) {
        std::optional<records::ProcessEnd> last;
        for (auto& end : all<records::ProcessEnd>(format::RecordKind::kProcessEnd)) {
            if (end.owner_id() == owner) {
                last = std::move(end);
            }
        }
        return last;
    }

  private:
    TemporaryDirectory directory_;
    std::optional<DumpReader> reader_;
};

/// A capture of a fake VM that writes to memory.
class FakeCapture : public capture::ProgressListener {
  public:
    explicit FakeCapture(FakeVm& vm, capture::CaptureOptions options = {})
        : vm_(vm), options_(std::move(options)) {
        options_.mode = records::CAPTURE_MODE_CORE;
    }
    Result<void> begin() {
        auto writer = DumpWriter::create(std::make_unique<MemorySink>(content_), {});
        auto located = vm_.locate();
        if (!located || !writer) {
            return std::unexpected(!located ? located.error() : writer.error());
        }
        auto choice = capture::Choice::make(**located, options_);
        if (!choice) {
            return std::unexpected(choice.error());
        }
        auto session =
            capture::Session::begin(options_, std::move(*located), {}, std::move(*choice),
                                    std::move(*writer), *this, cancelled);
        if (!session) {
            return std::unexpected(session.error());
        }
        session_ = std::move(*session);
        return {};
    }
    [[nodiscard]] capture::Session& session() { return *session_; }
    [[nodiscard]] const SinkContent& content() const { return *content_; }
    void update(const capture::Progress& progress) override { phases.emplace_back(progress.phase); }

    std::atomic<bool> cancelled = false;
    std::vector<std::string> phases;

  private:
    FakeVm& vm_;
    capture::CaptureOptions options_;
    std::shared_ptr<SinkContent> content_ = std::make_shared<SinkContent>();
    std::unique_ptr<capture::Session> session_;
};

}  // namespace beamdump::test
