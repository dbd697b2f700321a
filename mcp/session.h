#pragma once

#include <libdump/text/output.h>
#include <mcp/answers.h>
#include <mcp/message.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace beamdump::mcp {

/// A client's messages and the answers to them, in JSON-RPC lines. Serves the Model Context
/// Protocol's revision 2026-07-28, in which each request is complete in itself, and 2025-11-25 and
/// 2025-06-18, which begin with `initialize`. Calls of tools and reads of resources wait for each
/// other in a thread; everything else is answered at once, also meanwhile.
class Session {
  public:
    /// That wait; further ones are refused.
    static constexpr std::size_t kMostWaiting = 64;

    /// Writes to `out`, non-owning, which nobody else may use. `longest`: of one call.
    Session(std::unique_ptr<Answers> answers, Output& out, std::chrono::seconds longest);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session();

    /// One line of the client.
    void receive(std::string_view line);
    /// A line that is longer than MessageParser::kMostBytes, of which the rest was skipped.
    void receive_too_long();
    /// Ends a call that takes too long. To be called now and then while busy().
    void check_time();
    /// Gives up what is asked; nothing more is written.
    void abandon();

    /// Whether a call waits or is answered.
    [[nodiscard]] bool busy();
    /// False after writing failed.
    [[nodiscard]] bool writable();

  private:
    using Clock = std::chrono::steady_clock;

    /// How the client speaks.
    enum class Era : std::uint8_t { kHandshake, kStateless };

    struct Call {
        std::string id;  ///< as JSON
        std::string method;
        std::string params;  ///< as JSON
        std::optional<std::string> progress_token;
        Era era = Era::kStateless;
    };
    struct Running {
        std::string id;
        std::stop_source stop;
        Clock::time_point begin;
        bool cancelled = false;
        bool too_long = false;
        bool decided = false;  ///< its answer is about to be written
    };

    void receive(const Message& message);
    void request(const Message& message, const std::string& id, Era era);
    void initialize(const Message& message, const std::string& id);
    void enqueue(const Message& message, const std::string& id, Era era);
    void notified(const Message& message);
    void cancel(const std::string& id);

    void work(const std::stop_token& ended);
    void answer(const Call& call, const std::stop_source& stop);
    void send_answer(const Call& call, const Answer& answered);

    void send(const std::string& line);
    void send_result(const std::string& id, Era era, std::string_view method,
                     const std::string& members);
    void send_error(const std::optional<std::string>& id, const RpcError& error);

    std::unique_ptr<Answers> answers_;
    MessageParser parser_;
    bool initialized_ = false;
    std::chrono::seconds longest_;

    std::mutex writing_;
    Output& out_;

    std::mutex state_;
    std::condition_variable_any changed_;
    std::deque<Call> waiting_;
    std::optional<Running> running_;
    bool abandoned_ = false;
    std::jthread worker_;  ///< last: ends before what it uses
};

}  // namespace beamdump::mcp
