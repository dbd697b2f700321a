%% A node that can be made to stand still, one whose schedulers are lost to native calls that never
%% return (of the library that BEAMDUMP_WEDGED_NIF names, without ".so"), and one that cannot end: a
%% process that traps exits keeps its application from stopping.
-module(wedged).
-export([start/1, tell/1, sleeping/0, spinning/0, dirty_sleeping/0]).

-define(STANDS_MS, 8000).
-define(ENDS_MS, 120_000).

start(Scale) ->
    case os:getenv("BEAMDUMP_WEDGED_NIF") of
        false -> ok;
        Library -> ok = erlang:load_nif(Library, 0)
    end,
    ok = sample:start(Scale).

sleeping() -> erlang:nif_error(not_loaded).
spinning() -> erlang:nif_error(not_loaded).
dirty_sleeping() -> erlang:nif_error(not_loaded).

tell(<<"wedge">>) ->
    %% All threads of the emulator wait for one that is in a native call of some seconds.
    spawn(fun() ->
              register(wedging, self()),
              erts_debug:set_internal_state(available_internal_state, true),
              erts_debug:set_internal_state(block, ?STANDS_MS)
          end),
    <<"ok">>;
tell(<<"end">>) ->
    spawn(fun() ->
              register(slow_to_end, self()),
              group_leader(whereis(init), self()),
              process_flag(trap_exit, true),
              timer:sleep(?ENDS_MS)
          end),
    spawn(fun() -> init:stop() end),
    <<"ok">>;
tell(Call) when Call =:= <<"sleeping">>; Call =:= <<"spinning">>; Call =:= <<"dirty_sleeping">> ->
    %% The scheduler that takes the process is lost; what waits for that one waits for ever.
    Native = binary_to_existing_atom(Call),
    spawn(fun() ->
              register(Native, self()),
              Result = ?MODULE:Native(),
              exit({returned, Result})
          end),
    <<"ok">>.
