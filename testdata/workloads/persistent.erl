%% Persistent terms: of many kinds, one too large to be captured whole, and some that are replaced,
%% erased and put again all the time, each of which proves itself: {N, [N, N, ...]}.
-module(persistent).
-export([start/1]).

-define(LENGTH, 300).

%% With a scale of 0 those that change, else the others.
start(Scale) when Scale == 0 ->
    _ = [spawn(fun() -> write(Key, 1 bsl 30) end) || Key <- [one, two, three]],
    ok;
start(Scale) ->
    Owner = self(),
    Keeper = spawn_link(fun() -> put_terms(round(530000 * Scale)), Owner ! {self(), ready},
                                 receive never -> ok end end),
    receive {Keeper, ready} -> ok end.

put_terms(Large) ->
    Shared = lists:seq(1, 50),
    Environment = {self(), make_ref(), <<"environment">>},
    Terms = #{{persistent, map} => #{},
              {persistent, small_map} => #{a => 1, "b" => {c}},
              {persistent, large_map} => maps:from_list([{N, {N}} || N <- lists:seq(1, 200)]),
              {persistent, heap_binary} => <<"short">>,
              {persistent, binary} => binary:copy(<<"long ">>, 100),
              {persistent, part} => binary:part(binary:copy(<<"long ">>, 100), 5, 400),
              {persistent, bits} => <<5:3>>,
              {persistent, local_fun} => fun() -> Environment end,
              {persistent, external_fun} => fun lists:map/2,
              {persistent, large_list} => lists:seq(1, 20000),
              {persistent, shared} => {Shared, Shared, [Shared | Shared]},
              {persistent, numbers} => [1 bsl 200, -(1 bsl 70), 1.5, -1],
              {persistent, reference} => {make_ref(), self(), hd(erlang:ports())},
              {persistent, large} => lists:seq(1, Large),
              persistent_atom => true,
              "a string" => [],
              <<"a binary key">> => nil,
              4711 => "4711"},
    maps:foreach(fun persistent_term:put/2, Terms).

write(Key, N) ->
    persistent_term:put({changing, Key}, {N, lists:duplicate(?LENGTH, N)}),
    _ = [persistent_term:erase({changing, Key}) || N rem 3 =:= 0],
    %% Faster than the runtime frees them, the literals' memory would not suffice.
    receive after 1 -> write(Key, N + 1) end.
