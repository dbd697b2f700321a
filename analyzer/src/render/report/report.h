#pragma once

#include "query/things/report_processes.h"
#include "render/shared/output.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::render {

/// JSON into a script element of a page, non-owning: < > & in its texts, the only place where JSON
/// has them, as \u003C... so that no text ends the element. To be flushed before the page goes on.
class ScriptOutput final : public Output {
  public:
    explicit ScriptOutput(Output& page) : page_(page) {}

  protected:
    Result<void> put(std::string_view text) override;

  private:
    Output& page_;
};

/// Text into a page, compressed by zlib and as base 64, non-owning. Memory does not depend on its
/// length.
class PackedOutput final : public Output {
  public:
    explicit PackedOutput(Output& page);
    PackedOutput(const PackedOutput&) = delete;
    PackedOutput& operator=(const PackedOutput&) = delete;
    ~PackedOutput() override;

    /// Writes what is held. Nothing may follow.
    void finish();

  protected:
    Result<void> put(std::string_view text) override;

  private:
    class Stream;
    std::unique_ptr<Stream> stream_;
};

/// Texts by number, in the order in which they come.
class TextTable {
  public:
    std::uint64_t number(const std::string& text);
    [[nodiscard]] const std::vector<const std::string*>& texts() const { return texts_; }
    /// Bytes, about.
    [[nodiscard]] std::uint64_t memory() const { return memory_; }

  private:
    std::unordered_map<std::string, std::uint64_t> numbers_;
    std::vector<const std::string*> texts_;  ///< keys of numbers_
    std::uint64_t memory_ = 0;
};

/// Writes a report: one page of HTML that needs nothing else. First the answers, then processes,
/// then finish(). Its data are in script elements that are not run: as JSON, and the processes as
/// blocks of columns, compressed. Memory: a block, and the different texts of processes.
class ReportWriter {
  public:
    /// Non-owning. `memory`: bytes that different texts may take.
    ReportWriter(Output& page, std::uint64_t memory);

    /// A part of the page: the JSON document that `write` writes.
    void answer(std::string_view name, const std::function<void(Output&)>& write);
    /// No answer follows, only processes.
    void end_answers();
    /// kLimit: the texts need more memory than allowed.
    Result<void> process(const query::ReportProcess& process);
    void finish(const query::ReportProcesses& processes);

    static constexpr std::size_t kColumns = 13;  ///< of processes

  private:
    using Number = std::optional<std::uint64_t>;

    Number number(const std::optional<std::string>& text);
    void write_block();
    void write_mailboxes(Output& out, const query::ReportProcesses& processes);
    void write_stacks(Output& out, const StackTree& stacks);
    void write_texts(Output& out);

    Output& page_;
    std::uint64_t most_memory_;
    ScriptOutput script_;
    PackedOutput packed_;
    std::string_view separator_ = "{";
    std::vector<std::vector<Number>> block_;
    std::string_view block_separator_ = "[";
    TextTable texts_;
};

}  // namespace beamdump::render
