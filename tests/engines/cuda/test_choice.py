"""Which engine a Gram runs on, without a GPU at hand."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from mercer import Gaussian  # noqa: E402
from mercer._arrays import host, like, on_gpu  # noqa: E402
from mercer.gram.dispatch import make_gram  # noqa: E402
from mercer.gram.host import HostGram  # noqa: E402


def test_tensors_on_the_cpu_are_computed_by_the_host():
    X = torch.ones(3, 2)
    assert not on_gpu(X)
    assert type(make_gram(Gaussian(), X)) is HostGram
    assert isinstance(Gaussian()(X), torch.Tensor)
    assert isinstance(host(X), np.ndarray)
    assert like(np.ones(2), X).__class__ is np.ndarray


def test_the_interpreter_takes_any_tensor(run_on_device):
    run_on_device("""
        import torch
        from mercer import Gaussian
        from mercer._arrays import like, on_gpu
        from mercer.gram.dispatch import make_gram
        from mercer.kernels import Similarity
        X = torch.ones(3, 2)
        assert on_gpu(X) or torch.cuda.is_available()
        X = X.cuda() if torch.cuda.is_available() else X
        assert make_gram(Gaussian(), X).engine == "cuda"
        assert make_gram(Similarity(lambda a, b: 1.0), X).engine == "cpu"
        assert torch.is_tensor(like(X.cpu().numpy(), X))
        print("checked")
    """)


@pytest.mark.parametrize(
    ("said", "error", "match"),
    [
        ("CUDA out of memory. Tried to allocate 3 GiB", MemoryError, "streamed"),
        ("an illegal memory access", RuntimeError, "illegal"),  # any other stays what it is
    ],
)
def test_a_full_device_is_said_in_words(said, error, match, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")

    def refuse(*_):
        raise RuntimeError(said)

    monkeypatch.setattr("mercer.engines.cuda.gram.CudaGram.__init__", refuse)
    with pytest.raises(error, match=match):
        make_gram(Gaussian(), torch.ones(3, 2))


def test_explain_shows_what_runs_on_the_device(run_on_device):
    run_on_device("""
        import torch
        from mercer import Gaussian, Laplacian
        device = "cuda" if torch.cuda.is_available() else "cpu"
        kernel = 0.5 * Gaussian(2.0) + Laplacian(0.1, norm=1)
        text = str(kernel.explain(torch.rand(50, 30, device=device)))
        assert "that stay on chip" in text
        assert "three products of half-precision parts" in text
        assert "@triton.jit" in text
        assert "exp2_unit(" in text
        plain = str(kernel.explain(torch.rand(50, 3, device=device).double()))
        assert "PyTorch's own functions" in plain
        print("checked")
    """)
