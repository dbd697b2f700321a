#include <libdump/base/terminal_text.h>
#include <mcp/kept_text.h>
#include <mcp/session.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::mcp {

namespace {

namespace dom = simdjson::dom;
using namespace std::string_view_literals;

constexpr std::string_view kStatelessVersion = "2026-07-28";
/// The latest first.
constexpr std::array kHandshakeVersions = {"2025-11-25"sv, "2025-06-18"sv};

// Keys of _meta, revision 2026-07-28, "Per-request protocol fields".
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";

std::string versions_json() {
    std::string json = fmt::format("[{}", json_string(kStatelessVersion));
    for (const auto version : kHandshakeVersions) {
        json += "," + json_string(version);
    }
    return json + "]";
}

std::string server_info(std::string_view program) {
    return fmt::format(R"({{"name":"{}","title":"beamdump","version":"{}"}})", program,
                       BEAMDUMP_VERSION);
}

constexpr std::string_view kCapabilities = R"({"tools":{},"resources":{}})";

/// Whether its results say how long they hold.
bool is_cacheable(std::string_view method) {
    constexpr std::array kMethods = {"server/discover"sv, "tools/list"sv, "resources/list"sv,
                                     "resources/templates/list"sv, "resources/read"sv};
    return std::ranges::find(kMethods, method) != kMethods.end();
}

std::optional<dom::object> meta_of(const Message& message) {
    dom::object meta;
    return message.params && (*message.params)["_meta"].get_object().get(meta) == simdjson::SUCCESS
               ? std::optional(meta)
               : std::nullopt;
}

bool is_call(std::string_view method) {
    return method == "tools/call" || method == "resources/read";
}

/// Progress that increases, whatever phases a command has.
class Progress {
  public:
    /// `token`: as JSON.
    explicit Progress(std::string token) : token_(std::move(token)) {}

    /// A notification, if there is news.
    std::optional<std::string> told(std::string_view phase, std::uint64_t done,
                                    std::optional<std::uint64_t> total) {
        if (phase != phase_ || done < last_) {
            before_ += last_;
            phase_ = phase;
            last_ = 0;
        }
        if (done <= last_) {
            return std::nullopt;
        }
        last_ = done;
        return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/progress","params":)"
                           R"({{"progressToken":{},"progress":{}{},"message":{}}}}})",
                           token_, before_ + done,
                           total && *total >= done ? fmt::format(",\"total\":{}", before_ + *total)
                                                   : std::string(),
                           json_string(phase));
    }

  private:
    std::string token_;
    std::string phase_;
    std::uint64_t before_ = 0;  ///< of earlier phases
    std::uint64_t last_ = 0;
};

}  // namespace

Session::Session(std::unique_ptr<Answers> answers, Output& out, std::chrono::seconds longest)
    : answers_(std::move(answers)),
      longest_(longest),
      out_(out),
      worker_([this](const std::stop_token& ended) { work(ended); }) {}

Session::~Session() {
    abandon();
}

void Session::send(const std::string& line) {
    const std::scoped_lock lock(writing_);
    out_.write(line);
    out_.write("\n"sv);
    out_.flush();
}

void Session::send_result(const std::string& id, Era era, std::string_view method,
                          const std::string& members) {
    std::string more;
    if (era == Era::kStateless) {
        more = fmt::format(R"(,"resultType":"complete","_meta":{{{}:{}}})", json_string(kServerKey),
                           server_info(answers_->program()));
        if (is_cacheable(method)) {
            // What is served does not change, but a dump's file may.
            constexpr int kSecond = 1000;
            more += fmt::format(R"(,"ttlMs":{},"cacheScope":"private")",
                                method == "resources/read" ? 0 : 60 * kSecond);
        }
        if (members.empty()) {
            more.erase(0, 1);
        }
    }
    send(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{{}{}}}}})", id, members, more));
}

void Session::send_error(const std::optional<std::string>& id, const RpcError& error) {
    send(fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":{}{}}}}})",
                     id.value_or("null"), static_cast<int>(error.code), json_string(error.message),
                     error.data.empty() ? "" : ",\"data\":" + error.data));
}

void Session::receive_too_long() {
    send_error(std::nullopt,
               {RpcCode::kInvalidRequest,
                fmt::format("the message is longer than {} bytes", MessageParser::kMostBytes)});
}

void Session::receive(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
        return;
    }
    const auto message = parser_.parse(line);
    if (!message) {
        send_error(message.error().id, message.error().error);
        return;
    }
    receive(*message);
}

void Session::receive(const Message& message) {
    if (message.method.empty()) {
        return;  // a response: nothing was asked of the client
    }
    if (!message.id) {
        notified(message);
        return;
    }
    const auto meta = meta_of(message);
    dom::element version;
    if (!meta || (*meta)[kVersionKey].get(version) != simdjson::SUCCESS) {
        request(message, *message.id, Era::kHandshake);
        return;
    }
    std::string_view name;
    if (version.get_string().get(name) != simdjson::SUCCESS || name != kStatelessVersion) {
        send_error(message.id, {RpcCode::kUnsupportedVersion, "unsupported protocol version",
                                fmt::format(R"({{"supported":{},"requested":{}}})", versions_json(),
                                            json_string(name))});
        return;
    }
    if (dom::object capabilities;
        (*meta)[kCapabilitiesKey].get_object().get(capabilities) != simdjson::SUCCESS) {
        send_error(message.id, {RpcCode::kInvalidParams,
                                fmt::format("_meta has no object {}", kCapabilitiesKey)});
        return;
    }
    request(message, *message.id, Era::kStateless);
}

void Session::request(const Message& message, const std::string& id, Era era) {
    const std::string& method = message.method;
    const bool stateless = era == Era::kStateless;
    if (method == "initialize" && !stateless) {
        initialize(message, id);
        return;
    }
    if (method == "ping" && !stateless) {
        send_result(id, era, method, "");
        return;
    }
    if (!stateless && !initialized_) {
        send_error(id, {RpcCode::kInvalidParams,
                        fmt::format("the session has not begun: send initialize first, or {} in "
                                    "_meta of each request",
                                    kVersionKey)});
        return;
    }
    if (is_call(method)) {
        enqueue(message, id, era);
    } else if (method == "server/discover" && stateless) {
        send_result(
            id, era, method,
            fmt::format(R"("supportedVersions":{},"capabilities":{},"instructions":{})",
                        versions_json(), kCapabilities, json_string(answers_->instructions())));
    } else if (method == "tools/list" || method == "resources/list" ||
               method == "resources/templates/list") {
        if (message.params && (*message.params)["cursor"].error() == simdjson::SUCCESS) {
            send_error(id, {RpcCode::kInvalidParams, "there is no such cursor: the list is whole"});
            return;
        }
        send_result(id, era, method,
                    method == "tools/list"       ? answers_->list_tools()
                    : method == "resources/list" ? answers_->list_resources()
                                                 : answers_->list_templates());
    } else {
        send_error(id, {RpcCode::kNoMethod,
                        fmt::format("there is no method \"{}\"", one_line(method.substr(0, 100)))});
    }
}

void Session::initialize(const Message& message, const std::string& id) {
    if (initialized_) {
        send_error(id, {RpcCode::kInvalidRequest, "the session has been initialized already"});
        return;
    }
    std::string_view asked;
    if (!message.params ||
        (*message.params)["protocolVersion"].get_string().get(asked) != simdjson::SUCCESS) {
        send_error(id, {RpcCode::kInvalidParams, "initialize needs a protocolVersion"});
        return;
    }
    initialized_ = true;
    const auto* known = std::ranges::find(kHandshakeVersions, asked);
    send_result(
        id, Era::kHandshake, message.method,
        fmt::format(
            R"("protocolVersion":{},"capabilities":{},"serverInfo":{},)"
            R"("instructions":{})",
            json_string(known == kHandshakeVersions.end() ? kHandshakeVersions.front() : *known),
            kCapabilities, server_info(answers_->program()),
            json_string(answers_->instructions())));
}

void Session::enqueue(const Message& message, const std::string& id, Era era) {
    if (!message.params) {
        send_error(id, {RpcCode::kInvalidParams, fmt::format("{} needs params", message.method)});
        return;
    }
    Call call{.id = id,
              .method = message.method,
              .params = simdjson::minify(*message.params),
              .progress_token = std::nullopt,
              .era = era};
    if (const auto meta = meta_of(message)) {
        dom::element token;
        if ((*meta)["progressToken"].get(token) == simdjson::SUCCESS &&
            (token.is_string() || token.is_int64() || token.is_uint64())) {
            call.progress_token = simdjson::minify(token);
        }
    }
    std::optional<RpcError> refused;
    {
        const std::scoped_lock lock(state_);
        if ((running_ && !running_->decided && running_->id == id) ||
            std::ranges::find(waiting_, id, &Call::id) != waiting_.end()) {
            refused = {RpcCode::kInvalidRequest, "a request with this id is being answered"};
        } else if (waiting_.size() == kMostWaiting) {
            refused = {RpcCode::kInternal,
                       fmt::format("{} requests wait already: ask again when they are answered",
                                   kMostWaiting)};
        } else {
            waiting_.push_back(std::move(call));
        }
    }
    if (refused) {
        send_error(id, *refused);
    } else {
        changed_.notify_all();
    }
}

void Session::notified(const Message& message) {
    if (message.method != "notifications/cancelled" || !message.params) {
        return;
    }
    if (dom::element id; (*message.params)["requestId"].get(id) == simdjson::SUCCESS &&
                         (id.is_string() || id.is_int64() || id.is_uint64())) {
        std::string_view text;
        cancel(id.get_string().get(text) == simdjson::SUCCESS ? json_string(text)
                                                              : std::string(simdjson::minify(id)));
    }
}

void Session::cancel(const std::string& id) {
    const std::scoped_lock lock(state_);
    std::erase_if(waiting_, [&id](const Call& call) { return call.id == id; });
    if (running_ && running_->id == id) {
        running_->cancelled = true;
        running_->stop.request_stop();
    }
}

void Session::check_time() {
    const std::scoped_lock lock(state_);
    if (running_ && !running_->too_long && !running_->decided &&
        Clock::now() - running_->begin > longest_) {
        running_->too_long = true;
        running_->stop.request_stop();
    }
}

void Session::abandon() {
    {
        const std::scoped_lock lock(state_);
        abandoned_ = true;
        waiting_.clear();
        if (running_) {
            running_->cancelled = true;
            running_->stop.request_stop();
        }
    }
    worker_.request_stop();
}

bool Session::busy() {
    const std::scoped_lock lock(state_);
    return running_ || !waiting_.empty();
}

bool Session::writable() {
    const std::scoped_lock lock(writing_);
    return out_.ok();
}

void Session::work(const std::stop_token& ended) {
    for (;;) {
        Call call;
        std::stop_source stop;
        {
            std::unique_lock lock(state_);
            if (!changed_.wait(lock, ended, [this] { return !waiting_.empty(); }) || abandoned_) {
                return;
            }
            call = std::move(waiting_.front());
            waiting_.pop_front();
            running_ = {.id = call.id, .stop = stop, .begin = Clock::now()};
        }
        answer(call, stop);
    }
}

void Session::answer(const Call& call, const std::stop_source& stop) {
    std::optional<Progress> progress;
    Asker asker{.progress = {}, .stop = stop.get_token()};
    if (call.progress_token) {
        progress.emplace(*call.progress_token);
    }
    // Without a token, too: a command that serves somebody writes no line to a terminal.
    asker.progress = [&](std::string_view phase, std::uint64_t done,
                         std::optional<std::uint64_t> total) {
        if (!progress || stop.stop_requested()) {
            return;
        }
        if (const auto line = progress->told(phase, done, total)) {
            send(*line);
        }
    };
    dom::parser parser;
    dom::object params;
    Answer answered = std::unexpected(RpcError{RpcCode::kInternal, "no memory for the request"});
    if (parser.parse(call.params).get_object().get(params) == simdjson::SUCCESS) {
        answered = call.method == "tools/call" ? answers_->call(params, asker)
                                               : answers_->read(params, asker);
    }
    bool silent = false;
    {
        const std::scoped_lock lock(state_);
        if (running_->too_long && !running_->cancelled) {
            const auto why = fmt::format(
                "the answer took longer than {} seconds: ask for less (one thing, a "
                "filter, findings quick), or start the server with a larger "
                "--max-seconds",
                longest_.count());
            answered = call.method == "tools/call"
                           ? Answer(Answers::failed(why))
                           : std::unexpected(RpcError{RpcCode::kInternal, why});
        }
        silent = running_->cancelled;
        running_->decided = true;
    }
    if (!silent) {
        send_answer(call, answered);
    }
    const std::scoped_lock lock(state_);
    running_.reset();
}

void Session::send_answer(const Call& call, const Answer& answered) {
    if (answered) {
        send_result(call.id, call.era, call.method, *answered);
        return;
    }
    RpcError error = answered.error();
    // The code of a missing resource was replaced by that of wrong parameters.
    if (error.code == RpcCode::kNoResource && call.era == Era::kStateless) {
        error.code = RpcCode::kInvalidParams;
    }
    send_error(call.id, error);
}

}  // namespace beamdump::mcp
