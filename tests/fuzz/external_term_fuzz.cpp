// Prints terms in external format from any bytes: must end, within bounds, whatever they say.
//
// Input: a byte for the size of the pieces, a byte for how much of the term the dump lacks at its
// end (high bits), by which release's rules it is printed and whether a version comes first
// (lowest), then the term.

#include "support/external_names.h"

#include <libdump/term/external_term.h>

#include <cstdlib>
#include <string>

namespace {

using namespace beamdump;
using namespace beamdump::testing;

/// No item of a term has more text than this for each of its bytes: "#Malformed<byte N of M>".
constexpr std::size_t kTextOfAByte = 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::size_t chunk = data[0] == 0 ? 1U << 16U : data[0];
    const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::size_t lacking = data[1] >> 2U;
    StringSource source(bytes, bytes.size() - std::min(bytes.size(), lacking));
    FakeExternalNames names;
    names.atoms = {"zero", "an atom", "node@far"};
    const std::vector<std::uint32_t> cached = {1, 2, 99};

    const auto id = (data[1] & 2U) != 0 ? format::TermScheme::kOtp29 : format::TermScheme::kOtp25;

    ExternalTermPrinter printer(names, *scheme_of(id));
    printer.start({.source = &source, .cached_atoms = cached, .version_byte = (data[1] & 1U) != 0});
    std::string text;
    for (;;) {
        const auto before = text.size();
        const auto got = printer.next(chunk, text);
        if (got > chunk || text.size() - before != got || (got == 0 && !printer.done())) {
            std::abort();
        }
        if (got == 0) {
            break;
        }
        if (text.size() > (bytes.size() + 4) * kTextOfAByte) {
            std::abort();
        }
    }
    return 0;
}
