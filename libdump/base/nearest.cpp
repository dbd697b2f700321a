#include <libdump/base/nearest.h>

#include <algorithm>
#include <vector>

namespace beamdump {

namespace {

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_letter(char one, char other) {
    return lower(one) == lower(other);
}

}  // namespace

std::size_t edit_distance(std::string_view one, std::string_view other, std::size_t limit) {
    const std::size_t longer = std::max(one.size(), other.size());
    if (longer - std::min(one.size(), other.size()) > limit) {
        return limit + 1;
    }
    // Rows of the table of distances between beginnings (optimal string alignment).
    std::vector<std::size_t> before(other.size() + 1);
    std::vector<std::size_t> above(other.size() + 1);
    std::vector<std::size_t> row(other.size() + 1);
    for (std::size_t j = 0; j <= other.size(); ++j) {
        above[j] = j;
    }
    for (std::size_t i = 1; i <= one.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const std::size_t replaced = same_letter(one[i - 1], other[j - 1]) ? 0 : 1;
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + replaced});
            if (i > 1 && j > 1 && same_letter(one[i - 1], other[j - 2]) &&
                same_letter(one[i - 2], other[j - 1])) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return std::min(above[other.size()], limit + 1);
}

Nearest::Nearest(std::string_view word) : word_(word), most_((word.size() + 2) / 3) {}

void Nearest::add(std::string_view candidate) {
    constexpr std::size_t kLeastContained = 4;
    if (exact_) {
        return;
    }
    const std::size_t distance = edit_distance(word_, candidate, most_);
    if (distance <= most_ && distance < std::max(word_.size(), candidate.size())) {
        best_ = candidate;
        exact_ = distance == 0;
        most_ = exact_ ? 0 : distance - 1;  // only what is closer replaces it
    } else if (containing_.empty() && word_.size() >= kLeastContained &&
               std::ranges::search(candidate, word_, same_letter).begin() != candidate.end()) {
        containing_ = candidate;
    }
}

}  // namespace beamdump
