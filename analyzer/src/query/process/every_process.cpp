#include "query/process/every_process.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/node_scheme.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace beamdump::query {

namespace {

constexpr std::uint64_t kRowsAtATime = 4096;

}  // namespace

Result<ProcessesRead> visit_processes(Dump& dump, const EveryProcessOptions& options,
                                      const std::function<Result<void>(OpenedProcess&)>& visit) {
    ASSIGN_OR_RETURN(const auto scheme, node_scheme(dump));
    ProcessesRead counts;
    const auto pass_over = [&options](const records::ProcessRow& row) -> Result<void> {
        return options.withheld ? options.withheld(row) : Result<void>{};
    };
    const std::uint64_t total = options.rows ? options.rows->size() : dump.processes().size();
    for (std::uint64_t first = 0; first < total; first += kRowsAtATime) {
        std::vector<std::uint64_t> numbers(std::min(kRowsAtATime, total - first));
        std::iota(numbers.begin(), numbers.end(), first);
        if (options.rows) {
            std::ranges::transform(numbers, numbers.begin(),
                                   [&options](auto at) { return (*options.rows)[at]; });
        }
        ASSIGN_OR_RETURN(auto rows, dump.processes().rows(numbers));
        std::ranges::sort(rows, {}, &records::ProcessRow::begin_offset);
        for (std::uint64_t done = first; const auto& row : rows) {
            if (options.progress) {
                options.progress(done++, total);
            }
            if (row.void_reason() != records::VOID_REASON_NONE) {
                ++counts.inconsistent;
                RETURN_IF_ERROR(pass_over(row));
                continue;
            }
            ASSIGN_OR_RETURN(auto run, ProcessRun::load(dump.reader(), row));
            const Withheld withheld = terms_withheld(run, options.sensitive);
            if (withheld != Withheld::kNo) {
                ++(withheld == Withheld::kVoid ? counts.inconsistent : counts.sensitive);
                RETURN_IF_ERROR(pass_over(row));
                continue;
            }
            dump.text_damage().tell_process(dump.trailer(), run.end,
                                            options.use == HeapUse::kWhole);
            OpenedProcess process(dump, std::move(run), scheme);
            ++counts.read;
            RETURN_IF_ERROR(visit(process));
        }
    }
    return counts;
}

}  // namespace beamdump::query
