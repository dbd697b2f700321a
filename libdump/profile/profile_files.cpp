#include <libdump/base/terminal_text.h>
#include <libdump/base/utf8.h>
#include <libdump/profile/profile_files.h>
#include <libdump/text/compact_json.h>

#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/device/back_inserter.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fmt/format.h>

#include <exception>
#include <limits>
#include <pprof.pb.h>
#include <string>
#include <unordered_map>

namespace beamdump {

namespace {

/// A function's name in one field: within quotes, Erlang reads \073 as a semicolon.
std::string folded_name(const std::string& function) {
    std::string name;
    for (const char c : one_line(valid_utf8(function))) {
        if (c == ';') {
            name += "\\073";
        } else {
            name += c;
        }
    }
    return name;
}

template <typename Visit>
void each_sample(const StackTree& stacks, Visit visit) {
    for (std::uint32_t at = 0; at < stacks.nodes().size(); ++at) {
        if (stacks.nodes()[at].weight > 0) {
            visit(stacks.stack(at), stacks.nodes()[at].weight);
        }
    }
}

/// Texts by number, as pprof has them.
class Strings {
  public:
    explicit Strings(pprof::Profile& profile) : profile_(profile) { number(""); }

    std::int64_t number(const std::string& text) {
        const auto [known, is_new] =
            numbers_.emplace(valid_utf8(text), static_cast<std::int64_t>(numbers_.size()));
        if (is_new) {
            profile_.add_string_table(known->first);
        }
        return known->second;
    }

  private:
    pprof::Profile& profile_;
    std::unordered_map<std::string, std::int64_t> numbers_;
};

void add_places(pprof::Profile& out, Strings& strings, const StackTree& stacks) {
    std::uint64_t number = 0;
    for (const StackPlace& place : stacks.places()) {
        ++number;
        auto& function = *out.add_function();
        function.set_id(number);
        function.set_name(strings.number(place.function));
        // No system_name: where it is the name, pprof takes "<" and "(" for those of C++ and cuts
        // the name there.
        function.set_filename(strings.number(place.file.value_or("")));
        auto& location = *out.add_location();
        location.set_id(number);
        auto& line = *location.add_line();
        line.set_function_id(number);
        line.set_line(place.line.value_or(0));
    }
}

std::string pprof_message(const StackTree& stacks, const ProfileTerms& terms) {
    pprof::Profile out;
    Strings strings(out);
    auto& type = *out.add_sample_type();
    type.set_type(strings.number(terms.type));
    type.set_unit(strings.number(terms.unit));
    if (terms.time_us && *terms.time_us >= 0 &&
        *terms.time_us < std::numeric_limits<std::int64_t>::max() / 1000) {
        out.set_time_nanos(*terms.time_us * 1000);
    }
    out.add_comment(strings.number(terms.title));
    add_places(out, strings, stacks);
    each_sample(stacks, [&](const auto& stack, std::uint64_t value) {
        auto& sample = *out.add_sample();
        for (auto place = stack.rbegin(); place != stack.rend(); ++place) {
            sample.add_location_id(*place + 1ULL);
        }
        sample.add_value(static_cast<std::int64_t>(value * terms.scale));
    });
    return out.SerializeAsString();
}

}  // namespace

void folded_stacks(Output& output, const StackTree& stacks) {
    std::vector<std::string> names;
    for (const StackPlace& place : stacks.places()) {
        names.push_back(folded_name(place.function));
    }
    each_sample(stacks, [&](const auto& stack, std::uint64_t weight) {
        std::string_view separator;
        for (const std::uint32_t place : stack) {
            output.write(separator);
            output.write(names[place]);
            separator = ";";
        }
        output.print(" {}\n", weight);
    });
}

void speedscope_profile(Output& output, const StackTree& stacks, const ProfileTerms& terms) {
    CompactJson json(output);
    const std::string& name = terms.title;
    json.begin_object();
    json.member("$schema", std::string_view("https://www.speedscope.app/file-format-schema.json"));
    json.member("exporter", std::string_view(terms.exporter));
    json.member("name", std::string_view(name));
    json.key("shared");
    json.begin_object();
    json.key("frames");
    json.begin_array();
    for (const StackPlace& place : stacks.places()) {
        json.begin_object();
        json.member("name", std::string_view(place.function));
        if (place.file) {
            json.member("file", std::string_view(*place.file));
        }
        if (place.line) {
            json.member("line", *place.line);
        }
        json.end_object();
    }
    json.end_array();
    json.end_object();
    json.key("profiles");
    json.begin_array();
    json.begin_object();
    json.member("type", std::string_view("sampled"));
    json.member("name", std::string_view(name));
    json.member("unit", std::string_view(terms.unit == "count" ? "none" : terms.unit));
    json.member("startValue", std::uint64_t{0});
    json.member("endValue", stacks.total() * terms.scale);
    json.key("samples");
    json.begin_array();
    each_sample(stacks, [&json](const auto& stack, std::uint64_t /*weight*/) {
        json.begin_array();
        for (const std::uint32_t place : stack) {
            json.value(place);
        }
        json.end_array();
    });
    json.end_array();
    json.key("weights");
    json.begin_array();
    each_sample(stacks, [&](const auto& /*stack*/, std::uint64_t value) {
        json.value(value * terms.scale);
    });
    json.end_array();
    json.end_object();
    json.end_array();
    json.end_object();
    json.end_line();
}

Result<void> pprof_profile(Output& output, const StackTree& stacks, const ProfileTerms& terms) {
    namespace io = boost::iostreams;
    const std::string message = pprof_message(stacks, terms);
    std::string packed;
    try {
        io::filtering_ostream stream;
        stream.push(io::gzip_compressor());
        stream.push(io::back_inserter(packed));
        stream.write(message.data(), static_cast<std::streamsize>(message.size()));
        stream.reset();
    } catch (const std::exception& error) {
        return fail(ErrorCode::kIo, fmt::format("compressing the profile: {}", error.what()));
    }
    output.write_control(packed);
    return {};
}

Result<StackFormat> parse_stack_format(std::string_view name) {
    if (name == "folded") {
        return StackFormat::kFolded;
    }
    if (name == "speedscope") {
        return StackFormat::kSpeedscope;
    }
    if (name == "pprof") {
        return StackFormat::kPprof;
    }
    return fail(ErrorCode::kUsage,
                fmt::format("--format {}: it is folded, speedscope or pprof", name));
}

Result<void> stacks_as(StackFormat format, Output& output, const StackTree& stacks,
                       const ProfileTerms& terms) {
    switch (format) {
        case StackFormat::kFolded:
            folded_stacks(output, stacks);
            break;
        case StackFormat::kSpeedscope:
            speedscope_profile(output, stacks, terms);
            break;
        case StackFormat::kPprof:
            return pprof_profile(output, stacks, terms);
    }
    return {};
}

}  // namespace beamdump
