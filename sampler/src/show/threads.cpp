#include "show/threads.h"

#include <libdump/format/owner_id.h>
#include <libdump/profile/report_parts.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::sampler {
namespace {

constexpr std::size_t kShownFrames = 12;

/// "<0.82.0> accounts (sample_accounts:init/1)"
std::string process_text(const ProcessIdentity& process) {
    auto text = pid_text(process.owner_id);
    if (process.registered) {
        text += fmt::format(" {}", *process.registered);
    }
    if (process.initial_call) {
        text += fmt::format(" ({})", *process.initial_call);
    }
    return text;
}

std::string role_text(const ThreadRole& role) {
    std::string text(thread_kind_name(role.kind));
    std::ranges::replace(text, '_', ' ');
    return role.number == 0 && role.kind != ThreadKind::kPoll
               ? text
               : fmt::format("{} {}", text, role.number);
}

/// "mutex at 0x7f2c8c0010a8 (planted)"
std::string at_text(std::string_view what, const ThreadWait& wait) {
    auto text = fmt::format("{} at {:#x}", what, *wait.address);
    if (wait.variable) {
        text += fmt::format(" ({})", *wait.variable);
    }
    return text;
}

std::string wait_text(const ThreadWait& wait) {
    switch (wait.what) {
        case WaitsFor::kMutex:
            return at_text("waits for the mutex", wait);
        case WaitsFor::kTableLock:
            return fmt::format("waits for the lock of the ETS table {}", *wait.variable);
        case WaitsFor::kEvent:
            return "waits until another thread wakes it";
        case WaitsFor::kFutex:
            return at_text("waits for the futex", wait);
        case WaitsFor::kReady:
            return fmt::format("waits for descriptors ({})", wait.call);
        case WaitsFor::kDescriptor:
            return wait.file ? fmt::format("in {} of {}", wait.call, *wait.file)
                             : fmt::format("in {} of descriptor {}", wait.call, *wait.descriptor);
        case WaitsFor::kTime:
            return fmt::format("sleeps for a time ({})", wait.call);
        case WaitsFor::kOther:
            return fmt::format("in {}", wait.call);
        case WaitsFor::kNone:
            break;
    }
    return "in the kernel, in no system call";
}

class Threads {
  public:
    explicit Threads(const ThreadsReport& report) : report_(report) {
        for (const auto& thread : report.threads) {
            if (thread.wait && thread.wait->owner) {
                owners_.insert(*thread.wait->owner);
            }
        }
    }

    /// Those that wait for mutexes and that have them first, then by processor time.
    [[nodiscard]] std::vector<const ThreadFacts*> sorted() const {
        std::vector<const ThreadFacts*> sorted;
        sorted.reserve(report_.threads.size());
        for (const auto& thread : report_.threads) {
            sorted.push_back(&thread);
        }
        std::ranges::stable_sort(sorted, [this](const auto* one, const auto* other) {
            return std::pair(!about_mutex(*one), -ran(*one)) <
                   std::pair(!about_mutex(*other), -ran(*other));
        });
        return sorted;
    }

    /// "4242 holder"
    [[nodiscard]] std::string name(pid_t id) const {
        const auto found = std::ranges::find(report_.threads, id, &ThreadFacts::id);
        return found == report_.threads.end() ? fmt::format("{}", id)
                                              : fmt::format("{} {}", id, found->name);
    }

    /// "<0.82.0> (shop:init/1): waits for the mutex at 0x7f2c8c0010a8 (planted), which thread 4242
    /// holder has"
    [[nodiscard]] std::string does(const ThreadFacts& thread) const {
        auto text = what(thread);
        if (thread.process) {
            return fmt::format("{}: {}", process_text(*thread.process), text);
        }
        if (thread.port_number) {
            return fmt::format("#Port<0.{}>: {}", *thread.port_number, text);
        }
        return text;
    }

  private:
    [[nodiscard]] bool about_mutex(const ThreadFacts& thread) const {
        return owners_.contains(thread.id) ||
               (thread.wait && thread.wait->what == WaitsFor::kMutex);
    }

    static std::int64_t ran(const ThreadFacts& thread) {
        return static_cast<std::int64_t>(thread.ran_ns.value_or(0));
    }

    [[nodiscard]] std::string what(const ThreadFacts& thread) const {
        if (thread.off_heap_circle) {
            return fmt::format(
                "frees {} for ever: the list of off-heap objects leads back into itself, over {}",
                thread.freed_owner_id ? pid_text(*thread.freed_owner_id) : "it",
                counted(*thread.off_heap_circle, "member"));
        }
        if (thread.spins(report_.took_ns) && thread.freed_owner_id) {
            return fmt::format("frees {}, which has ended", pid_text(*thread.freed_owner_id));
        }
        if (thread.spins(report_.took_ns)) {
            return fmt::format("spins: {} of {} samples are of no process and no port",
                               thread.without_work, thread.samples);
        }
        if (thread.idle) {
            return "without work";
        }
        if (!thread.wait) {
            return thread.state == 'R' || thread.samples != 0 ? "runs" : "not read";
        }
        auto text = wait_text(*thread.wait);
        if (thread.wait->owner) {
            text += fmt::format(", which thread {} has", name(*thread.wait->owner));
        } else if (thread.wait->owner_tid) {
            text += fmt::format(", which thread {} of another process has, or one that has ended",
                                *thread.wait->owner_tid);
        }
        return text;
    }

    const ThreadsReport& report_;
    std::set<pid_t> owners_;
};

using CountedPlace = std::pair<const ThreadPlace*, const PlaceCount*>;

/// Those that were seen most first, on processors before those that wait.
std::vector<CountedPlace> sorted_places(const ThreadsReport& report) {
    std::vector<CountedPlace> sorted;
    sorted.reserve(report.places.size());
    for (const auto& [place, count] : report.places) {
        sorted.emplace_back(&place, &count);
    }
    const auto order = [](const CountedPlace& one) {
        const bool mutex = one.first->wait && one.first->wait->what == WaitsFor::kMutex;
        return std::tuple(!mutex, !one.first->on_processor, one.first->idle,
                          -static_cast<std::int64_t>(one.second->seen));
    };
    std::ranges::stable_sort(
        sorted, [&order](const auto& one, const auto& other) { return order(one) < order(other); });
    return sorted;
}

std::string part_text(const ThreadFacts& thread, std::int64_t took_ns) {
    return thread.ran_ns && took_ns > 0
               ? fmt::format("{:.1f}%", 100 * static_cast<double>(*thread.ran_ns) /
                                            static_cast<double>(took_ns))
               : "-";
}

void threads_table(Output& output, const ThreadsReport& report, const Threads& threads,
                   std::size_t most) {
    Table table({{"THREAD", Align::kRight},
                 {"NAME"},
                 {"KIND"},
                 {"STATE"},
                 {"PROCESSOR", Align::kRight},
                 {"NOW", Align::kRight},
                 {"DOES"}});
    const auto sorted = threads.sorted();
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) {
        const auto& thread = *sorted[at];
        table.add({fmt::format("{}", thread.id), one_line(thread.name), role_text(thread.role),
                   std::string(1, thread.state),
                   thread.processor_ns
                       ? fmt::format("{:.2f} s", static_cast<double>(*thread.processor_ns) / 1e9)
                       : "-",
                   part_text(thread, report.took_ns), one_line(threads.does(thread))});
    }
    table.print(output);
    if (sorted.size() > most) {
        output.print("... {} further threads (--limit)\n", sorted.size() - most);
    }
}

void frames_text(Output& output, const ThreadPlace& place) {
    std::size_t shown = 0;
    for (const auto& frame : place.native) {
        if (shown++ < kShownFrames) {
            output.print("    [native] {}\n", one_line(frame));
        }
    }
    for (const auto& frame : place.frames) {
        if (shown++ < kShownFrames) {
            output.print("    {}\n", one_line(frame));
        }
    }
    if (shown > kShownFrames) {
        output.print("    ... {} further functions\n", shown - kShownFrames);
    }
    if (place.more) {
        output.write("    ... further callers\n");
    }
}

void places_text(Output& output, const ThreadsReport& report, const Threads& threads,
                 std::size_t most) {
    constexpr std::size_t kNames = 4;
    print_title(output, "Stacks");
    const auto sorted = sorted_places(report);
    for (std::size_t at = 0; at < std::min(most, sorted.size()); ++at) {
        const auto& [place, count] = sorted[at];
        std::string who;
        std::size_t named = 0;
        for (const auto& [id, seen] : count->by_thread) {
            if (named++ < kNames) {
                who += fmt::format("{}{}", who.empty() ? "" : ", ", threads.name(id));
            }
        }
        if (named > kNames) {
            who += fmt::format(" and {} further threads", named - kNames);
        }
        const auto what = place->on_processor ? "on a processor"
                          : place->idle       ? std::string("schedulers without work")
                                              : wait_text(*place->wait);
        output.print("{} {}: {}: {}\n", count->seen, place->on_processor ? "samples" : "looks",
                     one_line(what), one_line(who));
        frames_text(output, *place);
    }
    if (sorted.size() > most) {
        output.print("... {} further stacks (--limit, --json)\n", sorted.size() - most);
    }
}

void write_wait(JsonWriter& json, const ThreadWait& wait) {
    json.begin_object("wait");
    json.member("for", waits_for_name(wait.what));
    if (!wait.call.empty()) {
        json.member("call", wait.call);
    }
    if (wait.address) {
        json.member("address", fmt::format("{:#x}", *wait.address));
    }
    json.member("variable", wait.variable);
    json.member("descriptor", wait.descriptor);
    json.member("file", wait.file);
    json.member("owner_thread", wait.owner);
    if (!wait.owner) {
        json.member("owner_tid", wait.owner_tid);
    }
    json.end_object();
}

void write_thread(JsonWriter& json, const ThreadFacts& thread, const ThreadsReport& report) {
    json.member("thread", thread.id);
    json.member("name", thread.name);
    json.member("kind", thread_kind_name(thread.role.kind));
    if (thread.role.number != 0 || thread.role.kind == ThreadKind::kPoll) {
        json.member("number", thread.role.number);
    }
    json.member("state", std::string(1, thread.state));
    json.member("processor_ns", thread.processor_ns);
    json.member("ran_ns", thread.ran_ns);
    json.member("delayed_ns", thread.delayed_ns);
    json.member("switches", thread.switches);
    json.member("looks", thread.looks);
    json.member("waits", thread.waits);
    if (report.sample_period_ns) {
        json.member("samples", thread.samples);
        json.member("samples_without_work", thread.without_work);
        json.member("spins", thread.spins(report.took_ns));
    }
    json.member("idle", thread.idle);
    if (thread.process) {
        json.member("pid", pid_text(thread.process->owner_id));
        json.member("registered_name", thread.process->registered);
        json.member("initial_call", thread.process->initial_call);
    }
    if (thread.freed_owner_id) {
        json.member("frees", pid_text(*thread.freed_owner_id));
    }
    json.member("off_heap_circle", thread.off_heap_circle);
    if (thread.port_number) {
        json.member("port", fmt::format("#Port<0.{}>", *thread.port_number));
    }
    if (thread.wait) {
        write_wait(json, *thread.wait);
    }
}

void write_names(JsonWriter& json, std::string_view name, const std::vector<std::string>& names) {
    json.begin_array(name);
    for (const auto& one : names) {
        json.value(one);
    }
    json.end_array();
}

void write_place(JsonWriter& json, const ThreadPlace& place, const PlaceCount& count) {
    json.member("on_processor", place.on_processor);
    json.member("seen", count.seen);
    json.member("idle", place.idle);
    if (place.wait) {
        write_wait(json, *place.wait);
    }
    write_objects(json, "threads", count.by_thread, [&](const auto& entry) {
        json.member("thread", entry.first);
        json.member("seen", entry.second);
    });
    write_names(json, "native_frames", place.native);
    write_names(json, "frames", place.frames);
    json.member("more_frames", place.more);
}

}  // namespace

void threads_text(Output& output, const ThreadsReport& report, std::size_t most) {
    node_line(output, report);
    output.print(
        "{} threads; all were looked at {} times. PROCESSOR: time on one since the thread began. "
        "NOW: part of\nthe time since the first look.\n\n",
        report.threads.size(), report.looks);
    const Threads threads(report);
    threads_table(output, report, threads, most);
    places_text(output, report, threads, most);
    lost_line(output, report);
    not_sampled_lines(output, report);
    if (report.left_out != 0) {
        output.print("{} times a thread was seen at a further place, of which there are too many\n",
                     report.left_out);
    }
}

void threads_json(Output& output, const ThreadsReport& report) {
    JsonWriter json(output, "beamdump.threads/1");
    write_node(json, report);
    json.member("began_us", report.began_us);
    json.member("took_ns", report.took_ns);
    json.member("looks", report.looks);
    json.member("sample_period_ns", report.sample_period_ns);
    write_objects(json, "threads", report.threads,
                  [&](const ThreadFacts& thread) { write_thread(json, thread, report); });
    write_objects(json, "stacks", sorted_places(report),
                  [&](const CountedPlace& one) { write_place(json, *one.first, *one.second); });
    json.member("lost", report.lost);
    json.member("left_out", report.left_out);
    write_not_sampled(json, report);
    write_remarks(json, report);
    json.finish();
}

}  // namespace beamdump::sampler
