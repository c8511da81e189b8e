"""Sends a command out, survives a restart of the daemon, takes the debrief, acknowledges it. Standard library only.

    HOMING_URL=http://127.0.0.1:7117 HOMING_TOKEN=$(homing token) python3 errand.py
"""
import json, os, subprocess, urllib.request

URL, TOKEN = os.environ["HOMING_URL"], os.environ["HOMING_TOKEN"]
CONSUMER = "errands"


def call(path, body=None, timeout=60):
    request = urllib.request.Request(URL + path, headers={"Authorization": "Bearer " + TOKEN})
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    return urllib.request.urlopen(request, timeout=timeout)


def debriefs():
    """Debriefs as they come; one that is not acknowledged comes again."""
    event = {}
    with call("/v1/deliveries?consumer=" + CONSUMER) as stream:
        for line in stream:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif event:
                if event.get("event") == "debrief":
                    yield json.loads(event["data"])
                event = {}


# The key makes it safe to say again: the same key is the same task.
launch = {"command": ["sh", "-c", "sleep 1; echo done by python"], "parent": "inbox:" + CONSUMER, "key": "python-errand"}
task = json.load(call("/v1/tasks", launch))["id"]
print("launched", task)

# The daemon goes and comes back; the command runs on, and nothing is lost.
subprocess.run(["homing", "daemon", "stop"], check=True)
subprocess.run(["homing", "daemon", "start"], check=True, stdout=subprocess.DEVNULL)
assert json.load(call("/v1/tasks", launch))["id"] == task

for debrief in debriefs():
    print(debrief["text"])
    call("/v1/deliveries/%s/ack" % debrief["key"], {})
    if any(told == task for told, _ in debrief["notices"]):
        break
print("acknowledged", task)
