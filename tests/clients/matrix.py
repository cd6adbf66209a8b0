#!/usr/bin/env python3
"""Every real client against a running worker, by HTTP, legacy SSE and stdio; goes through scripts/clients.sh.

    matrix.py --base http://127.0.0.1:PORT --token-file FILE --command 'deskhand mcp start --state-dir DIR'

Each must list the tools, call one, and be told that another does not exist; with a wrong token each must be refused
within the time. Prints one line a client, exits 1 when one failed.
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = Path(os.environ["DESKHAND_TOOLS"])
CLIENTS = [
    ("mcp 2 auto", "mcp2.py", "auto"),
    ("mcp 2 legacy", "mcp2.py", "legacy"),
    ("mcp 2 2026-07-28", "mcp2.py", "2026-07-28"),
    ("mcp 1", "mcp1.py", ""),
    ("fastmcp", "fastmcp4.py", ""),
    ("npm client auto", "client2.mjs", "auto"),
    ("npm client legacy", "client2.mjs", "legacy"),
    ("npm client 2026-07-28", "client2.mjs", "2026-07-28"),
    ("npm sdk 1", "sdk1.mjs", ""),
    ("inspector legacy", None, "legacy"),
    ("inspector modern", None, "modern"),
]
PYTHONS = {"mcp2.py": "py-mcp2", "mcp1.py": "py-mcp1", "fastmcp4.py": "py-fastmcp"}
WAYS = ["http", "sse", "stdio", "wrong token"]


def run(command, seconds, **environment):
    try:
        done = subprocess.run(command, env={**os.environ, "NO_COLOR": "1", "CI": "1", "PYTHONDONTWRITEBYTECODE": "1", **environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return None, "", f"no end within {seconds} s"


def last(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no output"


def driver(script, order, seconds):
    if script.endswith(".py"):
        command = [TOOLS / PYTHONS[script] / "bin" / "python", HERE / script]
    else:
        # Node looks modules up from the folder a script lies in.
        for name in (script, "order.mjs"):
            shutil.copy(HERE / name, TOOLS / "npm-clients" / name)
        command = ["node", TOOLS / "npm-clients" / script]
    code, out, err = run([str(part) for part in command], seconds, ORDER=json.dumps(order))
    if code != 0:
        return code, f"exit {code}: {last(err or out)}"
    report = json.loads(out.strip().splitlines()[-1])
    faults = []
    if order["tool"] not in report["tools"]:
        faults.append(f"{order['tool']} is not listed")
    if report["failed"]:
        faults.append(f"{order['tool']} failed")
    if not report["unknown_refused"]:
        faults.append("an unknown tool was not refused with -32602")
    return (1, "; ".join(faults)) if faults else (0, f"{report['revision']}, {len(report['tools'])} tools")


def inspector(mode, order, seconds):
    base = ["node", str(TOOLS / "npm-clients/node_modules/.bin/mcp-inspector"), "--cli", "--format", "json"]
    tail = []
    if order["way"] == "stdio":
        base += ["--transport", "stdio"]
        tail = ["--", *order["command"]]
    else:
        base += ["--server-url", order["url"], "--transport", order["way"], "--header", f"Authorization: Bearer {order['token']}"]
    if order["way"] == "http":
        base += ["--protocol-era", mode]
    code, out, err = run(base + ["--method", "tools/list"] + tail, seconds)
    if code != 0 or f'"{order["tool"]}"' not in out:
        return code or 1, f"tools/list, exit {code}: {last(err or out)}"
    arguments = [part for name, value in order["arguments"].items() for part in ("--tool-arg", f"{name}={value}")]
    code, out, err = run(base + ["--method", "tools/call", "--tool-name", order["tool"], *arguments] + tail, seconds)
    return (0, mode) if code == 0 else (code, f"tools/call, exit {code}: {last(err or out)}")


def cell(options, script, mode, way):
    if script is None and mode == "modern" and way in ("sse", "stdio"):
        return "-", "the era is a matter of HTTP"
    token = "wrong-" + "0" * 40 if way == "wrong token" else Path(options.token_file).read_text().strip()
    transport = "http" if way == "wrong token" else way
    order = {
        "way": transport, "mode": mode, "token": token, "url": options.base + ("/sse" if transport == "sse" else "/mcp"),
        "command": shlex.split(options.command), "tool": options.tool, "arguments": json.loads(options.arguments),
    }
    code, text = driver(script, order, options.seconds) if script else inspector(mode, order, options.seconds)
    if way == "wrong token":
        refused = code not in (0, None)
        return ("ok" if refused else "FAIL"), ("refused" if refused else f"exit {code}: {text}")
    return ("ok" if code == 0 else "FAIL"), text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--base", required=True)
    add("--token-file", required=True)
    add("--command", required=True, help="the stdio command, as one string")
    add("--tool", default="computer_whitelist")
    add("--arguments", default="{}")
    add("--seconds", type=float, default=90)
    options = parser.parse_args()
    failures = 0
    for name, script, mode in CLIENTS:
        cells = [(way, *cell(options, script, mode, way)) for way in WAYS]
        print(f"{name:24}", "  ".join(f"{way}: {verdict} ({text})" for way, verdict, text in cells), flush=True)
        failures += sum(verdict == "FAIL" for _, verdict, _ in cells)
    print(f"{failures} failures")
    return 1 if failures else 0


sys.exit(main())
