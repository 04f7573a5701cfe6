"""What a worker says of the PyTorch that it runs on; versions are mocked."""

import unittest
from unittest import mock

from clock_harness import torch
from fiel_worker import hello


class Versions(unittest.TestCase):
    def described(self, version: str) -> dict:
        with mock.patch.object(torch, "__version__", version):
            return hello.describe("cpu")

    def test_before_2_4_nothing_is_compiled_and_the_reply_says_why(self):
        for version in ("2.3.1+cu121", "2.0.0", "1.13.1"):
            facts = self.described(version)
            self.assertEqual(facts["no_compile"], f"torch.compile needs PyTorch 2.4, this is {version}")
            self.assertIn(facts["no_compile"] + ": no compiled baselines", facts["notes"])

    def test_from_2_4_on_it_is(self):
        for version in ("2.4.0", "2.10.0+cpu", "2.15.0a0+git1", "3.0"):
            facts = self.described(version)
            self.assertEqual(facts["no_compile"], "", version)
            self.assertFalse([n for n in facts["notes"] if "compiled baselines" in n], version)


if __name__ == "__main__":
    unittest.main()
