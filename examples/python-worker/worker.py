"""A worker of the queue in Python's standard library: counts the words of each task's text.

python3 worker.py --url http://127.0.0.1:3010 --key-file key [--drain]
"""

import argparse
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request


def work(payload):
    """What this worker does: the payload in, the result out. An exception fails the task."""
    return {"words": len(payload["text"].split())}


class Queue:
    def __init__(self, url, key, worker_id):
        self.url, self.key, self.worker_id = url.rstrip("/"), key, worker_id

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + "/beta/work" + path,
            method=method,
            data=None if body is None else json.dumps({"worker_id": self.worker_id, **body}).encode(),
            headers={"Authorization": "Bearer " + self.key, "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def lease(self, wait):
        query = urllib.parse.urlencode({"worker_id": self.worker_id, "wait": wait})
        return self.call("GET", "/queue?" + query)


def keep(queue, path, lease, over):
    """Renews the lease, three times in its length, until the task is over. A worker that lost its lease learns it at the end."""
    while not over.wait(lease["ttl_seconds"] / 3):
        try:
            queue.call("POST", path + "/heartbeat", {"lease_id": lease["id"]})
        except OSError as error:
            print("heartbeat:", error)


def handle(queue, task, lease):
    path, over = "/" + task["id"], threading.Event()
    threading.Thread(target=keep, args=(queue, path, lease, over), daemon=True).start()
    try:
        end, body = "/ack", {"result": work(task["payload"])}
    except Exception as error:
        end, body = "/stop", {"error": repr(error)}
    over.set()
    try:
        queue.call("POST", path + end, {"lease_id": lease["id"], **body})
        print(task["id"], body)
    except urllib.error.HTTPError as error:
        # Another worker has it by now, or somebody stopped it: this result counts for nothing.
        print(task["id"], error.read().decode())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key-file", required=True)
    parser.add_argument("--drain", action="store_true", help="end when the queue is empty")
    given = parser.parse_args()
    with open(given.key_file) as file:
        key = file.read().strip()
    queue = Queue(given.url, key, "python-%d" % os.getpid())
    while True:
        answer = queue.lease(wait=0 if given.drain else 25)
        if answer["task"] is not None:
            handle(queue, answer["task"], answer["lease"])
        elif given.drain:
            return


if __name__ == "__main__":
    main()
