%% Makes budgets.txt: how the VM cuts terms in process_info(P, backtrace), by its
%% budget of 100,000 a term. One line each: name, bytes of the y register's text,
%% its CRC-32, its last 12 bytes. term_printer_budget_test.cpp builds the same terms.
-module(budgets).
-export([main/0, hold/1]).

main() ->
    [show(Name, Term) || {Name, Term} <- terms()],
    halt().

hold(Term) -> receive go -> Term end.

show(Name, Term) ->
    Pid = spawn_opt(?MODULE, hold, [Term], [{min_heap_size, 1000000}]),
    erlang:yield(),
    {backtrace, Text} = process_info(Pid, backtrace),
    [_, Rest] = binary:split(Text, <<"y(0)     ">>),
    [{End, _} | _] = lists:reverse(binary:matches(Rest, <<"\n\n0x">>)),
    Line = binary:part(Rest, 0, End),
    Last = binary:part(Line, byte_size(Line), -min(12, byte_size(Line))),
    io:format("~s ~b ~b ~s~n", [Name, byte_size(Line), erlang:crc32(Line), Last]).

terms() ->
    [{"list_99997", lists:seq(1, 99997)},
     {"list_99998", lists:seq(1, 99998)},
     {"list_99999", lists:seq(1, 99999)},
     {"list_100000", lists:seq(1, 100000)},
     {"string_99998", lists:duplicate(99998, $a)},
     {"string_99999", lists:duplicate(99999, $a)},
     {"string_100000", lists:duplicate(100000, $a)},
     {"binary_99998", binary:copy(<<"a">>, 99998)},
     {"binary_99999", binary:copy(<<"a">>, 99999)},
     {"binary_100000", binary:copy(<<"a">>, 100000)},
     {"bytes_99998", binary:copy(<<200>>, 99998)},
     {"bytes_99999", binary:copy(<<200>>, 99999)},
     {"bits_99999", <<(binary:copy(<<200>>, 99999))/binary, 5:3>>},
     {"bits_99998", <<(binary:copy(<<200>>, 99998))/binary, 5:3>>},
     {"atoms", list_to_tuple(lists:duplicate(20000, abcdefghij))},
     {"quoted_atoms", lists:duplicate(20000, 'é b')},
     {"atom_ends_it", {lists:duplicate(99984, 1), abcdefghijklm}},
     {"atom_before_end", {lists:duplicate(99984, 1), abcdefghijk}},
     {"export_funs", lists:duplicate(20000, fun lists:map/2)},
     {"export_fun_ends_it", {lists:duplicate(99989, 1), fun lists:map/2}},
     {"bigs", lists:duplicate(100001, 1 bsl 70)},
     {"strings", lists:duplicate(200, lists:duplicate(998, $b))},
     {"improper", lists:duplicate(99998, 1) ++ end_},
     {"nested", lists:foldl(fun(_, T) -> {T} end, x, lists:seq(1, 120000))},
     {"nested_lists", lists:foldl(fun(_, T) -> [T] end, x, lists:seq(1, 60000))},
     {"map", maps:from_list([{K, lists:duplicate(9999, K)} || K <- lists:seq(1, 20)])}].
