%% A node that ends in native code when it is asked to, in the library that BEAMDUMP_DYING_NIF names
%% (without ".so"): a process with a known name and stack calls it.
-module(dying).
-export([start/1, tell/1, die/2, dirty_die/2]).

start(Scale) ->
    ok = erlang:load_nif(os:getenv("BEAMDUMP_DYING_NIF"), 0),
    ok = sample:start(Scale).

die(_How, _File) -> erlang:nif_error(not_loaded).
dirty_die(_How, _File) -> erlang:nif_error(not_loaded).

%% HOW: an atom of dying_nif.c, with "dirty_" before it on a dirty scheduler, or "halt".
tell(How) ->
    spawn(fun() ->
              true = register(victim, self()),
              put(how, How),
              exit({returned, outer(How)})
          end),
    <<"ok">>.

%% Not as tail calls: both are frames of the stack.
outer(How) ->
    Result = inner(How),
    {outer, Result}.

inner(<<"halt">>) ->
    Result = erlang:halt(abort),
    {inner, Result};
inner(<<"dirty_", How/binary>>) ->
    Result = dirty_die(binary_to_atom(How), "mapped"),
    {inner, Result};
inner(How) ->
    Result = die(binary_to_atom(How), "mapped"),
    {inner, Result}.
