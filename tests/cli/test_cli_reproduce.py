"""`fipp reproduce`."""

import json

import numpy as np
import pytest

import fipp
from fipp.evaluate import similarity_before_after
from fipp.reproduce._paper_tasks import TASKS, printed, was_unsuccessful
from fipp.tasks import each_method, load_ted, transfer

WORDS = {"arts": range(0, 60, 2), "trade": range(1, 60, 2)}


@pytest.fixture
def ted(space):
    """Talks of the first words in even or odd numbers; talks of the test use other words than those of the training."""
    rng = np.random.default_rng(0)
    # Topics are to be told apart by the words' vectors: even words are drawn to one side.
    for path in (space.source, space.target):
        vectors = fipp.Vectors.load(path)
        matrix = vectors.matrix.copy()
        matrix[0:60:2] += 3 * matrix[0]
        matrix[1:60:2] += 3 * matrix[1]
        fipp.Vectors(vectors.words, matrix).save(path)
    folder = space.folder / "ted-cldc"
    for pair, part, letter in (("en-fr", "train", "e"), ("fr-en", "test", "f")):
        for number in range(60):
            about = ("arts", "trade")[number % 2]
            text = " ".join(f"{letter}{word}_{pair[:2]}" for word in rng.choice(WORDS[about], 8))
            for topic in WORDS:
                place = folder / pair / part / topic / ("positive" if topic == about else "negative")
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{number}.ted").write_text(text)
    return folder


@pytest.fixture
def nli(space):
    rng = np.random.default_rng(0)
    lines = {"en": [], "fr": []}
    for language, letter in (("en", "e"), ("fr", "f")):
        for _ in range(150):
            label = rng.choice(["entailment", "neutral"])
            first, other = rng.integers(0, 200, 2)
            record = {"gold_label": label, "sentence1": f"{letter}{first}", "language": language}
            record["sentence2"] = f"{letter}{first if label == 'entailment' else other}"
            lines[language].append(json.dumps(record))
    train, test = space.folder / "train.jsonl", space.folder / "xnli.test.jsonl"
    train.write_text("\n".join(lines["en"]) + "\n")
    test.write_text("\n".join(lines["fr"]) + "\n")
    return ["--train", train, "--test", test, "--language", "fr"]


def documents(space, ted, *options):
    return [
        "reproduce",
        "documents",
        space.source,
        space.target,
        ted,
        "--pair",
        "en-fr",
        "--dict",
        space.seed,
        *options,
    ]


def test_documents_show_each_method_beside_the_paper(run, space, ted):
    done = run(*documents(space, ted, "--classifier", "logistic", "--methods", "procrustes,fipp,none"))
    assert done.exit_code == 0, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.split()[:1] and "." in line}
    assert " 0.433 " in rows["fipp"] and " 0.239 " in rows["procrustes"] and "100.0 %" in rows["fipp"]
    assert "share no space as they are" in done.stdout  # 12 and 8 dimensions: a row with its reason, no failure


def test_the_json_of_documents_is_the_library_s_result(run, space, ted):
    done = run(*documents(space, ted, "--classifier", "logistic", "--methods", "fipp", "--json"))
    told = json.loads(done.stdout)
    (row,) = told["methods"]
    alignment = fipp.align(space.source, space.target, space.seed, "fipp")
    parts = load_ted(ted, "en-fr", "train"), load_ted(ted, "fr-en", "test")
    expected = transfer(alignment, *parts, "logistic").as_dict(interval=0.95)
    assert {name: row[name] for name in expected} == expected and row["micro_f1"] > 0.9
    assert row["paper"] == 0.433 and row["error"] is None and done.stderr == ""


def test_documents_by_the_network_keep_their_training(run, space, ted):
    pytest.importorskip("torch", reason="torch is not installed")
    kept = space.folder / "kept"
    options = ["--methods", "fipp", "--epochs", 2, "--checkpoints", kept, "--device", "cpu", "--sample", 40, "--json"]
    first = json.loads(run(*documents(space, ted, *options)).stdout)
    assert [path.name for path in kept.iterdir()] == ["documents.en-fr.fipp.safetensors"]
    again = json.loads(run(*documents(space, ted, *options)).stdout)
    assert again["methods"][0]["micro_f1"] == first["methods"][0]["micro_f1"]
    other = run(*documents(space, ted, *options, "--random-state", 1))
    assert other.exit_code == 2 and "checkpoint of another training" in other.stderr


def test_inference_shows_each_method_beside_the_paper(run, space, nli):
    command = ["reproduce", "inference", space.source, space.target, "--dict", space.seed, *nli]
    done = run(*command, "--classifier", "logistic", "--methods", "procrustes,fipp", "--sample", 100)
    assert done.exit_code == 0, done.stderr
    assert "XNLI, en-fr, logistic: accuracy" in done.stdout and "0.509" in done.stdout and "0.534" in done.stdout
    assert "150 pairs to train on" in done.stderr


def test_inference_by_the_network(run, space, nli):
    pytest.importorskip("torch", reason="torch is not installed")
    command = ["reproduce", "inference", space.source, space.target, "--dict", space.seed, *nli]
    done = run(*command, "--methods", "fipp", "--hidden", 4, "--epochs", 1, "--json")
    assert done.exit_code == 0, done.stderr
    (row,) = json.loads(done.stdout)["methods"]
    assert row["classifier"] == "esim" and row["pairs"] == 150


def test_words_are_measured_within_and_across_in_one_command(run, space):
    within = space.folder / "simlex.tsv"
    within.write_text("".join(f"e{i}\te{7 * i % 300}\t{i % 5}\n" for i in range(1, 60)))
    within_target = space.folder / "target.tsv"
    within_target.write_text(within.read_text().replace("e", "f"))
    across = space.folder / "across.csv"
    across.write_text("".join(f"e{i},f{7 * i % 300},{i % 5}\n" for i in range(1, 60)))
    command = ["reproduce", "words", space.source, space.target, "--dict", space.seed, "--methods", "fipp,procrustes"]
    command += ["--source-set", within, "--target-set", within_target, "--across", across]
    told = json.loads(run(*command, "--json").stdout)["methods"]
    assert [row["method"] for row in told] == ["fipp", "procrustes"]
    alignment = fipp.align(space.source, space.target, space.seed, "procrustes")
    before, after = similarity_before_after(alignment, within)
    assert told[1]["sets"][0]["before"] == before.as_dict() and told[1]["sets"][0]["after"] == after.as_dict()
    assert [row["kind"] for row in told[0]["sets"]] == ["source", "target", "across"]
    table = run(*command).stdout
    assert "0.382" in table and "across.csv" in table  # SimLex in the paper, before alignment


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "magic"], "no method 'magic'; known are none, fipp"),
        (["--classifier", "svm"], "no classifier 'svm'"),
        (["--pair", "de-en"], "no folder de-en/train; it has en-fr, fr-en"),
        (["--methods", "none"], "no method succeeded; none: vectors of 12 and 8 dimensions"),
    ],
)
def test_mistakes_are_told(run, space, ted, options, message):
    done = run(*documents(space, ted, "--classifier", "logistic", *options))
    assert done.exit_code == 2 and message in done.stderr


def test_a_method_that_finds_pairs_by_their_spelling_gets_no_others(rng):
    matrix = rng.normal(size=(60, 5)).astype(np.float32)
    source = fipp.Vectors([f"w{i}" for i in range(60)], matrix)
    target = fipp.Vectors(source.words, matrix @ np.linalg.qr(rng.normal(size=(5, 5)))[0])
    wrong = fipp.Lexicon([(f"w{i}", f"w{i + 1}") for i in range(40)])
    (outcome,) = each_method(
        source, target, wrong, ["vecmap-identical"], lambda _, space: space.transform(source).matrix
    )
    expected = fipp.align(source, target, None, "vecmap-identical").transform(source).matrix
    assert np.array_equal(outcome.result, expected)
    with_wrong = fipp.align(source, target, wrong, "vecmap-identical").transform(source).matrix
    assert not np.allclose(with_wrong, expected)


def test_words_without_a_set_or_a_method_are_refused(run, space):
    command = ["reproduce", "words", space.source, space.target, "--dict", space.seed]
    assert "name a set" in run(*command).stderr
    assert "besides none" in run(*command, "--across", _scored(space), "--methods", "none").stderr


def _scored(space):
    path = space.folder / "scored.tsv"
    path.write_text("e1\tf1\t5\ne2\tf3\t1\n")
    return path


def test_the_paper_s_means_are_those_of_its_rows_but_for_one():
    wrong = []
    for task, rows in TASKS.items():
        for column, mean in enumerate(rows["mean"]):
            figures = [row[column] for language, row in rows.items() if language != "mean"]
            if abs(np.mean(figures) - mean) > 0.0011:  # rounded up or down
                wrong.append((task, column))
    assert wrong == [("inference", 6)]  # DLV: 0.571 is printed, the rows give 0.580
    assert printed("documents", "fr-en", "fipp") is None


def test_figures_that_the_paper_marks_as_unsuccessful_are_marked(run, space, ted):
    pairs = [(task, f"en-{language}") for task, rows in TASKS.items() for language in rows if language != "mean"]
    marked = {
        method: sum(was_unsuccessful(*pair, method) for pair in pairs)
        for method in ("gwa", "muse-adversarial", "icp", "fipp", "none", "muse")
    }
    assert marked == {"gwa": 9, "muse-adversarial": 5, "icp": 2, "fipp": 0, "none": 0, "muse": 0}
    done = run(*documents(space, ted, "--classifier", "logistic", "--methods", "gwa,fipp", "--limit", 50))
    assert "0.209*" in done.stdout and "0.433*" not in done.stdout and "marked in the paper" in done.stdout


@pytest.mark.parametrize("task", ["documents", "inference", "words"])
def test_every_task_explains_itself_with_an_example(run, task):
    done = run("reproduce", task, "--help")
    assert done.exit_code == 0 and f"Example: fipp reproduce {task}" in " ".join(done.stdout.split())
