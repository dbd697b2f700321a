%% An event handler with a state.
-module(zoo_handler).
-behaviour(gen_event).
-export([init/1, handle_event/2, handle_call/2]).

init(Arguments) -> {ok, {handler, Arguments, make_ref()}}.
handle_event(_, State) -> {ok, State}.
handle_call(_, State) -> {ok, State, State}.
