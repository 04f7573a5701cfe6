"""What the clock needs of the oracle's cases: a case's inputs drawn anew, and their answer."""

import dataclasses

from ..values import flatten
from .bound import compare
from .clock import ClockOperations
from .randomness import Samples, compare_random


class TimedCases(ClockOperations):
    def case_values(self, number) -> tuple[dict, dict]:
        """The described values of a case's inputs and outputs, without offsets."""
        cases = self.ready()
        case = cases.get(number)
        tree, _ = flatten(cases.inputs(case))
        inputs = {"tree": tree, "leaves": cases.leaves(case)}
        return inputs, {
            "tree": cases.expectation(case).tree, "leaves": cases.output_leaves(case),
        }

    def draw_inputs(self, number, seed: int):
        cases = self.opened()
        case = cases.get(number)
        drawn = cases.task.draw(dataclasses.replace(case.recipe, seed=seed), case.shape_variant)
        return cases.inputs(case) if drawn is None else drawn

    def verify_outputs(self, number, inputs, outputs, lowest) -> dict:
        """The outputs of one timed call against the float64 reference on its own inputs."""
        cases = self.ready()
        case = cases.get(number)
        samples, rows = None, []
        expected = cases.expect(case, inputs).outputs
        for i, ((path, actual), e) in enumerate(zip(flatten(outputs)[1], expected)):
            if cases.task.randomness == "statistical":
                samples = samples or Samples(cases.task, inputs, case.weights)
                report = compare_random(samples, actual, i)
            else:
                report = compare(e.reference, actual, e.model, lowest or "fp32")
            rows.append({"path": path} | report)
        return {"structure": None, "outputs": rows}
