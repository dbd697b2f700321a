#include <libvm/beam/locate/symbols.h>
#include <libvm/target/image/debug_file.h>

#include <fmt/format.h>

namespace beamdump::beam {

Symbols Symbols::of(const target::Target& target, bool ignore) {
    Symbols symbols;
    if (ignore) {
        return symbols;
    }
    symbols.image_ = &target.image();
    // In the target's root and in this process's: container images are often stripped, the machine
    // is not.
    for (const auto& root : {fmt::format("/proc/{}/root", target.pid()), std::string()}) {
        if (!symbols.debug_) {
            symbols.debug_ = target::open_debug_file(target.image(), target.executable(), root,
                                                     target.debug_folder());
        }
    }
    return symbols;
}

std::optional<target::Symbol> Symbols::find(std::string_view name) const {
    auto symbol = image_ == nullptr ? std::nullopt : image_->symbol(name);
    if (!symbol && debug_) {
        symbol = debug_->symbol(name);
        if (symbol) {
            symbol->table = "debug file";
        }
    }
    return symbol;
}

}  // namespace beamdump::beam
