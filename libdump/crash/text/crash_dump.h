#pragma once

#include <libdump/base/budget.h>
#include <libdump/base/error.h>
#include <libdump/crash/text/section_scanner.h>
#include <libdump/crash/text/text_source.h>

#include <crash_index.pb.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::crash {

/// A part of the text: a section's lines, without the line that names it.
struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] bool empty() const { return begin == end; }
};

/// The sections of one process.
struct ProcessSections {
    std::uint64_t owner_id = 0;
    Span facts;  ///< =proc
    std::optional<Span> messages;
    std::optional<Span> dictionary;
    std::optional<Span> stack;
    std::optional<Span> heap;
};

/// The head of the dump: `=erl_crash_dump` and the lines up to the next section.
struct CrashHeader {
    std::string version;  ///< of the text format, "0.5"; empty in those of OTP releases before R15
    std::string date;
    std::string slogan;
    std::string system_version;
    std::optional<std::uint64_t> atoms;
    std::optional<std::string> taints;  ///< modules that loaded NIFs; empty: none
    std::string calling_thread;         ///< that wrote the dump
};

/// The places of a crash dump's sections, found in one pass over the text. Memory: about 200 bytes
/// a process, 24 a binary; counted in its budget, like the memory of conversions. Versions of the
/// text: 0.1 to 0.5, and those without a version. A file that has several dumps is read up to the
/// second one.
class CrashDump {
  public:
    /// Called now and then with the bytes read so far and in all.
    using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

    /// Called with the head before the rest is read.
    using HeaderSeen = std::function<void(const CrashHeader&)>;

    /// Errors: those of TextSource::open(), kNotADump where no section is found, and kLimit.
    static Result<CrashDump> open(const std::filesystem::path& path, const Progress& progress,
                                  const HeaderSeen& header_seen = {},
                                  const InputLimits& limits = {});
    /// Opens a text that is open already, with the budget that it was opened with.
    static Result<CrashDump> open(TextSource text, std::unique_ptr<Budget> budget,
                                  const Progress& progress, const HeaderSeen& header_seen = {});

    /// What belongs to the whole text, in records of some 60 KiB: CrashIndex, without its key.
    Result<void> save(const std::function<Result<void>(records::CrashIndex&)>& take) const;
    /// The dump of such records, without processes and without other_sections(). kCorrupt if they
    /// do not fit the text: all places are within it, binaries ascend. Not checked: whether the
    /// places are those of these sections.
    static Result<CrashDump> restore(TextSource text, std::unique_ptr<Budget> budget,
                                     std::span<const records::CrashIndex> index);
    /// The places of a process's sections, within the text; kCorrupt.
    static records::CrashPlaces places_of(const ProcessSections& process);
    [[nodiscard]] Result<ProcessSections> sections_at(std::uint64_t owner_id,
                                                      const records::CrashPlaces& places) const;

    /// The memory and temporary space of reading the dump.
    [[nodiscard]] Budget& budget() const { return *budget_; }

    [[nodiscard]] const TextSource& text() const { return text_; }
    [[nodiscard]] const CrashHeader& header() const { return header_; }
    [[nodiscard]] const std::vector<ProcessSections>& processes() const { return processes_; }
    /// Binaries by their addresses, ascending.
    [[nodiscard]] const std::vector<std::pair<std::uint64_t, Span>>& binaries() const {
        return binaries_;
    }
    /// The Binary at that address; null where the text has none.
    [[nodiscard]] const Span* binary(std::uint64_t address) const;
    [[nodiscard]] const std::optional<Span>& literals() const { return literals_; }
    [[nodiscard]] const std::optional<Span>& memory() const { return memory_; }
    [[nodiscard]] const std::optional<Span>& atom_table() const { return atom_table_; }
    [[nodiscard]] const std::optional<Span>& loaded_modules() const { return loaded_modules_; }
    [[nodiscard]] const std::optional<Span>& persistent_terms() const { return persistent_terms_; }
    /// Sections of other nodes, each with the number that identifiers have for it.
    [[nodiscard]] const std::vector<std::pair<std::uint64_t, Span>>& nodes() const {
        return nodes_;
    }
    [[nodiscard]] const std::string& node_name() const { return node_name_; }
    /// Sections other than those of processes, binaries and literals, with the lines that name
    /// them; neighbouring ones are joined.
    [[nodiscard]] const std::vector<Span>& other_sections() const { return other_sections_; }
    /// How many sections of each kind there are.
    [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& counts() const {
        return counts_;
    }
    /// Whether lines end with CR LF: in an atom, too, such a line end is one character.
    [[nodiscard]] bool has_returns() const { return has_returns_; }
    /// One sentence: where and why the text is truncated; empty for a complete dump.
    [[nodiscard]] const std::string& cut_off() const { return cut_off_; }
    /// The section that a truncated text ends in, without what it is of: "proc".
    [[nodiscard]] std::string_view last_tag() const {
        return std::string_view(last_section_).substr(0, last_section_.find(':'));
    }
    /// How many modules there are; nothing where the text has none, or breaks off before the funs,
    /// which the VM writes after them. Not of a restored dump.
    [[nodiscard]] std::optional<std::uint64_t> modules() const {
        const auto found = counts_.find("mod");
        const bool all = cut_off_.empty() || counts_.contains("fun");
        return all && found != counts_.end() ? std::optional(found->second) : std::nullopt;
    }
    /// Whether no binary is behind the place where the text breaks off: the VM writes them before
    /// =atoms (erl_crash_dump_v() in break.c, OTP 25). Not of a restored dump.
    [[nodiscard]] bool has_all_binaries() const {
        return cut_off_.empty() || counts_.contains("atoms");
    }
    /// One sentence for each thing that a reader should know of a text that lacks nothing: other
    /// text before it, another dump that follows, a version of the text or a release that is newer
    /// than the known ones.
    [[nodiscard]] std::vector<std::string> notes() const;
    /// Whether a section =mod names a module of Elixir.
    [[nodiscard]] bool has_elixir() const { return has_elixir_; }

    /// The owner id of the pid in a section's name, `<0.12.0>`.
    static std::optional<std::uint64_t> parse_owner(std::string_view pid);

  private:
    CrashDump(TextSource text, std::unique_ptr<Budget> budget)
        : budget_(std::move(budget)), text_(std::move(text)) {}
    Result<void> check_begin();
    [[nodiscard]] Result<std::uint64_t> end_of_lines(std::uint64_t limit) const;
    Result<void> scan(const Progress& progress, const HeaderSeen& header_seen);
    [[nodiscard]] std::string_view native_record_hint(std::uint64_t size) const;
    Result<void> read_header(Span lines);
    void add(const Section& section);
    [[nodiscard]] Result<Span> span_of(const records::CrashSpan& span) const;
    Result<void> restore_whole(const records::CrashIndex& head);
    Result<void> restore_binaries(const records::CrashIndex& page);
    bool add_of_process(std::string_view tag, std::string_view argument, Span lines);
    ProcessSections& process(std::string_view pid);

    std::unique_ptr<Budget> budget_;  // on the heap: others keep its address
    TextSource text_;
    CrashHeader header_;
    Span header_lines_;
    std::vector<ProcessSections> processes_;
    std::unordered_map<std::uint64_t, std::size_t> by_owner_;
    std::vector<std::pair<std::uint64_t, Span>> binaries_;
    std::vector<std::pair<std::uint64_t, Span>> nodes_;
    std::vector<Span> other_sections_;
    std::optional<Span> literals_;
    std::optional<Span> memory_;
    std::optional<Span> atom_table_;
    std::optional<Span> loaded_modules_;
    std::optional<Span> persistent_terms_;
    std::string node_name_;
    std::map<std::string, std::uint64_t, std::less<>> counts_;
    std::string last_section_;
    std::string cut_off_;
    std::uint64_t begin_ = 0;                 // of the dump, in the text
    std::optional<std::uint64_t> next_dump_;  // where another dump begins in the text
    bool has_elixir_ = false;
    bool ended_ = false;
    bool has_returns_ = false;
};

/// How far from the front of a text a crash dump may begin.
inline constexpr std::size_t kMostLeadingBytes = std::size_t{1} << 20U;

/// Where the line `=erl_crash_dump` is in the front of a text: behind a byte order mark of UTF-8,
/// or lines of others, such as those of a log that the dump was written into. Nothing where there
/// is none.
std::optional<std::size_t> find_dump_begin(std::string_view front);

}  // namespace beamdump::crash
