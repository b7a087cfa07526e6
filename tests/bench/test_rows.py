"""A very small benchmark, for real."""

import json
from dataclasses import replace

import pytest
import torch

from bench.support import CPU, SHORT, SMALL, all_rows, rows
from widealign.bench import NETWORKS, Choice, cases, contenders
from widealign.bench.cases import BASELINE, MODES, Contender
from widealign.bench.measure import measure
from widealign.bench.memory import with_peak
from widealign.bench.run import write
from widealign.rules import names

CONTRACT = {"network", "width", "rule", "mode", "median_ms", "spread_ms", "ratio", "floor", "peak_mb"}


@pytest.mark.parametrize("network", NETWORKS)
def test_every_rule_and_mode_of_a_network(network, tmp_path):
    write(tmp_path / "bench.json", all_rows(network))
    found = json.loads((tmp_path / "bench.json").read_text())
    assert [(row["rule"], row["mode"]) for row in found[:1]] == [BASELINE]
    assert {row["rule"] for row in found} == set(names())
    assert {(row["rule"], row["mode"]) for row in found if row["mode"] != "plain"} == {
        (rule, mode) for rule, modes in NETWORKS[network].modes.items() for mode in modes
    }
    for row in found:
        assert row.keys() >= CONTRACT
        assert row["mode"] in MODES
        assert row["median_ms"] > 0
        assert row["peak_mb"] > 0
        assert row["setting"]["threads"] == 1
        assert row["setting"]["versions"]["torch"] == torch.__version__
    assert found[0]["ratio"] == found[0]["peak_ratio"] == found[0]["counted"] == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "bench.json"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
def test_compiled_rows():
    found = rows(SMALL["mlp"], rules=["align-ada"], compile=True)
    compiled = {row["rule"]: row for row in found if row["mode"] == "compiled"}
    assert set(compiled) == {"normal", "align-ada"}
    assert all(row["counted"] is None and row["peak_mb"] > 0 for row in compiled.values())


def test_who_cannot_be_timed_is_named_and_the_others_go_on():
    wanted = [BASELINE, Contender("align-ada", "jacobian"), Contender("fa", "plain")]
    found, failures = measure(SMALL["cnn"], wanted, SHORT, lambda contender: None)
    assert [row["rule"] for row in found] == ["normal", "fa"]
    [failure] = failures
    assert "cnn, width 4, batch 4, 8 examples: align-ada, jacobian" in failure
    assert "normalises by the statistics of the batch" in failure


def test_lower_precision_is_everybodys_and_leaves_out_the_forms_without_autograd():
    choice = Choice(rules=["align-ada", "align-zero"], precision="bf16")
    wanted = contenders(SMALL["mlp"], choice, names())
    assert not {mode for _, mode in wanted} & {"dual", "in-place"}
    found, failures = measure(SMALL["mlp"], wanted, replace(SHORT, precision="bf16"), lambda contender: None)
    assert failures == []
    assert {row["setting"]["precision"] for row in found} == {"bf16"}
    full = {(row["rule"], row["mode"]): row["peak_mb"] for row in all_rows("mlp")}
    assert found[0]["peak_mb"] != full["normal", "plain"]


@pytest.mark.quick
def test_the_peak_is_that_of_what_is_alive_at_once(capfd):
    def make() -> torch.Tensor:
        first = torch.zeros(1000, 1000)
        second = torch.zeros(1000, 1000)
        del first
        torch.zeros(1000, 500)
        return second

    made, peak = with_peak(make, CPU)
    assert made.shape == (1000, 1000)
    assert peak == pytest.approx(8e6, rel=0.01)
    assert capfd.readouterr().err == ""


@pytest.mark.quick
def test_the_quick_choice_is_the_narrowest_width_of_each_network():
    assert [(case.network, case.width) for case in cases(Choice(quick=True))] == [
        (name, min(network.widths)) for name, network in NETWORKS.items()
    ]


@pytest.mark.quick
def test_one_rule_brings_its_opponents_along():
    chosen = contenders(SMALL["mlp"], Choice(rules=["align-ada"], compile=True), names())
    assert chosen[:3] == [BASELINE, ("normal", "in-place"), ("normal", "compiled")]
    assert {rule for rule, _ in chosen[3:]} == {"align-ada"}
    assert ("dfa", "compiled") in contenders(SMALL["cnn"], Choice(rules=["dfa"], compile=True), names())
    assert contenders(SMALL["rnn"], Choice(rules=["fa"], compile=True), names()) == [BASELINE, ("fa", "plain")]


@pytest.mark.quick
def test_the_usual_batch_comes_before_others_at_the_same_width():
    found = list(cases(Choice(networks=["cnn"], widths=[32])))
    assert [case.batch for case in found] == [100, 25, 50, 200]
    assert {rule for rule, _ in contenders(found[1], Choice(), names())} == {"normal", "align-ada", "align-zero"}
    assert ("fa", "plain") in contenders(found[1], Choice(rules=["fa"]), names())
