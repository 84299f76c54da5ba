"""`Film`: frames that are drawn when they are asked for, and the files they become."""

from __future__ import annotations

import base64
import html
import io
import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from mercer._figures import styled

#: Colors of a frame in a file: flat pictures have few, and fewer make a file small.
PALETTE = 128


class Film:
    """A figure, and `draw(i)`, which draws frame i of `count` into it and gives its caption.

    Parameters
    ----------
    figure : matplotlib Figure
        Into which frames are drawn.
    draw : callable
        Draws frame i and gives its caption.
    count : int
        Number of frames.
    seconds : float, default 0.25
        How long a frame is shown.
    page : str or None
        A page that computes what the frames show: the .html of the film.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> film = plot.film(KernelPerceptron("linear()", shuffle=False), *data.blobs(20), frames=3)
    >>> len(film)
    3
    """

    def __init__(
        self,
        figure: Any,
        draw: Callable[[int], str],
        count: int,
        seconds: float = 0.25,
        page: str | None = None,
    ) -> None:
        self.figure: Any = figure
        self.count: int = count
        self.seconds: float = seconds
        self._draw, self.page = draw, page

    def __repr__(self) -> str:
        return f'<Film of {self.count} frames: film.save("x.gif"), ".html", ".mp4" or ".png">'

    def __len__(self) -> int:
        return self.count

    def caption(self, index: int) -> str:
        """What a frame shows, in words; the figure has it then."""
        with styled():
            return self._draw(range(self.count)[index])

    def frames(self, dpi: float = 100) -> Iterator[tuple[str, Any]]:
        """Each frame: its caption, and an image of Pillow."""
        from PIL import Image

        for i in range(self.count):
            caption, buffer = self.caption(i), io.BytesIO()
            self.figure.savefig(buffer, format="png", dpi=dpi)
            yield caption, Image.open(buffer).convert("RGB")

    # --- files ------------------------------------------------------------------------------

    def save(self, path: Any, dpi: float = 100) -> Path:
        """Write .gif, .mp4, .html (one file, with a slider) or .png (all frames on one sheet)."""
        path = Path(path)
        kinds = {".gif": self._gif, ".mp4": self._mp4, ".html": self._html, ".png": self._png}
        if path.suffix not in kinds:
            known = ", ".join(kinds)
            raise ValueError(f"a film is saved as {known}, not as {path.suffix!r}")
        kinds[path.suffix](path, dpi)
        return path

    def _gif(self, path: Path, dpi: float) -> None:
        first, *others = (image.quantize(PALETTE) for _, image in self.frames(dpi))
        times = [round(1000 * self.seconds)] * (self.count - 1) + [2000]  # the end stands
        first.save(path, save_all=True, append_images=others, duration=times, loop=0)

    def _mp4(self, path: Path, dpi: float) -> None:
        if shutil.which("ffmpeg") is None:
            raise RuntimeError("MP4 needs the program ffmpeg; .gif and .html need nothing more")
        from matplotlib.animation import FFMpegWriter

        writer = FFMpegWriter(fps=round(1 / self.seconds))
        with writer.saving(self.figure, str(path), dpi):
            for i in range(self.count):
                self.caption(i)
                writer.grab_frame()

    def _png(self, path: Path, dpi: float) -> None:
        self.sheet(dpi=dpi).save(path)

    def _html(self, path: Path, dpi: float) -> None:
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>film</title>{_STYLE}'
        page = self.page or f"{head}{self._player(dpi)}</html>\n"
        path.write_text(page, encoding="utf-8")

    def sheet(self, columns: int | None = None, dpi: float = 50) -> Any:
        """All frames side by side: a film on paper."""
        from PIL import Image

        images = [image for _, image in self.frames(dpi)]
        columns = columns or int(np.ceil(np.sqrt(len(images))))
        width, height = images[0].size
        whole = Image.new("RGB", (columns * width, -(-len(images) // columns) * height), "white")
        for i, image in enumerate(images):
            whole.paste(image, (i % columns * width, i // columns * height))
        return whole

    # --- a player that needs nothing but a browser ------------------------------------------

    def _repr_html_(self) -> str:
        return self._player(80)

    def _player(self, dpi: float) -> str:
        pictures, captions = [], []
        for caption, image in self.frames(dpi):
            buffer = io.BytesIO()
            image.quantize(PALETTE).save(buffer, format="png", optimize=True)
            pictures.append(base64.b64encode(buffer.getvalue()).decode())
            captions.append(caption)
        values = {
            "ID": f"film-{uuid.uuid4().hex}",
            "LAST": str(self.count - 1),
            "FIRST": html.escape(captions[0]),
            "MILLISECONDS": str(round(1000 * self.seconds)),
            "PICTURES": json.dumps(pictures),
            # A caption that holds "</script>" must not end the script.
            "CAPTIONS": json.dumps(captions).replace("<", "\\u003c"),
        }
        player = resources.files(__package__).joinpath("player.html").read_text("utf-8")
        for name, value in values.items():
            player = player.replace(f"@{name}@", value)
        return player


_STYLE = "<style>body{font:16px system-ui,sans-serif;margin:2em auto;max-width:70em}</style>"
