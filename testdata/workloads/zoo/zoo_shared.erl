%% Terms that share parts, and literals, alone and inside other terms.
-module(zoo_shared).
-export([all/0, literals/0, persist/0, dag/1, dag_flat_words/1, dag_shared_words/1]).

all() ->
    X = zoo_terms:id({shared, [a, b], #{c => "d"}}),
    Tail = lists:seq(1, zoo_terms:id(100)),
    Binary = binary:copy(zoo_terms:id(<<"shared bytes ">>), 20),
    Part = binary:part(Binary, 10, 30),
    Map = maps:from_list([{N, X} || N <- lists:seq(1, 40)]),
    Fun = fun() -> {X, Tail} end,
    [{twice, {X, X}}, {in_list, [X, X | X]}, {tails, {Tail, [0 | Tail], tl(Tail)}},
     {equal_not_same, {copy(X), copy(X)}}, {dag, dag(12)}, {in_large_map, Map},
     {large_map_twice, {Map, Map#{0 => X}}}, {in_fun, {Fun, Fun, X}},
     {binary_twice, {Binary, Binary, Part, Part}}, {key_and_value, #{X => X, {X} => [X]}},
     {same_key_tuples, [#{k1 => N, k2 => X} || N <- lists:seq(1, 5)]},
     {big_twice, twice(1 bsl zoo_terms:id(1000))}, {float_twice, twice(zoo_terms:id(1.5) * 3)},
     {reference_twice, twice(make_ref())}, {export_twice, twice(fun lists:map/2)},
     {nested_tails, lists:foldl(fun(N, T) -> [T, N | T] end, [], lists:seq(1, 12))}].

twice(Term) -> {Term, [Term]}.

%% For the values that the process before holds as literals.
persist() ->
    persistent_term:put(zoo_persistent, {persistent, "list", #{map => {1, 2}},
                                         maps:from_list([{N, {N}} || N <- lists:seq(1, 50)]),
                                         binary:copy(<<"0123456789">>, 30), 1 bsl 200, 2.5,
                                         fun lists:map/2, make_ref()}).

literals() ->
    Persistent = persistent_term:get(zoo_persistent),
    Large = binary:copy(zoo_terms:id(<<1, 2, 3>>), 50),
    [{tuple, {literal, [of_a, "module"], #{with => <<"a map">>}}},
     {list, [1, 2, {3, "four"}, 5.0, 16#ffffffffffffffffffff]},
     {large_binary,
      <<"a literal of more than sixty-four bytes, so that it is counted by reference">>},
     {bits, <<"abc", 5:3>>}, {fun_without_environment, fun() -> literal end},
     {export, fun lists:foldl/3}, {map, #{a => #{b => #{c => [d]}}}},
     {in_a_tuple, {zoo_terms:id(not_literal), {literal, "part"}, Large, {literal, "part"}}},
     {key_tuple_only, (zoo_terms:id(#{literal_key => 0, other_key => 0}))#{other_key := self()}},
     {part, binary:part(<<"a literal of more than sixty-four bytes, of which only a part is held">>,
                        2, 40)},
     {persistent, Persistent}, {persistent_twice, {Persistent, element(3, Persistent), Persistent}},
     {persistent_elements, tuple_to_list(Persistent)}].

copy(Term) -> binary_to_term(term_to_binary(Term)).

%% Small, but 2^Depth tuples if written out.
dag(Depth) ->
    lists:foldl(fun(_, Part) -> {Part, Part} end, zoo_terms:id(leaf), lists:seq(1, Depth)).

%% What erts_debug:flat_size/1 would say of dag(Depth), did it not take years.
dag_flat_words(Depth) -> 3 * ((1 bsl Depth) - 1).
dag_shared_words(Depth) -> 3 * Depth.
