"""Topics of documents: trained in one language, tested in another."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score
from task_samples import TOPICS, topical

import fipp
from fipp.exceptions import FippError
from fipp.tasks import (
    Coverage,
    DocumentCorpus,
    DocumentResult,
    InferenceCorpus,
    LogisticTopics,
    difference_interval,
    mean_interval,
    transfer,
)

SOME = Coverage(10, 9, 5, 4, 2, 0)


@pytest.fixture(scope="module")
def sample():
    return topical()


def test_a_topic_carried_by_translated_words_transfers_by_the_baseline(sample, aligned):
    languages, train, test = sample
    after = transfer(aligned, train, test, "logistic")
    before = transfer((languages.source, languages.target), train, test, "logistic")
    assert after.micro_f1 > 0.9 and after.test.share == 1
    assert before.micro_f1 < before.chance + 0.1


def test_measures_are_those_of_scikit_learn(rng):
    labels = rng.integers(2, size=(300, 5)).astype(np.int8)
    predicted = rng.random((300, 5)) < 0.3
    result = DocumentResult(predicted, labels, "x", SOME, SOME, tuple("abcde"))
    for measure, average, ours in [
        (f1_score, "micro", result.micro_f1),
        (f1_score, "macro", result.macro_f1),
        (precision_score, "micro", result.precision),
        (recall_score, "micro", result.recall),
    ]:
        assert ours == pytest.approx(measure(labels, predicted, average=average))
    assert result.chance == pytest.approx(f1_score(labels, np.ones_like(labels), average="micro"))


def test_labels_of_neither_set_do_not_count(rng):
    labels = rng.integers(2, size=(100, 1)).astype(np.int8)
    predicted = rng.random((100, 1)) < 0.5
    more = DocumentResult(
        np.vstack([predicted, ~predicted]), np.vstack([labels, np.full_like(labels, -1)]), "x", SOME, SOME, ("a",)
    )
    assert more.micro_f1 == DocumentResult(predicted, labels, "x", SOME, SOME, ("a",)).micro_f1


def test_the_interval_holds_the_measure_and_shrinks_with_texts(rng):
    labels = rng.integers(2, size=(2000, 3)).astype(np.int8)
    predicted = (labels == 1) ^ (rng.random(labels.shape) < 0.2)
    wide, narrow = (DocumentResult(predicted[:n], labels[:n], "x", SOME, SOME, tuple("abc")) for n in (100, 2000))
    for result in (wide, narrow):
        low, high = result.interval()
        assert low < result.micro_f1 < high
    assert np.diff(narrow.interval()) < 0.5 * np.diff(wide.interval())


def test_a_difference_of_the_same_texts_is_surer_than_two_intervals(rng):
    labels = rng.integers(2, size=(500, 3)).astype(np.int8)
    wrong = rng.random(labels.shape) < 0.3
    better = wrong & (rng.random(labels.shape) < 0.9)
    first, second = (DocumentResult((labels == 1) ^ w, labels, "x", SOME, SOME, tuple("abc")) for w in (better, wrong))
    low, high = difference_interval(first, second)
    assert 0 < low < first.micro_f1 - second.micro_f1 < high
    assert first.interval().low < second.interval().high  # they overlap
    with pytest.raises(FippError, match="not of the same texts"):
        difference_interval(first, DocumentResult(first.predicted, 1 - labels, "x", SOME, SOME, tuple("abc")))


def test_the_interval_of_a_mean_over_trainings_is_that_of_the_same_texts_drawn_for_all(rng):
    labels = rng.integers(2, size=(300, 3)).astype(np.int8)
    trainings = [
        DocumentResult((labels == 1) ^ (rng.random(labels.shape) < wrong), labels, "x", SOME, SOME, tuple("abc"))
        for wrong in (0.2, 0.3)
    ]
    draw = np.random.default_rng(0)
    means = []
    for _ in range(1000):
        rows = draw.integers(300, size=300)
        means.append(np.mean([f1_score(labels[rows], r.predicted[rows], average="micro") for r in trainings]))
    np.testing.assert_allclose(mean_interval(trainings), np.quantile(means, [0.025, 0.975]))
    assert mean_interval(trainings[:1]) == trainings[0].interval()


def test_a_topic_without_two_sides_is_decided_by_the_one_there_is(sample, aligned):
    _, train, test = sample
    labels = train.labels.copy()
    labels[:, 0], labels[:, 1] = 1, 0
    result = transfer(aligned, DocumentCorpus(train.texts, labels, TOPICS), test, "logistic")
    assert result.predicted[:, 0].all() and not result.predicted[:, 1].any()


def test_balanced_weights_find_more_of_a_rare_topic(sample, aligned):
    _, train, test = sample
    rare = train.take(np.flatnonzero((train.labels[:, 0] == 0) | (np.arange(len(train)) % 10 == 0)))
    plain, balanced = (transfer(aligned, rare, test, "logistic", balanced=value) for value in (False, True))
    assert balanced.recall > plain.recall


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [[1, 0]], ["x"]), "labels of that shape"),
        (([], np.zeros((0, 1)), ["x"]), "at least one text"),
        ((["a"], [[2]], ["x"]), "1 .about the topic., 0"),
        ((["a"], [[1, 1]], ["x", "x"]), "the same name"),
    ],
)
def test_a_corpus_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(FippError, match=message):
        DocumentCorpus(*arguments)


def test_mistakes_are_said_before_anything_is_learned(sample, aligned):
    languages, train, test = sample
    with pytest.raises(FippError, match="no classifier 'svm'; known are cnn, logistic"):
        transfer(aligned, train, test, "svm")
    with pytest.raises(FippError, match="logistic has no setting 'epochs'"):
        transfer(aligned, train, test, "logistic", epochs=3)
    with pytest.raises(FippError, match="are not those to test on"):
        transfer(aligned, train, DocumentCorpus(test.texts, test.labels, list("abcd")), "logistic")
    with pytest.raises(FippError, match="a DocumentCorpus to train on needs another one"):
        transfer(aligned, train, InferenceCorpus(["f1"], ["f2"], [0]), "logistic")
    with pytest.raises(FippError, match="no word of the target texts has a vector"):
        transfer(aligned, train, train, "logistic")
    with pytest.raises(FippError, match="share no space as they are"):
        transfer((languages.source, fipp.Vectors(["f1"], [[1.0]])), train, test, "logistic")
    with pytest.raises(FippError, match="needs the source vectors"):
        transfer(fipp.Alignment(aligned.aligner), train, test, "logistic")
    with pytest.raises(FippError, match="has the topic 'c'"):
        DocumentCorpus.from_single(["x", "y"], ["a", "c"], ["a", "b"])


def test_a_classifier_given_itself_is_not_changed(sample, aligned):
    _, train, test = sample
    own = LogisticTopics(C=1.0)
    result = transfer(aligned, train, test, own)
    assert result.classifier == "LogisticTopics" and not hasattr(own, "models_")
    assert "micro-averaged F1" in str(result)
    told = result.as_dict(interval=0.95)
    assert told["interval"][0] <= told["micro_f1"] <= told["interval"][1] and set(told["topics"]) == set(TOPICS)


def test_a_sample_is_drawn_by_its_seed(sample):
    _, train, _ = sample
    assert train.sample(None) is train is train.sample(10_000)
    assert train.sample(20, 1).texts == train.sample(20, 1).texts != train.sample(20, 2).texts
