%% A node that can be made to stand still, and one that cannot end: a process that traps exits keeps
%% its application from stopping.
-module(wedged).
-export([start/1, tell/1]).

-define(STANDS_MS, 8000).
-define(ENDS_MS, 15000).

start(Scale) ->
    ok = sample:start(Scale).

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
    <<"ok">>.
