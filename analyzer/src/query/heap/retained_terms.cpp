#include "query/heap/retained_terms.h"

#include <libdump/base/return_if_error.h>
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
    const auto roots = [&](const RetainedSizes::VisitRoot& walk) -> Result<void> {
        std::uint64_t number = 0;
        const auto visit = [&](const HeapRoot& root) -> Result<void> {
            if (root.kind == RootKind::kMessage) {
                reading.words().forget();
            }
            current = root;
            RETURN_IF_ERROR(walk(number, root.word));
            if (root.kind == RootKind::kDictionary) {
                RETURN_IF_ERROR(walk(number, root.key_word));
            }
            ++number;
            return {};
        };
        RETURN_IF_ERROR(visit_roots(reading.dump(), process, visit));
        return {};
    };
    RETURN_IF_ERROR(sizes.run(roots, [&](const LargeTerm& term) {
        reading.forget_texts();
        lines[{term.root, term.word}] = reading.line_of(term, reading.line_of(current, {}));
    }));
    std::vector<LargeTermLine> largest;
    for (const LargeTerm& term : sizes.largest()) {
        largest.push_back(lines[{term.root, term.word}]);
    }
    return largest;
}

}  // namespace beamdump::query
