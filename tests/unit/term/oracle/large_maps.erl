%% Makes large_maps.txt: large maps as the VM prints them (erlang:display/1), of
%% small integers only, so that a test can build the same nodes from the text.
-module(large_maps).
-export([main/0]).

main() ->
    [erlang:display(maps:from_list([{I * I * 1000003, -I} || I <- lists:seq(1, N)]))
     || N <- [33, 34, 50, 100, 1000]],
    halt().
