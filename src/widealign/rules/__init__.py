"""Learning rules. `make` and `names` work by id; the classes wrap a model directly."""

from widealign.graph import Site, find_sites, graft
from widealign.rules.align_ada import AlignAda
from widealign.rules.align_prop import AlignProp
from widealign.rules.align_zero import AlignZero
from widealign.rules.brsf import BRSF
from widealign.rules.chained import Chained
from widealign.rules.dfa import DFA
from widealign.rules.explain import explain
from widealign.rules.fa import FA
from widealign.rules.frsf import FRSF
from widealign.rules.last_layer import LastLayer
from widealign.rules.learner import Axes, Learner, options
from widealign.rules.normal import Normal
from widealign.rules.registry import get, make, names
from widealign.rules.unwrapping import learner_of, model_of
from widealign.rules.usf import USF

__all__ = [
    "BRSF",
    "DFA",
    "FA",
    "FRSF",
    "USF",
    "AlignAda",
    "AlignProp",
    "AlignZero",
    "Axes",
    "Chained",
    "LastLayer",
    "Learner",
    "Normal",
    "Site",
    "explain",
    "find_sites",
    "get",
    "graft",
    "learner_of",
    "make",
    "model_of",
    "names",
    "options",
]
