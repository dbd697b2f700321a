%% restless.erl under a seccomp filter that kills the node if it makes a process (the library that
%% BEAMDUMP_FILTERED_NIF names, without ".so").
-module(filtered).
-export([start/1, filter/0, install/0]).

start(Scale) ->
    ok = filter(),
    restless:start(Scale).

filter() ->
    ok = erlang:load_nif(os:getenv("BEAMDUMP_FILTERED_NIF"), 0),
    0 = install(),
    ok.

install() -> erlang:nif_error(not_loaded).
