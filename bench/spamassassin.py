"""SpamAssassin: 6046 messages, 1896 of them spam; a quarter held out at random, three times.

The columns and the classifier are learned from the other three quarters. Each group of features has
length 1 (`norm="group"`), so the columns of some groups are what `EmailFeatures(groups=...)` of
those groups would give: headers only and body only are cut out of the same matrix.

Headers say much here, in part because ham and spam were gathered at different hosts and lists;
they say less about mail from elsewhere.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _harness import Row, below, claim, data_file, main, no_data, skipped
from _tables import read_columns
from sklearn.model_selection import train_test_split

from mercer import KernelPerceptron, Linear
from mercer.maps import EmailFeatures
from mercer.maps.email.features import BODY_GROUPS, HEADER_GROUPS

NAME, TARGET = "spamassassin.tsv.gz", below(1.5, "% error")
CLAIM = "SpamAssassin, EmailFeatures + KernelPerceptron, 25 % held out"
SEEDS = (0, 1, 2)
CHOICES = {
    "all": BODY_GROUPS + HEADER_GROUPS,
    "headers only": HEADER_GROUPS,
    "body only": BODY_GROUPS,
}


def errors(messages: list[bytes], y: np.ndarray, seed: int) -> dict[str, float]:
    """Percent wrong of the held-out messages, for each choice of groups and each group alone."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, stratify=y, random_state=seed)
    phi = EmailFeatures(min_df=2)
    X = phi.fit_transform([messages[i] for i in train]).tocsc()
    Z = phi.transform([messages[i] for i in test]).tocsc()
    group = np.array([name.partition("=")[0] for name in phi.get_feature_names_out()])
    alone = {name: (name,) for name in CHOICES["all"]} if seed == SEEDS[0] else {}
    found = {}
    for what, names in (CHOICES | alone).items():
        columns = np.flatnonzero(np.isin(group, names))
        model: Any = KernelPerceptron(Linear(), averaging="average", random_state=seed)
        model.fit(X[:, columns].tocsr(), y[train])
        found[what] = 100.0 * float((model.predict(Z[:, columns].tocsr()) != y[test]).mean())
    return found


def measure() -> list[Row]:
    path = data_file(NAME)
    if path is None:
        return [skipped(CLAIM, TARGET, no_data(NAME))]
    table = read_columns(path)
    pairs = zip(table["message"], table["encoding"], strict=True)
    messages = [text.encode(encoding) for text, encoding in pairs]
    y = np.array(table["label"])
    begin = time.perf_counter()
    found = [errors(messages, y, seed) for seed in SEEDS]
    seconds = time.perf_counter() - begin
    mean = {what: float(np.mean([f[what] for f in found])) for what in CHOICES}
    right = ", ".join(f"{name} {100 - found[0][name]:.1f}" for name in CHOICES["all"])
    each = ", ".join(f"{100 - f['all']:.2f}" for f in found)
    notes = {
        "all": f"{100 - mean['all']:.2f} % right ({each}); {seconds:.0f} s",
        "headers only": f"{100 - mean['headers only']:.2f} % right",
        "body only": f"{100 - mean['body only']:.2f} % right; one group alone: {right}",
    }
    rows = [claim(CLAIM, mean["all"], None, TARGET, notes["all"])]
    # Shown, not promised: what the headers and the body know without each other.
    for what in ("headers only", "body only"):
        rows.append(Row(f"  {what}", mean[what], None, None, "shown", "% error", None, notes[what]))
    return rows


if __name__ == "__main__":
    main(measure)
