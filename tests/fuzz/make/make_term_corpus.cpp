// Makes the seeds of term_printer_fuzz: one term of every kind and some torn heaps, one file each.
// Usage: make_term_corpus DIRECTORY

#include "support/fake_term_context.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

namespace {

using namespace beamdump::testing;
using Word = std::uint64_t;

/// A seed: the fuzz target takes word 0 as the term, and the tables it knows are at kHeap.
void write_seed(const std::filesystem::path& directory, const std::string& name,
                const std::function<Word(TermBuilder&)>& build, Word control = 64) {
    FakeTermContext context;
    TermBuilder builder(context);
    context.intern("atom");
    context.intern("an atom");
    builder.put({0});
    builder.poke(TermBuilder::kHeap, build(builder));
    const auto& words = context.regions[TermBuilder::kHeap];
    std::ofstream file(directory / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&control), sizeof(control));
    file.write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * sizeof(Word)));
}

void write_things(const std::filesystem::path& to) {
    const auto small = [](std::int64_t value) { return TermBuilder::small(value); };
    const auto table = TermBuilder::kHeap;
    write_seed(to, "numbers", [&](TermBuilder& b) {
        return b.list({small(-1), b.big({1, 2, 3}), b.big({7}, true), b.floating(1.5)});
    });
    write_seed(to, "identifiers", [&](TermBuilder& b) {
        return b.tuple({TermBuilder::pid(1, 2), TermBuilder::port(3), b.reference({1, 2, 3}),
                        b.pid_reference({1, 2, 3}, TermBuilder::pid(1, 0)),
                        b.external_pid(table, 1, 2), b.external_port(table, 3),
                        b.external_reference(table, {1, 2, 3})});
    });
    write_seed(to, "binaries", [&](TermBuilder& b) {
        const Word heap = b.heap_binary("hello \"world\"");
        const Word refc =
            TermBuilder::boxed(b.put({TermBuilder::header(5, 8), 100, 0, table, table, 0}));
        return b.list({heap, refc, b.sub_binary(heap, 1, 3, 4, 5), b.sub_binary(refc, 10, 40),
                       b.match_context(heap)});
    });
    write_seed(to, "funs", [&](TermBuilder& b) {
        const Word local =
            TermBuilder::boxed(b.put({TermBuilder::header(3, 5), table, 0, 1U | 1U << 8U,
                                      TermBuilder::pid(1, 0), small(5)}));
        const Word exported =
            TermBuilder::boxed(b.put({TermBuilder::header(3, 5), table, 0, 1, b.atom("atom")}));
        return b.tuple({local, exported});
    });
}

/// What only OTP 29 has.
void write_otp29(const std::filesystem::path& to) {
    constexpr Word kOtp29 = Word{3} << 62U | 64U;
    const auto small = [](std::int64_t value) { return TermBuilder::small(value); };
    write_seed(
        to, "otp29-record",
        [&](TermBuilder& b) {
            const Word definition = b.tuple({b.tuple({small(0)}), small(1), b.atom("atom"),
                                             b.atom("an atom"), b.atom("atom"), b.atom("atom")});
            const Word record =
                TermBuilder::boxed(b.put({TermBuilder::header(2, 7), definition, small(5)}));
            return TermBuilder::boxed(b.put({TermBuilder::header(2, 7), definition, record}));
        },
        kOtp29);
    write_seed(
        to, "otp29-funs",
        [&](TermBuilder& b) {
            constexpr Word kExternal = 1U << 24U;
            const Word table = TermBuilder::kHeap;
            const Word local = TermBuilder::boxed(
                b.put({TermBuilder::header(0, 5) | 1U << 16U, table, b.tuple({small(1)})}));
            const Word exported =
                TermBuilder::boxed(b.put({TermBuilder::header(0, 5) | kExternal, table}));
            return b.tuple({local, exported});
        },
        kOtp29);
}

void write_containers(const std::filesystem::path& to) {
    const auto small = [](std::int64_t value) { return TermBuilder::small(value); };
    write_seed(to, "lists", [&](TermBuilder& b) {
        return b.list(
            {b.string("text\n"), b.list({small(300)}, small(1)), TermBuilder::nil(), b.tuple({})});
    });
    write_seed(to, "maps", [&](TermBuilder& b) {
        const Word leaf = b.cons(b.atom("an atom"), small(2));
        const Word node = b.hash_node(0x8001, {leaf, leaf});
        return b.flat_map({{b.atom("atom"), b.hash_head(0x11, 3, {node, leaf})}});
    });
    write_seed(to, "cyclic-list", [&](TermBuilder& b) {
        const auto cell = b.put({small(300), 0});
        b.poke(cell + 8, b.cons(small(301), TermBuilder::list_at(cell)));
        return TermBuilder::list_at(cell);
    });
    write_seed(to, "term-inside-itself", [&](TermBuilder& b) {
        const auto tuple = b.put({TermBuilder::header(2, 0), 0, 0});
        b.poke(tuple + 8, b.list({TermBuilder::boxed(tuple)}));
        b.poke(tuple + 16, TermBuilder::boxed(tuple));
        return TermBuilder::boxed(tuple);
    });
    write_seed(to, "shared-beyond-time", [&](TermBuilder& b) {
        Word word = small(1);
        for (int i = 0; i < 60; ++i) {
            word = b.tuple({word, word});
        }
        return word;
    });
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: make_term_corpus DIRECTORY\n");
        return 2;
    }
    std::filesystem::create_directories(arguments[1]);
    write_things(arguments[1]);
    write_containers(arguments[1]);
    write_otp29(arguments[1]);
    return 0;
}
