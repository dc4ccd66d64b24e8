"""Methods: losses and advantages of TRL and verl in float64, value and gradient, against the golden
tests of rl/algo, which map their options to rlzero's text."""

import collections
import contextlib
import random
import re
import sys

from . import gotest

# Modules of golden, how many of a hundred configurations are theirs, and the test that reads them.
SOURCES = {
    "trl_losses": (32, "TRLLosses"), "trl_sequence_losses": (4, "TRLSequenceLosses"), "trl_advantages": (10, "TRLAdvantages"),
    "verl_losses": (22, "VerlPolicyLosses"), "verl_advantages": (12, "VerlAdvantages"), "verl_misc": (4, "VerlMisc"),
    "verl_rollout_correction": (4, "VerlRolloutCorrection"), "preference": (8, "Preference"), "head_losses": (4, "Heads"),
}


def verl(module):
    from golden import verl_stand_ins  # noqa: F401: what verl imports on the way
    return gotest.imported(f"verl.trainer.ppo.{module}")


def plant_trl():
    from trl import GRPOTrainer
    return GRPOTrainer, "get_gamma_weights", staticmethod(lambda *a, was=GRPOTrainer.get_gamma_weights, **k: 1.01 * was(*a, **k))


def plant_verl():
    core_algos = verl("core_algos")
    return core_algos, "agg_loss", lambda *a, was=core_algos.agg_loss, **k: 1.01 * was(*a, **k)


def plant_mask():
    from trl import GRPOTrainer
    return GRPOTrainer, "get_off_policy_mask", staticmethod(lambda *a, was=GRPOTrainer.get_off_policy_mask, **k: was(*a, **k) * 1.01)


def more(owner, attribute, module="trl"):
    """A loss of a trainer of TRL, or the first of several results, is multiplied."""
    def plant():
        of = getattr(gotest.imported(module), owner)
        was = getattr(of, attribute)

        def wrong(*args, **kwargs):
            out = was(*args, **kwargs)
            return (1.01 * out[0], *out[1:]) if isinstance(out, tuple) else 1.01 * out
        return of, attribute, wrong
    return plant


def plant_advantages():
    from trl import GRPOTrainer
    was = GRPOTrainer._generate_and_score_completions

    def wrong(*args, **kwargs):
        out = was(*args, **kwargs)
        return out | {"advantages": 1.01 * out["advantages"]}
    return GRPOTrainer, "_generate_and_score_completions", wrong


def plant_estimator():
    core_algos = verl("core_algos")
    first = lambda estimator: lambda *a, **k: (1.01 * estimator(*a, **k)[0], None)
    return core_algos, "ADV_ESTIMATOR_REGISTRY", {name: first(estimator) for name, estimator in core_algos.ADV_ESTIMATOR_REGISTRY.items()}


def plant_correction():
    rollout_corr_helper = verl("rollout_corr_helper")
    was = rollout_corr_helper.compute_rollout_correction_weights

    def wrong(*args, **kwargs):
        weights, *rest = was(*args, **kwargs)
        return 1.01 * weights, *rest
    return rollout_corr_helper, "compute_rollout_correction_weights", wrong


PLANTS = {
    "trl-vespo-weight": plant_trl, "verl-sum": plant_verl, "trl-off-policy-mask": plant_mask, "trl-dpo": more("DPOTrainer", "_compute_loss"),
    "trl-kto": more("KTOTrainer", "_compute_loss"), "trl-reward": more("RewardTrainer", "compute_loss"), "trl-advantages": plant_advantages,
    "trl-rloo": more("RLOOTrainer", "_compute_loss"), "trl-gmpo": more("GMPOTrainer", "_compute_loss", "trl.experimental.gmpo"),
    "trl-cpo": more("CPOTrainer", "cpo_loss", "trl.experimental.cpo"), "trl-orpo": more("ORPOTrainer", "odds_ratio_loss", "trl.experimental.orpo"),
    "verl-advantage": plant_estimator, "verl-correction": plant_correction,
}


@contextlib.contextmanager
def planted(name):
    """A factor of 1.01 in one function of a trainer."""
    if name not in PLANTS:
        yield
        return
    owner, attribute, wrong = PLANTS[name]()
    right = owner.__dict__[attribute]
    setattr(owner, attribute, wrong)
    try:
        yield
    finally:
        setattr(owner, attribute, right)


class Area:
    def __init__(self, scratch):
        self.modules = {}
        for name in SOURCES:
            try:
                self.modules[name] = gotest.imported(f"golden.{name}")
            except gotest.Missing as reason:
                print(f"{name} is left out: {reason}", file=sys.stderr)
        if not self.modules:
            raise gotest.Missing("none of the trainers is here")
        self.program = gotest.build("rl/algo", scratch)

    def round(self, seed, part, count, folder, plant):
        """Counts of what was compared by module, what differs, and what was left out by reason."""
        (folder / "losses").mkdir(parents=True)
        left_out = collections.Counter()
        with planted(plant):
            for name, module in self.modules.items():
                write(module, name, seed, part, count * SOURCES[name][0] // 100 + 1, folder, left_out)
        wanted = "|".join(SOURCES[name][1] for name in self.modules)
        said, failed = gotest.run(self.program, "rl/algo", f"^TestFormulas({wanted})$/^full$", folder)
        for lines in said.values():
            for line in lines:
                if reason := re.search(r"out of scope: (\d+): (.*)", line):
                    left_out[reason[2]] += int(reason[1])
        made = {name: gotest.reported(said, f"losses/{module.FILE}")[0] for name, module in self.modules.items()}
        differ = [(test.split("/full/")[-1], said[test]) for test in failed if not any(other.startswith(test + "/") for other in failed)]
        return made, differ, left_out


def write(module, name, seed, part, count, folder, left_out):
    """Makes so many cases."""
    import torch

    from golden import files
    rng, cases = random.Random(f"{seed}/{part}/{name}"), []
    torch.manual_seed(rng.getrandbits(60))  # verl draws an order
    while len(cases) < count:
        try:
            cases.append(module.case(rng, f"{seed}-{part}-{len(cases)}"))
        except files.NotComparable as reason:
            left_out[f"{name}: {reason}"] += 1
    files.write(folder / "losses" / f"{module.FILE}.json", module.FILE, cases, getattr(module, "DEFAULTS", None), getattr(module, "TOLERANCE", None))
