"""Debian's rabbitmq-server, ejabberd and elixir, on loopback, with all their files in one directory."""

from support.node import ApplicationStart, free_port
from support.paths import ROOT
from support.release import otp_root

RABBITMQ_SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"


def start_rabbitmq():
    """The node and its cookie."""
    start = ApplicationStart()
    directory = start.directory
    (directory / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{free_port()}\n"
        "management.tcp.ip = 127.0.0.1\n"
        f"management.tcp.port = {free_port()}\n")
    (directory / "enabled_plugins").write_text("[rabbitmq_management].\n")
    for name in ("mnesia", "log"):
        (directory / name).mkdir()
    node = start.run([RABBITMQ_SERVER], "rabbit", {
        "RABBITMQ_NODENAME": "beamdump_test@localhost",
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(directory / "mnesia"),
        "RABBITMQ_LOG_BASE": str(directory / "log"),
        "RABBITMQ_PID_FILE": str(directory / "pid"),
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": str(directory / "rabbitmq-env.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "enabled_plugins"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
            f"-setcookie {start.cookie} -kernel inet_dist_use_interface {{127,0,0,1}} "
            f"-pa {start.ebin} -run control start {directory}/control",
    })
    return node, start.cookie


EJABBERD_YML = """\
loglevel: info
hosts: [localhost]
auth_password_format: scram
listen:
  - {{port: {c2s}, ip: "127.0.0.1", module: ejabberd_c2s, access: c2s}}
  - {{port: {http}, ip: "127.0.0.1", module: ejabberd_http,
      request_handlers: {{/api: mod_http_api, /bosh: mod_bosh, /ws: ejabberd_http_ws}}}}
  - {{port: {mqtt}, ip: "127.0.0.1", module: mod_mqtt}}
access_rules:
  c2s: {{allow: all}}
modules: {{mod_adhoc: {{}}, mod_bosh: {{}}, mod_caps: {{}}, mod_disco: {{}}, mod_last: {{}}, mod_mam: {{}},
  mod_mqtt: {{}}, mod_muc: {{}}, mod_offline: {{}}, mod_ping: {{}}, mod_privacy: {{}}, mod_private: {{}},
  mod_pubsub: {{}}, mod_roster: {{}}, mod_shared_roster: {{}}, mod_stats: {{}}, mod_stream_mgmt: {{}},
  mod_time: {{}}, mod_vcard: {{}}, mod_version: {{}}}}
"""


def start_ejabberd():
    """The node and its cookie. Started as ejabberdctl does, but without its change of user."""
    start = ApplicationStart()
    directory = start.directory
    (directory / "ejabberd.yml").write_text(
        EJABBERD_YML.format(c2s=free_port(), http=free_port(), mqtt=free_port()))
    for name in ("spool", "log"):
        (directory / name).mkdir()
    port = str(free_port())
    root = otp_root()
    libraries = sorted(root.glob("usr/lib/*/ejabberd-*/ebin"))
    if not libraries:
        raise FileNotFoundError("ejabberd's code is not where Debian's package puts it")
    command = ["erl", "-noinput", "-sname", "beamdump_test@localhost",
               "-setcookie", start.cookie, "+K", "true", "+P", "250000",
               "-kernel", "inet_dist_use_interface", "{127,0,0,1}",
               "inet_dist_listen_min", port, "inet_dist_listen_max", port,
               "-pa", str(start.ebin), "-mnesia", "dir", f'"{directory}/spool"',
               "-s", "ejabberd", "-run", "control", "start", f"{directory}/control"]
    node = start.run(command, "ejabberd", {
        "EJABBERD_CONFIG_PATH": str(directory / "ejabberd.yml"),
        "EJABBERD_LOG_PATH": str(directory / "log" / "ejabberd.log"),
        "ERL_LIBS": f"/{libraries[0].parents[1].relative_to(root)}",
    })
    return node, start.cookie


def start_elixir():
    """The node of testdata/elixir/shop.exs and its cookie."""
    start = ApplicationStart()
    command = ["elixir", "--sname", "beamdump_test@localhost", "--cookie", start.cookie,
               "--erl", "-kernel inet_dist_use_interface {127,0,0,1}", "-pa", start.ebin,
               "--no-halt", ROOT / "testdata" / "elixir" / "shop.exs",
               start.directory / "control"]
    return start.run(command, "shop", {}), start.cookie
