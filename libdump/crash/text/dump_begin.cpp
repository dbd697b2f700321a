#include <libdump/crash/text/dump_begin.h>

namespace beamdump::crash {
namespace {

constexpr std::string_view kFirstLine = "=erl_crash_dump";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::optional<std::size_t> find_dump_begin(std::string_view front) {
    const std::size_t mark = front.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    for (auto at = front.find(kFirstLine, mark); at != std::string_view::npos;
         at = front.find(kFirstLine, at + 1)) {
        const auto after = front.substr(at + kFirstLine.size(), 1);
        if ((at == mark || front[at - 1] == '\n') &&
            (after.empty() || std::string_view(":\r\n").contains(after.front()))) {
            return at;
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::crash
