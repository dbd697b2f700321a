#include "query/heap/retained_terms.h"

#include <libdump/heap/retained_sizes.h>

#include <cstdint>
#include <map>
#include <utility>

namespace beamdump::query {

Result<std::vector<LargeTermLine>> retained_terms(HeapReading& reading) {
    OpenedProcess& process = reading.process();
    RetainedSizes sizes(process.scheme, reading.words(), reading.space(),
                        [&](std::uint64_t address) { return reading.is_literal(address); },
                        {.largest = reading.most_lines()});
    std::map<std::pair<std::uint64_t, std::uint64_t>, LargeTermLine> lines;  // by root and word
    HeapRoot current;
    const auto roots = [&](const auto& walk) -> Result<void> {
        std::uint64_t number = 0;
        auto visits = visit_roots(reading.dump(), process, [&](const HeapRoot& root) {
            if (root.kind == RootKind::kMessage) {
                reading.words().forget();
            }
            current = root;
            walk(number, root.word);
            if (root.kind == RootKind::kDictionary) {
                walk(number, root.key_word);
            }
            ++number;
        });
        return visits ? Result<void>() : std::unexpected(visits.error());
    };
    auto done = sizes.run(roots, [&](const LargeTerm& term) {
        reading.forget_texts();
        lines[{term.root, term.word}] = reading.line_of(term, reading.line_of(current, {}));
    });
    if (!done) {
        return std::unexpected(done.error());
    }
    std::vector<LargeTermLine> largest;
    for (const LargeTerm& term : sizes.largest()) {
        largest.push_back(lines[{term.root, term.word}]);
    }
    return largest;
}

}  // namespace beamdump::query
