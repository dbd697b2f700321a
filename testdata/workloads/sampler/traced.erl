%% What functions of some processes take by the VM's own tracing: by tprof where it is there (OTP 27
%% on), else by eprof.
-module(traced).
-export([told/4]).

%% "module:function/arity CALLS TAKEN ...": of all functions of the modules, in milliseconds of that
%% work. TAKEN is microseconds (call_time) or words (call_memory). BIFs are not traced: what they take
%% counts to their callers.
told(Type, Modules, Pids, Milliseconds) ->
    Builtin = [{Module, Function, Arity} || Module <- Modules,
               {Function, Arity} <- Module:module_info(functions),
               erlang:is_builtin(Module, Function, Arity)],
    Taken = case code:ensure_loaded(tprof) of
                {module, tprof} -> by_tprof(Type, Modules, Builtin, Pids, Milliseconds);
                {error, nofile} when Type =:= call_time ->
                    by_eprof(Modules, Builtin, Pids, Milliseconds)
            end,
    iolist_to_binary(lists:join(" ", [io_lib:format("~s:~s/~b ~b ~b", [M, F, A, Calls, Of])
                                      || {{M, F, A}, Calls, Of} <- Taken, Calls > 0])).

by_tprof(Type, Modules, Builtin, Pids, Milliseconds) ->
    {ok, _} = tprof:start(#{type => Type}),
    _ = [tprof:set_pattern(Module, '_', '_') || Module <- Modules],
    _ = [tprof:clear_pattern(M, F, A) || {M, F, A} <- Builtin],
    [1 = tprof:enable_trace(Pid) || Pid <- Pids],
    %% What is on a process's heap already counts to the first function that is traced.
    timer:sleep(100),
    ok = tprof:restart(),
    timer:sleep(Milliseconds),
    [1 = tprof:disable_trace(Pid) || Pid <- Pids],
    {Type, Found} = tprof:collect(),
    ok = tprof:stop(),
    [{{M, F, A}, lists:sum([Calls || {_, Calls, _} <- Of]), lists:sum([Taken || {_, _, Taken} <- Of])}
     || {M, F, A, Of} <- Found].

%% eprof takes one pattern, but collects what all functions took that are traced.
by_eprof([First | Others], Builtin, Pids, Milliseconds) ->
    {ok, _} = eprof:start(),
    profiling = eprof:start_profiling(Pids, {First, '_', '_'}),
    _ = [call_time(Module, '_', '_', true) || Module <- Others],
    _ = [call_time(M, F, A, false) || {M, F, A} <- Builtin],
    timer:sleep(Milliseconds),
    profiling_stopped = eprof:stop_profiling(),
    {bpd, _, _, _, Found} = eprof:dump_data(),
    stopped = eprof:stop(),
    _ = [call_time(Module, '_', '_', false) || Module <- Others],
    [{Function, Calls, Taken} || {Function, {Calls, Taken}} <- Found].

%% Not `local` in addition, which would send a message for each call.
call_time(M, F, A, On) -> erlang:trace_pattern({M, F, A}, On, [call_time]).
