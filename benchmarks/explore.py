"""The explorer under load: 100 requests per second to a server with 200,000 × 200,000 words of 300 dimensions.

The server runs in a process of its own, and requests come over loopback, as from 32 people who type: at random times
that do not depend on the answers (open loop). The time of a request is counted from when it was due to the last byte of
its answer. CSLS needs the mean cosine of every word with its nearest words of the other side, which a real session
measures once against all words; here it is measured against 2,000 of them, because the values do not change the time of
a request.

Cores that are shared with other work make everybody wait. The same rate of arrivals is therefore also simulated for a
server of two free cores, one of which multiplies: a product takes the processor time that one of its size was measured
to take. The answers are compared with a brute-force calculation in float64 that subtracts the same means.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from urllib.parse import quote

import numpy as np
from _benchmark import Benchmark
from _tables import table

WORDS, DIMENSIONS = 200_000, 300
RATE, REQUESTS, WARM_UP = 100, 2000, 100
MOST_SECONDS = 120
SAMPLE, CHECKED, K = 2000, 25, 10
COSINE, BOTH = "cosine", "cosine and CSLS"


def alignment():
    """Return synthetic vectors of two languages, the second a noisy rotation of the first, and a map between them."""
    import fipp

    rng = np.random.default_rng(0)
    target = rng.standard_normal((WORDS, DIMENSIONS), dtype=np.float32)
    rotation = np.linalg.qr(rng.standard_normal((DIMENSIONS, DIMENSIONS)))[0].astype(np.float32)
    source = target @ rotation
    source += rng.standard_normal(source.shape, dtype=np.float32)
    vectors = [fipp.Vectors([f"{name}{row}" for row in range(WORDS)], X) for name, X in (("s", source), ("t", target))]
    aligner = fipp.Procrustes(preprocess=None).fit(source, target, [(row, row) for row in range(2000)])
    return fipp.Alignment(aligner, *vectors)


def sampled_hubs(index):
    """Return mean cosines with the nearest ten of a sample of the other side."""
    from fipp.retrieve import MeanCosines, mean_similarity

    sides = {side: index.vectors(np.arange(WORDS), side) for side in ("source", "target")}
    return MeanCosines(
        mean_similarity(sides["source"], sides["target"][:SAMPLE]),
        mean_similarity(sides["target"], sides["source"][:SAMPLE]),
    )


def serve(answers):
    """Run the server, and print its address when it is ready."""
    from fipp.explore import Session
    from fipp.explore import serve as serve_session
    from fipp.explore._models import View

    def measure_hubs(view, progress):
        if answers == BOTH:
            view.index.hubs = sampled_hubs(view.index)
            np.save(sys.argv[3], view.index.hubs.target)
        print("prepared", flush=True)

    View.measure_hubs = measure_hubs
    serve_session(Session(alignment()), ready=lambda address: print(address, flush=True))


def processor_seconds(process):
    """Return the processor time of a running process."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Client:
    """Asks over as many connections as there are requests under way."""

    def __init__(self, port):
        self.port, self.free, self.latencies, self.answers = port, [], [], {}

    async def ask(self, row, due):
        """Ask for a word, and note how long after its time the answer was whole."""
        # The server closes connections that nobody used for five seconds.
        self.free = [each for each in self.free if time.perf_counter() - each[2] < 3]
        reader, writer = self.free.pop()[:2] if self.free else await asyncio.open_connection("127.0.0.1", self.port)
        path = f"/api/translate?word={quote(f's{row}')}&k={K}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        body = await reader.readexactly(length)
        self.latencies.append(time.perf_counter() - due)
        if head.split()[1] == "200":
            self.answers[row] = body
        self.free.append((reader, writer, time.perf_counter()))

    async def run(self, requests, rng):
        """Send requests at random times, 100 per second on average, whether answers come or not."""
        self.latencies.clear()
        begun, due, tasks = time.perf_counter(), 0.0, []
        for row in rng.integers(WORDS, size=requests):
            due += rng.exponential(1 / RATE)
            await asyncio.sleep(max(0.0, begun + due - time.perf_counter()))
            tasks.append(asyncio.create_task(self.ask(int(row), begun + due)))
        done, waiting = await asyncio.wait(tasks, timeout=MOST_SECONDS)
        for task in done:
            task.result()
        return len(waiting)


def product_seconds(given, answers):
    """Return the processor time of one product by its number of queries."""
    from fipp.explore._models import View

    view, rng = View(given), np.random.default_rng(2)
    if answers == BOTH:
        view.index.hubs = sampled_hubs(view.index)
    seconds = {}
    for size in (1, 2, 4, 8, 12, 16, 20):
        times = []
        for _ in range(5):
            begun = time.thread_time()
            view.index.search(rng.integers(WORDS, size=size), K)
            times.append(time.thread_time() - begun)
        seconds[size] = float(np.median(times))
    return seconds


def simulated(seconds, other):
    """Return the times of requests if products take these seconds, and the rest of a request ``other`` seconds."""
    arrivals = np.cumsum(np.random.default_rng(1).exponential(1 / RATE, REQUESTS))
    times, place, free = [], 0, 0.0
    while place < REQUESTS:
        start = max(free, arrivals[place])
        batch = int(np.searchsorted(arrivals, start, side="right")) - place
        free = start + float(np.interp(batch, list(seconds), list(seconds.values())))
        times += (free + other - arrivals[place : place + batch]).tolist()
        place += batch
    return times


def n_exact(given, answers, hubs):
    """Return how many of some answers are those of a calculation in float64."""
    rows = sorted(answers)[:CHECKED]
    queries = _unit(given.aligner.transform(given.source.matrix[rows]).astype(np.float64))
    keys = given.aligner.transform_target(given.target.matrix)
    scores = np.concatenate([queries @ _unit(part.astype(np.float64)).T for part in np.array_split(keys, 20)], axis=1)
    if hubs is not None:
        nearest = np.sort(np.partition(scores, -10, axis=1)[:, -10:], axis=1).mean(axis=1)
        scores = 2 * scores - nearest[:, None] - hubs
    right = 0
    for row, each in zip(rows, scores, strict=True):
        model = json.loads(answers[row])["models"][0]
        found = model["cosine"] if hubs is None else model["csls"]
        places = [int(best["word"][1:]) for best in found]
        expected = np.argsort(-each)[:K]
        # Scores of different calculations may differ in the last digit, and so may the order of equals.
        right += bool(np.allclose(each[places], each[expected], atol=1e-6))
    return right


def _unit(X):
    return X / np.linalg.norm(X, axis=1)[:, None]


def measure(answers):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "hubs.npy")
        command = [sys.executable, "-W", "ignore", __file__, "serve", answers, kept]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                told = {server.stdout.readline().strip() for _ in range(2)}
                address = next(line for line in told if line != "prepared")
                port = int(address.rstrip("/").rpartition(":")[2])
                client, rng = Client(port), np.random.default_rng(1)

                async def load():
                    await client.run(WARM_UP, rng)
                    before, begun, busy = processor_seconds(server), time.perf_counter(), time.process_time()
                    lost = await client.run(REQUESTS, rng)
                    return (
                        lost,
                        processor_seconds(server) - before,
                        time.perf_counter() - begun,
                        time.process_time() - busy,
                    )

                lost, used, took, own = asyncio.run(load())
                status = asyncio.run(_status(port))
            finally:
                server.kill()
        given = alignment()
        exact = n_exact(given, client.answers, np.load(kept) if answers == BOTH else None)
        seconds = product_seconds(given, answers)
    # The whole processor time of a request counts as the rest, although most of it is its share of a product.
    simulation = simulated(seconds, max(used / REQUESTS, 0.001))
    milliseconds = np.percentile(1000 * np.array(client.latencies), [50, 95, 99, 100])
    return {
        "requests": REQUESTS,
        "per_second": REQUESTS / took,
        "lost": lost + REQUESTS - len(client.latencies),
        **dict(zip(("p50", "p95", "p99", "longest"), milliseconds, strict=True)),
        "simulated_p50": 1000 * np.percentile(simulation, 50),
        "simulated_p99": 1000 * np.percentile(simulation, 99),
        "product_ms": {str(size): 1000 * each for size, each in seconds.items()},
        "processor_ms": 1000 * used / REQUESTS,
        "client_processor_ms": 1000 * own / REQUESTS,
        "per_product": status["questions"] / status["products"],
        "exact": exact,
        "checked": CHECKED,
        "load": os.getloadavg()[0],
        "cores": os.cpu_count(),
    }


async def _status(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
    return json.loads((await reader.read()).partition(b"\r\n\r\n")[2])["answered"]


benchmark = Benchmark("explore", [{"answers": COSINE}, {"answers": BOTH}], measure, minutes=6)


def load_table():
    """Return latencies and processor time by what is answered."""
    head = ["answered", "requests/s", "p50 ms", "p95 ms", "p99 ms", "longest ms", "lost", "processor ms per request"]
    head += [
        "p50 and p99 ms, simulated",
        "requests per product",
        "answers checked",
        "of them exact",
        "load of the machine",
    ]
    rows = [
        [
            record["answers"],
            f"{record['per_second']:.0f}",
            *(f"{record[name]:.0f}" for name in ("p50", "p95", "p99", "longest")),
            record["lost"],
            f"{record['processor_ms']:.1f}",
            f"{record['simulated_p50']:.0f} and {record['simulated_p99']:.0f}",
            f"{record['per_product']:.1f}",
            record["checked"],
            record["exact"],
            f"{record['load']:.1f} on {record['cores']} cores",
        ]
        for record in benchmark.records
    ]
    return table(head, rows)


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["serve"] else benchmark.main()
