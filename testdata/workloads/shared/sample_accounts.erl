%% A server as OTP applications have them: a registered gen_server with its data in the state.
-module(sample_accounts).
-behaviour(gen_server).
-export([start_link/1, init/1, handle_call/3, handle_cast/2]).

start_link(Count) ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, Count, []).

init(Count) ->
    {ok, #{opened => Count, users => workload_data:users(1, Count)}}.

handle_call(count, _From, #{users := Users} = State) ->
    {reply, length(Users), State}.

handle_cast(_, State) ->
    {noreply, State}.
