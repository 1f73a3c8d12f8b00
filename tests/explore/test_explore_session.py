"""Edits, refits, scores, undo and export of the explorer."""

import os
import signal
import subprocess
import sys
import threading

import httpx
import numpy as np
import pytest
from explored import new_session, prepared, refitted, serving, small_space, wait_for

import fipp
from fipp.explore import Session
from fipp.explore._batches import Batches, Place
from fipp.retrieve import TwoWayIndex

WRONG = {"action": "wrong", "source": "word200", "target": "mot250"}


def test_the_whole_story_from_a_wrong_pair_to_the_improved_files(tmp_path):
    with serving(new_session(folder=tmp_path)) as client:
        prepared(client)
        before = client.get("/api/status").json()
        assert before["pairs"] == {"given": 120, "added": 0, "wrong": 0} and before["undo"] is None
        client.post("/api/edit", json=WRONG)
        client.post("/api/edit", json={"action": "add", "source": "word201", "target": "mot201"})
        corrected = {"action": "correct", "source": "word0", "target": "mot0", "to_target": "mot1"}
        status = client.post("/api/edit", json=corrected).json()
        assert status["pairs"] == {"given": 120, "added": 2, "wrong": 2}
        assert client.post("/api/undo").json()["pairs"] == {"given": 120, "added": 1, "wrong": 1}
        status = refitted(client)
        assert status["refit"]["state"] == "done" and status["undo"] == "the refit"
        score = status["score"]
        assert score["measured_on"] == "test dictionary" and score["n_questions"] == 50
        assert score["low"] <= score["difference"] <= score["high"]
        assert score["after"]["p_at_1"] - score["before"]["p_at_1"] == pytest.approx(score["difference"])
        assert client.post("/api/save").json() == {"saved": ["dictionary.tsv", "model.fipp"]}
        dictionary = client.get("/api/export/dictionary")
        assert "attachment" in dictionary.headers["content-disposition"]
        lines = dictionary.text.splitlines()
        assert len(lines) == 120 and "word201\tmot201" in lines and "word200\tmot250" not in lines
        assert (tmp_path / "dictionary.tsv").read_bytes() == dictionary.content
        (tmp_path / "downloaded.fipp").write_bytes(client.get("/api/export/model").content)
        source, target, *_ = small_space()
        expected = fipp.align(source, target, fipp.Lexicon.load(tmp_path / "dictionary.tsv"), "fipp")
        for name in ("model.fipp", "downloaded.fipp"):
            written = fipp.Alignment.load(tmp_path / name, source, target)
            np.testing.assert_allclose(written.aligner.map_, expected.aligner.map_, atol=1e-5)
            assert len(written.known_pairs()) == 120


def test_a_refit_gives_the_model_that_the_library_gives_and_undo_brings_the_old_one_back(client):
    question = {"word": "word7", "k": 5}
    old = client.get("/api/translate", params=question).json()["models"][0]
    client.post("/api/edit", json=WRONG)
    refitted(client, "spectral")
    source, target, seed, _ = small_space()
    alignment = fipp.align(source, target, seed.head(119), "spectral")
    new = client.get("/api/translate", params=question).json()["models"][0]
    assert new["method"] == "Spectral"
    assert [each["word"] for each in new["cosine"]] == [best.word for best in alignment.translate("word7", 5)]
    client.post("/api/undo")
    prepared(client)
    assert client.get("/api/translate", params=question).json()["models"][0] == old


def test_the_same_method_is_learned_again_with_its_settings():
    source, target, seed, test = small_space()
    with serving(Session(fipp.align(source, target, seed, "fipp", epsilon=0.02), test=test)) as client:
        client.post("/api/edit", json=WRONG)
        assert refitted(client, "same")["models"][0]["method"] == "FIPP"
        expected = fipp.align(source, target, seed.head(119), "fipp", epsilon=0.02).translate("word7", 5)
        found = client.get("/api/translate", params={"word": "word7", "k": 5}).json()["models"][0]["cosine"]
        assert [each["score"] for each in found] == pytest.approx([best.score for best in expected], abs=6e-5)


def test_without_a_test_dictionary_the_score_is_that_of_held_out_seed_words():
    with serving(new_session(with_test=False)) as client:
        score = client.get("/api/evaluate").json()["score"]
        assert score["measured_on"] == "held-out seed pairs" and 20 <= score["n_questions"] <= 25
        assert score["p_at_1"] > 0.8
        client.post("/api/edit", json=WRONG)
        assert refitted(client)["score"]["measured_on"] == "held-out seed pairs"


def test_a_pair_of_the_test_dictionary_that_is_added_to_the_seed_is_no_longer_asked_for():
    with serving(new_session()) as client:
        client.post("/api/edit", json={"action": "add", "source": "word130", "target": "mot130"})
        assert refitted(client)["score"]["n_questions"] == 49


def test_a_pair_that_the_model_was_learned_from_is_not_asked_for_although_it_was_marked_as_wrong():
    source, target, seed, test = small_space()
    asked = fipp.Lexicon([*test, ("word7", "mot7")])
    with serving(Session(fipp.align(source, target, seed, "fipp"), test=asked)) as client:
        client.post("/api/edit", json={"action": "wrong", "source": "word7", "target": "mot7"})
        assert client.get("/api/evaluate").json()["score"]["n_questions"] == 50
        assert refitted(client)["score"]["n_questions"] == 50  # the old model knows it
        assert client.get("/api/evaluate").json()["score"]["n_questions"] == 51


@pytest.mark.parametrize(
    ("edit", "status", "reason"),
    [
        ({**WRONG, "source": "wrod200"}, 404, "not among the 300 words of en"),
        ({**WRONG, "target": "mot5"}, 404, "not among the 300 words of fr"),
        ({**WRONG, "target": "mot7"}, 409, "not among the seed pairs"),
        ({**WRONG, "action": "restore"}, 409, "not marked as wrong"),
        ({**WRONG, "action": "add"}, 409, "among the seed pairs already"),
        ({**WRONG, "action": "correct"}, 409, "needs the right words"),
        ({**WRONG, "action": "burn"}, 400, "action must be one of"),
    ],
)
def test_edits_that_make_no_sense_change_nothing(client, edit, status, reason):
    answer = client.post("/api/edit", json=edit)
    assert answer.status_code == status and reason in answer.json()["error"]
    assert client.get("/api/status").json()["undo"] is None
    assert client.post("/api/undo").status_code == 409


def test_one_refit_at_a_time_while_others_are_answered_and_it_can_be_stopped(client, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    session_refit = "fipp.explore._session.Session._learn"
    learn = Session._learn

    def slow(self, refit, pairs):
        begun.set()
        go_on.wait(60)
        refit.report(1, 2)
        return learn(self, refit, pairs)

    monkeypatch.setattr(session_refit, slow)
    assert client.post("/api/refit", json={"method": "fipp"}).status_code == 202
    begun.wait(60)
    second = client.post("/api/refit", json={"method": "spectral"})
    assert second.status_code == 409 and "a refit is running" in second.json()["error"]
    assert client.get("/api/translate", params={"word": "word7"}).json()["known"]
    assert client.delete("/api/refit").status_code == 200
    go_on.set()
    wait_for(lambda: client.get("/api/refit").json()["state"] == "stopped")
    assert client.get("/api/status").json()["undo"] is None
    assert client.delete("/api/refit").status_code == 409


def test_auto_tells_how_far_it_is_while_others_are_answered_and_a_stop_leaves_the_model(client):
    def model():
        answer = client.get("/api/translate", params={"word": "word7"}).json()["models"][0]
        return answer["method"], answer["cosine"]

    before = model()
    assert client.post("/api/refit", json={"method": "auto"}).status_code == 202
    wait_for(lambda: client.get("/api/refit").json()["progress"] > 0)
    assert model() == before
    assert client.delete("/api/refit").status_code == 200
    wait_for(lambda: client.get("/api/refit").json()["state"] != "running")
    assert client.get("/api/refit").json()["state"] == "stopped" and model() == before


def test_a_refit_that_fails_says_why_and_leaves_the_model(client):
    for i in range(119):
        name = "Straße" if i == 4 else f"word{i}"
        seeds = client.get("/api/seeds", params={"word": name, "k": 1}).json()["seeds"][0]
        client.post("/api/edit", json={"action": "wrong", "source": seeds["source"], "target": seeds["target"]})
    client.post("/api/edit", json=WRONG)
    answer = client.post("/api/refit", json={"method": "fipp"})
    assert answer.status_code == 409 and "no seed pairs" in answer.json()["error"]


def test_questions_that_wait_are_answered_with_one_product(rng):
    index = TwoWayIndex(rng.standard_normal((50, 8)), rng.standard_normal((60, 8)))
    started, go_on = threading.Event(), threading.Event()
    search = index.search

    def slow(*arguments, **options):
        started.set()
        go_on.wait(60)
        return search(*arguments, **options)

    index.search = slow
    batches = Batches()
    first = batches.ask(Place(index, "source"), [0], 3)
    started.wait(60)
    others = [batches.ask(Place(index, "source"), [row, row + 1], 1 + row % 5) for row in range(20)]
    go_on.set()
    assert (first.result().cosine.indices == search([0], 3).cosine.indices).all()
    for row, answer in enumerate(others):
        expected = search([row, row + 1], 1 + row % 5).cosine
        assert (answer.result().cosine.indices == expected.indices).all()
        assert (answer.result().cosine.scores == expected.scores).all()
    assert (batches.n_questions, batches.n_products) == (21, 2)
    batches.close()


def test_a_failed_search_is_reported_and_the_next_question_is_answered(rng):
    index = TwoWayIndex(np.eye(3), np.eye(3))
    batches = Batches()
    with pytest.raises(fipp.FippError):
        batches.ask(Place(index, "source"), [99], 1).result()
    assert batches.ask(Place(index, "source"), [1], 1).result().cosine.indices[0, 0] == 1
    batches.close()


SERVED = """
import pathlib, sys
sys.path.insert(0, sys.argv[2])
from explored import new_session
from fipp.explore import serve
serve(new_session(folder=pathlib.Path(sys.argv[1])), ready=lambda address: print(address, flush=True))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_server_killed_during_a_refit_loses_no_saved_file(tmp_path):
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    source, target, *_ = small_space()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", SERVED, str(tmp_path), os.path.dirname(__file__)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server,
        httpx.Client(base_url=server.stdout.readline().strip(), timeout=60) as client,
    ):
        assert client.post("/api/save").json() == {"saved": ["dictionary.tsv", "model.fipp"]}
        threading.Timer(0.3, server.kill).start()
        with pytest.raises(httpx.TransportError):
            while client.post("/api/refit", json={"method": "auto"}).status_code in (202, 409):  # it runs
                assert client.post("/api/save").status_code == 200
    assert len(fipp.Lexicon.load(tmp_path / "dictionary.tsv")) == 120
    assert len(fipp.Alignment.load(tmp_path / "model.fipp", source, target).known_pairs()) == 120
