#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images a second of `fib serve` at 1, 2 and 8 clients, beside the bare engine: `fib bench model --engine`, which computes
and decodes nothing, and `fib classify --engine`, which reads the same pictures one after the other without HTTP.

scripts/load-serve.py MODEL.fib PICTURE... [--seconds 5] [--clients 1 2 8] [--fib build/fib]

Clients are threads of this program, each with a connection that it keeps; they run on the same cores as the server.
"""

import argparse
import http.client
import json
import re
import subprocess
import threading
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("pictures", nargs="+")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 8])
    parser.add_argument("--fib", default="build/fib")
    return parser.parse_args()


def bare(a):
    bench = subprocess.run([a.fib, "bench", "model", "--engine", a.model, "--batch", "1", "--seconds", str(a.seconds),
                            "--json"], check=True, stdout=subprocess.PIPE)
    return 1e3 / json.loads(bench.stdout)["rows"][0]["ms_median"]


def classified(a):
    """Without the time to start: the difference between many pictures and few."""
    def seconds(count):
        files = [a.pictures[i % len(a.pictures)] for i in range(count)]
        begin = time.perf_counter()
        subprocess.run([a.fib, "classify", "--quiet", "--engine", a.model, *files], check=True)
        return time.perf_counter() - begin

    few, many = 8, 8 + max(16, int(a.seconds * bare(a)))
    return (many - few) / (seconds(many) - seconds(few))


class Client(threading.Thread):
    def __init__(self, port, bodies, end):
        super().__init__()
        self.port, self.bodies, self.end, self.latencies, self.refused = port, bodies, end, [], 0

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        for i in range(1_000_000):
            begin = time.perf_counter()
            if begin > self.end:
                break
            connection.request("POST", "/classify", self.bodies[i % len(self.bodies)],
                               {"Content-Type": "application/octet-stream"})
            response = connection.getresponse()
            response.read()
            if response.status == 503:
                self.refused += 1
            elif response.status != 200:
                raise RuntimeError(f"status {response.status}")
            else:
                self.latencies.append(time.perf_counter() - begin)
        connection.close()


def loaded(port, bodies, clients, seconds):
    begin = time.perf_counter()
    crowd = [Client(port, bodies, begin + seconds) for _ in range(clients)]
    for client in crowd:
        client.start()
    for client in crowd:
        client.join()
    taken = time.perf_counter() - begin
    latencies = sorted(latency for client in crowd for latency in client.latencies)
    return {"clients": clients, "images_per_second": len(latencies) / taken, "refused": sum(c.refused for c in crowd),
            "median_ms": 1e3 * latencies[len(latencies) // 2], "p99_ms": 1e3 * latencies[len(latencies) * 99 // 100]}


def main():
    a = arguments()
    bodies = []
    for picture in a.pictures:
        with open(picture, "rb") as file:
            bodies.append(file.read())
    engine, files = bare(a), classified(a)
    server = subprocess.Popen([a.fib, "serve", "--engine", a.model, "--port", "0"], stderr=subprocess.PIPE, text=True)
    port = next(int(m[1]) for line in server.stderr if (m := re.search(r"http://[^ ]*:(\d+)/", line)))
    print(f"bare engine {engine:.1f} images/s, fib classify {files:.1f} images/s")
    print("clients  images/s  over engine  over classify  median, ms  p99, ms  refused")
    for clients in a.clients:
        loaded(port, bodies, clients, 1)
        r = loaded(port, bodies, clients, a.seconds)
        print(f"{clients:7}  {r['images_per_second']:8.1f}  {r['images_per_second'] / engine:11.2f}  "
              f"{r['images_per_second'] / files:13.2f}  {r['median_ms']:10.1f}  {r['p99_ms']:7.1f}  {r['refused']:7}")
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main()
