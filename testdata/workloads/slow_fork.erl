%% restless.erl in a node whose fork takes seconds in the kernel (because of the library that
%% BEAMDUMP_SLOW_FORK_NIF names, without ".so").
-module(slow_fork).
-export([start/1, install/0]).

start(Scale) ->
    ok = erlang:load_nif(os:getenv("BEAMDUMP_SLOW_FORK_NIF"), 0),
    0 = install(),
    restless:start(Scale).

install() -> erlang:nif_error(not_loaded).
