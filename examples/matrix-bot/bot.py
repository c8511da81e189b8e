#!/usr/bin/env python3
"""A bot for Matrix on homing: every thread of a room is a conversation with an agent that can send others out.

It answers what people ask. What the agent's tasks bring home it says by itself, later, in the same thread: homing posts that.
The bot keeps nothing but where it was: conversations, turns and messages have keys, so doing it all again after a crash
changes nothing. It needs HOMING_URL and HOMING_TOKEN (homing token), MATRIX_URL and MATRIX_TOKEN, and in homing.toml:

    [rooms.team]
    kind = "matrix"
    homeserver = "https://matrix.example.org"
    token_file = "matrix.token"
"""
import http.client
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ENV = os.environ
SINCE = ENV.get("BOT_STATE", "bot.since")
ROOM = ENV.get("HOMING_ROOM", "team")


def call(side, method, path, body=None, key=None, timeout=60):
    request = urllib.request.Request(ENV[f"{side}_URL"] + path, method=method)
    request.add_header("Authorization", f"Bearer {ENV[f'{side}_TOKEN']}")
    if key:
        request.add_header("Idempotency-Key", key)
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        request.add_header("Content-Type", "application/json")
    return urllib.request.urlopen(request, data, timeout=timeout)


def homing(method, path, body=None, key=None):
    return json.load(call("HOMING", method, "/v1" + path, body, key))


def matrix(method, path, body=None, timeout=60):
    return json.load(call("MATRIX", method, "/_matrix/client/v3" + path, body, timeout=timeout))


def quoted(text):
    return urllib.parse.quote(text, safe="")


def again(do, *args):
    """Does it until it is done: a daemon or a homeserver that is away comes back. What is refused is said."""
    pause = 0.2
    while True:
        try:
            return do(*args)
        except urllib.error.HTTPError as why:
            if why.code < 500 and why.code != 429:
                raise
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(pause)
        pause = min(pause * 2, 10)


def turn(conversation, number):
    """What is said in one turn, once it is over; its stream holds nothing of any other."""
    for line in call("HOMING", "GET", f"/v1/conversations/{conversation}/turns/{number}/events", timeout=None):
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            if event.get("event") == "ended":
                return event["text"] or f"(the turn is {event['state']})"
    raise OSError("the stream was cut off")


def ask(room, root, event):
    """The same event again is the same conversation and the same turn. One that is closed is followed by another."""
    about = {"origin": f"thread:{ROOM}/{room}#{root}", "name": f"thread {root}"}
    if ENV.get("HOMING_HOST"):
        about |= {"host": ENV["HOMING_HOST"], "cwd": os.getcwd()}
    for n in range(100):
        conversation = again(homing, "POST", "/conversations", about, f"{room}/{root}/{n}")["id"]
        try:
            said = {"text": event["content"]["body"]}
            taken = again(homing, "POST", f"/conversations/{conversation}/turns", said, event["event_id"])
            return conversation, taken["turn"]
        except urllib.error.HTTPError as why:
            if json.load(why).get("code") != "E_ENDED":
                raise
    raise OSError("a hundred conversations of one thread are closed")


def answer(room, root, event, conversation, number):
    """Under the name of what is answered: people read it once."""
    thread = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True, "m.in_reply_to": {"event_id": root}}
    text = again(turn, conversation, number)
    said = {"msgtype": "m.text", "body": text, "m.mentions": {}, "m.relates_to": thread}
    again(matrix, "PUT", f"/rooms/{quoted(room)}/send/m.room.message/{quoted('answer-' + event['event_id'])}", said)


def hear(room, event, speakers):
    relates = event["content"].get("m.relates_to", {})
    root = relates["event_id"] if relates.get("rel_type") == "m.thread" else event["event_id"]
    try:
        # In the order that people spoke; the answers may come in any.
        asked = ask(room, root, event)
        speakers.append(threading.Thread(target=answer, args=(room, root, event, *asked)))
        speakers[-1].start()
    except urllib.error.HTTPError as why:
        print(f"{event['event_id']}: refused: {why}", file=sys.stderr, flush=True)


def main():
    me = again(matrix, "GET", "/account/whoami")["user_id"]
    since = open(SINCE).read() if os.path.exists(SINCE) else ""
    print(f"{me} listens", flush=True)
    while True:
        path = f"/sync?timeout=30000&since={quoted(since)}" if since else "/sync?timeout=0"
        news = again(matrix, "GET", path, None, 90)
        for room in news.get("rooms", {}).get("invite", {}):
            again(matrix, "POST", f"/join/{quoted(room)}", {})
        speakers = []
        for room, joined in news.get("rooms", {}).get("join", {}).items():
            for event in joined["timeline"]["events"]:
                said = event["type"] == "m.room.message" and event["sender"] != me
                if since and said and event["content"].get("body", "").strip():
                    hear(room, event, speakers)
        for speaker in speakers:
            speaker.join()
        # Only now: what was not answered is seen again after a crash.
        since = news["next_batch"]
        with open(SINCE + ".new", "w") as file:
            file.write(since)
        os.replace(SINCE + ".new", SINCE)


if __name__ == "__main__":
    main()
