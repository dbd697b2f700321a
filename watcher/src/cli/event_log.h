#pragma once

#include <libdump/text/output.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump::watch {

/// Something that happened, with its facts in the order in which they are written.
struct Event {
    std::string_view kind;  ///< "fired", "captured"...
    std::string sentence;   ///< for a person
    std::vector<std::pair<std::string_view, std::string>> facts;
};

/// Writes events, a line each, as text or JSON. Of one kind about one thing at most kAtOnce an hour
/// are written; then the next one says how many were left out.
class EventLog {
  public:
    static constexpr std::uint64_t kAtOnce = 3;

    EventLog(Output& output, bool json) : output_(output), json_(json) {}

    /// `about`: events of one kind with another `about` are counted apart. `now`: of the clock that
    /// never goes back.
    void write(std::chrono::milliseconds now, const Event& event, const std::string& about = "");

  private:
    struct Written {
        std::chrono::milliseconds since{};
        std::uint64_t count = 0;
        std::uint64_t left_out = 0;
    };
    Output& output_;
    bool json_;
    std::map<std::string, Written> written_;
};

}  // namespace beamdump::watch
