%% Remembers the session of each request. A part of a binary keeps all of it, and nothing is copied here.
-module(session_store).
-export([start/0, remember/1]).

start() ->
    Store = proc_lib:spawn(fun() -> loop(#{}) end),
    register(?MODULE, Store).

remember(Request) ->
    ?MODULE ! {request, self(), Request},
    receive {?MODULE, remembered} -> ok end.

loop(Sessions) ->
    receive
        {request, From, Request} ->
            Session = session(Request),
            From ! {?MODULE, remembered},
            loop(Sessions#{Session => erlang:monotonic_time()})
    end.

session(Request) ->
    {At, Length} = binary:match(Request, <<"X-Session: ">>),
    binary:part(Request, At + Length, 96).
