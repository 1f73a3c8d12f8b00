"""Inference: trained in one language, tested in another."""

import esim_reference
import numpy as np
import pytest
from task_samples import lexical

from fipp.evaluate import Side
from fipp.exceptions import FippError
from fipp.tasks import (
    Coverage,
    ESIMClassifier,
    InferenceCorpus,
    InferenceResult,
    LogisticInference,
    difference_interval,
    transfer,
)

SOME = Coverage(10, 9, 5, 4, 2, 0)
SMALL = {"hidden": 8, "epochs": 3, "learning_rate": 0.01, "device": "cpu"}


@pytest.fixture(scope="module")
def sample():
    return lexical()


@pytest.fixture(scope="module")
def pairs(sample):
    languages, train, _ = sample
    some = train.take(np.arange(100))
    return some._encode(Side(languages.source)), some.labels


def test_a_rule_carried_by_lexical_relations_transfers(torch, sample, aligned):
    languages, train, test = sample
    options = {"hidden": 32, "learning_rate": 5e-3, "dropout": 0.1, "epochs": 5, "batch_size": 64}
    after = transfer(aligned, train, test, "esim", **options)
    before = transfer((languages.source, languages.target), train, test, "esim", **options)
    assert after.accuracy > 0.9 and after.test.share == 1
    # Two sentences of one language can be compared whatever the space; what a denial is, only alignment tells.
    assert before.accuracy < 0.7 and before.confusion[2, 2] < 10 < 80 < after.confusion[2, 2]


def test_the_baseline_learns_the_rule_in_part(sample, aligned):
    languages, train, test = sample
    after = transfer(aligned, train, test, "logistic")
    before = transfer((languages.source, languages.target), train, test, "logistic")
    assert after.accuracy > 0.8 and before.accuracy < 0.7
    assert before.confusion[2, 2] < 10 < 60 < after.confusion[2, 2]


def test_the_score_of_a_pair_does_not_depend_on_its_batch(torch, pairs):
    from fipp.tasks._torch_networks import ESIM
    from fipp.tasks._training import look_up

    encoded, _ = pairs
    torch.manual_seed(0)
    network = ESIM(20, 8, 3, 0.5).eval()
    (premises, lengths_a), (hypotheses, lengths_b) = (
        look_up(part, np.arange(6), 50, network) for part in encoded.parts
    )
    lengths_a[3], lengths_b[4] = 1, 0
    premises[3, 1:], hypotheses[4] = 0, 0
    wide = [torch.cat([words, torch.full((6, 3, 20), 7.0)], dim=1) for words in (premises, hypotheses)]
    with torch.no_grad():
        together = network(wide[0], lengths_a, wide[1], lengths_b)
        for i in range(6):
            n_a, n_b = max(1, int(lengths_a[i])), max(1, int(lengths_b[i]))
            alone = network(
                premises[i : i + 1, :n_a], lengths_a[i : i + 1], hypotheses[i : i + 1, :n_b], lengths_b[i : i + 1]
            )
            assert torch.allclose(alone[0], together[i], atol=1e-5)


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
def test_scores_are_those_of_the_paper_s_equations_one_pair_at_a_time(torch, rng, precision, tolerance):
    from fipp.tasks._torch_networks import ESIM

    d, lengths = 7, [(1, 4), (6, 2), (3, 3), (5, 6), (1, 1), (0, 2)]
    network = ESIM(d, 5, 3, 0.5).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5, generator=torch.Generator().manual_seed(parameter.numel()))
    network = network.to(getattr(torch, precision))
    # Behind the end of a sentence stands what must not matter.
    sides = [
        torch.from_numpy(rng.standard_normal((len(lengths), 6, d))).to(getattr(torch, precision)) for _ in range(2)
    ]
    sides[0][5, 0] = 0  # a sentence without words counts as one word, whose vector is zero
    counts = [torch.tensor(side) for side in zip(*lengths, strict=True)]
    with torch.no_grad():
        ours = network(sides[0], counts[0], sides[1], counts[1]).numpy()
    weights = {name: parameter.numpy().astype(np.float64) for name, parameter in network.state_dict().items()}
    premises, hypotheses = (side.numpy().astype(np.float64) for side in sides)
    expected = [
        esim_reference.scores(premises[pair, : max(1, n_a)], hypotheses[pair, :n_b], weights)
        for pair, (n_a, n_b) in enumerate(lengths)
    ]
    np.testing.assert_allclose(ours, expected, atol=tolerance)
    assert np.ptp(expected, axis=0).min() > 0.1  # the pairs do differ


def test_the_soft_alignment_is_that_of_a_loop(torch):
    from fipp.tasks._torch_networks import _weights

    e = torch.tensor([[[1.0, 2.0, 9.0], [0.0, 0.0, 9.0]]])
    weights = _weights(e, torch.tensor([[[True, True, False]]]))[0].numpy()
    expected = np.exp([1.0, 2.0]) / np.exp([1.0, 2.0]).sum()
    np.testing.assert_allclose(weights, [[*expected, 0], [0.5, 0.5, 0]], rtol=1e-6)


def test_training_that_was_broken_off_goes_on_to_the_same_result(torch, pairs, tmp_path):
    path = tmp_path / "esim.safetensors"
    whole = ESIMClassifier(**SMALL).fit(*pairs)
    ESIMClassifier(**{**SMALL, "epochs": 1}, checkpoint=path).fit(*pairs)
    resumed = ESIMClassifier(**SMALL, checkpoint=path).fit(*pairs)
    assert resumed.history_ == whole.history_
    assert np.array_equal(resumed.predict(pairs[0]), whole.predict(pairs[0]))
    with pytest.raises(FippError, match="checkpoint of another training"):
        ESIMClassifier(**SMALL, checkpoint=path).fit(pairs[0], pairs[1][::-1])


def test_the_seed_settles_everything(torch, pairs):
    first, again, other = (ESIMClassifier(**SMALL, random_state=seed).fit(*pairs).history_ for seed in (1, 1, 2))
    assert first == again != other


def test_the_difference_of_two_results_is_that_of_the_same_pairs_drawn_for_both(rng):
    labels = rng.integers(3, size=200).astype(np.int8)
    predictions = [np.where(rng.random(200) < wrong, (labels + 1) % 3, labels) for wrong in (0.2, 0.4)]
    first, second = (InferenceResult(predicted, labels, "esim", SOME, SOME) for predicted in predictions)
    draw = np.random.default_rng(0)
    differences = []
    for _ in range(1000):
        rows = draw.integers(200, size=200)
        differences.append(np.subtract(*[np.mean(predicted[rows] == labels[rows]) for predicted in predictions]))
    np.testing.assert_allclose(difference_interval(first, second), np.quantile(differences, [0.025, 0.975]))


def test_measures_are_those_of_a_loop(rng):
    predicted, labels = rng.integers(3, size=(2, 400)).astype(np.int8)
    result = InferenceResult(predicted, labels, "esim", SOME, SOME)
    right = sum(int(p == t) for p, t in zip(predicted, labels, strict=True))
    assert result.accuracy == right / 400
    assert result.confusion[1, 2] == sum(int(t == 1 and p == 2) for p, t in zip(predicted, labels, strict=True))
    low, high = result.interval()
    assert low < result.accuracy < high and high - low == pytest.approx(4 * np.sqrt(0.33 * 0.67 / 400), rel=0.15)
    assert result.as_dict(interval=0.9)["pairs"] == 400 and "accuracy" in str(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["b"], ["maybe"]), "'maybe' is no label"),
        ((["a"], ["b"], [3]), "3 is no label"),
        ((["a"], ["b", "c"], [0]), "1 premises, 2 hypotheses and 1 labels"),
        (([], [], []), "at least one pair"),
    ],
)
def test_a_corpus_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(FippError, match=message):
        InferenceCorpus(*arguments)


def test_mistakes_are_said_before_anything_is_learned(sample, aligned):
    _, train, test = sample
    with pytest.raises(FippError, match="no classifier 'bert'; known are esim, logistic"):
        transfer(aligned, train, test, "bert")
    with pytest.raises(FippError, match="esim has no setting 'layers'"):
        transfer(aligned, train, test, "esim", layers=2)
    with pytest.raises(FippError, match="no word of the target texts"):
        transfer(aligned, train, train, "logistic")
    with pytest.raises(FippError, match="same label"):
        transfer(aligned, train.take(np.flatnonzero(train.labels == 1)), test, LogisticInference())


def test_settings_that_cannot_be_are_refused(torch, pairs):
    with pytest.raises(FippError, match="hidden must be 1 or more"):
        ESIMClassifier(hidden=0).fit(*pairs)
    with pytest.raises(FippError, match="max_words must be 1 or more"):
        ESIMClassifier(max_words=0).fit(*pairs)
