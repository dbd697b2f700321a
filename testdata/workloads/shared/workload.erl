%% Starts a workload: `-run workload start NAME SCALE DIRECTORY`. When all is in place, writes the
%% node's operating-system pid to DIRECTORY/ready.
-module(workload).
-export([start/1, run/3, auto/0]).

start([Name, Scale, Directory]) ->
    control:start([filename:join(Directory, "control")]),
    spawn(?MODULE, run, [list_to_atom(Name), number(Scale), Directory]).

run(Workload, Scale, Directory) ->
    ok = Workload:start(Scale),
    Written = filename:join(Directory, "ready.written"),
    ok = file:write_file(Written, [os:getpid(), $\n]),
    ok = file:rename(Written, filename:join(Directory, "ready")),
    receive after infinity -> ok end.

%% The most that a table can have of write_concurrency: auto is there from OTP 25 on.
auto() ->
    case list_to_integer(erlang:system_info(otp_release)) of
        Release when Release < 25 -> true;
        _ -> auto
    end.

number(Text) ->
    case string:to_float(Text) of
        {error, no_float} -> list_to_integer(Text);
        {Float, []} -> Float
    end.
