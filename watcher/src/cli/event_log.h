#pragma once

#include <libdump/text/output.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
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

/// Writes events, a line each, as text or JSON. The first kAtOnce of one kind about one thing in an
/// hour are written. The others are counted, and so is each of that kind until an hour has passed
/// with no more than kAtOnce: of one node they are one line an hour.
class EventLog {
  public:
    static constexpr std::uint64_t kAtOnce = 3;

    EventLog(Output& output, bool json) : output_(output), json_(json) {}

    /// `node`: whose event it is, as in NodeId::key(); empty: of none. `about`: events of one kind
    /// with another `about` are counted apart. `now`: of the clock that never goes back.
    void write(std::chrono::milliseconds now, const Event& event, const std::string& node = "",
               const std::string& about = "");
    /// Writes what was counted, where an hour of it has passed.
    void look(std::chrono::milliseconds now);
    /// Writes what was counted.
    void finish(std::chrono::milliseconds now);

  private:
    /// Events of one kind about one thing.
    struct Written {
        std::chrono::milliseconds since{};  // when the hour began
        std::uint64_t count = 0;            // in that hour
        bool repeated = false;              // counted from that hour's begin
    };
    /// What was counted of a node since then, by kind.
    struct Counted {
        std::chrono::milliseconds since{};
        std::map<std::string, std::uint64_t> of_kind;
    };
    /// Counts an event; false: it is not written.
    bool admit(std::chrono::milliseconds now, const std::string& key);
    void write_line(const Event& event, const Counted* counted);
    void write_counted(std::chrono::milliseconds now, const std::string& node,
                       const Counted& counted);

    Output& output_;
    bool json_;
    std::map<std::string, Written> written_;
    std::map<std::string, Counted> counted_;
};

}  // namespace beamdump::watch
