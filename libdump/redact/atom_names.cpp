#include <libdump/base/utf8.h>
#include <libdump/redact/atom_names.h>

#include <algorithm>
#include <sodium.h>
#include <utility>

namespace beamdump::redact {
namespace {

/// Atoms above are hidden, whatever they are: far more than a node has.
constexpr std::uint32_t kMaxCodeAtom = 1U << 26U;
constexpr std::size_t kHashBytes = 32;
using Hash = std::array<std::uint8_t, kHashBytes>;

/// Numbers from 0 to 255 that follow from a hash, as many as are needed.
class Numbers {
  public:
    explicit Numbers(const Hash& seed) : block_(seed) {}
    std::uint8_t next() {
        if (at_ == block_.size()) {
            Hash more{};
            crypto_generichash(more.data(), more.size(), block_.data(), block_.size(), nullptr, 0);
            block_ = more;
            at_ = 0;
        }
        return block_.at(at_++);
    }

  private:
    Hash block_;
    std::size_t at_ = 0;
};

/// A character of `text.size()` bytes.
void put_character(std::span<std::byte> text, Numbers& numbers) {
    constexpr unsigned kLetters = 26;
    constexpr unsigned kLow = 0x40;  // of a continuation byte's six bits
    const auto number = numbers.next();
    const auto continuation = static_cast<std::byte>(0x80U | number % kLow);
    switch (text.size()) {
        case 2:  // from U+00C0 to U+00FF
            text[0] = std::byte{0xC3};
            text[1] = continuation;
            return;
        case 3:  // from U+4E00 to U+4E3F
            text[0] = std::byte{0xE4};
            text[1] = std::byte{0xB8};
            text[2] = continuation;
            return;
        case 4:  // from U+1F600 to U+1F63F
            text[0] = std::byte{0xF0};
            text[1] = std::byte{0x9F};
            text[2] = std::byte{0x98};
            text[3] = continuation;
            return;
        default:
            std::ranges::fill(text, static_cast<std::byte>('a' + number % kLetters));
    }
}

}  // namespace

Result<AtomNames> AtomNames::create(Policy policy, std::shared_ptr<const KeptTerms> kept) {
    std::array<std::uint8_t, kKeyBytes> key{};
    if (sodium_init() < 0) {
        return fail(ErrorCode::kIo, "no random bytes for the pseudonyms of atoms");
    }
    if (policy.salt) {
        const auto* salt = reinterpret_cast<const std::uint8_t*>(policy.salt->data());
        crypto_generichash(key.data(), key.size(), salt, policy.salt->size(), nullptr, 0);
    } else {
        randombytes_buf(key.data(), key.size());
    }
    return AtomNames(std::move(policy), std::move(kept), key);
}

void AtomNames::is_code(std::uint32_t index) {
    if (index >= kMaxCodeAtom) {
        return;
    }
    if (index >= code_.size()) {
        code_.resize(index + 1);
    }
    code_[index] = true;
}

bool AtomNames::remains(std::uint32_t index, std::string_view text) const {
    if (matches(policy_.hide_atoms, text)) {
        return false;
    }
    if (policy_.level == Level::kText || (index < code_.size() && code_[index]) ||
        code_texts_.contains(text) || is_public_atom(text)) {
        return true;
    }
    if (kept_ != nullptr && kept_->hides_atom(index)) {
        return false;
    }
    return matches(policy_.keep_atoms, text) || (kept_ != nullptr && kept_->has_atom(index));
}

void AtomNames::redact(std::uint32_t index, std::span<std::byte> text) const {
    const std::string_view name(reinterpret_cast<const char*>(text.data()), text.size());
    if (text.empty() || remains(index, name)) {
        return;
    }
    Hash hash{};
    crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const std::uint8_t*>(name.data()),
                       name.size(), key_.data(), key_.size());
    Numbers numbers(hash);
    std::size_t characters = 0;
    for (std::size_t at = 0; at < text.size(); ++characters) {
        const auto length = std::max<std::size_t>(utf8_length(name.substr(at)), 1);
        if (text[at] != std::byte{'@'}) {  // a node's name remains one
            put_character(text.subspan(at, length), numbers);
        }
        at += length;
    }
    constexpr std::size_t kMarked = 4;
    if (characters == text.size() && characters >= kMarked && text[1] != std::byte{'@'}) {
        text[0] = std::byte{'x'};
        text[1] = std::byte{'_'};
    }
}

}  // namespace beamdump::redact
