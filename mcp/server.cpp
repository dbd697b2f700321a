#include <libdump/base/system_error.h>
#include <mcp/server.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <poll.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace beamdump::mcp {

namespace {

/// Divides bytes into lines. A line that is too long is skipped.
class Lines {
  public:
    explicit Lines(Session& session) : session_(session) {}

    void add(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto end = bytes.find('\n');
            const auto piece = bytes.substr(0, end);
            if (!skips_ && line_.size() + piece.size() > MessageParser::kMostBytes) {
                skips_ = true;
                line_.clear();
            }
            if (!skips_) {
                line_ += piece;
            }
            if (end == std::string_view::npos) {
                return;
            }
            bytes.remove_prefix(end + 1);
            finish();
        }
    }

    /// Hands on what there is of the last line.
    void finish() {
        if (std::exchange(skips_, false)) {
            session_.receive_too_long();
        } else {
            session_.receive(line_);
        }
        line_.clear();
    }

  private:
    Session& session_;
    std::string line_;
    bool skips_ = false;
};

}  // namespace

Result<void> serve(Session& session, int input, int output) {
    constexpr int kWhileBusy = 100;  // ms
    Lines lines(session);
    std::array<char, std::size_t{64} << 10U> bytes{};
    bool ended = false;
    while (!ended || session.busy()) {
        // A descriptor below zero is not asked.
        std::array<pollfd, 2> asked = {{{ended ? -1 : input, POLLIN, 0}, {output, 0, 0}}};
        const int ready = ::poll(asked.data(), asked.size(), session.busy() ? kWhileBusy : -1);
        if (ready < 0 && errno != EINTR) {
            return fail(ErrorCode::kIo, fmt::format("cannot wait for standard input: {}",
                                                    system_error_text(errno)));
        }
        session.check_time();
        if (ready > 0 && (asked[1].revents & (POLLERR | POLLNVAL)) != 0) {
            session.abandon();
            return {};
        }
        if (!session.writable()) {
            session.abandon();
            return {};
        }
        if (ready <= 0 || asked[0].revents == 0) {
            continue;
        }
        const auto count = ::read(input, bytes.data(), bytes.size());
        if (count > 0) {
            lines.add({bytes.data(), static_cast<std::size_t>(count)});
        } else if (count == 0) {
            lines.finish();
            ended = true;
        } else if (errno != EINTR && errno != EAGAIN) {
            return fail(ErrorCode::kIo,
                        fmt::format("cannot read standard input: {}", system_error_text(errno)));
        }
    }
    return {};
}

}  // namespace beamdump::mcp
