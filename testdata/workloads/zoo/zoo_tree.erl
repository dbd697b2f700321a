%% Supervisors with a few children.
-module(zoo_tree).
-behaviour(supervisor).
-export([start/0, init/1, start_child/1]).

%% Whoever started a supervisor is linked with it: that is not to be the starter of the zoo.
start() ->
    {ok, Pid} = supervisor:start_link({local, zoo_supervisor}, ?MODULE, one_for_one),
    unlink(Pid),
    {ok, _} = supervisor:start_child(zoo_simple_supervisor, [one]),
    {ok, _} = supervisor:start_child(zoo_simple_supervisor, [two]),
    {ok, Pid}.

init(one_for_one) ->
    {ok, {#{strategy => rest_for_one, intensity => 3},
          [#{id => child, start => {?MODULE, start_child, [zoo_child]}},
           #{id => simple, type => supervisor,
             start => {supervisor, start_link,
                       [{local, zoo_simple_supervisor}, ?MODULE, simple]}}]}};
init(simple) ->
    {ok, {#{strategy => simple_one_for_one},
          [#{id => child, start => {?MODULE, start_child, []}, restart => temporary}]}}.

start_child(Label) ->
    {ok, proc_lib:spawn_link(fun() -> put('$process_label', {zoo, Label}), zoo:rest() end)}.
