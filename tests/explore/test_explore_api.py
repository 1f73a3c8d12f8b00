"""The explorer's API: what it answers about words, and what it refuses."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
from explored import HOSTILE, new_session, prepared, serving, small_space

import fipp
from fipp.aligners import pair_cosines
from fipp.explore import Session


def test_translations_are_those_of_the_library_for_both_models_directions_and_retrievals(client):
    source, target, seed, _ = small_space()
    for place, method in enumerate(("fipp", "procrustes")):
        alignment = fipp.align(source, target, seed, method)
        for side, word in (("source", "word7"), ("target", "mot12")):
            answer = client.get("/api/translate", params={"word": word, "side": side, "k": 4}).json()
            assert answer["known"] and answer["word"] == word
            for retrieval in ("cosine", "csls"):
                expected = alignment.translate(word, 4, retrieval=retrieval, reverse=side == "target")
                found = answer["models"][place][retrieval]
                assert [each["word"] for each in found] == [best.word for best in expected]
                np.testing.assert_allclose(
                    [each["score"] for each in found], [best.score for best in expected], atol=6e-5
                )


def test_an_unknown_word_gets_completions_or_near_spellings(client):
    unknown = client.get("/api/translate", params={"word": "word29"}).json()
    assert unknown["known"]  # it is a word itself
    completed = client.get("/api/translate", params={"word": "Wor"}).json()
    assert not completed["known"] and completed["near"][:2] == ["word0", "word1"]
    misspelled = client.get("/api/translate", params={"word": "wrod12"}).json()
    assert "word12" in misspelled["near"]


def test_words_in_any_script_and_case_are_found(client):
    assert client.get("/api/translate", params={"word": "STRASSE"}).json()["word"] == "Straße"
    assert client.get("/api/translate", params={"word": "مرحبا", "side": "target"}).json()["known"]
    assert client.get("/api/translate", params={"word": HOSTILE, "side": "target"}).json()["known"]


def test_a_list_is_answered_as_json_and_as_lines_with_tabs(client):
    asked = {"words": ["word1", " word2 ", "word1", "", "nothing at all"], "k": 2, "retrieval": "csls"}
    answer = client.post("/api/translate", json=asked).json()
    assert [each["word"] for each in answer["translations"]] == ["word1", "word2"]
    assert answer["unknown"] == ["nothing at all"]
    lines = client.post("/api/translate.tsv", json=asked).text.splitlines()
    assert lines[0] == "word\trank\ttranslation\tscore" and lines[1].startswith("word1\t1\tmot1\t")
    assert len(lines) == 6 and lines[-1].startswith("nothing at all\t")
    long = client.post("/api/translate", json={"words": [f"word{i}" for i in range(10, 200)], "model": "second"}).json()
    assert [each["translations"][0]["word"] for each in long["translations"][:3]] == ["mot10", "mot11", "mot12"]


def test_neighbours_are_the_nearest_words_of_either_side(client):
    source, target, seed, _ = small_space()
    alignment = fipp.align(source, target, seed, "fipp")
    answer = client.get("/api/neighbours", params={"word": "word20", "k": 5}).json()
    for name, vectors, row in (("own", alignment.transform(), 20), ("other", alignment.transform_target(), 20)):
        unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1)[:, None]
        order = np.argsort(-(unit @ unit[row]))[1:6]
        assert [each["word"] for each in answer[name]["words"]] == [vectors.words[place] for place in order]
    assert answer["other"]["word"] == "mot20"


def test_the_map_has_the_word_its_neighbours_its_translations_and_the_lines_of_known_pairs(client):
    answer = client.get("/api/map", params={"word": "word20"}).json()
    points = answer["points"]
    assert points[0]["word"] == "word20" and {point["side"] for point in points} == {"source", "target"}
    assert all(-1 <= point["x"] <= 1 and -1 <= point["y"] <= 1 for point in points)
    assert ("word20", "mot20") in [(points[a]["word"], points[b]["word"]) for a, b in answer["pairs"]]


def test_seed_pairs_nearby_show_what_the_filter_kept(client):
    seeds = client.get("/api/seeds", params={"word": "word20", "k": 6}).json()["seeds"]
    source, target, seed, _ = small_space()
    kept = fipp.align(source, target, seed, "fipp").aligner.kept_per_pair_
    assert (seeds[0]["source"], seeds[0]["target"], seeds[0]["state"]) == ("word20", "mot20", "given")
    assert seeds[0]["kept"] == pytest.approx(kept[20])
    assert len(seeds) == 6


def test_models_without_a_filter_are_shown_with_that_of_fipp(monkeypatch):
    source, target, seed, _ = small_space()
    kept = fipp.align(source, target, seed, "fipp").aligner.kept_per_pair_
    question = {"word": "word20", "k": 1}
    with serving(Session(fipp.align(source, target, seed, "procrustes"))) as client:
        assert client.get("/api/seeds", params=question).json()["seeds"][0]["kept"] == pytest.approx(kept[20])
    monkeypatch.setattr("fipp.report._findings.MOST_PUBLISHED", 100)
    with serving(Session(fipp.align(source, target, seed, "procrustes"))) as client:
        assert client.get("/api/seeds", params=question).json()["seeds"][0]["kept"] is None


def test_the_most_suspicious_seed_pairs_are_those_of_the_library_and_few_pairs_are_not_judged(client):
    source, target, seed, _ = small_space()
    found = pair_cosines(source.matrix, target.matrix, seed.lookup(source, target).rows)
    answer = client.get("/api/suspects", params={"k": 3}).json()
    assert (answer["seeds"][0]["source"], answer["seeds"][0]["target"]) == ("word200", "mot250")
    assert [each["cosine"] for each in answer["seeds"]] == pytest.approx(np.sort(found.cosines)[:3], abs=6e-5)
    assert answer["suspicious"] == found.suspicious.sum()
    few = fipp.align(source, target, seed.head(20), "fipp")
    with serving(Session(few)) as other:
        assert other.get("/api/suspects").json() == {"seeds": [], "suspicious": 0}


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, "word is missing"),
        ({"word": ""}, "word must be between 1 and 200 long"),
        ({"word": "x" * 201}, "word must be between 1 and 200 long"),
        ({"word": "a", "side": "both"}, "side must be one of source, target"),
        ({"word": "a", "k": "51"}, "k must be between 1 and 50"),
        ({"word": "a", "k": "two"}, "k must be of the type integer"),
        ({"word": "a", "other": "1"}, "other is not a parameter here"),
    ],
)
def test_a_wrong_question_is_refused_in_plain_words(client, params, reason):
    answer = client.get("/api/translate", params=params)
    assert answer.status_code == 400 and reason in answer.json()["error"]


def test_bodies_are_limited_in_size_and_must_be_json(client):
    assert client.post("/api/translate", json={"words": ["x" * 150] * 2000}).status_code == 413
    assert client.post("/api/translate", json={"words": ["x"] * 2001}).status_code == 400
    assert client.post("/api/translate", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    assert client.post("/api/translate", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    deep = client.post("/api/translate", content=b"[" * 100_000, headers={"content-type": "application/json"})
    assert deep.status_code == 400
    assert client.get("/api/nothing").json() == {"error": "there is nothing here"}
    assert client.put("/api/translate").status_code == 405


def test_a_list_by_csls_waits_until_it_is_prepared(monkeypatch):
    session = new_session()
    monkeypatch.setattr(session.view.index, "hubs", None)
    with serving(session) as client:
        answer = client.post("/api/translate", json={"words": ["word1"], "retrieval": "csls"})
        assert answer.status_code in (200, 409)  # the session prepares it meanwhile
        assert client.post("/api/translate", json={"words": ["word1"], "model": "second"}).status_code == 409
        prepared(client)


def test_no_answer_has_a_path_of_the_disk(tmp_path, monkeypatch):
    with serving(new_session(folder=tmp_path / "gone")) as client:
        prepared(client)
        answers = [client.get("/api/status"), client.post("/api/save"), client.get("/api/openapi.json")]
        assert answers[1].status_code == 409
        monkeypatch.setattr("fipp.explore._session.tempfile.TemporaryDirectory", lambda: nullcontext(tmp_path / "gone"))
        answers.append(client.get("/api/export/model"))
        assert answers[-1].status_code == 409
        assert all(str(tmp_path) not in json.dumps(answer.json()) for answer in answers)


def test_the_document_describes_every_operation(client):
    document = client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {"/api/translate", "/api/neighbours", "/api/evaluate", "/api/refit"} <= set(document["paths"])
