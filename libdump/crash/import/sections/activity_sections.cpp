#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/sections/activity_sections.h>
#include <libdump/format/process_flags.h>
#include <libdump/format/process_name.h>
#include <libdump/write/record_pages.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::crash {
namespace {

class PortSections final : public SectionReader {
  public:
    PortSections(Names& names, DumpWriter& writer, records::Trailer& trailer)
        : names_(names),
          pages_(writer, format::RecordKind::kPorts, *trailer.mutable_ports_offset()) {}

    [[nodiscard]] std::span<const std::string_view> tags() const override {
        static constexpr std::array<std::string_view, 1> kTags = {"port"};
        return kTags;
    }

    void begin(std::string_view /*tag*/, std::string_view argument) override {
        port_.Clear();
        if (const auto number = parse_port(argument)) {
            port_.set_number(*number);
        }
    }

    void line(const SectionLine& line) override {
        const auto name = line.name.value_or("");
        const auto has = [&](std::string_view flag) { return line.value.contains(flag); };
        if (name == "Connected") {
            // Old releases write `[]` for nobody.
            if (const auto pid = parse_pid(line.value)) {
                port_.set_connected_owner_id(*pid);
            }
        } else if (name == "Registered as") {
            if (const auto atom = whole_atom(line.value, names_)) {
                port_.set_registered_name_atom(*atom);
            }
        } else if (name == "Input") {
            number(line.value, [this](std::uint64_t bytes) { port_.set_input_bytes(bytes); });
        } else if (name == "Output") {
            number(line.value, [this](std::uint64_t bytes) { port_.set_output_bytes(bytes); });
        } else if (name == "Queue") {
            number(line.value, [this](std::uint64_t bytes) { port_.set_queued_bytes(bytes); });
        } else if (name.starts_with("Port controls ") || name.starts_with("Port is ")) {
            port_.set_name(std::string(line.value));
        } else if (name == "State") {
            port_.set_busy(false);  // unless the next line, of what is set, says so
            port_.set_distribution(has("DISTR"));
            port_.set_closing(has("CLOSING") || has("EXITING"));
        } else if (name == "Task Flags") {
            port_.set_busy(has("BUSY_PORT"));
        }
    }

    Result<void> end() override {
        RETURN_IF_ERROR(names_.check());
        return pages_.add([this](records::Ports& page) { *page.add_port() = port_; });
    }
    Result<void> finish(bool also_none) override { return pages_.finish(also_none); }

  private:
    template <typename Set>
    static void number(std::string_view text, const Set& set) {
        if (const auto value = decimal_number(text)) {
            set(*value);
        }
    }

    Names& names_;
    RecordPages<records::Ports> pages_;
    records::Port port_;
};

class TimerSections final : public SectionReader {
  public:
    TimerSections(Names& names, DumpWriter& writer, records::Trailer& trailer)
        : names_(names),
          pages_(writer, format::RecordKind::kTimers, *trailer.mutable_timers_offset()) {}

    [[nodiscard]] std::span<const std::string_view> tags() const override {
        static constexpr std::array<std::string_view, 1> kTags = {"timer"};
        return kTags;
    }

    void begin(std::string_view /*tag*/, std::string_view argument) override {
        timer_.Clear();
        timer_.set_kind(records::TIMER_KIND_MESSAGE);
        if (const auto pid = parse_pid(argument)) {
            timer_.set_receiver_owner_id(*pid);
        } else if (const auto name = whole_atom(argument, names_)) {
            timer_.set_receiver_name_atom(*name);
        }
    }

    void line(const SectionLine& line) override {
        if (line.name == "Time left") {
            // Before R16B: "3599791 ms".
            const auto left = decimal_number(line.value.substr(0, line.value.find(' ')));
            if (left && std::in_range<std::int64_t>(*left)) {
                timer_.set_timeout_position(static_cast<std::int64_t>(*left));
            }
        }
    }

    Result<void> end() override {
        RETURN_IF_ERROR(names_.check());
        return pages_.add([this](records::Timers& page) {
            if (std::exchange(begins_, false)) {
                page.add_wheel()->set_position(0);
            }
            *page.add_timer() = timer_;
        });
    }
    Result<void> finish(bool also_none) override { return pages_.finish(also_none); }

  private:
    Names& names_;
    RecordPages<records::Timers> pages_;
    records::Timer timer_;
    bool begins_ = true;
};

class SchedulerSections final : public SectionReader {
  public:
    SchedulerSections(DumpWriter& writer, records::Trailer& trailer)
        : pages_(writer, format::RecordKind::kScheduler, *trailer.mutable_schedulers_offset()) {}

    [[nodiscard]] std::span<const std::string_view> tags() const override {
        static constexpr std::array<std::string_view, 5> kTags = {
            "scheduler", "dirty_cpu_scheduler", "dirty_io_scheduler", "dirty_cpu_run_queue",
            "dirty_io_run_queue"};
        return kTags;
    }

    void begin(std::string_view tag, std::string_view argument) override {
        scheduler_.Clear();
        queue_.Clear();
        has_process_line_ = false;
        const auto kind = tag.starts_with("dirty_cpu")  ? records::SCHEDULER_KIND_DIRTY_CPU
                          : tag.starts_with("dirty_io") ? records::SCHEDULER_KIND_DIRTY_IO
                                                        : records::SCHEDULER_KIND_NORMAL;
        queue_.set_kind(kind);
        is_queue_ = tag.ends_with("_run_queue");
        if (is_queue_) {
            return;
        }
        scheduler_.set_kind(kind);
        const auto number = decimal_number(argument);
        if (!number || !std::in_range<std::uint32_t>(*number)) {
            return;
        }
        const auto printed = static_cast<std::uint32_t>(*number);
        scheduler_.set_number_of_all(printed);
        if (kind == records::SCHEDULER_KIND_NORMAL) {
            scheduler_.set_number(printed);
            queue_.set_number(printed);
        }
    }

    void line(const SectionLine& line) override {
        const auto name = line.name.value_or("");
        const auto has = [&](std::string_view flag) { return line.value.contains(flag); };
        if (name == "Scheduler Sleep Info Flags") {
            scheduler_.set_sleeping(has("SLEEPING") || has("WAITING"));
            scheduler_.set_suspended(has("SUSPENDED"));
        } else if (name == "Scheduler Sleep Info Aux Work") {
            if (const auto work = aux_work_of_text(line.value)) {
                scheduler_.set_aux_work_flags(*work);
            }
        } else if (name == "Current Port") {
            if (const auto port = parse_port(line.value)) {
                scheduler_.set_current_port_number(*port);
            }
        } else if (name == "Current Process") {
            has_process_line_ = true;
            if (const auto pid = parse_pid(line.value)) {
                scheduler_.set_current_owner_id(*pid);
            }
        } else if (name == "Run Queue Max Length") {
            length(line.value, queue_.has_max_length(),
                   [this](std::uint32_t value) { queue_.set_max_length(value); });
        } else if (name == "Run Queue High Length") {
            length(line.value, queue_.has_high_length(),
                   [this](std::uint32_t value) { queue_.set_high_length(value); });
        } else if (name == "Run Queue Normal Length") {
            length(line.value, queue_.has_normal_length(),
                   [this](std::uint32_t value) { queue_.set_normal_length(value); });
        } else if (name == "Run Queue Low Length") {
            length(line.value, queue_.has_low_length(),
                   [this](std::uint32_t value) { queue_.set_low_length(value); });
        } else if (name == "Run Queue Port Length") {
            length(line.value, queue_.has_port_length(),
                   [this](std::uint32_t value) { queue_.set_port_length(value); });
        }
    }

    Result<void> end() override {
        const bool all_lengths = queue_.has_max_length() && queue_.has_high_length() &&
                                 queue_.has_normal_length() && queue_.has_low_length() &&
                                 queue_.has_port_length();
        const auto sum = std::uint64_t{queue_.max_length()} + queue_.high_length() +
                         queue_.normal_length() + queue_.low_length() + queue_.port_length();
        if (all_lengths && std::in_range<std::uint32_t>(sum)) {
            queue_.set_length(static_cast<std::uint32_t>(sum));
        }
        if (!is_queue_) {
            if (has_process_line_) {
                scheduler_.set_busy(scheduler_.has_current_owner_id() ||
                                    scheduler_.has_current_port_number());
            }
            RETURN_IF_ERROR(pages_.add(
                [this](records::Schedulers& page) { *page.add_scheduler() = scheduler_; }));
        }
        // A dirty scheduler has the queue of its kind, which has a section of its own.
        if (!is_queue_ && !queue_.has_number()) {
            return {};
        }
        return pages_.add([this](records::Schedulers& page) { *page.add_run_queue() = queue_; });
    }
    Result<void> finish(bool /*also_none*/) override { return pages_.finish(false); }

  private:
    template <typename Set>
    static void length(std::string_view text, bool known, const Set& set) {
        const auto number = decimal_number(text);
        if (!known && number && std::in_range<std::uint32_t>(*number)) {
            set(static_cast<std::uint32_t>(*number));
        }
    }

    RecordPages<records::Schedulers> pages_;
    records::Scheduler scheduler_;
    records::RunQueue queue_;
    bool is_queue_ = false;
    bool has_process_line_ = false;
};

class NodeSections final : public SectionReader {
  public:
    NodeSections(Names& names, DumpWriter& writer, records::Trailer& trailer)
        : names_(names),
          pages_(writer, format::RecordKind::kDistributionEntries,
                 *trailer.mutable_distribution_offset()) {}

    [[nodiscard]] std::span<const std::string_view> tags() const override {
        static constexpr std::array<std::string_view, 3> kTags = {"visible_node", "hidden_node",
                                                                  "not_connected"};
        return kTags;
    }

    void begin(std::string_view tag, std::string_view /*argument*/) override {
        entry_.Clear();
        if (tag == "not_connected") {
            entry_.set_state(records::DISTRIBUTION_STATE_NOT_CONNECTED);
        } else {
            entry_.set_visible(tag == "visible_node");
        }
    }

    void line(const SectionLine& line) override {
        if (line.name == "Name") {
            if (const auto atom = whole_atom(line.value, names_)) {
                entry_.set_name_atom(*atom);
            }
        } else if (line.name == "Controller") {
            if (const auto pid = parse_pid(line.value)) {
                entry_.set_controller_owner_id(*pid);
            } else if (const auto port = parse_port(line.value)) {
                entry_.set_controller_port_number(*port);
            }
        }
    }

    Result<void> end() override {
        RETURN_IF_ERROR(names_.check());
        return pages_.add(
            [this](records::DistributionEntries& page) { *page.add_entry() = entry_; });
    }
    Result<void> finish(bool also_none) override { return pages_.finish(also_none); }

  private:
    Names& names_;
    RecordPages<records::DistributionEntries> pages_;
    records::DistributionEntry entry_;
};

}  // namespace

std::unique_ptr<SectionReader> port_sections(Names& names, DumpWriter& writer,
                                             records::Trailer& trailer) {
    return std::make_unique<PortSections>(names, writer, trailer);
}

std::unique_ptr<SectionReader> timer_sections(Names& names, DumpWriter& writer,
                                              records::Trailer& trailer) {
    return std::make_unique<TimerSections>(names, writer, trailer);
}

std::unique_ptr<SectionReader> scheduler_sections(DumpWriter& writer, records::Trailer& trailer) {
    return std::make_unique<SchedulerSections>(writer, trailer);
}

std::unique_ptr<SectionReader> node_sections(Names& names, DumpWriter& writer,
                                             records::Trailer& trailer) {
    return std::make_unique<NodeSections>(names, writer, trailer);
}

}  // namespace beamdump::crash
