"""The whole way as a user goes it: align, evaluate, translate, transform, each a process of its own."""

import json


def test_the_whole_round(execute, space):
    done = execute("align", "e.vec", "f.vec", "--dict", "seed.tsv", "-o", "e-f.fipp", cwd=space.folder)
    assert done.returncode == 0 and "e-f.fipp" in done.stdout
    assert "Traceback" not in done.stderr and "\x1b[" not in done.stdout + done.stderr

    done = execute("info", "e-f.fipp", "--json", cwd=space.folder)
    told = json.loads(done.stdout)
    assert told["method"] == "Auto" and told["chosen"] in {trial["name"] for trial in told["trials"]}

    done = execute("eval", "e-f.fipp", "e.vec", "f.vec", "--test", "test.tsv", "--json", cwd=space.folder)
    assert done.returncode == 0 and json.loads(done.stdout)["p@1"] > 0.9 and done.stderr == ""

    done = execute("translate", "e-f.fipp", "e.vec", "f.vec", "-", "-k", "1", cwd=space.folder, stdin="e299\n")
    assert done.returncode == 0 and "f299" in done.stdout

    done = execute("transform", "e-f.fipp", "e.vec", "-o", "out.npy", cwd=space.folder)
    assert done.returncode == 0 and "out.npy: 300 words x 8" in done.stdout

    done = execute("eval", "e-f.fipp", "e.vec", "missing.vec", "--test", "test.tsv", cwd=space.folder)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[-1] == "error: there is no file missing.vec"
