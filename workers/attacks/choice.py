"""Every attack that a spec may name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workers.attacks.attack import Attack
from workers.attacks.data_attacks import Backdoor, LabelFlip
from workers.attacks.update_attacks import Alie, Gaussian, Ipm, Scaling, SignFlip
from workers.catalog.part import choice_of

ATTACKS: tuple[type[Attack], ...] = (LabelFlip, SignFlip, Gaussian, Scaling, Alie, Ipm, Backdoor)
if TYPE_CHECKING:
    AttackChoice = Attack
else:
    AttackChoice = choice_of(ATTACKS)
