"""Models that read two texts together, from a folder that the test writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slowwave.errors import EncoderError
from slowwave.models.cross_encoder import NliModel, calibrate, load_cross_encoder, rerank_scores
from tests.models.tiny_onnx import write_model

WORDS = {"tram": (0, 0, 3), "bike": (0, 0, 3), "park": (2, 0, 0)}


def test_outputs_of_a_pair_are_the_same_alone_and_in_a_batch(tmp_path: Path) -> None:
    """Pairs of other lengths in one batch are padded, and come back in their order."""
    encoder = load_cross_encoder(str(write_model(tmp_path, WORDS)))
    pairs = [("the tram", "the bike in the park " * (7 * n % 40)) for n in range(40)]
    whole = encoder.logits(pairs)
    assert whole.tolist() == [encoder.logits([pair])[0].tolist() for pair in pairs]
    assert whole[6].tolist() == [4, 0, 9]
    assert encoder.logits([("tram \ud800", "")]).tolist() == [[0, 0, 3]]


def test_contradiction_is_the_lower_probability_of_both_directions(tmp_path: Path) -> None:
    """A model whose answer depends on the order is not believed in one direction."""
    both = NliModel(str(write_model(tmp_path / "both", WORDS)))
    assert both.contradiction([("bike", "tram"), ("a", "b")]) == pytest.approx([np.exp(6) / (np.exp(6) + 2), 1 / 3])
    first = NliModel(str(write_model(tmp_path / "first", WORDS, first_only=True)))
    assert first.contradiction([("bike", "cat"), ("cat", "bike")]) == pytest.approx([1 / 3, 1 / 3])


def test_label_names_decide_whatever_their_order(tmp_path: Path) -> None:
    """Models of different makers order their labels differently."""
    turned = write_model(tmp_path, {"tram": (3, 0, 0)}, ("CONTRADICTION", "Entailment", "neutral"))
    assert NliModel(str(turned)).contradiction([("tram", "x")]) == pytest.approx([np.exp(3) / (np.exp(3) + 2)])


def test_calibration_counts_what_each_threshold_finds(tmp_path: Path) -> None:
    """Of two contradictions one has a probability of .995 and one of .91; a pair that does not contradict has .33."""
    model = NliModel(str(write_model(tmp_path, WORDS)))
    pairs = [("bike", "tram", True), ("bike", "x", True), ("a", "b", False), ("tram", "bike", False)]
    found = {row.threshold: (row.found, row.wrong, row.precision, row.recall) for row in calibrate(model, pairs)}
    assert found[0.9] == (2, 1, pytest.approx(2 / 3), 1.0)
    assert found[0.95] == (1, 1, 0.5, 0.5)
    assert found[0.999] == (0, 0, None, 0.0)


@pytest.mark.parametrize("labels", [("LABEL_0", "LABEL_1", "LABEL_2"), ("entailment", "not_entailment"), ("score",)])
def test_labels_that_do_not_name_the_three_are_refused(tmp_path: Path, labels: tuple[str, ...]) -> None:
    """A guess would turn entailment into contradiction."""
    folder = write_model(tmp_path, {"tram": [1] * len(labels)}, labels)
    with pytest.raises(EncoderError, match="entailment, neutral and contradiction"):
        NliModel(str(folder)).contradiction([("a", "b")])


def test_ranking_needs_a_model_with_one_output(tmp_path: Path) -> None:
    """A model of inference is no reranker."""
    assert rerank_scores(str(write_model(tmp_path / "one", {"tram": [2]}, ["score"])), "x", ["a", "tram"]).tolist() == [
        0,
        2,
    ]
    with pytest.raises(EncoderError, match="3 outputs"):
        rerank_scores(str(write_model(tmp_path / "three", WORDS)), "x", ["a"])


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "config.json"])
def test_missing_or_broken_file_is_one_sentence_with_a_remedy(tmp_path: Path, file: str) -> None:
    """It names the folder and never shows an error of a library."""
    (write_model(tmp_path / "gone", WORDS) / file).unlink()
    with pytest.raises(EncoderError, match=rf"has no {file}"):
        load_cross_encoder(str(tmp_path / "gone"))
    (write_model(tmp_path / "broken", WORDS) / file).write_text("[")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        load_cross_encoder(str(tmp_path / "broken"))


def test_outputs_that_do_not_fit_the_labels_are_refused(tmp_path: Path) -> None:
    """Also numbers that are not finite."""
    (write_model(tmp_path / "more", WORDS) / "config.json").write_text(json.dumps({"id2label": {"0": "score"}}))
    write_model(tmp_path / "endless", {"tram": [float("inf")]}, ["score"])
    for name in ("more", "endless"):
        with pytest.raises(EncoderError, match="no finite number"):
            rerank_scores(str(tmp_path / name), "x", ["tram"])


def test_name_is_downloaded_only_if_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A night never reaches for the network; the command that calibrates does if it is told to."""
    wishes: list[dict[str, Any]] = []

    def snapshot_download(name: str, **wish: Any) -> str:
        wishes.append({"name": name, **wish})
        if wish["local_files_only"]:
            raise FileNotFoundError(name)
        return str(write_model(tmp_path / "hub", WORDS))

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(EncoderError, match="calibrate PAIRS --download"):
        NliModel("maker/model").contradiction([("a", "b")])
    assert NliModel("maker/model", download=True).contradiction([("a", "b")]) == pytest.approx([1 / 3])
    assert [wish["local_files_only"] for wish in wishes] == [True, False]
    assert set(wishes[0]["allow_patterns"]) == {"model.onnx", "onnx/model.onnx", "tokenizer.json", "config.json"}


def test_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain package has no ONNX Runtime."""
    monkeypatch.setattr("slowwave.models.cross_encoder._NEEDS", ("onnxruntime_that_is_missing",))
    with pytest.raises(EncoderError, match=r"slowwave\[nli\]"):
        load_cross_encoder(str(tmp_path))
