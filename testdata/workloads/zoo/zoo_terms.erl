%% Every kind of term that the node's release has, made where it is called: a copy would lose sharing,
%% sub binaries and literals. Each group is a list of {Description, Term}; zoo_binaries, zoo_shared and
%% zoo_records have the groups that need more care.
-module(zoo_terms).
-export([groups/0, id/1, million_map/1, nested_tuples/1, nested_lists/1, nested_maps/1,
         nested_funs/1, nested_mix/1, improper/1]).

%% By name, what makes the group.
groups() ->
    [{atoms, fun atoms/0}, {integers, fun integers/0}, {floats, fun floats/0},
     {identifiers, fun zoo_identifiers:all/0}, {magic, fun zoo_identifiers:magic/0},
     {lists, fun lists/0}, {long_lists, fun long_lists/0}, {tuples, fun tuples/0},
     {maps, fun maps/0}, {binaries, fun zoo_binaries:bytes/0}, {bits, fun zoo_binaries:bits/0},
     {funs, fun funs/0}, {literals, fun zoo_shared:literals/0}, {shared, fun zoo_shared:all/0}]
        ++ zoo_records:groups().

%% What the compiler cannot see through: what goes through it is no literal.
id(Term) -> Term.

atoms() ->
    [{{N, atom}, ?MODULE:id(Atom)} || {N, Atom} <- numbered(
        [a, aB_9, a@b, '', 'A', '_a', 'a b', '9a', 'a-b', 'it\'s', 'a\\b', 'a"b', 'end', true,
         '\n\f\t\r\b\v', 'a\x{0}b', 'a\x{1f}', '\x{7f}', 'a\x{7f}', 'a\x{80}', 'a\x{9f}', 'a\x{a0}',
         'é', 'aé', 'É', 'aÉ', '×', 'a×', '÷', 'ß', 'ÿ', 'Ж', 'ж', 'aж', 'ā', '漢', 'a漢', '😀',
         list_to_atom(lists:duplicate(255, $x)), list_to_atom(lists:duplicate(255, 16#10ffff)),
         zoo_terms, '$end_of_table', 'Elixir.Enum'])].

integers() ->
    Powers = [31, 32, 58, 59, 60, 63, 64, 65, 127, 128, 191, 192],
    [{{integer, N}, ?MODULE:id(N)} || N <- [0, 1, -1, 255, 256, 1114111]] ++
        lists:append([[{{power, Bits, minus_one}, (1 bsl ?MODULE:id(Bits)) - 1},
                       {{power, Bits}, 1 bsl ?MODULE:id(Bits)},
                       {{power, Bits, negative}, -(1 bsl ?MODULE:id(Bits))},
                       {{power, Bits, negative, minus_one}, -(1 bsl ?MODULE:id(Bits)) - 1}]
                      || Bits <- Powers]) ++
        [{{ten_to_the, N}, power_of_ten(N)} || N <- [18, 19, 20, 38, 57]] ++
        [{{bits, 100000}, (1 bsl ?MODULE:id(100000)) - 1},
         {{bits, 100000, negative}, -(3 bsl ?MODULE:id(99999)) - 7}].

power_of_ten(0) -> 1;
power_of_ten(N) -> 10 * power_of_ten(N - 1).

floats() ->
    [{{N, float}, Float + ?MODULE:id(0.0)}
     || {N, Float} <- numbered(
          [0.0, 1.0, -1.5, 0.1, 1.0e300, -1.0e-300, 4.9e-324, 2.2250738585072014e-308,
           1.7976931348623157e308, 123456789.125, 9.9999995, 99999.95, 1.0e22, 1.0e-7])]
        ++ [{minus_zero, -?MODULE:id(0.0)}].

lists() ->
    [{empty, ?MODULE:id([])}, {one, [?MODULE:id(a)]}, {of_empty, [?MODULE:id([]), []]},
     {improper, [?MODULE:id(a), b | c]}, {improper_string, ?MODULE:id("abc") ++ d},
     {string, string("the quick brown fox")}, {quoted, string("a\"b\\c")},
     {spaces, string("\t\n\r ")}, {control, string("\e")}, {vertical_tab, string("\v")},
     {delete, string([127])}, {latin1, string("åäö")}, {c1, string([128])}, {nbsp, string([160])},
     {unicode, string("абв")}, {zero, string([0])}, {negative, string([-1, $a])},
     {strings, [string("abc"), string("def") | string("tail")]},
     {string_then_atom, string("abc") ++ [x]}, {string_then_big, string("abc") ++ [1 bsl 70]},
     {sequence, lists:seq(1, ?MODULE:id(1000))},
     {pairs, [{N, [N, {N}]} || N <- lists:seq(1, 50)]}].

long_lists() ->
    [{string, string(lists:duplicate(150000, $s))},
     %% Around the budget of a term in a backtrace.
     {just_below_budget, lists:seq(1, ?MODULE:id(99998))},
     {at_budget, lists:seq(1, ?MODULE:id(99999))},
     {above_budget, lists:seq(1, ?MODULE:id(100000))}].

string(Characters) -> [?MODULE:id(C) || C <- Characters].

tuples() ->
    [{empty, ?MODULE:id({})}, {of_empty, {?MODULE:id({}), {}}}, {one, {?MODULE:id(a)}},
     {record, {user, ?MODULE:id(1), <<"name">>, undefined, 1.5}},
     {nested, {a, {b, {c, [d, {e, ?MODULE:id("f")}]}}}},
     {three_hundred, list_to_tuple(lists:seq(1, 300))},
     {hundred_thousand, list_to_tuple(lists:seq(1, 100000))},
     {of_strings, list_to_tuple([string("abc") || _ <- lists:seq(1, 20)])}].

maps() ->
    Counted = [{{keys, N}, maps:from_list([{I, I * I} || I <- lists:seq(1, N)])}
               || N <- [0, 1, 2, 31, 32, 33, 34, 64, 100, 1000, 5000]],
    Small = ?MODULE:id(#{a => 1, b => 2}),
    Counted ++
        [{update, Small#{a := ?MODULE:id(3)}},
         {same_keys, [Small#{a := N} || N <- lists:seq(1, 10)]},
         {maps_as_keys, #{Small => Small, #{} => ?MODULE:id(#{})}},
         {nested, lists:foldl(fun(N, Map) -> #{N => Map, other => N} end, #{},
                              lists:seq(1, 40))},
         {large_in_large, maps:from_list([{{key, N}, maps:from_list([{I, N}
                                                                     || I <- lists:seq(1, 40)])}
                                          || N <- lists:seq(1, 40)])},
         {mixed_keys, #{1 => a, 1.0 => b, "1" => c, <<"1">> => d, {1} => e, [1] => f, one => g,
                        self() => h, (1 bsl ?MODULE:id(80)) => i}},
         {grown_and_shrunk, lists:foldl(fun maps:remove/2,
                                        maps:from_list([{N, N} || N <- lists:seq(1, 40)]),
                                        lists:seq(1, 35))}].

funs() ->
    A = ?MODULE:id({environment, "string", <<"binary">>}),
    B = ?MODULE:id(1 bsl 70),
    Inner = fun(X) -> {X, A} end,
    [{local, fun(X) -> X end}, {one_free, Inner}, {two_free, fun() -> {A, B} end},
     {nested, fun() -> {Inner, Inner, B} end},
     {many_free, many_free(1, 2, 3, 4, 5, 6, 7, 8, A, B)},
     {arity_20, fun(_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, X) -> {X, A} end},
     {named, fun Loop(N) -> {A, Loop(N)} end},
     {exported, fun lists:map/2}, {exported_here, fun ?MODULE:id/1}, {bif, fun erlang:hd/1},
     {of_missing_module, fun 'No such':'module here'/3},
     {of_missing_function, fun lists:'no such function'/7},
     {made_export, erlang:make_fun(maps, get, ?MODULE:id(2))},
     {local_function, fun string/1},
     {foreign, zoo_identifiers:foreign_fun()}].

many_free(A, B, C, D, E, F, G, H, I, J) ->
    fun(X) -> {X, A, B, C, D, E, F, G, H, I, J} end.

numbered(Terms) -> lists:zip(lists:seq(1, length(Terms)), Terms).

%% ---- one a process: large or deep -----------------------------------------------------------

million_map(Count) -> maps:from_list([{N, N + 1} || N <- lists:seq(1, Count)]).

%% The innermost first, so that nothing here recurses. What they must not hold: see zoo_sizes.
nested_tuples(Depth) -> nest(Depth, fun(N, Inner) -> {level, N, Inner} end).
nested_lists(Depth) -> nest(Depth, fun(_, Inner) -> [Inner] end).

%% All share their keys.
nested_maps(Depth) ->
    Map = maps:put(?MODULE:id(inner), none, #{}),
    nest(Depth, fun(_, Inner) -> Map#{inner := Inner} end).

nested_funs(Depth) -> nest(Depth, fun(_, Inner) -> fun() -> Inner end end).

%% Nothing in it is shared.
nested_mix(Depth) ->
    nest(Depth, fun(N, Inner) ->
                    case N rem 5 of
                        0 -> {N, [N, Inner | N]};
                        1 -> [[Inner, N] | N];
                        2 -> #{N => Inner, {N} => N};
                        3 -> [N | Inner];
                        4 -> maps:from_list([{I, [Inner || I =:= 17]} || I <- lists:seq(1, 33)])
                    end
                end).

nest(Depth, Wrap) ->
    lists:foldl(Wrap, ?MODULE:id(innermost), lists:seq(1, Depth)).

improper(Count) -> lists:foldl(fun(N, Tail) -> [N | Tail] end, ?MODULE:id(tail),
                               lists:seq(1, Count)).
