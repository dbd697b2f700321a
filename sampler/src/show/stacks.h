#pragma once

#include "stacks/collect.h"

#include <libdump/text/json_writer.h>
#include <libdump/text/output.h>

#include <string_view>

namespace beamdump::sampler {

/// A reason as JSON and counts name it: "running", "garbage_collecting".
std::string_view miss_name(StackMiss miss);

/// Stacks as text: a paragraph a scheduler that has something, then one a process.
class StacksText {
  public:
    explicit StacksText(Output& output) : output_(output) {}

    void scheduler(const SchedulerStack& scheduler);
    void process(const ProcessStack& stack);
    /// What all of it is of, and what is missing.
    void end(const StacksReport& report);

  private:
    void frames(const ProcessStack& stack);

    Output& output_;
    std::map<records::SchedulerKind, std::uint64_t> idle_;
    bool idle_told_ = false;
    void tell_idle();
};

/// Stacks as JSON (schemas/json/sampler/stacks.schema.json).
class StacksJson {
  public:
    explicit StacksJson(Output& output);

    void scheduler(const SchedulerStack& scheduler);
    void process(const ProcessStack& stack);
    void end(const StacksReport& report);

  private:
    void stack(const ProcessStack& stack);
    void begin_processes();

    JsonWriter json_;
    bool processes_begun_ = false;
};

}  // namespace beamdump::sampler
