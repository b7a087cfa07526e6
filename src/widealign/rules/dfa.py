"""Direct feedback alignment (Nøkland, 2016)."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from widealign.errors import UsageError
from widealign.graph import Site, Sites, Snapshot, is_signal, signals, spread_error
from widealign.rules import draws
from widealign.rules.injected import CutPass
from widealign.rules.learner import Axes, Learner


class DFA(Learner, id="dfa"):
    """The output error reaches every layer at once, through a fixed random matrix of its own.

        s_l = σ'(z_l) ⊙ (B_l e),   B_l ~ N(0, 1/features) of shape (features, outputs)

    B_l e enters where the next site takes its input, that is after the activation; what lies between (the gate, a
    normaliser, pooling) is the live network's. There is no walk back through the network.

    Args:
        model: Any module whose outputs have the batch as their first axis.
        sites: Where parameters learn.
        seed: Decides B.
        shared_over_space: One matrix (channels, outputs) for all locations of a convolution's input, which share B_l e
            in equal parts, in the place of one for each location.
        feedback: B for some sites, by the name of the site at whose input it enters, in the place of a random one.
    """

    axes = Axes(feedback="fixed random, straight from the output error", gate="live, own site only",
                normaliser="live, own site only", activity="live")  # fmt: skip

    def __init__(
        self,
        model: nn.Module,
        *,
        sites: Sites = None,
        seed: int = 0,
        shared_over_space: bool = False,
        feedback: Mapping[str, Tensor] | None = None,
    ):
        super().__init__(model, sites=sites)
        known = [site.name for site in self.sites]
        if unknown := sorted(set(feedback or {}) - set(known)):
            raise UsageError(f"feedback= names sites of the model, which are {known}; {unknown} are not among them.")
        self.seed, self.shared_over_space = int(seed), shared_over_space
        self.random = Snapshot(feedback, grows=True)

    @property
    def feedback(self) -> dict[str, Tensor]:
        """B by the name of the site at whose input it enters; complete after the first training pass."""
        return self.random.values()

    def learn(self, *args: Any, **kwargs: Any) -> Any:
        """The live pass with every site's inputs cut off; the output's error is spread over the cuts."""
        taps: list[tuple[str, Tensor]] = []
        output = self.run(CutPass(lambda site, h: taps.append((site, h))), self.model, *args, **kwargs)
        outputs = signals(output)
        batch = self._batch(outputs)
        width = sum(math.prod(out.shape[1:]) for out in outputs)
        matrices = [self._matrix(site, entering, batch, width) for site, entering in taps]
        spread = iter(spread_error(outputs, [h for _, h in taps], matrices, self._spaces(taps)))
        return next(spread) if isinstance(output, Tensor) else _replaced(output, spread)

    def describe(self, site: Site) -> tuple[str, str]:
        """Random projections of the output error."""
        return (
            "the output error through a fixed random matrix, at the next site's input (the last site: directly)",
            "live",
        )

    def replays(self) -> bool:
        """One pass is enough."""
        return False

    def _batch(self, outputs: list[Tensor]) -> int:
        shapes = [tuple(out.shape) for out in outputs]
        if () in shapes or len({shape[0] for shape in shapes}) > 1:
            raise UsageError(
                f"dfa needs the batch as the first axis of every output, whose errors it spreads; the outputs have "
                f"shapes {shapes}. Return outputs for each example, and compute a loss outside of the model."
            )
        return shapes[0][0] if shapes else 0

    def _spaces(self, taps: list[tuple[str, Tensor]]) -> list[bool]:
        return [self._is_shared(site, h) for site, h in taps]

    def _is_shared(self, site: str, entering: Tensor) -> bool:
        """Images, and what enters a convolution: (batch, channels, locations ...)."""
        convolves = isinstance(self.model.get_submodule(site), nn.modules.conv._ConvNd)
        return self.shared_over_space and (entering.dim() > 3 or (convolves and entering.dim() == 3))

    def _matrix(self, site: str, entering: Tensor, batch: int, width: int) -> Tensor:
        if entering.dim() == 0 or (entering.shape[0] % batch if batch else entering.shape[0]):
            raise UsageError(
                f"dfa needs the batch as the first axis of the inputs of every site and of the output: '{site}' takes "
                f"shape {tuple(entering.shape)}, the output's batch is {batch}. Give the model batch-first tensors."
            )
        rows = entering.shape[1:] if batch in (0, len(entering)) else (len(entering) // batch, *entering.shape[1:])
        features = entering.shape[1] if self._is_shared(site, entering) else math.prod(rows)
        key = next((k for k in (site, f"{site}:{features}") if self._fits(k, features, width)), None)
        if key is None:
            key = site if site not in self.random.values() else f"{site}:{features}"
            self._draw(key, features, width, entering)
        return self.random.values()[key].to(entering)

    def get_extra_state(self) -> dict[str, int]:
        """What decides the matrices that are not drawn yet."""
        return {"seed": self.seed}

    def set_extra_state(self, state: dict[str, int]) -> None:
        """Restores what decides the matrices that are not drawn yet."""
        self.seed = state["seed"]

    def _fits(self, key: str, features: int, width: int) -> bool:
        known = self.random.values().get(key)
        return known is not None and known.shape == (features, width)

    @torch.compiler.disable
    def _draw(self, key: str, features: int, width: int, like: Tensor) -> None:
        matrix = draws.normal((features, width), self.seed, key) / math.sqrt(features)
        self.random.take({key: matrix.to(like)})


def _replaced(output: Any, fresh: Any) -> Any:
    leaves, structure = torch.utils._pytree.tree_flatten(output)
    return torch.utils._pytree.tree_unflatten([next(fresh) if is_signal(leaf) else leaf for leaf in leaves], structure)
