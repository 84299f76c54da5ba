import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture
def state():
    """Makes a state of the playground as the page sends it."""
    from mercer.lab.compute.states import Source

    def make(learner="perceptron", preset="moons", kernel="gaussian(0.3)", n=40, **options):
        source = {"preset": preset, "n": n, "noise": 0.1, "seed": 3}
        X, y = Source.read(source).points()
        return {
            "kernel": kernel,
            "learner": learner,
            "options": options,
            "X": X.ravel().tolist(),
            "y": y.tolist(),
            "source": source,
        }

    return make


@pytest.fixture
def ask():
    """Asks as the page does, without a server: facts and arrays, or the words of an error."""
    import json

    from mercer.lab.compute.requests import answer
    from mercer.lab.compute.wire import unpacked

    def one(name, **body):
        # Through JSON, as over the wire.
        return unpacked(answer(json.loads(json.dumps({"id": 1, "ask": name, **body}))))

    return one
