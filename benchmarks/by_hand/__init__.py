"""The workloads in NumPy by hand: backward passes written out, and memory that is kept."""

from typing import Any

from benchmarks import workloads
from benchmarks.by_hand.adamw import AdamW
from benchmarks.by_hand.convolutional import Convolutional
from benchmarks.by_hand.elements import Elements
from benchmarks.by_hand.model import Model
from benchmarks.by_hand.perceptron import Perceptron
from benchmarks.by_hand.rows import Rows
from benchmarks.by_hand.transformer import Transformer
from benchmarks.program import Program, UnavailableError
from benchmarks.workloads import Arrays, Shape, Workload

__all__ = ["Model", "Transformer", "model_of", "prepare", "program_of"]

_MODELS: dict[type, Any] = {
    workloads.Perceptron: Perceptron,
    workloads.Transformer: Transformer,
    workloads.Convolutional: Convolutional,
    workloads.Elements: Elements,
    workloads.Rows: Rows,
}


def model_of(shape: Shape, weights: Arrays, batch: Arrays) -> Model:
    """The model of a shape, which takes the weights over."""
    model: Model = _MODELS[type(shape)](shape, weights, batch)
    return model


def program_of(model: Model, trained: bool) -> Program:
    """Runs of the model, each with an update if it is trained."""
    if not trained:
        return Program(model.run)
    optimizer = AdamW(model.weights, model.gradients)

    def step() -> float:
        loss = model.run()
        optimizer.step()
        return loss

    return Program(step)


def prepare(workload: Workload) -> Program:
    """The program for a workload."""
    try:
        model = model_of(workload.shape, *workload.draw())
    except ModuleNotFoundError as error:
        raise UnavailableError(f"by hand it needs {error.name}, for erf") from None
    return program_of(model, workload.trained)
