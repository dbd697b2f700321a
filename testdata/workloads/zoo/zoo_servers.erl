%% Processes of OTP's behaviours, resting as each of them rests.
-module(zoo_servers).
-behaviour(gen_server).
-export([start/0, hold_state/2]).
-export([init/1, handle_call/3, handle_cast/2, handle_continue/2, terminate/2]).

start() ->
    {ok, _} = zoo_machine:start(),
    {ok, Events} = gen_event:start({local, zoo_events}),
    ok = gen_event:add_handler(Events, zoo_handler, [first]),
    ok = gen_event:add_handler(Events, {zoo_handler, second}, [second]),
    {ok, _} = zoo_tree:start(),
    {ok, _} = gen_server:start({local, zoo_hibernating_server}, ?MODULE, hibernate, []),
    {ok, _} = gen_server:start({local, zoo_waiting_server}, ?MODULE, {wait, 1000000000}, []),
    {ok, _} = gen_server:start({local, zoo_busy_server}, ?MODULE, block, []),
    lists:foreach(fun call/1,
                  [{zoo_caller, fun() -> ask(infinity) end},
                   {zoo_timed_caller, fun() -> ask(1000000000) end},
                   {zoo_machine_caller, fun() -> gen_statem:call(zoo_machine, question) end},
                   {zoo_requester, fun request/0}]).

%% A server with the group's terms in its state, a map by their descriptions.
hold_state(Name, Make) ->
    {ok, _} = gen_server:start({local, Name}, ?MODULE, {hold, Name, Make}, []),
    ok.

init({hold, Name, Make}) ->
    State = #{terms => Make(), name => Name},
    zoo_sizes:is_small(State) andalso zoo_sizes:report(Name, {state, gen_server}, State),
    {ok, State};
init(hibernate) ->
    put(zoo, {asleep, [<<"with">>, "a dictionary"]}),
    {ok, {state, lists:seq(1, 20)}, hibernate};
init({wait, Milliseconds}) ->
    {ok, {state, waiting}, Milliseconds};
init(block) ->
    {ok, {state, busy}, {continue, block}}.

handle_continue(block, State) ->
    receive {zoo, finish} -> {noreply, State} end.

handle_call(question, _From, State) -> {reply, answer, State}.
handle_cast(_, State) -> {noreply, State}.
terminate(_, _) -> ok.

call({Name, Fun}) ->
    Pid = spawn(fun() -> Fun(), zoo:rest() end),
    true = register(Name, Pid).

ask(Timeout) -> gen_server:call(zoo_busy_server, question, Timeout).

%% Two requests under way, nobody waits for their answers yet.
request() ->
    One = gen_server:send_request(zoo_busy_server, one),
    Collection = gen_server:send_request(zoo_busy_server, two, two, gen_server:reqids_new()),
    receive {zoo, finish} -> {One, Collection} end.
