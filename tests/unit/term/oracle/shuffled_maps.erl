%% Makes what make-texts merges into shuffled_maps.txt: maps of 32 keys at most in external format,
%% their pairs shuffled, base64, in the file named by MAPS_OUT; what the VM prints for what it makes
%% of them on standard output.
-module(shuffled_maps).
-export([main/0]).

main() ->
    _ = rand:seed(exsss, {25, 2, 3}),
    Encoded = [external(map(N rem 32 + 1)) || N <- lists:seq(1, 150)],
    ok = file:write_file(os:getenv("MAPS_OUT"), [[base64:encode(Bytes), $\n] || Bytes <- Encoded]),
    [erlang:display(binary_to_term(Bytes)) || Bytes <- Encoded],
    halt().

map(Size) ->
    maps:from_list([{key(rand:uniform(20)), rand:uniform(9)} || _ <- lists:seq(1, Size)]).

external(Map) ->
    Shuffled = [Pair || {_, Pair} <- lists:sort([{rand:uniform(), P} || P <- maps:to_list(Map)])],
    Pairs = [[body(Key), body(Value)] || {Key, Value} <- Shuffled],
    iolist_to_binary([131, 116, <<(map_size(Map)):32>>, Pairs]).

body(Term) ->
    <<131, Body/binary>> = term_to_binary(Term, [{minor_version, 2}]),
    Body.

key(1) -> rand:uniform(1000) - 500;
key(2) -> (rand:uniform(5) - 3) bsl (58 + rand:uniform(70));
key(3) -> (rand:uniform(1000) - 500) / 7;
key(4) -> float(rand:uniform(10));
key(5) -> rand:uniform(10);
key(6) -> lists:nth(rand:uniform(8), [a, b, ab, abc, 'A', 'é', '漢', '']);
key(7) -> list_to_atom([$a + rand:uniform(26) - 1 || _ <- lists:seq(1, rand:uniform(6))]);
key(8) -> {key(rand:uniform(7)), key(rand:uniform(7))};
key(9) -> {key(rand:uniform(7))};
key(10) -> [key(rand:uniform(7)) || _ <- lists:seq(1, rand:uniform(3))];
key(11) -> [rand:uniform(3) + $a || _ <- lists:seq(1, rand:uniform(5))];
key(12) -> [$a, key(6) | key(7)];
key(13) -> [[1, 2 | key(7)], {key(10), rand:uniform(4)}];
key(14) -> rand:bytes(rand:uniform(3));
key(15) -> <<(rand:uniform(16)):(rand:uniform(20))>>;
key(16) -> [];
key(17) -> {};
key(18) -> self();
key(19) -> make_ref();
key(20) -> {[], [key(rand:uniform(18))], #{}}.
