%% Native records, which OTP 29 has: with definitions that are literals of this module, and with their
%% own, as records of modules that this node lacks have them.
-module(zoo_records).
-export([groups/0]).

-if(?OTP_RELEASE >= 29).

-export([all/0]).
-export_record([pair]).
%% Keys that the atom table does not have in this order.
-record #odd{zz_last, aa_first = 1, 'Mid', 'needs quotes'}.
-record #pair{x = 10, y}.
-record #none{}.

groups() -> [{records, fun all/0}].

all() ->
    Pair = #pair{y = zoo_terms:id(1)},
    Odd = #odd{zz_last = zoo_terms:id({a, "b"}), 'Mid' = Pair, 'needs quotes' = <<1, 2, 3>>},
    [{none, zoo_terms:id(#none{})}, {pair, Pair}, {odd, Odd},
     {literal, #pair{x = a, y = [b, #pair{y = c}]}},
     {nested, lists:foldl(fun(N, Inner) -> #pair{x = N, y = Inner} end, none, lists:seq(1, 1000))},
     {shared, begin Half = #pair{y = [Odd]}, #pair{x = Half, y = Half} end},
     {binaries, #pair{x = binary:copy(<<"0123456789">>, 20), y = <<5:3>>}},
     {functions, #pair{x = fun() -> Odd end, y = fun zoo_terms:id/1}},
     {keys, #{Pair => 1, Odd => 2, #none{} => 3, {} => 4, [] => 5, #{} => 6}},
     {updated, Odd#odd{aa_first = zoo_terms:id(2.5)}},
     {foreign, foreign([zoo_foreign_z, zoo_foreign_a, lists], 1)},
     {foreign_exported, [foreign([], 1), foreign([zoo_foreign_z], 1)]},
     {many_fields, foreign([list_to_atom("zoo_field_" ++ integer_to_list(N))
                            || N <- lists:seq(300, 1, -1)], 0)}].

%% A record as another node would send it.
foreign(Keys, Exported) ->
    Atoms = [body(Key) || Key <- [zoo_absent, record | Keys]],
    Values = [body({value, Key}) || Key <- Keys],
    binary_to_term(iolist_to_binary([131, $C, <<(length(Keys)):32>>, Exported, Atoms, Values])).

body(Term) ->
    <<131, Body/binary>> = term_to_binary(Term),
    Body.

-else.

groups() -> [].

-endif.
