%% A state machine that has timers of each kind, and that postpones the questions it gets.
-module(zoo_machine).
-behaviour(gen_statem).
-export([start/0, init/1, callback_mode/0, resting/3]).

start() -> gen_statem:start({local, zoo_machine}, ?MODULE, [], []).

callback_mode() -> [state_functions, state_enter].

init([]) ->
    {ok, resting, #{data => lists:seq(1, 5), name => <<"machine">>}}.

resting(enter, _, Data) ->
    {keep_state, Data, [{state_timeout, 1000000000, state}, {{timeout, named}, 1000000000, named}]};
resting({call, _}, question, _) ->
    {keep_state_and_data, postpone}.
