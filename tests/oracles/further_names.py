"""Names of PyTorch's outside of the catalogue, and what it gives for them:

``python -m oracles.further_names`` in tests/ asks PyTorch.

Needs PyTorch; the tests need what is recorded (data/further_names.json).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "data" / "further_names.json"

TEXTS = """
torch.linalg.matrix_rank(x)
torch.linalg.matrix_rank(torch.ones(2,3,3))
torch.linalg.matrix_rank(torch.eye(3), hermitian=True)
torch.linalg.matrix_rank(torch.diag(torch.tensor([1.,1e-3,1e-9])), atol=1e-2)
torch.linalg.matrix_rank(torch.diag(torch.tensor([1.,1e-3,1e-9])), rtol=1e-2)
torch.linalg.matrix_rank(torch.diag(torch.tensor([1.,1e-3,1e-9])), tol=1e-2)
torch.get_default_device().type
torch.linalg.matrix_rank(x.double() * 1e-9)
""".strip().splitlines()


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return [str(value.dtype), value.tolist()] if hasattr(value, "tolist") else value


def answer(torch: Any, text: str) -> Any:
    torch.manual_seed(3)
    return plain(
        eval(text, {"torch": torch, "F": torch.nn.functional, "x": torch.arange(6.0).reshape(2, 3)})
    )


def main() -> None:
    import torch

    lines = [f"{json.dumps(text)}: {json.dumps(answer(torch, text))}" for text in TEXTS]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
