%% Makes what make-texts merges into native_records.txt: native records in external format, base64, in the
%% file named by RECORDS_OUT; what the VM prints for them on standard output.
-module(native_records).
-export([main/0, id/1]).
-export_record([pair]).
%% The atom table gets these in the order in which the compiler puts them down.
-record #odd{zz_last, aa_first = 1, 'Mid'}.
-record #pair{x = 10, y}.
-record #none{}.

main() ->
    Odd = id(#odd{zz_last = a, 'Mid' = b}),
    Terms = [id(#none{}), id(#odd{zz_last = {1, "two"}, 'Mid' = <<3>>}),
             id(#pair{y = [Odd, #{}, id(#pair{x = Odd, y = Odd})]}),
             #{id(#pair{y = 1}) => 1, id({1}) => 2, id(#{}) => 3, id(#pair{y = 0}) => 4,
               id(#none{}) => 5, Odd => 6, id([]) => 7, id(#pair{x = 9, y = 2}) => 8}],
    ok = file:write_file(os:getenv("RECORDS_OUT"),
                         [[base64:encode(term_to_binary(Term)), $\n] || Term <- Terms]),
    [erlang:display(Term) || Term <- Terms],
    halt().

id(Term) -> Term.
