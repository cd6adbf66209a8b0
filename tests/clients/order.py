"""What a Python client is to do, from the environment, and how it tells what came of it.

Every client does the same: list the tools, call one, call one that does not exist. ORDER is JSON with `way` (http, sse,
stdio), `mode`, `url`, `token`, `command`, `tool`, `arguments`. The last line on standard output is the report.
"""
import json
import os

ORDER = json.loads(os.environ["ORDER"])
HEADERS = {"Authorization": "Bearer " + ORDER["token"]}


def report(revision, tools, failed, unknown_refused):
    print(json.dumps({"revision": str(revision), "tools": tools, "failed": failed, "unknown_refused": unknown_refused}), flush=True)
