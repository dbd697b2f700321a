#include "render/report/script_output.h"

namespace beamdump::render {

Result<void> ScriptOutput::put(std::string_view text) {
    while (!text.empty()) {
        const std::size_t plain = std::min(text.find_first_of("<>&"), text.size());
        page_.write(text.substr(0, plain));
        text.remove_prefix(plain);
        if (!text.empty()) {
            page_.write(text.front() == '<'   ? "\\u003C"
                        : text.front() == '>' ? "\\u003E"
                                              : "\\u0026");
            text.remove_prefix(1);
        }
    }
    return page_.ok() ? Result<void>() : std::unexpected(*page_.error());
}

}  // namespace beamdump::render
