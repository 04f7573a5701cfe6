"""What Fiel's judge needs PyTorch for: docs/torch-workers.md is the contract."""

VERSION = 1
