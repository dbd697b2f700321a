"""A headless Chromium, driven over its DevTools protocol: by a pipe, without a port or a library."""

import json
import os
import pathlib
import select
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium")
SECONDS = 120


class PageError(AssertionError):
    pass


class Browser:
    """One browser with one page. `events` are those of the page, in their order."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory()
        from_us, to_browser = os.pipe()
        from_browser, to_us = os.pipe()
        self.out, self.incoming = to_browser, from_browser

        def give_pipes():
            # The protocol is on 3 and 4. Copies above them first: one may be the other's number.
            read, write = os.dup(from_us), os.dup(to_us)
            high = [os.dup2(number, 100 + at) for at, number in enumerate((read, write))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}/profile",
             "--window-size=1280,900", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=give_pipes, start_new_session=True,
            env={**os.environ, "HOME": self.folder.name})
        os.close(from_us)
        os.close(to_us)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (PageError, OSError):
            pass
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.incoming)
        self.folder.cleanup()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.incoming], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise PageError(f"the browser does not answer within {SECONDS} s")
            piece = os.read(self.incoming, 1 << 20)
            if not piece:
                raise PageError("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def run(self, script):
        """The value of an expression in the page; of a promise, what it becomes."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise PageError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, script):
        """Waits until an expression is true."""
        deadline = time.monotonic() + SECONDS
        while True:
            value = self.run(script)
            if value:
                return value
            if time.monotonic() > deadline:
                raise PageError(f"never true: {script}")
            time.sleep(0.02)

    def open(self, path):
        """Opens a report and waits until it is made."""
        self.events.clear()
        answer = self.call("Page.navigate", url=pathlib.Path(path).resolve(strict=True).as_uri())
        if "errorText" in answer:
            raise PageError(f"{path}: {answer['errorText']}")
        self.until("document.documentElement?.dataset.ready === 'true' || "
                   "document.getElementById('loading')?.textContent.startsWith('The page cannot')")

    def complaints(self):
        """What the page did wrong: exceptions, errors, blocked content, requests of anything but
        itself."""
        self.run("1")  # all events before are here
        found = []
        for event in self.events:
            method, given = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(given["exceptionDetails"]["text"] + str(
                    given["exceptionDetails"].get("exception", {}).get("description")))
            elif method == "Runtime.consoleAPICalled" or method == "Log.entryAdded":
                found.append(json.dumps(given))
            elif method == "Network.requestWillBeSent" and given["type"] != "Document":
                found.append(given["request"]["url"])
            elif method == "Page.javascriptDialogOpening":
                found.append("dialog: " + given["message"])
        return found

    def click(self, selector, at=0):
        """A click with the mouse in the middle of an element, which is brought into sight. Again
        if the element did not get it: it had moved since the last picture."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            box = self.run(f"""new Promise((done) => {{
                const found = document.querySelectorAll({json.dumps(selector)})[{at}];
                found.scrollIntoView({{block: "center", behavior: "instant"}});
                window.clicked = false;
                found.addEventListener("click", () => {{ window.clicked = true; }},
                                       {{capture: true, once: true}});
                requestAnimationFrame(() => requestAnimationFrame(() => {{
                    const box = found.getBoundingClientRect();
                    done([box.left + box.width / 2, box.top + box.height / 2]);
                }}));
            }})""")
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1],
                          button="left", clickCount=1)
            if self.run("window.clicked"):
                return
        raise PageError(f"never clicked: {selector}")

    def key(self, name):
        text = {"Enter": "\r", "Space": " "}.get(name, name if len(name) == 1 else None)
        key = " " if name == "Space" else name
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=name, **more)

    def type(self, selector, text):
        """Replaces the text of a field."""
        self.run(f"(() => {{ const field = document.querySelector({json.dumps(selector)});"
                 "field.focus(); field.select(); })()")
        if text:
            self.call("Input.insertText", text=text)
        else:
            self.key("Delete")
            self.run(f"(() => {{ const field = document.querySelector({json.dumps(selector)});"
                     "if (field.value !== '') { field.value = '';"
                     "field.dispatchEvent(new Event('input')); } })()")
