#include <libdump/crash/export/sections/link_list.h>

#include <optional>

namespace beamdump::crash {

namespace {

class LinkList {
  public:
    LinkList(Dump& dump, TermExport& terms) : dump_(dump), terms_(terms), out_(terms.out()) {}

    void link(const records::Link& link) {
        next();
        other(link);
    }

    void monitor(const records::Monitor& monitor) {
        if (!is_shown(monitor)) {
            return;
        }
        next();
        if (monitor.is_target()) {
            out_.put("{from,");
            if (of_typed_resource(monitor)) {
                pair(monitor.name_atom(), monitor.resource_type_atom());
            } else {
                other(monitor);
            }
        } else {
            out_.put("{to,");
            watched(monitor);
        }
        out_.put(',');
        reference(monitor);
        out_.put('}');
    }

    void end() {
        if (begun_) {
            out_.put("]\n");
        }
    }

  private:
    static bool is_shown(const records::Monitor& monitor) {
        if (of_typed_resource(monitor)) {
            return true;
        }
        switch (monitor.kind()) {
            case records::MONITOR_KIND_PROCESS:
            case records::MONITOR_KIND_PORT:
            case records::MONITOR_KIND_TIME_OFFSET:
            case records::MONITOR_KIND_REMOTE:
            case records::MONITOR_KIND_NODE:
                return true;
            default:
                return false;
        }
    }

    /// Crash dumps have a resource's module and type, captures do not.
    static bool of_typed_resource(const records::Monitor& monitor) {
        return monitor.kind() == records::MONITOR_KIND_RESOURCE && monitor.is_target() &&
               monitor.has_name_atom() && monitor.has_resource_type_atom();
    }

    void next() {
        out_.put(begun_ ? ", " : "Link list: [");
        begun_ = true;
    }

    /// The number by which a node is printed.
    std::uint64_t channel(std::uint64_t address) {
        const auto node = dump_.tables().node_at(address);
        return node && !node->is_self ? node->name_atom : 0;
    }

    /// A remote process of which only numbers are known, as the VM prints it.
    template <typename Relation>
    void other(const Relation& relation) {
        if (relation.has_other_word() || !relation.has_remote_owner_id()) {
            terms_.printed(relation.other_word());
            return;
        }
        constexpr unsigned kSerialShift = 32;
        out_.put('<');
        out_.number(channel(relation.remote_node_address()));
        out_.put('.');
        out_.number(relation.remote_owner_id() & 0xFFFF'FFFFU);
        out_.put('.');
        out_.number(relation.remote_owner_id() >> kSerialShift);
        out_.put('>');
    }

    void watched(const records::Monitor& monitor) {
        if (!monitor.has_name_atom()) {
            other(monitor);
            return;
        }
        pair(monitor.name_atom(),
             monitor.has_node_atom() ? monitor.node_atom() : dump_.node().name_atom());
    }

    void pair(std::uint32_t first, std::uint32_t second) {
        out_.put('{');
        terms_.atom(first);
        out_.put(',');
        terms_.atom(second);
        out_.put('}');
    }

    /// That of another node, by which it monitors this process, has that node's number first.
    void reference(const records::Monitor& monitor) {
        if (monitor.reference_size() == 0) {
            terms_.printed(terms_.scheme().nil);  // of a node's monitor
            return;
        }
        const bool of_other = monitor.kind() == records::MONITOR_KIND_REMOTE && monitor.is_target();
        out_.put("#Ref<");
        out_.number(of_other ? channel(monitor.remote_node_address()) : 0);
        for (int i = monitor.reference_size(); i-- > 0;) {
            out_.put('.');
            out_.number(monitor.reference(i));
        }
        out_.put('>');
    }

    Dump& dump_;
    TermExport& terms_;
    TextOutput& out_;
    bool begun_ = false;
};

/// Calls `visit` for each record of a process's links and monitors.
template <typename Visit>
Result<void> each_page(Dump& dump, const ProcessRun& run, const Visit& visit) {
    for (const Pack& pack : run.directory.relations) {
        auto page = dump.reader().message_at<records::Relations>(pack.offset,
                                                                 format::RecordKind::kRelations);
        if (!page) {
            return wrap("reading links and monitors", std::move(page.error()));
        }
        visit(*page);
    }
    return {};
}

}  // namespace

Result<void> write_link_list(Dump& dump, const ProcessRun& run, TermExport& terms) {
    LinkList list(dump, terms);
    auto done = each_page(dump, run, [&list](const records::Relations& page) {
        for (const auto& link : page.link()) {
            list.link(link);
        }
    });
    if (done) {
        done = each_page(dump, run, [&list](const records::Relations& page) {
            for (const auto& monitor : page.monitor()) {
                list.monitor(monitor);
            }
        });
    }
    list.end();
    return done;
}

}  // namespace beamdump::crash
