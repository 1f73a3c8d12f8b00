"""The convolutional network, and how it is trained."""

import dataclasses

import numpy as np
import pytest
from task_samples import TOPICS, topical

import fipp
from fipp.exceptions import FippError
from fipp.io import read_model, write_model
from fipp.tasks import CNNClassifier, DocumentCorpus, encode, transfer

torch = pytest.importorskip("torch", reason="torch is not installed")

SMALL = {"filters": 4, "widths": (1, 2), "epochs": 6, "learning_rate": 0.01, "device": "cpu"}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def sample():
    return topical()


@pytest.fixture(scope="module")
def texts(sample):
    languages, train, _ = sample
    return encode(train.texts[:120], languages.source), train.labels[:120]


@pytest.mark.parametrize("shared", [False, True])
def test_a_topic_carried_by_translated_words_transfers(sample, aligned, shared):
    languages, train, test = sample
    options = {"widths": (1, 2), "shared": shared, "filters": 8, "epochs": 12, "learning_rate": 0.01}
    after = transfer(aligned, train, test, "cnn", **options)
    before = transfer((languages.source, languages.target), train, test, "cnn", **options)
    assert after.micro_f1 > 0.9
    assert before.micro_f1 < before.chance + 0.1


def test_the_network_is_a_loop_over_windows(texts):
    from fipp.tasks._torch_networks import TopicCNN
    from fipp.tasks._training import look_up

    encoded, _ = texts
    torch.manual_seed(0)
    network = TopicCNN(20, 3, (2, 3), 4, shared=False, dropout=0.5).eval()
    words, lengths = look_up(encoded, np.arange(5), 100, network)
    lengths[0] = 1
    words[0, 1:] = 0
    with torch.no_grad():
        logits = network(words, lengths).numpy()
    for text in range(5):
        for topic in range(3):
            features = []
            for convolution in network.convolutions:
                width = convolution.kernel_size[0]
                for own in range(4):
                    weight = convolution.weight[topic * 4 + own].detach().numpy()
                    bias = float(convolution.bias.detach()[topic * 4 + own])
                    n_windows = max(1, int(lengths[text]) - width + 1)
                    scores = [
                        float((weight * words[text, i : i + width].numpy().T).sum()) + bias for i in range(n_windows)
                    ]
                    features.append(max(0.0, *scores))
            expected = np.dot(features, network.weight[topic].detach().numpy()) + float(network.bias.detach()[topic])
            assert logits[text, topic] == pytest.approx(expected, abs=1e-5)


def test_labels_of_neither_set_have_no_part_in_the_loss():
    from fipp.tasks._torch_networks import TopicCNN

    logits = torch.tensor([[0.5, -1.0], [2.0, 3.0]])
    labels = torch.tensor([[1, -1], [0, 1]], dtype=torch.int8)
    terms = [np.log1p(np.exp(-0.5)), np.log1p(np.exp(2.0)), np.log1p(np.exp(-3.0))]
    assert float(TopicCNN.loss(logits, labels)) == pytest.approx(sum(terms) / 2, rel=1e-6)


def parameters(classifier):
    return {name: tensor.numpy() for name, tensor in classifier.network_.state_dict().items()}


def test_the_seed_settles_everything_and_the_program_s_own_chance_is_left_alone(texts):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    first, again, other = (CNNClassifier(**SMALL, random_state=seed).fit(*texts) for seed in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert first.history_ == again.history_ != other.history_
    assert all(np.array_equal(value, parameters(again)[name]) for name, value in parameters(first).items())


def test_training_that_was_broken_off_goes_on_to_the_same_result(texts, tmp_path):
    path = tmp_path / "topics.safetensors"
    whole = CNNClassifier(**SMALL).fit(*texts)
    CNNClassifier(**{**SMALL, "epochs": 2}, checkpoint=path).fit(*texts)
    resumed = CNNClassifier(**SMALL, checkpoint=path).fit(*texts)
    assert resumed.history_ == whole.history_ and resumed.best_epoch_ == whole.best_epoch_
    assert all(np.array_equal(value, parameters(resumed)[name]) for name, value in parameters(whole).items())


def test_an_interrupt_leaves_the_epochs_before_it(texts, tmp_path):
    path = tmp_path / "topics.safetensors"

    def interrupt(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CNNClassifier(**SMALL, checkpoint=path).fit(*texts, progress=interrupt)
    _, header = read_model(path)
    assert len(header["history"]) == 3
    resumed = CNNClassifier(**SMALL, checkpoint=path).fit(*texts)
    assert resumed.history_ == CNNClassifier(**SMALL).fit(*texts).history_


def test_a_checkpoint_of_something_else_is_refused(texts, tmp_path):
    path = tmp_path / "topics.safetensors"
    CNNClassifier(**{**SMALL, "epochs": 1}, checkpoint=path).fit(*texts)
    encoded, labels = texts
    with pytest.raises(FippError, match="checkpoint of another training"):
        CNNClassifier(**SMALL, checkpoint=path).fit(encoded, 1 - labels)
    with pytest.raises(FippError, match="checkpoint of another training"):
        CNNClassifier(**{**SMALL, "filters": 5}, checkpoint=path).fit(*texts)
    tensors, header = read_model(path)
    del tensors["adam.exp_avg.bias"]
    write_model(path, tensors, header)
    with pytest.raises(FippError, match=r"is damaged: 'adam\.exp_avg\.bias'"):
        CNNClassifier(**SMALL, checkpoint=path).fit(*texts)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(FippError, match="not a whole safetensors file"):
        CNNClassifier(**SMALL, checkpoint=path).fit(*texts)
    write_model(path, {}, {"kind": "model"})
    with pytest.raises(FippError, match="is no checkpoint"):
        CNNClassifier(**SMALL, checkpoint=path).fit(*texts)


def test_training_ends_when_the_held_out_texts_gain_no_more_and_keeps_the_best(texts):
    options = {**SMALL, "epochs": 200, "patience": 2, "learning_rate": 0.05}
    trained = CNNClassifier(**options).fit(*texts)
    losses = [epoch.holdout for epoch in trained.history_]
    assert len(losses) < 200 and trained.best_epoch_ == np.argmin(losses) == len(losses) - 3
    again = CNNClassifier(**{**options, "epochs": trained.best_epoch_ + 1}).fit(*texts)
    assert np.array_equal(parameters(again)["weight"], parameters(trained)["weight"])


def test_progress_grows_to_its_end(texts):
    told = []
    CNNClassifier(**SMALL).fit(*texts, progress=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told) and told[-1][0] == told[-1][1]


def test_directions_that_no_training_word_has_say_nothing():
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((30, 6)) @ rng.standard_normal((6, 10))
    outside = np.linalg.svd(flat)[2][6:]  # directions in which the source has nothing
    source = fipp.Vectors([f"e{i}" for i in range(30)], flat)
    texts = [f"e{i} e{(7 * i) % 30}" for i in range(30)]
    trained = CNNClassifier(**SMALL).fit(encode(texts, source), (np.arange(30) % 2).astype(np.int8)[:, None])
    moved = dataclasses.replace(encode(texts, source), matrix=encode(texts, source).matrix + 5 * outside[0])
    assert trained.span_.shape == (10, 6)
    assert np.array_equal(trained.predict(moved), trained.predict(encode(texts, source)))


def test_a_text_without_words_is_decided_all_the_same(sample, aligned):
    _, train, test = sample
    odd = DocumentCorpus(["", "xyz", *test.texts[:5]], np.zeros((7, len(TOPICS))), TOPICS)
    assert transfer(aligned, train, odd, "cnn", **SMALL).predicted.shape == (7, len(TOPICS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be 1 or more"),
        ({"holdout": 1.0}, "holdout must lie between"),
        ({"learning_rate": 0.0}, "above 0"),
        ({"widths": ()}, "widths and filters"),
        ({"dropout": 1.0}, "below 1"),
        ({"device": "cuda:99"}, "torch cannot use the device 'cuda:99'"),
        ({"device": "typewriter"}, "torch cannot use the device 'typewriter'"),
        ({"learning_rate": 1e30}, "smaller learning_rate"),
    ],
)
def test_settings_that_cannot_be_are_refused(texts, options, message):
    with pytest.raises(FippError, match=message):
        CNNClassifier(**{**SMALL, **options}).fit(*texts)


def test_too_few_texts_are_refused(texts, sample):
    languages, _, _ = sample
    with pytest.raises(FippError, match="too few"):
        CNNClassifier(**SMALL).fit(encode(["e1"], languages.source), np.array([[1]], dtype=np.int8))
