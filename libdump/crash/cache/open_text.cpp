#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/base/temporary_file.h>
#include <libdump/crash/cache/cache_directory.h>
#include <libdump/crash/cache/facts_dump.h>
#include <libdump/crash/cache/open_text.h>
#include <libdump/crash/cache/text_key.h>

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace beamdump::crash {
namespace {

/// The kept facts of a text as a file without a name, and what belongs to the whole text.
struct Facts {
    Descriptor file;
    std::unique_ptr<Dump> dump;
    std::vector<records::CrashIndex> index;
};

Result<Facts> read_file(Descriptor file) {
    Facts facts{std::move(file), nullptr, {}};
    Descriptor again(::fcntl(facts.file.get(), F_DUPFD_CLOEXEC, 0));
    ASSIGN_OR_RETURN(facts.dump, Dump::open(std::move(again), "a file with kept facts"));
    ASSIGN_OR_RETURN(facts.index, read_index(*facts.dump));
    return facts;
}

Result<Facts> find(const CacheDirectory& cache, const TextKey& key, Budget& budget) {
    ASSIGN_OR_RETURN(auto file, open_temporary_file());
    ASSIGN_OR_RETURN(const auto bytes, cache.load(key.file, file.get()));
    auto facts = read_file(std::move(file));
    if (!facts || facts->index.empty() || facts->index.front().key() != key.whole) {
        cache.remove(key.file);
        return fail(ErrorCode::kNotFound, "the file has changed");
    }
    RETURN_IF_ERROR(budget.take_temporary(bytes));
    return facts;
}

/// Appends to the facts what they lack.
Result<ConvertOutcome> append(const CrashDump& text, Facts& facts, const ConvertChoice& choice,
                              const CrashDump::Progress& progress) {
    ASSIGN_OR_RETURN(const auto known, read_facts(*facts.dump, text, choice));
    facts.dump.reset();
    const auto end = static_cast<off_t>(known.frames.file_bytes);
    if (::ftruncate(facts.file.get(), end) != 0 ||
        ::lseek(facts.file.get(), end, SEEK_SET) != end) {
        return fail(ErrorCode::kIo,
                    fmt::format("cannot append to a temporary file: {}", system_error_text(errno)));
    }
    return extend(text, budgeted_sink(descriptor_sink(facts.file.get()), text.budget()), known,
                  choice, progress);
}

class Opening {
  public:
    Opening(const ConvertChoice& choice, const CrashDump::Progress& progress,
            const CrashDump::HeaderSeen& header_seen, const InputLimits& limits)
        : choice_(choice), progress_(progress), header_seen_(header_seen), limits_(limits) {}

    /// As without a cache.
    Result<OpenedText> plainly(TextSource text, std::unique_ptr<Budget> budget, std::string why) {
        ASSIGN_OR_RETURN(auto dump, CrashDump::open(std::move(text), std::move(budget), progress_,
                                                    header_seen_));
        return convert_whole(std::make_unique<CrashDump>(std::move(dump)), std::move(why));
    }
    Result<OpenedText> with_cache(const std::filesystem::path& path, const CacheChoice& choice,
                                  TextSource text, std::unique_ptr<Budget> budget,
                                  const TextSource::Identity& identity);

  private:
    Result<OpenedText> convert_whole(std::unique_ptr<CrashDump> dump, std::string why);
    Result<OpenedText> from_facts(std::unique_ptr<CrashDump> dump, Facts facts, std::string kept);
    Result<Facts> make_facts(const CrashDump& dump, const TextKey& key);

    const ConvertChoice& choice_;
    const CrashDump::Progress& progress_;
    const CrashDump::HeaderSeen& header_seen_;
    const InputLimits& limits_;
};

Result<OpenedText> Opening::convert_whole(std::unique_ptr<CrashDump> dump, std::string why) {
    OpenedText opened;
    ASSIGN_OR_RETURN(auto file, TemporaryFile::create());
    ASSIGN_OR_RETURN(
        opened.outcome,
        convert(*dump, budgeted_sink(temporary_sink(file), dump->budget()), choice_, progress_));
    opened.dump = std::move(file).take();
    opened.text = std::move(dump);
    opened.whole = choice_.heaps == ConvertChoice::Heaps::kAll;
    opened.kept = std::move(why);
    return opened;
}

Result<OpenedText> Opening::from_facts(std::unique_ptr<CrashDump> dump, Facts facts,
                                       std::string kept) {
    ASSIGN_OR_RETURN(auto outcome, append(*dump, facts, choice_, progress_));
    return OpenedText{.text = std::move(dump),
                      .outcome = std::move(outcome),
                      .dump = std::move(facts.file),
                      .whole = false,
                      .kept = std::move(kept)};
}

Result<Facts> Opening::make_facts(const CrashDump& dump, const TextKey& key) {
    ASSIGN_OR_RETURN(auto file, open_temporary_file());
    const auto before = dump.budget().memory();
    RETURN_IF_ERROR(convert_facts(dump, budgeted_sink(descriptor_sink(file.get()), dump.budget()),
                                  key.whole, progress_));
    // The names, which are read back.
    dump.budget().give_memory(dump.budget().memory() - before);
    return read_file(std::move(file));
}

Result<OpenedText> Opening::with_cache(const std::filesystem::path& path, const CacheChoice& choice,
                                       TextSource text, std::unique_ptr<Budget> budget,
                                       const TextSource::Identity& identity) {
    const auto cache = CacheDirectory::open(choice.directory);
    if (!cache) {
        return plainly(std::move(text), std::move(budget), cache.error().message);
    }
    ASSIGN_OR_RETURN(const auto key, key_of(text, identity));
    if (auto facts = find(*cache, key, *budget)) {
        auto dump = CrashDump::restore(std::move(text), std::move(budget), facts->index);
        if (dump) {
            if (header_seen_) {
                header_seen_(dump->header());
            }
            auto opened = from_facts(std::make_unique<CrashDump>(*std::move(dump)),
                                     *std::move(facts), "used");
            if (opened || opened.error().code != ErrorCode::kCorrupt) {
                return opened;
            }
        }
        // Wrong, although its checksum holds: as if it had not been there.
        cache->remove(key.file);
        budget = std::make_unique<Budget>(limits_);
        ASSIGN_OR_RETURN(text, TextSource::open(path, {.budget = budget.get()}));
    }
    const bool settled = has_settled(identity);
    ASSIGN_OR_RETURN(auto dump,
                     CrashDump::open(std::move(text), std::move(budget), progress_, header_seen_));
    auto scanned = std::make_unique<CrashDump>(std::move(dump));
    if (!settled || scanned->text().identity() != identity) {
        return convert_whole(std::move(scanned), "not kept: the file was changed just now");
    }
    auto facts = make_facts(*scanned, key);
    if (!facts) {
        return convert_whole(std::move(scanned), "not kept: " + facts.error().message);
    }
    const auto stored =
        cache->store(key.file, facts->file.get(), facts->dump->reader().file_bytes());
    return from_facts(std::move(scanned), *std::move(facts),
                      stored ? "written" : "not kept: " + stored.error().message);
}

}  // namespace

Result<OpenedText> open_text(const std::filesystem::path& path, const ConvertChoice& choice,
                             const CacheChoice& cache, const CrashDump::Progress& progress,
                             const CrashDump::HeaderSeen& header_seen, const InputLimits& limits,
                             const std::filesystem::path& key) {
    auto budget = std::make_unique<Budget>(limits);
    ASSIGN_OR_RETURN(auto text, TextSource::open(path, {.budget = budget.get(), .key = key}));
    ConvertChoice made = choice;
    if (choice.heaps == ConvertChoice::Heaps::kNone && text.size() <= choice.whole_up_to) {
        made.heaps = ConvertChoice::Heaps::kAll;
    }
    Opening opening(made, progress, header_seen, limits);
    const auto identity = text.identity();
    const std::string_view why_not = made.heaps == ConvertChoice::Heaps::kAll
                                         ? "not for this command"
                                     : cache.directory.empty()         ? "off"
                                     : !identity                       ? "not for unpacked texts"
                                     : text.size() < cache.least_bytes ? "not for small texts"
                                                                       : "";
    if (!why_not.empty()) {
        return opening.plainly(std::move(text), std::move(budget), std::string(why_not));
    }
    return opening.with_cache(path, cache, std::move(text), std::move(budget), *identity);
}

}  // namespace beamdump::crash
