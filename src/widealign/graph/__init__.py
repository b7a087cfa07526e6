"""Surgery on gradient graphs: grafts, sites, hooks, snapshots, second passes. Knows no learning rule."""

from widealign.graph.carry import carry, is_known
from widealign.graph.graft import detached, graft, graft_tree, is_signal, map_signals, refuse_backward, signals
from widealign.graph.hooks import Pass, Switch
from widealign.graph.layout import blank, is_channels_last
from widealign.graph.outside_use import OutsideUse
from widealign.graph.ranks import fingerprint, warn_if_changed
from widealign.graph.replay import Replayed, copied, replay, same_state, state
from widealign.graph.sites import Site, Sites, find_sites, grains, input_parameters, parameter_names, problems
from widealign.graph.snapshot import Snapshot
from widealign.graph.spread import spread_error
from widealign.graph.strays import Strays

__all__ = [
    "OutsideUse",
    "Pass",
    "Replayed",
    "Site",
    "Sites",
    "Snapshot",
    "Strays",
    "Switch",
    "blank",
    "carry",
    "copied",
    "detached",
    "find_sites",
    "fingerprint",
    "graft",
    "graft_tree",
    "grains",
    "input_parameters",
    "is_channels_last",
    "is_known",
    "is_signal",
    "map_signals",
    "parameter_names",
    "problems",
    "refuse_backward",
    "replay",
    "same_state",
    "signals",
    "spread_error",
    "state",
    "warn_if_changed",
]
