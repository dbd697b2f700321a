%% Terms that prove themselves: all of an item follows from its index and its version, so that one
%% that was torn or half moved is found. tests/tools/storm/items.cpp computes the same.
-module(storm_items).
-export([item/2, cell/1, element/1]).

-define(SEED(I, V), (((I) * 2654435 + (V) * 40503 + 12345) band 16#7FFFFFF)).

item(I, V) ->
    S = ?SEED(I, V),
    {storm, I, V, payload(I band 15, I, S), S}.

%% An item as one word: a small integer of which the two upper parts are a mark and the index.
cell(I) ->
    (5 bsl 55) bor (I bsl 24) bor ((I * 40503 + 7) band 16#FFFFFF).

%% One list of these has both: cells, and every sixteenth an item.
element(I) when I band 15 =:= 0 -> item(I, 1);
element(I) -> cell(I).

payload(8, _, S) -> words(S, 6);
payload(9, _, S) -> {S, {S + 1, [S + 2 | S + 3]}};
payload(10, _, S) -> [S + 0.5, {S}];
payload(11, _, S) -> [(1 bsl 70) + S, -(1 bsl 70) - S];
payload(12, _, S) -> part_of(words(S, 10));
payload(13, _, S) -> #{1 => S, 2 => [S + 1]};
payload(14, _, S) -> held({S, S + 1});
payload(15, I, S) -> seldom((I bsr 4) band 7, S);
payload(_, _, S) -> lists:seq(S, S + 9).

%% Large enough not to lie on the heap: their number is bounded, for each costs memory of its own.
seldom(0, S) -> words(S, 25);
seldom(1, S) -> part_of(words(S, 25));
seldom(_, S) -> [S | S + 1].

words(S, Count) ->
    << <<N:32>> || N <- lists:seq(S, S + Count - 1) >>.

part_of(Bytes) ->
    Size = byte_size(Bytes),
    <<_, Part:Size/binary, _>> = <<0, Bytes/binary, 0>>,
    Part.

held(Value) ->
    fun() -> Value end.
