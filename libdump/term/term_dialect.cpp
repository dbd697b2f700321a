#include <libdump/term/term_dialect.h>

namespace beamdump {

DialectBuffer::DialectBuffer(TermSyntax syntax) : dialect_(&dialect_of(syntax)) {}

void DialectBuffer::restart() {
    clear();
    escaper_ = {};
}

void DialectBuffer::separate(bool fill, bool spaced) {
    put(',');
    if (dialect_->spaced || spaced) {
        mark(fill ? LayoutMark::kSpaceFill : LayoutMark::kSpaceBreak);
        put(' ');
    } else {
        mark(fill ? LayoutMark::kFill : LayoutMark::kBreak);
    }
}

void DialectBuffer::open(std::string_view opening) {
    put(opening);
    mark(LayoutMark::kOpen);
}

void DialectBuffer::put_tail() {
    mark(dialect_->spaced ? LayoutMark::kSpaceBreak : LayoutMark::kBreak);
    put(dialect_->tail);
}

void DialectBuffer::put_bits(std::uint64_t value, std::uint64_t count) {
    put_unsigned(value);
    put(dialect_->bits);
    put_unsigned(count);
    put(dialect_->bits_end);
}

void DialectBuffer::put_characters(std::span<const std::uint8_t> characters) {
    escaped_.clear();
    escaper_.add(characters, escaped_);
    put(escaped_);
}

void DialectBuffer::end_characters() {
    escaped_.clear();
    escaper_.end(escaped_);
    put(escaped_);
}

void DialectBuffer::put_fun_head(std::int64_t index, std::int64_t uniq, std::uint64_t arity) {
    put("#Function<");
    put_signed(index);
    put('.');
    put_signed(uniq);
    put('/');
    put_unsigned(arity);
    put(" in ");
}

}  // namespace beamdump
