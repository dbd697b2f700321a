#include <libdump/base/file_start.h>
#include <libdump/base/return_if_error.h>
#include <libdump/crash/text/crash_dump.h>
#include <libdump/crash/text/section_scanner.h>
#include <libdump/crash/text/text_cursor.h>
#include <libdump/crash/text/text_pieces.h>
#include <libdump/format/format.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace beamdump::crash {

namespace {

constexpr std::string_view kFirstTag = "erl_crash_dump";
constexpr std::string_view kLastTag = "end";
// The newest version of the text, and the newest release, whose form is known.
constexpr std::pair<std::uint64_t, std::uint64_t> kNewestVersion = {0, 5};
constexpr std::uint64_t kNewestRelease = 29;
constexpr std::size_t kMostShownVersion = 16;
constexpr std::size_t kLongestLine = 64U << 10U;
// In memory, about, while tables grow: a process with its sections; a binary, a node or a kind of
// sections.
constexpr std::uint64_t kProcessMemory = 256;
constexpr std::uint64_t kEntryMemory = 96;

/// A slogan without a line end of its own, as that of a dump asked for in the break menu, has the
/// system version on its last line (erl_crash_dump_v in break.c, OTP 17 to 29).
void split_slogan(CrashHeader& header) {
    constexpr std::string_view kKey = "System version: ";
    const auto at = header.slogan.rfind(fmt::format("{}Erlang", kKey));
    if (!header.system_version.empty() || at == std::string::npos) {
        return;
    }
    const auto rest = header.slogan.substr(at + kKey.size());
    header.system_version = rest.substr(0, rest.find('\n'));
    header.slogan.resize(at);
}

std::optional<std::uint64_t> hexadecimal(std::string_view digits) {
    constexpr int kBase = 16;
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, kBase);
    return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value)
                                                                        : std::nullopt;
}

std::optional<std::uint64_t> decimal(std::string_view digits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end != digits.data() ? std::optional(value) : std::nullopt;
}

/// The numbers of "0.5"; nothing for a text without a version.
std::optional<std::pair<std::uint64_t, std::uint64_t>> text_version(std::string_view version) {
    const auto major = decimal(version);
    const auto dot = version.find('.');
    const auto minor =
        dot == std::string_view::npos ? std::nullopt : decimal(version.substr(dot + 1));
    return major ? std::optional(std::pair(*major, minor.value_or(0))) : std::nullopt;
}

std::optional<std::uint64_t> otp_release(std::string_view system_version) {
    constexpr std::string_view kKey = "Erlang/OTP ";
    const auto at = system_version.find(kKey);
    return at == std::string_view::npos ? std::nullopt
                                        : decimal(system_version.substr(at + kKey.size()));
}

constexpr std::uint64_t kBinaryMemory = 96;  // about, as while the text is scanned
constexpr int kBinariesOfARecord = 2048;

records::CrashSpan saved(const Span& span) {
    records::CrashSpan into;
    into.set_begin(span.begin);
    into.set_bytes(span.end - span.begin);
    return into;
}

std::unexpected<Error> bad_index(std::string_view what) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the index kept of a crash dump does not fit its text: {}", what));
}

constexpr std::string_view kFirstLine = "=erl_crash_dump";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

Result<CrashDump> CrashDump::open(const std::filesystem::path& path, const Progress& progress,
                                  const HeaderSeen& header_seen, const InputLimits& limits) {
    auto budget = std::make_unique<Budget>(limits);
    ASSIGN_OR_RETURN(auto text, TextSource::open(path, {.budget = budget.get()}));
    return open(std::move(text), std::move(budget), progress, header_seen);
}

Result<CrashDump> CrashDump::open(TextSource text, std::unique_ptr<Budget> budget,
                                  const Progress& progress, const HeaderSeen& header_seen) {
    CrashDump dump(std::move(text), std::move(budget));
    RETURN_IF_ERROR(dump.check_begin());
    RETURN_IF_ERROR(dump.scan(progress, header_seen));
    return dump;
}

Result<void> CrashDump::save(const std::function<Result<void>(records::CrashIndex&)>& take) const {
    records::CrashIndex page;
    *page.mutable_header() = saved(header_lines_);
    const auto keep = [](const std::optional<Span>& span, auto&& into) {
        if (span) {
            *into() = saved(*span);
        }
    };
    keep(literals_, [&page] { return page.mutable_literals(); });
    keep(memory_, [&page] { return page.mutable_memory(); });
    keep(atom_table_, [&page] { return page.mutable_atom_table(); });
    keep(loaded_modules_, [&page] { return page.mutable_loaded_modules(); });
    keep(persistent_terms_, [&page] { return page.mutable_persistent_terms(); });
    page.set_node_name(node_name_);
    page.set_cut_off(cut_off_);
    page.set_version(header_.version);
    page.set_elixir(has_elixir_);
    if (next_dump_) {
        page.set_next_dump(*next_dump_);
    }
    if (const auto modules = counts_.find("mod"); modules != counts_.end()) {
        page.set_modules(modules->second);
    }
    page.set_binaries(binaries_.size());
    for (const auto& [address, lines] : binaries_) {
        if (page.binary_begin_size() == kBinariesOfARecord) {
            RETURN_IF_ERROR(take(page));
            page.Clear();
        }
        page.add_binary_address(address);
        page.add_binary_begin(lines.begin);
        page.add_binary_bytes(lines.end - lines.begin);
    }
    return take(page);
}

Result<CrashDump> CrashDump::restore(TextSource text, std::unique_ptr<Budget> budget,
                                     std::span<const records::CrashIndex> index) {
    CrashDump dump(std::move(text), std::move(budget));
    RETURN_IF_ERROR(dump.check_begin());
    if (index.empty()) {
        return bad_index("it is empty");
    }
    RETURN_IF_ERROR(dump.restore_whole(index.front()));
    for (const auto& page : index) {
        RETURN_IF_ERROR(dump.restore_binaries(page));
    }
    if (dump.binaries_.size() != index.front().binaries()) {
        return bad_index("binaries are missing");
    }
    return dump;
}

records::CrashPlaces CrashDump::places_of(const ProcessSections& process) {
    records::CrashPlaces places;
    *places.mutable_facts() = saved(process.facts);
    const auto keep = [](const std::optional<Span>& span, auto&& into) {
        if (span) {
            *into() = saved(*span);
        }
    };
    keep(process.messages, [&places] { return places.mutable_messages(); });
    keep(process.dictionary, [&places] { return places.mutable_dictionary(); });
    keep(process.stack, [&places] { return places.mutable_stack(); });
    keep(process.heap, [&places] { return places.mutable_heap(); });
    return places;
}

Result<ProcessSections> CrashDump::sections_at(std::uint64_t owner_id,
                                               const records::CrashPlaces& places) const {
    ProcessSections process;
    process.owner_id = owner_id;
    ASSIGN_OR_RETURN(process.facts, span_of(places.facts()));
    struct Kept {
        bool there = false;
        const records::CrashSpan& span;
        std::optional<Span>& into;
    };
    for (const auto& [there, span, into] :
         {Kept{places.has_messages(), places.messages(), process.messages},
          Kept{places.has_dictionary(), places.dictionary(), process.dictionary},
          Kept{places.has_stack(), places.stack(), process.stack},
          Kept{places.has_heap(), places.heap(), process.heap}}) {
        if (there) {
            ASSIGN_OR_RETURN(into, span_of(span));
        }
    }
    return process;
}

const Span* CrashDump::binary(std::uint64_t address) const {
    const auto found =
        std::ranges::lower_bound(binaries_, address, {}, &std::pair<std::uint64_t, Span>::first);
    return found == binaries_.end() || found->first != address ? nullptr : &found->second;
}

std::vector<std::string> CrashDump::notes() const {
    std::vector<std::string> notes;
    constexpr std::uint64_t kByteOrderMark = 3;
    if (begin_ > kByteOrderMark) {
        notes.push_back(fmt::format(
            "the crash dump begins at byte {} of the text: what is before it is passed over",
            begin_));
    }
    if (next_dump_) {
        // `tail` counts from 1.
        notes.push_back(fmt::format(
            "the text has another crash dump, from byte {} on, and only the first one is read; "
            "tail -c +{} makes a file of the other",
            *next_dump_, *next_dump_ + 1));
    }
    if (const auto version = text_version(header_.version); version && *version > kNewestVersion) {
        notes.push_back(fmt::format(
            "the text of the crash dump has version {}, which is newer than {}.{}, the last one "
            "known: what it prints differently is missing or wrong in the answer",
            header_.version.substr(0, kMostShownVersion), kNewestVersion.first,
            kNewestVersion.second));
    }
    if (const auto release = otp_release(header_.system_version);
        release && *release > kNewestRelease) {
        notes.push_back(fmt::format(
            "the crash dump is of Erlang/OTP {}, and {} is the last release known: sizes of "
            "objects are taken to be those of {}",
            *release, kNewestRelease, kNewestRelease));
    }
    return notes;
}

std::optional<std::uint64_t> CrashDump::parse_owner(std::string_view pid) {
    if (!pid.starts_with("<0.")) {
        return std::nullopt;
    }
    pid.remove_prefix(3);
    const auto dot = pid.find('.');
    const auto number = decimal(pid.substr(0, dot));
    const auto serial = dot == std::string_view::npos ? std::nullopt : decimal(pid.substr(dot + 1));
    constexpr std::uint64_t kMax = 0xFFFF'FFFF;
    if (!number || !serial || *number > kMax || *serial > kMax) {
        return std::nullopt;
    }
    return format::owner_id_of(*number, *serial);
}

/// Where it begins, and whether its sections can be told; which line ends it has.
Result<void> CrashDump::check_begin() {
    std::string front;
    std::optional<std::size_t> begin;
    constexpr std::size_t kLookedFirst = 512;
    for (const auto looked : {kLookedFirst, kMostLeadingBytes}) {
        front.resize(looked);
        ASSIGN_OR_RETURN(const auto got, text_.read(0, front));
        front.resize(got);
        begin = find_dump_begin(front);
        if (begin || got < looked) {
            break;
        }
    }
    if (const auto packed = packed_in(front); !begin && !packed.empty()) {
        return fail(ErrorCode::kNotADump, fmt::format("{} {}", text_.name(), packed));
    }
    begin_ = begin.value_or(0);
    std::string_view start = std::string_view(front).substr(begin_);
    start.remove_prefix(std::min(start.find_first_not_of("\r\n"), start.size()));
    if (start.starts_with("<Erlang crash dump>")) {
        return fail(ErrorCode::kUnsupported,
                    text_.name() +
                        " is a crash dump of a release before R10: its text has no "
                        "sections, and cannot be read");
    }
    const auto end = start.find('\n');
    has_returns_ = end != std::string_view::npos && end != 0 && start[end - 1] == '\r';
    return {};
}

/// Where the last whole line of the text up to `limit` ends. A last line without an end was broken
/// off, and so may be what it says; only =end, which the VM writes last, is whole. A text of one
/// line ends with it.
Result<std::uint64_t> CrashDump::end_of_lines(std::uint64_t limit) const {
    constexpr std::uint64_t kLooked = 64U << 10U;
    std::vector<char> bytes;
    for (auto end = limit; end > begin_;) {
        const auto from = end - std::min(end - begin_, kLooked);
        bytes.resize(end - from);
        ASSIGN_OR_RETURN(const auto got, text_.read(from, bytes));
        const std::string_view held(bytes.data(), got);
        if (const auto line_end = held.rfind('\n'); line_end != std::string_view::npos) {
            const auto last = held.substr(line_end + 1);
            const bool whole = end == text_.size() && (last == "=end" || last == "=end\r");
            return whole ? end : from + line_end + 1;
        }
        end = from;
    }
    return limit;
}

Result<void> CrashDump::scan(const Progress& progress, const HeaderSeen& header_seen) {
    const auto take = [this, &header_seen](Section section) -> Result<void> {
        if (next_dump_ && section.tag != kLastTag) {
            // Its last line may be broken off: there is no telling whether the end of it, or only
            // that of the file, was added before the other dump.
            ASSIGN_OR_RETURN(section.end, end_of_lines(section.end - 1));
            if (section.end < section.body && section.tag != kFirstTag) {
                return {};
            }
            section.end = std::max(section.end, section.body);
        }
        if (counts_.empty() && section.tag != kFirstTag) {
            return fail(
                ErrorCode::kNotADump,
                text_.name() + " is neither a dump of beamdump-capture nor an Erlang crash dump");
        }
        const bool first = counts_.empty();
        add(section);
        auto done = first ? read_header({section.body, section.end}) : Result<void>();
        if (done && budget_->memory_exceeded()) {
            return wrap(text_.name(), budget_->check_memory().error());
        }
        if (first && done && header_seen) {
            header_seen(header_);
        }
        return done;
    };
    // The section that was found last: how it ends is known with what follows.
    struct Held {
        Section section;
        std::string tag;
        std::string argument;
    };
    std::optional<Held> held;
    const auto take_held = [&]() -> Result<void> {
        if (!held) {
            return {};
        }
        held->section.tag = held->tag;
        held->section.argument = held->argument;
        auto done = take(held->section);
        held.reset();
        return done;
    };
    SectionScanner scanner([&](const Section& found) -> Result<void> {
        if (next_dump_) {
            return {};  // nothing of another dump belongs to this one
        }
        const bool other = held && found.tag == kFirstTag;
        if (other) {
            next_dump_ = found.begin + begin_;
        }
        RETURN_IF_ERROR(take_held());
        if (!other) {
            held = {.section = found,
                    .tag = std::string(found.tag),
                    .argument = std::string(found.argument)};
            held->section.begin += begin_;
            held->section.body += begin_;
            held->section.end += begin_;
        }
        return {};
    });
    ASSIGN_OR_RETURN(const auto end, end_of_lines(text_.size()));
    RETURN_IF_ERROR(scan_sections(text_, {begin_, end}, scanner, progress));
    RETURN_IF_ERROR(take_held());
    if (counts_.empty()) {
        return fail(ErrorCode::kNotADump, text_.name() + " has no section of a crash dump");
    }
    std::ranges::sort(binaries_, {}, &std::pair<std::uint64_t, Span>::first);
    if (!ended_) {
        const auto size = next_dump_.value_or(text_.size());
        cut_off_ = fmt::format("the crash dump breaks off after {} bytes, in its section ={}{}{}{}",
                               size, last_section_, text_.broken().empty() ? "" : ": ",
                               text_.broken(), native_record_hint(size - begin_));
    }
    return {};
}

/// What may have ended a dump of OTP 29 of that size: the VM encodes a native record into 1,024
/// bytes of its stack, and does not survive a larger one, nor one with parts that it has written
/// before (dump_externally() of erl_process_dump.c, 29.1.1). What its buffer of 64 KiB held is lost
/// with it, so that the file is a multiple of that.
std::string_view CrashDump::native_record_hint(std::uint64_t size) const {
    constexpr std::uint64_t kFirstRelease = 29;
    constexpr std::uint64_t kBufferBytes = 64U << 10U;
    const bool of_terms = last_tag().starts_with("proc_") || last_tag() == "literals";
    return otp_release(header_.system_version).value_or(0) >= kFirstRelease && of_terms &&
                   size % kBufferBytes == 0 && text_.broken().empty()
               ? "; OTP 29 ends so when a native record needs more than 1,024 bytes, or has parts "
                 "that were written before it"
               : "";
}

Result<void> CrashDump::read_header(Span lines) {
    header_lines_ = lines;
    TextCursor text(text_, lines.begin, lines.end);
    header_.date = text.take_line(kLongestLine);
    std::string* last = nullptr;
    while (!text.at_end()) {
        const auto line = text.take_line(kLongestLine);
        const auto value = [&line](std::string_view key) {
            return line.starts_with(key) ? std::optional(line.substr(key.size())) : std::nullopt;
        };
        if (const auto slogan = value("Slogan: ")) {
            header_.slogan = *slogan;
            last = &header_.slogan;
        } else if (const auto system = value("System version: ")) {
            header_.system_version = *system;
            last = nullptr;
        } else if (const auto atoms = value("Atoms: ")) {
            header_.atoms = decimal(*atoms);
            last = nullptr;
        } else if (const auto taints = value("Taints: ")) {
            header_.taints = *taints;
            last = nullptr;
        } else if (const auto thread = value("Calling Thread: ")) {
            header_.calling_thread = *thread;
            last = nullptr;
        } else if (last != nullptr) {
            // A slogan may have more than one line.
            *last += '\n' + line;
            budget_->use_memory(2 * (line.size() + 1));
            if (budget_->memory_exceeded()) {
                break;
            }
        }
    }
    split_slogan(header_);
    return text.error() ? Result<void>(std::unexpected(*text.error())) : Result<void>();
}

void CrashDump::add(const Section& section) {
    const auto tag = section.tag;
    const auto argument = section.argument;
    const Span lines{section.body, section.end};
    constexpr std::size_t kMaxShown = 64;
    auto count = counts_.find(tag);
    if (count == counts_.end()) {
        count = counts_.emplace(tag, 0).first;
        budget_->use_memory(tag.size() + kEntryMemory);
    }
    ++count->second;
    last_section_.assign(tag);
    if (!argument.empty()) {
        last_section_.append(1, ':').append(argument.substr(0, kMaxShown));
    }
    if (add_of_process(tag, argument, lines)) {
        return;
    }
    if (tag == "binary") {
        if (const auto address = hexadecimal(argument)) {
            binaries_.emplace_back(*address, lines);
            budget_->use_memory(kEntryMemory);
        }
        return;
    }
    if (tag == "literals") {
        literals_ = lines;
        return;
    }
    if (tag == kLastTag) {
        ended_ = true;
        return;
    }
    if (other_sections_.empty() || other_sections_.back().end != section.begin) {
        other_sections_.push_back({section.begin, section.end});
        budget_->use_memory(2 * sizeof(Span));
    } else {
        other_sections_.back().end = section.end;
    }
    if (tag == "visible_node" || tag == "hidden_node" || tag == "not_connected") {
        if (const auto channel = decimal(argument)) {
            nodes_.emplace_back(*channel, lines);
            budget_->use_memory(kEntryMemory);
        }
    } else if (tag == "node") {
        node_name_ = argument;
    } else if (tag == "memory") {
        memory_ = lines;
    } else if (tag == "index_table" && argument == "atom_tab") {
        atom_table_ = lines;
    } else if (tag == "loaded_modules") {
        loaded_modules_ = lines;
    } else if (tag == "persistent_terms") {
        persistent_terms_ = lines;
    } else if (tag == "mod") {
        has_elixir_ = has_elixir_ || argument == "elixir";
    } else if (tag == kFirstTag) {
        header_.version = argument;
    }
}

Result<Span> CrashDump::span_of(const records::CrashSpan& span) const {
    if (span.begin() > text_.size() || span.bytes() > text_.size() - span.begin()) {
        return bad_index("a section reaches beyond its end");
    }
    return Span{span.begin(), span.begin() + span.bytes()};
}

Result<void> CrashDump::restore_whole(const records::CrashIndex& head) {
    ASSIGN_OR_RETURN(const auto lines, span_of(head.header()));
    header_.version = head.version();
    RETURN_IF_ERROR(read_header(lines));
    struct Kept {
        bool there = false;
        const records::CrashSpan& span;
        std::optional<Span>& into;
    };
    for (const auto& [there, span, into] :
         {Kept{head.has_literals(), head.literals(), literals_},
          Kept{head.has_memory(), head.memory(), memory_},
          Kept{head.has_atom_table(), head.atom_table(), atom_table_},
          Kept{head.has_loaded_modules(), head.loaded_modules(), loaded_modules_},
          Kept{head.has_persistent_terms(), head.persistent_terms(), persistent_terms_}}) {
        if (there) {
            ASSIGN_OR_RETURN(into, span_of(span));
        }
    }
    node_name_ = head.node_name();
    cut_off_ = head.cut_off();
    has_elixir_ = head.elixir();
    if (head.has_next_dump()) {
        if (head.next_dump() > text_.size()) {
            return bad_index("another dump begins beyond its end");
        }
        next_dump_ = head.next_dump();
    }
    if (head.has_modules()) {
        counts_.emplace("mod", head.modules());
    }
    return {};
}

Result<void> CrashDump::restore_binaries(const records::CrashIndex& page) {
    const auto count = page.binary_address_size();
    if (page.binary_begin_size() != count || page.binary_bytes_size() != count) {
        return bad_index("its binaries have no places");
    }
    for (int at = 0; at < count; ++at) {
        records::CrashSpan span;
        span.set_begin(page.binary_begin(at));
        span.set_bytes(page.binary_bytes(at));
        ASSIGN_OR_RETURN(const auto lines, span_of(span));
        const auto address = page.binary_address(at);
        if (!binaries_.empty() && address < binaries_.back().first) {
            return bad_index("its binaries are not in order");
        }
        binaries_.emplace_back(address, lines);
        budget_->use_memory(kBinaryMemory);
    }
    return budget_->check_memory();
}

/// Whether it is a section of a process.
bool CrashDump::add_of_process(std::string_view tag, std::string_view argument, Span lines) {
    if (!tag.starts_with("proc")) {
        return false;
    }
    auto member = tag == "proc_stack"        ? &ProcessSections::stack
                  : tag == "proc_heap"       ? &ProcessSections::heap
                  : tag == "proc_messages"   ? &ProcessSections::messages
                  : tag == "proc_dictionary" ? &ProcessSections::dictionary
                                             : nullptr;
    if (tag != "proc" && member == nullptr) {
        return false;
    }
    if (parse_owner(argument)) {
        auto& owner = process(argument);
        if (member == nullptr) {
            owner.facts = lines;
        } else {
            owner.*member = lines;
        }
    }
    return true;
}

ProcessSections& CrashDump::process(std::string_view pid) {
    const auto owner = parse_owner(pid).value_or(~std::uint64_t{0});
    const auto [found, made] = by_owner_.try_emplace(owner, processes_.size());
    if (made) {
        processes_.emplace_back().owner_id = owner;
        budget_->use_memory(kProcessMemory);
    }
    return processes_[found->second];
}

std::optional<std::size_t> find_dump_begin(std::string_view front) {
    const std::size_t mark = front.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    for (auto at = front.find(kFirstLine, mark); at != std::string_view::npos;
         at = front.find(kFirstLine, at + 1)) {
        const auto after = front.substr(at + kFirstLine.size(), 1);
        if ((at == mark || front[at - 1] == '\n') &&
            (after.empty() || std::string_view(":\r\n").contains(after.front()))) {
            return at;
        }
    }
    return std::nullopt;
}

}  // namespace beamdump::crash
